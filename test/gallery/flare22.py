"""FLARE 2022: Dice and normalised surface Dice of 13 organs, with DeepMind's surface-distance as in its own code."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import surface_distance
from numpy.typing import NDArray

from gallery.ellipsoids import ellipsoid
from gallery.files import clear, means, write_expected, write_volume

Labels = NDArray[np.uint8]
TOLERANCES_MM = {  # in the order of the labels 1 to 13
    "liver": 5,
    "right_kidney": 3,
    "spleen": 3,
    "pancreas": 5,
    "aorta": 2,
    "inferior_vena_cava": 2,
    "right_adrenal_gland": 2,
    "left_adrenal_gland": 2,
    "gallbladder": 2,
    "oesophagus": 3,
    "stomach": 5,
    "duodenum": 7,
    "left_kidney": 3,
}
SMALLEST_DICE = 0.2  # below, the evaluation code sets the NSD of an organ to 0
ORGANS = {name: label for label, name in enumerate(TOLERANCES_MM, start=1)}
SPACINGS = {"FLARETs_0001": (1.5, 1.5, 2.5), "FLARETs_0002": (0.8, 0.8, 5.0), "FLARETs_0003": (2.0, 2.0, 2.0)}
SHAPE = (12, 40, 40)  # z, y, x


def phantom(seed: int) -> Labels:
    """Ellipsoids on a grid, each with a size of its own."""
    rng = np.random.default_rng(seed)
    labels = np.zeros(SHAPE, np.uint8)
    for number, label in enumerate(ORGANS.values()):
        centre = (5.5 + rng.integers(-1, 2), 5 + 10 * (number // 4), 5 + 10 * (number % 4))
        labels[ellipsoid(SHAPE, centre, (rng.uniform(2, 4), rng.uniform(2.5, 4.5), rng.uniform(2.5, 4.5)))] = label
    return labels


def references() -> dict[str, Labels]:
    found = {case: phantom(seed) for seed, case in enumerate(SPACINGS)}
    found["FLARETs_0002"][found["FLARETs_0002"] == ORGANS["gallbladder"]] = 0  # removed, as in some patients
    return found


def cedar() -> dict[str, Labels]:
    """Every case, most organs a little displaced."""
    found = {}
    for number, (case, labels) in enumerate(references().items()):
        moved = np.roll(labels, 1, axis=2 if number % 2 else 1)
        keep = np.isin(labels, [ORGANS["liver"], ORGANS["aorta"], ORGANS["spleen"]])
        found[case] = np.where(keep, labels, np.where(np.isin(moved, labels[keep]), 0, moved))
    return found


def birch() -> dict[str, Labels]:
    """Two cases; organs that are missing, invented, or swapped."""
    found = {case: np.roll(labels, (1, 2), axis=(0, 1)) for case, labels in references().items()}
    del found["FLARETs_0003"]
    first, second = found["FLARETs_0001"], found["FLARETs_0002"]
    first[first == ORGANS["pancreas"]] = 0
    first[first == ORGANS["right_kidney"]] = ORGANS["left_kidney"]
    far = np.roll(first == ORGANS["spleen"], 4, axis=1)  # hardly touches the reference: below the smallest Dice
    first[first == ORGANS["spleen"]] = 0
    first[far] = ORGANS["spleen"]
    second[ellipsoid(SHAPE, (6, 5, 5), (2, 2, 2))] = ORGANS["gallbladder"]
    return found


def scores(case: str, prediction: Labels | None) -> dict[str, float]:
    """The figures of a case; `None` where there is no prediction."""
    reference, (x, y, z) = references()[case], SPACINGS[case]
    found: dict[str, float] = {}
    for organ, label in ORGANS.items():
        dice = nsd = 0.0
        if prediction is not None:
            masks = prediction == label, reference == label
            sizes = [int(mask.sum()) for mask in masks]
            if sum(sizes) == 0:
                dice = nsd = 1.0
            elif all(sizes):
                dice = 2 * int((masks[0] & masks[1]).sum()) / sum(sizes)
                if dice >= SMALLEST_DICE:
                    nsd = normalised_surface_dice(masks[1], masks[0], (z, y, x), TOLERANCES_MM[organ])
        found |= {f"dice.{organ}": dice, f"nsd.{organ}": nsd}
    for metric in ("dice", "nsd"):
        found[f"{metric}.mean"] = float(np.mean([found[f"{metric}.{organ}"] for organ in ORGANS]))
    return found


def normalised_surface_dice(
    reference: NDArray[Any], prediction: NDArray[Any], spacing: tuple[float, ...], tolerance_mm: float
) -> float:
    distances = surface_distance.compute_surface_distances(reference, prediction, spacing)
    return float(surface_distance.compute_surface_dice_at_tolerance(distances, tolerance_mm))


def write_team(folder: Path, team: str, predictions: Mapping[str, Labels], *, position: int) -> None:
    for case, labels in predictions.items():
        write_volume(folder / "teams" / team / f"{case}.nii.gz", labels, spacing=SPACINGS[case])
    cases = {case: scores(case, predictions.get(case)) for case in SPACINGS}
    lost = {case: "missing" for case in SPACINGS if case not in predictions}
    write_expected(folder, team, position=position, lost=lost, aggregates=means(cases), cases=cases)


def write(folder: Path) -> None:
    clear(folder)
    for case, labels in references().items():
        write_volume(folder / "references" / f"{case}.nii.gz", labels, spacing=SPACINGS[case])
    write_team(folder, "cedar", cedar(), position=1)
    write_team(folder, "birch", birch(), position=2)
