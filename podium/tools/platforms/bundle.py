"""The bundle from which Codabench creates a competition: its description, scoring program and reference data."""

import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from podium.challenges import phase_columns
from podium.challenges.format import CHALLENGE_FILE, METRICS_CODE, REFERENCES, ChallengeFolder
from podium.errors import GroundTruthError, UsageError
from podium.platform.privacy import Column
from podium.readers.files import list_files
from podium.tools.platforms.results import LONGEST_KEY, flat_keys, to_yaml
from podium.tools.report.png import png_file

_TIME_LIMIT_SECONDS = 3600  # as Grand Challenge; Codabench's own default of 600 is for small tables
_NO_TIME = (1980, 1, 1, 0, 0, 0)  # the same content gives the same archive
_LOGO_STEPS = ((0, 80), (1, 40), (2, 110))  # of the podium: place from the left, pixels from the top
_OVERVIEW = """# {title}

Submit one archive (`.zip`) with a prediction for every case. A case without a usable prediction counts with the worst
value; the page of detailed results says which these are.
"""
_TERMS = "# Terms\n\nReplace this text with the terms of participation.\n"


@dataclass(frozen=True, kw_only=True)
class BundlePlan:
    """What the ground truth does not say: the image as the worker can pull it, and the first day of the phase."""

    image: str
    start: date


def write_bundle(folder: ChallengeFolder, plan: BundlePlan, output: Path) -> int:
    """Write the bundle as an archive if `output` ends with .zip, else as a folder. Returns the number of its files."""
    if output.exists():
        raise UsageError(f"{output} exists; name another file or folder, or remove it.")
    content = dict(bundle(folder, plan))
    try:
        if output.suffix == ".zip":
            _write_archive(content, output)
        else:
            for name, data in content.items():
                target = output / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(_bytes(data))
    except OSError as error:
        raise UsageError(f"The bundle cannot be written to {output}: {error.strerror}.") from None
    return len(content)


def bundle(folder: ChallengeFolder, plan: BundlePlan) -> Iterator[tuple[str, bytes | Path]]:
    """The files by name: content, or the file to copy."""
    command = f"podium evaluate --platform codabench --challenge {folder.name}"
    yield "competition.yaml", to_yaml(competition(folder, plan)).encode()
    yield "logo.png", png_file(_logo())
    yield "pages/overview.md", _OVERVIEW.format(title=folder.common.title).encode()
    yield "pages/terms.md", _TERMS.encode()
    yield "scoring_program/metadata.yaml", to_yaml({"command": command}).encode()
    listing = list_files(folder.references)
    if listing.refused or not listing.files:
        raise GroundTruthError("The references are missing or not all regular files; 'podium check' lists them.")
    yield f"reference_data/{folder.name}/{CHALLENGE_FILE}", folder.path / CHALLENGE_FILE
    if (folder.path / METRICS_CODE).is_file():
        yield f"reference_data/{folder.name}/{METRICS_CODE}", folder.path / METRICS_CODE
    for file in listing.files:
        yield f"reference_data/{folder.name}/{REFERENCES}/{file.name}", file.path


def competition(folder: ChallengeFolder, plan: BundlePlan) -> Mapping[str, Any]:
    """competition.yaml. The log names cases and reasons, so participants do not see it."""
    title = folder.common.title
    return {
        "version": 2,
        "title": title,
        "description": f"{title}, version {folder.common.version}",
        "image": "logo.png",
        "terms": "pages/terms.md",
        "registration_auto_approve": False,
        "docker_image": plan.image,
        "enable_detailed_results": True,
        "pages": [{"title": "Overview", "file": "pages/overview.md"}],
        "tasks": [
            {
                "index": 0,
                "name": folder.name,
                "scoring_program": "scoring_program/",  # a folder only with the slash
                "reference_data": "reference_data/",
            }
        ],
        "phases": [
            {
                "index": 0,
                "name": folder.name,
                "description": title,
                "start": f"{plan.start.isoformat()} 00:00:00",
                "execution_time_limit": _TIME_LIMIT_SECONDS,
                "accepts_only_result_submissions": True,
                "hide_output": True,
                "tasks": [0],
            }
        ],
        "leaderboards": [
            {
                "index": 0,
                "title": "Results",
                "key": "results",
                "submission_rule": "Add",
                "columns": _columns(phase_columns(folder)),
            }
        ],
    }


def _columns(columns: Sequence[Column]) -> list[dict[str, Any]]:
    """The score, by which Codabench sorts, is the first."""
    keys = flat_keys([column.path for column in columns])
    return [
        {
            "title": _short(column.title),
            "key": keys[column.path],
            "index": index,
            "sorting": column.order,
            "precision": 4,
        }
        for index, column in enumerate(columns)
    ]


def _short(title: str) -> str:
    return title if len(title) <= LONGEST_KEY else f"{title[: LONGEST_KEY - 3]}..."  # the limit of titles too


def _logo() -> "np.ndarray[Any, np.dtype[np.uint8]]":
    """Three steps, dark on white, until the organisers provide their own picture."""
    image = np.full((160, 180), 255, np.uint8)
    for place, top in _LOGO_STEPS:
        image[top:150, 15 + 50 * place : 65 + 50 * place] = 60 + 30 * place
    return image


def _write_archive(content: Mapping[str, bytes | Path], output: Path) -> None:
    output.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in content.items():
            archive.writestr(zipfile.ZipInfo(name, _NO_TIME), _bytes(data), zipfile.ZIP_DEFLATED)


def _bytes(data: bytes | Path) -> bytes:
    return data if isinstance(data, bytes) else data.read_bytes()
