"""The bundle from which Codabench creates a competition: its description, scoring program and reference data."""

import zipfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from podium.challenges import phase_columns
from podium.challenges.ground_truth import CHALLENGE_FILE, REFERENCES, ChallengeFolder
from podium.errors import GroundTruthError, UsageError
from podium.platform.leaderboard import Column
from podium.readers.files import list_files
from podium.tools.other_platforms.results import LONGEST_KEY, flat_keys, shortened, to_yaml
from podium.tools.report.png import png_file

_TIME_LIMIT_SECONDS = 3600  # as Grand Challenge; Codabench's own default of 600 is for small tables
_NO_TIME = (1980, 1, 1, 0, 0, 0)  # the same content gives the same archive
_OVERVIEW = """# {title}

Submit one archive (`.zip`) with a prediction for every case. A case without a usable prediction counts with the worst
value; the page of detailed results says which these are.
"""
_TERMS = "# Terms\n\nReplace this text with the terms of participation.\n"


def write_bundle(folder: ChallengeFolder, output: Path, *, image: str, start: date) -> int:
    """Write the bundle as an archive if `output` ends with .zip, else as a folder. Returns the number of its files.

    Args:
        image: as Codabench's worker can pull it.
        start: the first day of the phase.
    """
    if output.exists():
        raise UsageError(f"{output} exists; name another file or folder, or remove it.")
    content = dict(_bundle(folder, image, start))
    try:
        if output.suffix == ".zip":
            output.parent.mkdir(parents=True, exist_ok=True)
            with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as archive:
                for name, data in content.items():
                    archive.writestr(zipfile.ZipInfo(name, _NO_TIME), _bytes(data), zipfile.ZIP_DEFLATED)
        else:
            for name, data in content.items():
                target = output / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(_bytes(data))
    except OSError as error:
        raise UsageError(f"The bundle cannot be written to {output}: {error.strerror}.") from None
    return len(content)


def _bundle(folder: ChallengeFolder, image: str, start: date) -> Iterator[tuple[str, bytes | Path]]:
    """The files by name: content, or the file to copy."""
    command = f"podium evaluate --platform codabench --challenge {folder.name}"
    yield "competition.yaml", to_yaml(_competition(folder, image, start)).encode()
    yield "logo.png", png_file(_logo())
    yield "pages/overview.md", _OVERVIEW.format(title=folder.common.title).encode()
    yield "pages/terms.md", _TERMS.encode()
    yield "scoring_program/metadata.yaml", to_yaml({"command": command}).encode()
    listing = list_files(folder.references)
    if listing.refused or not listing.files:
        raise GroundTruthError("The references are missing or not all regular files; 'podium check' lists them.")
    for path in (folder.path / CHALLENGE_FILE, *folder.beside):
        yield f"reference_data/{folder.name}/{path.name}", path
    for file in listing.files:
        yield f"reference_data/{folder.name}/{REFERENCES}/{file.name}", file.path


def _competition(folder: ChallengeFolder, image: str, start: date) -> Mapping[str, Any]:
    """competition.yaml. The log names cases and reasons, so participants do not see it."""
    title = folder.common.title
    return {
        "version": 2,
        "title": title,
        "description": f"{title}, version {folder.common.version}",
        "image": "logo.png",
        "terms": "pages/terms.md",
        "registration_auto_approve": False,
        "docker_image": image,
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
                "start": f"{start.isoformat()} 00:00:00",
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
            "title": shortened(column.title, LONGEST_KEY),  # the limit of keys is that of titles too
            "key": keys[column.path],
            "index": index,
            "sorting": column.order,
            "precision": 4,
        }
        for index, column in enumerate(columns)
    ]


def _logo() -> "np.ndarray[Any, np.dtype[np.uint8]]":
    """Three steps, dark on white, until the organisers provide their own picture."""
    image = np.full((160, 180), 255, np.uint8)
    for place, top in enumerate((80, 40, 110)):  # from the left; pixels from the top
        image[top:150, 15 + 50 * place : 65 + 50 * place] = 60 + 30 * place
    return image


def _bytes(data: bytes | Path) -> bytes:
    return data if isinstance(data, bytes) else data.read_bytes()
