"""Writers of the gallery's small files. Their output depends on the content alone."""

import csv
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import SimpleITK
from numpy.typing import NDArray
from samples.same_bytes import write_json

Row = Mapping[str, Any]
PARTS = ("references", "teams", "expected")


def clear(folder: Path) -> None:
    """Remove what a generator writes; challenge.toml is written by hand and stays."""
    for part in PARTS:
        shutil.rmtree(folder / part, ignore_errors=True)


def write_volume(path: Path, values: NDArray[Any], *, spacing: Sequence[float] = (1.0, 1.0, 1.0)) -> None:
    """An array in the order z, y, x with the spacing of x, y, z in mm; the format follows the extension."""
    path.parent.mkdir(parents=True, exist_ok=True)
    image = SimpleITK.GetImageFromArray(values)
    image.SetSpacing([float(step) for step in spacing])
    SimpleITK.WriteImage(image, str(path), useCompression=True, compressionLevel=9)


def write_table(path: Path, rows: Sequence[Row]) -> None:
    """A CSV table; the first row's keys are the columns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def means(cases: Mapping[str, Mapping[str, float | None]]) -> dict[str, float | None]:
    """The mean of every figure over the cases that have a value, by its path in the aggregates."""
    found: dict[str, float | None] = {}
    for figure in next(iter(cases.values())):
        defined = [value for row in cases.values() if (value := row[figure]) is not None]
        found[figure.removesuffix(".mean") + ".mean"] = float(np.mean(defined)) if defined else None
    return found


def write_expected(
    folder: Path,
    team: str,
    *,
    position: int,
    aggregates: Mapping[str, float | None],
    cases: Mapping[str, Mapping[str, float | None]] | None = None,
    lost: Mapping[str, str] | None = None,
) -> None:
    """What a team must score.

    position    in the ranking of the entry's teams
    aggregates  figures of all cases by their dotted path in metrics.json
    cases       figures of single cases, the same way
    lost        the cases without a usable prediction: "missing", "failed" or "partial"
    """
    content = {
        "position": position,
        "lost": dict(lost or {}),
        "aggregates": {path: _number(value) for path, value in aggregates.items()},
        "cases": {
            case: {path: _number(value) for path, value in figures.items()} for case, figures in (cases or {}).items()
        },
    }
    write_json(folder / "expected" / f"{team}.json", content)


def _number(value: float | None) -> float | None:
    return None if value is None else float(np.float64(value))
