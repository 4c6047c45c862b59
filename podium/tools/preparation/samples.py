"""Submissions made from the references: perfect, noisy and broken ones, as files and as jobs of an algorithm.

Noisy ones have the damaged predictions with which `podium check` plays the ranking rule: in a third of the cases, in
two thirds and in all. Broken ones have one fault each, in the first case.
"""

import csv
import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from podium.challenges.samples import CaseImage, CaseSamples, Part, Socket
from podium.errors import GroundTruthError, UsageError
from podium.evaluation import Task
from podium.execution.executor import Executor
from podium.packages import SimpleITK as sitk
from podium.packages import h5py
from podium.platform.jobs import PREDICTIONS_FILE, RUNTIME_FILE, TIMING_FILE

LEVELS = 3
_SECONDS = 0.001  # of every case: faster than any limit

_Rows = dict[str, list[Mapping[str, Any]]]  # of one case, by table
_Jobs = list[Mapping[str, Any]]


def write_samples(task: Task, output: Path, executor: Executor) -> Sequence[str]:
    """Write all samples below `output`; returns their folders, such as `files/perfect`."""
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise UsageError(f"{output} is not an empty folder; name another one with --output.")
    challenge, taken = task.challenge, task.folder.common.submission
    first = challenge.samples(task.cases[0], task.expected(task.cases[0]))
    shapes = [
        shape
        for shape, is_there in {
            "files": taken != "algorithm" and any(part.file or part.table for part in first.answers[0]),
            "algorithm": taken != "predictions" and any(part.socket for part in first.answers[0]),
        }.items()
        if is_there
    ]

    def write(case: str) -> Mapping[str, tuple[_Rows, _Jobs]]:
        """Write the case's own files; what it adds to the tables and to the jobs of every sample."""
        expected = task.expected(case)
        samples = challenge.samples(case, expected)
        renamed = challenge.samples(f"{case}_copy", expected).answers[0]
        found: dict[str, tuple[_Rows, _Jobs]] = {}
        for name, chosen in _plan(task.cases.index(case), samples, renamed, [*first.broken]):
            for shape in shapes:
                folder = output / shape / name
                folder.mkdir(parents=True, exist_ok=True)
                if shape == "files":
                    _write_files(folder, chosen)
                    found[f"{shape}/{name}"] = _rows_by_table(chosen), []
                else:
                    named = f"{case}_copy" if chosen is renamed else case
                    found[f"{shape}/{name}"] = {}, list(_write_jobs(folder, named, chosen, challenge.sockets()))
        return found

    outcomes = executor.run(task.cases, write, label="writing samples")
    for case, outcome in outcomes.items():
        if outcome.value is None:
            raise GroundTruthError("No sample can be made of a reference.", detail=f"{case}: {outcome.error}")
    made = [outcome.value for outcome in outcomes.values() if outcome.value is not None]
    for sample in made[0]:
        _write_tables(output / sample, [each[sample][0] for each in made])
        if sample.startswith("algorithm"):
            jobs = [job for each in made for job in each[sample][1]]
            _write_json(output / sample / PREDICTIONS_FILE, jobs)
        elif TIMING_FILE in challenge.layout.beside:
            _write_json(output / sample / TIMING_FILE, {"total_seconds": _SECONDS * len(task.cases)})
        elif RUNTIME_FILE in challenge.layout.beside:
            _write_json(output / sample / RUNTIME_FILE, dict.fromkeys(task.cases, _SECONDS))
    return list(made[0])


def _plan(
    number: int, samples: CaseSamples, renamed: Sequence[Part], faults: Sequence[str]
) -> Iterator[tuple[str, Sequence[Part]]]:
    """For every sample, the prediction that it has of the case with this number."""
    right, *damaged = samples.answers
    yield "perfect", right
    for level in range(1, LEVELS + 1):
        is_damaged = number % LEVELS < level and damaged
        yield f"noisy-{level}", damaged[number // LEVELS % len(damaged)] if is_damaged else right
    for fault in faults:
        yield f"broken-{fault}", samples.broken.get(fault, right) if number == 0 else right
    yield "broken-missing", [] if number == 0 else right
    yield "broken-misnamed", renamed if number == 0 else right


def _rows_by_table(parts: Sequence[Part]) -> _Rows:
    """The rows of a case in every table: values that share one share its row."""
    found: _Rows = {}
    for part in parts:
        if part.table is not None:
            before, empty = found.get(part.table, []), dict[str, Any]()
            found[part.table] = [{**one, **other} for one, other in zip_longest(before, part.rows, fillvalue=empty)]
    return found


def _write_files(folder: Path, parts: Sequence[Part]) -> None:
    for name in dict.fromkeys(part.file for part in parts if part.file is not None):
        path, together = folder / name, [part for part in parts if part.file == name]
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith((".h5", ".hdf5")):
            with h5py.File(path, "w") as file:
                for part in together:
                    is_image = isinstance(part.content, CaseImage)
                    file[part.dataset] = part.content.pixels if is_image else part.content
        elif name.endswith((".csv", ".tsv")):
            _write_table(path, together[0].rows)
        elif name.endswith(".txt") and isinstance(together[0].content, str):
            path.write_text(together[0].content, encoding="utf-8")
        else:
            _write(path, together)


def _write(path: Path, parts: Sequence[Part]) -> None:
    """An image, arrays, or JSON that may have several values at their pointers."""
    content = parts[0].content
    if isinstance(content, CaseImage):
        _write_image(path, content)
    elif isinstance(content, dict) and any(isinstance(each, np.ndarray) for each in content.values()):
        with path.open("wb") as file:
            np.savez(file, **content)
    else:
        _write_json(path, _at_pointers(parts))


def _write_image(path: Path, image: CaseImage) -> None:
    pixels = image.pixels.view(np.uint8) if image.pixels.dtype == np.bool_ else image.pixels
    if pixels.dtype.kind == "u" and pixels.size:
        pixels = pixels.astype(np.min_scalar_type(int(pixels.max())))
    made, geometry = sitk.GetImageFromArray(pixels), image.geometry
    if geometry is not None:
        made.SetSpacing(geometry.spacing)
    if geometry is not None and geometry.direction:  # a picture has a spacing alone
        made.SetOrigin(geometry.origin)
        made.SetDirection(geometry.direction)
    path.parent.mkdir(parents=True, exist_ok=True)
    sitk.WriteImage(made, str(path), True)


def _at_pointers(parts: Sequence[Part]) -> Any:
    whole: dict[str, Any] = {"": {}}
    for part in parts:
        keys = part.pointer.split("/")
        at = whole
        for key in keys[:-1]:
            at = at.setdefault(key, {})
        at[keys[-1]] = part.content
    return whole[""]


def _write_jobs(
    folder: Path, case: str, parts: Sequence[Part], sockets: Sequence[Socket]
) -> Iterator[Mapping[str, Any]]:
    """The jobs of a case as predictions.json has them; their files are written."""
    parts = [part for part in parts if part.socket is not None]
    named = next(socket for socket in sockets if socket.is_input)
    kinds = {socket.slug: socket for socket in sockets}
    for inputs in {json.dumps(part.inputs): part.inputs for part in parts}.values():
        pk = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{folder.name}/{case}/{json.dumps(inputs)}"))
        entries = []
        for socket in dict.fromkeys(part.socket for part in parts if part.socket is not None):
            together = [part for part in parts if part.socket == socket and part.inputs == inputs]
            path = folder / pk / "output" / socket.relative_path
            if socket.super_kind == "Value":
                entries.append(_entry(socket, value=_at_pointers(together)))
            elif socket.super_kind == "Image":
                _write(path / f"{pk}.mha", together)
                entries.append(_entry(socket, image={"pk": pk, "name": f"{pk}.mha"}))
            else:
                path.parent.mkdir(parents=True)
                _write(path, together)
                entries.append(_entry(socket, file=f"https://grand-challenge.org/media/{socket.relative_path}"))
        yield {
            "pk": pk,
            "status": "Succeeded",
            "inputs": [
                _entry(named, image={"pk": pk, "name": f"{case}.mha"}),
                *(_entry(kinds[slug], value=value) for slug, value in inputs.items()),
            ],
            "outputs": entries,
            "exec_duration": f"PT{_SECONDS}S",
            "invoke_duration": None,
        }


def _entry(socket: Socket, **content: Any) -> Mapping[str, Any]:
    about = {name: getattr(socket, name) for name in ("slug", "kind", "super_kind", "relative_path")}
    return {"interface": about, "value": None, "file": None, "image": None, **content}


def _write_tables(folder: Path, cases: Sequence[_Rows]) -> None:
    for table in dict.fromkeys(name for each in cases for name in each):
        rows = [row for each in cases for row in each.get(table, ())]
        (_write_json if table.endswith(".json") else _write_table)(folder / table, rows)


def _write_json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, indent=1), encoding="utf-8")


def _write_table(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        names = dict.fromkeys(name for row in rows for name in row)
        writer = csv.DictWriter(file, names, delimiter="\t" if path.suffix == ".tsv" else ",")
        writer.writeheader()
        writer.writerows(rows)
