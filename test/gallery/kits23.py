"""KiTS23: nested classes of kidneys, scored with DeepMind's surface-distance, which the organisers use."""

from pathlib import Path

import numpy as np
import surface_distance
from numpy.typing import NDArray

from gallery.ellipsoids import ellipsoid
from gallery.files import clear, means, write_expected, write_volume

SHAPE = (10, 26, 26)
SPACING = (0.8, 0.8, 2.5)  # x, y, z in mm
CLASSES = {"kidney_and_mass": (1, 2, 3), "mass": (2, 3), "tumor": (2,)}
TOLERANCES_MM = {"kidney_and_mass": 1.0330772532390826, "mass": 1.1328796488598762, "tumor": 1.1498198361434828}
HAS_CYST = {"case_00001": True, "case_00002": False, "case_00003": False}
HAS_TUMOR = {"case_00001": True, "case_00002": True, "case_00003": False}
MOVES = {"glomus": {"case_00001": 0, "case_00002": 1, "case_00003": 0}, "nephron": {"case_00001": 2, "case_00003": 3}}


def kidneys(case: str, move: int, *, is_sure: bool = True) -> NDArray[np.uint8]:
    """A kidney with a tumour and a cyst; who is not sure finds a tumour everywhere."""
    found = np.zeros(SHAPE, np.uint8)
    found[ellipsoid(SHAPE, (5, 12, 12 + move), (4, 9, 7))] = 1
    if HAS_CYST[case]:
        found[ellipsoid(SHAPE, (4, 8, 9), (2, 3, 2))] = 3
    if HAS_TUMOR[case] or not is_sure:
        found[ellipsoid(SHAPE, (5, 15, 13 + move), (2, 4, 3))] = 2
    return found


def figures(found: NDArray[np.uint8] | None, reference: NDArray[np.uint8]) -> dict[str, float]:
    row = {}
    for name, labels in CLASSES.items():
        one, other = np.isin(np.zeros(SHAPE) if found is None else found, labels), np.isin(reference, labels)
        dice = surface = 1.0 if not one.any() and not other.any() and found is not None else 0.0
        if one.any() and other.any():
            dice = 2 * int((one & other).sum()) / (int(one.sum()) + int(other.sum()))
            distances = surface_distance.compute_surface_distances(other, one, SPACING[::-1])
            surface = surface_distance.compute_surface_dice_at_tolerance(distances, TOLERANCES_MM[name])
        row |= {f"dice.{name}": dice, f"surface_dice.{name}": surface}
    for metric in ("dice", "surface_dice"):
        row[f"{metric}.mean"] = float(np.mean([row[f"{metric}.{name}"] for name in CLASSES]))
    return row


def write(folder: Path) -> None:
    clear(folder)
    for case in HAS_CYST:
        write_volume(folder / "references" / f"{case}.nii.gz", kidneys(case, 0), spacing=SPACING)
    for position, (team, moves) in enumerate(MOVES.items(), start=1):
        cases: dict[str, dict[str, float | None]] = {}
        for case in HAS_CYST:
            found = kidneys(case, moves[case], is_sure=team == "glomus") if case in moves else None
            if found is not None:
                write_volume(folder / "teams" / team / f"{case}.nii.gz", found, spacing=SPACING)
            cases[case] = {**figures(found, kidneys(case, 0))}
        lost = {case: "missing" for case in HAS_CYST if case not in moves}
        write_expected(folder, team, position=position, aggregates=means(cases), cases=cases, lost=lost)
