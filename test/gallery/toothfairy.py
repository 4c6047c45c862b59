"""ToothFairy2: a few structures of 42 in each volume; Dice, and HD95 as MedPy has it, read literally with SciPy."""

import math
import tomllib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import binary_erosion, distance_transform_edt, generate_binary_structure

from gallery.ellipsoids import ellipsoid
from gallery.files import clear, means, write_expected, write_volume

Labels = NDArray[np.uint8]
Mask = NDArray[np.bool_]
ENTRY = Path(__file__).resolve().parents[2] / "gallery/toothfairy"
SHAPE = (14, 22, 24)
VOXEL_MM = 0.3
CASES = ("ToothFairy2F_101", "ToothFairy2P_202", "ToothFairy2P_203")
LOST = {"bicuspid": {}, "plaque": {"ToothFairy2P_202": "failed", "ToothFairy2P_203": "missing"}}
SHIFT = {"bicuspid": 0, "plaque": 1}
SHOWN = ("lower_jawbone", "tooth_11", "tooth_46", "left_alveolar_canal", "implant")


def write(folder: Path) -> None:
    """References, teams and expected figures of the entry."""
    clear(folder)
    classes = _classes()
    references = {case: _jaw(number) for number, case in enumerate(CASES)}
    for case, reference in references.items():
        write_volume(folder / "references" / f"{case}.mha", reference, spacing=(VOXEL_MM,) * 3)
    for position, (team, lost) in enumerate(LOST.items(), start=1):
        rows: dict[str, dict[str, float]] = {}
        for case, reference in references.items():
            found = _predicted(reference, SHIFT[team])
            if lost.get(case) == "failed":
                found[0, 0, 0] = 99  # no class of the challenge
            if lost.get(case) != "missing":
                write_volume(folder / "teams" / team / f"{case}.mha", found, spacing=(VOXEL_MM,) * 3)
            rows[case] = _figures(None if case in lost else found, reference, classes)
        paths = [f"{name}.{region}" for name in ("dice", "hd95") for region in SHOWN]
        cases = {case: {path: row[path] for path in (*paths, "dice.mean", "hd95.mean")} for case, row in rows.items()}
        in_voxels = float(np.mean([row["hd95.mean"] for row in rows.values()])) / VOXEL_MM
        aggregates = {**means(cases), "hd95_voxels": in_voxels}
        write_expected(folder, team, position=position, aggregates=aggregates, cases=cases, lost=lost)


def _classes() -> Mapping[str, int]:
    content = tomllib.loads((ENTRY / "challenge.toml").read_text(encoding="utf-8"))
    classes: Mapping[str, int] = content["values"]["jaws"]["labels"]
    assert len(classes) == 42
    return classes


def _jaw(number: int) -> Labels:
    """Two jawbones, a canal in the lower one, three teeth; an implant in the last volume only."""
    labels = np.zeros(SHAPE, dtype=np.uint8)
    labels[ellipsoid(SHAPE, (3, 11, 12), (2.5, 8, 9))] = 1
    labels[ellipsoid(SHAPE, (11, 11, 12), (2, 7, 9 - number))] = 2
    labels[3, 8:14, 6:8] = 3
    labels[ellipsoid(SHAPE, (6.5, 7, 8 + number), (1.5, 2, 2))] = 46
    labels[ellipsoid(SHAPE, (8, 7, 15), (1.5, 2, 2))] = 11
    labels[ellipsoid(SHAPE, (8, 14, 15), (1.5, 2, 2))] = 10 if number == len(CASES) - 1 else 12
    return labels


def _predicted(reference: Labels, shift: int) -> Labels:
    """The reference moved to the right, without the front of the lower jaw: far from it are few voxels of the one
    border and none of the other. The worse team takes the tooth 11 for its neighbour 21."""
    found = np.roll(reference, shift + 1, axis=2)
    found[:, :8][found[:, :8] == 1] = 0
    if shift:
        found[found == 11] = 21
    return found


def _figures(found: Labels | None, reference: Labels, classes: Mapping[str, int]) -> dict[str, float]:
    row: dict[str, float] = {}
    for name, value in classes.items():
        mask = reference == value
        row[f"dice.{name}"] = 0.0 if found is None else _dice(found == value, mask)
        row[f"hd95.{name}"] = _diagonal_mm() if found is None else _hd95_mm(found == value, mask)
    for metric in ("dice", "hd95"):
        figures = [row[f"{metric}.{name}"] for name in classes]
        row[f"{metric}.mean"] = float(np.mean(figures))
    return row


def _dice(found: Mask, reference: Mask) -> float:
    total = int(found.sum()) + int(reference.sum())
    return 1.0 if total == 0 else 2 * int((found & reference).sum()) / total


def _hd95_mm(found: Mask, reference: Mask) -> float:
    if not found.any() and not reference.any():
        return 0.0
    if not found.any() or not reference.any():
        return _diagonal_mm()
    distances = np.concatenate([_distances(found, reference), _distances(reference, found)])
    return float(np.percentile(distances, 95)) * VOXEL_MM


def _distances(mask: Mask, other: Mask) -> NDArray[np.float64]:
    """Of every voxel of the one border to the nearest of the other, in voxels."""
    faces = generate_binary_structure(3, 1)
    border, others = (each & ~binary_erosion(each, faces) for each in (mask, other))
    return np.asarray(distance_transform_edt(~others)[border])


def _diagonal_mm() -> float:
    return math.sqrt(sum(size**2 for size in SHAPE)) * VOXEL_MM
