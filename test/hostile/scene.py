"""The challenge that is attacked: every case has an image, an HDF5 dataset, points and a number in a table."""

import csv
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from challenges.declared.declaring import write_file
from readers.made import mha

HONEST = "honest"
SHAPE = (4, 6)
HIDDEN = np.array([[1, 0, 0, 1, 0, 1], [0, 1, 0, 0, 0, 0], [0, 0, 0, 0, 1, 0], [1, 0, 0, 0, 0, 0]], np.uint8)
POINTS = [{"point": [1, 2, 3], "probability": 0.5}]
NUMBER = 271.828
TABLE = "numbers.csv"
CHALLENGE = """
kind = "declared"
engine = "native"
title = "Attacked"
version = "1"
per_case = "full"
submission = "%s"

[cases]
input = "scan"

[values.image]
kind = "labels"
socket = "mask"
file = ["{case}.mha", "{case}.nii", "{case}.nii.gz", "{case}.png", "{case}.tif"]
reference = "{case}.mha"
labels = { lesion = 1 }
geometry = "ignore"

[values.array]
kind = "labels"
file = "{case}.h5"
reference = "{case}_array.h5"
dataset = "mask"
labels = { lesion = 1 }

[values.points]
kind = "points"
file = "{case}.json"
reference = "{case}_points.json"
unit = "mm"

[values.number]
kind = "number"
table = "numbers.csv"
column = "value"
reference_table = "numbers.csv"

[[metrics]]
kind = "dice"
of = ["image", "array"]

[[metrics]]
kind = "f1"
of = "points"
radius_mm = 1.0

[[metrics]]
kind = "mae"
failed = 1000
of = "number"

[ranking]
by = "dice.image_lesion.mean"
"""
OF_JOBS = CHALLENGE[: CHALLENGE.index("[values.array]")] + '[[metrics]]\nkind = "dice"\n\n[ranking]\nby = "dice.mean"\n'


def points(entries: Sequence[Any] = POINTS) -> dict[str, Any]:
    return {"type": "Multiple points", "points": list(entries), "version": {"major": 1, "minor": 0}}


def write_ground_truth(
    folder: Path, cases: Iterable[str], *, toml: str = CHALLENGE, shape: str = "predictions"
) -> Path:
    references = folder / "references"
    references.mkdir(parents=True)
    (folder / "challenge.toml").write_text(toml % shape)
    for case in cases:
        (references / f"{case}.mha").write_bytes(mha(pixels=HIDDEN.tobytes()))
        if toml is CHALLENGE:
            write_file(references / f"{case}_array.h5", {"mask": HIDDEN})
            write_file(references / f"{case}_points.json", points())
    if toml is CHALLENGE:
        (references / TABLE).write_bytes(table({case: [NUMBER] for case in cases}))
    return folder


def write_honest(folder: Path, cases: Iterable[str]) -> Path:
    """A perfect prediction of every case, the table aside."""
    folder.mkdir(parents=True, exist_ok=True)
    for case in cases:
        (folder / f"{case}.mha").write_bytes(mha(pixels=HIDDEN.tobytes()))
        with h5py.File(folder / f"{case}.h5", "w") as file:
            file["mask"] = HIDDEN
        (folder / f"{case}.json").write_text(json.dumps(points()))
    return folder


def table(cells: dict[str, list[Any]]) -> bytes:
    """A row for every value of a case."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["case", "value"])
    rows.writerows([case, value] for case, values in cells.items() for value in values)
    return text.getvalue().encode()
