"""Declared challenges for tests: a folder from TOML and a few small files, evaluated as the command does."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import SimpleITK
from evaluating import evaluate

from podium.checking import check
from podium.execution.executor import Serial

HEAD = 'kind = "declared"\ntitle = "T"\nversion = "1"\nper_case = "full"\nsubmission = "predictions"\n'
Files = Mapping[str, Any]


def value(name: str, kind: str, **keys: Any) -> str:
    """The table of one value in challenge.toml."""
    return _table(f"[values.{name}]", {"kind": kind, **keys})


def metric(kind: str, **keys: Any) -> str:
    """The table of one metric."""
    return _table("[[metrics]]", {"kind": kind, **keys})


def metrics(*kinds: str, by: str = "") -> str:
    """The tables of metrics without options, and a ranking by this figure or by the first of them."""
    return "".join(map(metric, kinds)) + _table("[ranking]", {"by": by or kinds[0]})


def _table(header: str, keys: Mapping[str, Any]) -> str:
    return "\n".join([header, *(f"{key} = {_literal(content)}" for key, content in keys.items()), ""])


def _literal(content: Any) -> str:
    if isinstance(content, dict):
        return "{ " + ", ".join(f"{key} = {_literal(inner)}" for key, inner in content.items()) + " }"
    return json.dumps(content)


def write_file(path: Path, content: Any, *, spacing: tuple[float, ...] = ()) -> None:
    """Text and bytes as they are, arrays as the image that the name says, datasets as HDF5, the rest as JSON.

    `spacing` is in array order, as the array is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif path.suffix == ".h5":
        with h5py.File(path, "w") as file:
            for name, values in content.items():
                file[name] = values
    elif isinstance(content, np.ndarray):
        image = SimpleITK.GetImageFromArray(content)
        image.SetSpacing(tuple(reversed(spacing or (1.0,) * content.ndim)))
        SimpleITK.WriteImage(image, str(path))
    elif isinstance(content, str) and path.suffix != ".json":
        path.write_text(content, encoding="utf-8")
    else:
        path.write_text(json.dumps(content), encoding="utf-8")


def write_challenge(
    folder: Path, toml: str, references: Files, *, head: str = HEAD, spacing: tuple[float, ...] = ()
) -> Path:
    """The ground truth of one challenge."""
    (folder / "references").mkdir(parents=True, exist_ok=True)
    (folder / "challenge.toml").write_text(head + toml, encoding="utf-8")
    for name, content in references.items():
        write_file(folder / "references" / name, content, spacing=spacing)
    return folder


def write_predictions(folder: Path, files: Files, *, spacing: tuple[float, ...] = ()) -> Path:
    """A submission of files."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        write_file(folder / name, content, spacing=spacing)
    return folder


def write_jobs(folder: Path, *, socket_in: str | Mapping[str, str], jobs: Mapping[str, Mapping[str, Any]]) -> Path:
    """A submission of jobs: by case, the output of every socket (an array is an image, the rest is JSON). The input may
    be another one for every case."""
    inputs = dict.fromkeys(jobs, socket_in) if isinstance(socket_in, str) else socket_in
    listed = []
    for number, (case, outputs) in enumerate(jobs.items()):
        written = []
        for slug, value in outputs.items():
            is_image = isinstance(value, np.ndarray)
            relative = f"images/{slug}" if is_image else f"{slug}.json"
            name = f"output/images/{slug}/out.mha" if is_image else f"output/{slug}.json"
            write_file(folder / f"job-{number}" / name, value)
            socket = {"slug": slug, "relative_path": relative, "kind": "Image" if is_image else "Anything"}
            written.append({"socket": socket, "image": {"name": "out.mha"} if is_image else None})
        listed.append(
            {
                "pk": f"job-{number}",
                "inputs": [{"socket": {"slug": inputs[case]}, "image": {"name": f"{case}.mha"}}],
                "outputs": written,
                "status": "Succeeded",
                "exec_duration": "PT10S",
                "invoke_duration": None,
            }
        )
    (folder / "predictions.json").write_text(json.dumps(listed))
    return folder


def score(
    tmp_path: Path,
    toml: str,
    references: Files,
    predictions: Files,
    *,
    head: str = HEAD,
    spacing: tuple[float, ...] = (),
    team: str = "team",
) -> dict[str, Any]:
    """metrics.json of one submission of files, its rows by case."""
    truth = write_challenge(tmp_path / "challenge", toml, references, head=head, spacing=spacing)
    submission = write_predictions(tmp_path / "submissions" / team, predictions, spacing=spacing)
    return evaluate(submission, truth, tmp_path / "teams" / team)


def errors(tmp_path: Path, toml: str, *, head: str = HEAD, references: Files | None = None) -> list[str]:
    """Every error that `podium check` finds."""
    folder = write_challenge(tmp_path / "challenge", toml, references or {}, head=head)
    found = check("challenge", folder, images=None, executor=Serial()).errors
    return [error for error in found if error != "The ground truth holds no reference."]
