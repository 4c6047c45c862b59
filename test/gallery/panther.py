"""PANTHER: a tumour in each volume, scored with DeepMind's surface-distance, which the organisers use."""

import math
from pathlib import Path

import numpy as np
import surface_distance
from numpy.typing import NDArray

from gallery.ellipsoids import ellipsoid
from gallery.files import clear, means, write_expected, write_volume

Mask = NDArray[np.bool_]
TOLERANCE_MM = 5.0
SHAPE = (12, 24, 28)
SPACINGS = {
    "10000_0001": (1.2, 1.2, 3.0),
    "10001_0001": (1.5, 1.5, 2.0),
    "10002_0001": (1.0, 1.0, 4.0),
}  # x, y, z in mm
CENTRES = {"10000_0001": (5, 11, 13), "10001_0001": (6, 9, 16), "10002_0001": (7, 14, 10)}
NOTHING, NO_FILE = "nothing", "no file"
TEAMS: dict[str, dict[str, object]] = {
    "acinus": {"10000_0001": (0, 1, 0), "10001_0001": (1, 0, -1), "10002_0001": (0, 0, 2)},
    "stroma": {"10000_0001": (1, 4, 5), "10001_0001": NOTHING, "10002_0001": NO_FILE},
}


def write(folder: Path) -> None:
    """References, teams and expected figures of the entry."""
    clear(folder)
    references = {case: ellipsoid(SHAPE, centre, (2.5, 5, 6)) for case, centre in CENTRES.items()}
    for case, reference in references.items():
        write_volume(folder / "references" / f"{case}.mha", reference.astype(np.uint8), spacing=SPACINGS[case])
    for position, (team, moves) in enumerate(TEAMS.items(), start=1):
        cases: dict[str, dict[str, float]] = {}
        differences_mm3: list[float] = []
        for case, reference in references.items():
            found = _predicted(case, moves[case])
            if found is not None:
                path = folder / "teams" / team / f"{case}.mha"
                write_volume(path, found.astype(np.uint8), spacing=SPACINGS[case])
            cases[case] = _figures(found, reference, SPACINGS[case][::-1])
            differences_mm3.append(_volume_difference(found, reference) * math.prod(SPACINGS[case]))
        rmse = float(np.sqrt(np.mean(np.square(differences_mm3))))
        lost = {case: "missing" for case, move in moves.items() if move == NO_FILE}
        write_expected(
            folder,
            team,
            position=position,
            aggregates={**means(cases), "volume_rmse_ml.tumor": rmse / 1000, "tumor_burden_rmse": rmse},
            cases=cases,
            lost=lost,
        )


def _predicted(case: str, move: object) -> Mask | None:
    """The reference, moved and a little smaller; or nothing."""
    if move == NO_FILE:
        return None
    if move == NOTHING:
        return np.zeros(SHAPE, dtype=np.bool_)
    assert isinstance(move, tuple)
    centre = [at + by for at, by in zip(CENTRES[case], move, strict=True)]
    return ellipsoid(SHAPE, centre, (2.5, 4.5, 5.5))


def _figures(found: Mask | None, reference: Mask, spacing_mm: tuple[float, ...]) -> dict[str, float]:
    if found is None or not found.any():
        diagonal = math.sqrt(sum((size * step) ** 2 for size, step in zip(SHAPE, spacing_mm, strict=True)))
        return {"dice.tumor": 0.0, "surface_dice.tumor": 0.0, "hd95.tumor": diagonal, "masd.tumor": diagonal}
    distances = surface_distance.compute_surface_distances(reference, found, spacing_mm)
    means = surface_distance.compute_average_surface_distance(distances)
    return {
        "dice.tumor": 2 * int((found & reference).sum()) / (int(found.sum()) + int(reference.sum())),
        "surface_dice.tumor": surface_distance.compute_surface_dice_at_tolerance(distances, TOLERANCE_MM),
        "hd95.tumor": surface_distance.compute_robust_hausdorff(distances, 95),
        "masd.tumor": (means[0] + means[1]) / 2,
    }


def _volume_difference(found: Mask | None, reference: Mask) -> int:
    """In voxels; a missing case has found nothing."""
    return abs((0 if found is None else int(found.sum())) - int(reference.sum()))
