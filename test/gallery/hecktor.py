"""HECKTOR 2025, task 1: Dice of the primary tumour, aggregated Dice and F1 of lymph nodes, read from its rules."""

from collections.abc import Mapping
from itertools import permutations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from gallery.ellipsoids import ellipsoid
from gallery.files import clear, write_expected, write_volume

Labels = NDArray[np.uint8]
Mask = NDArray[np.bool_]
GTVP, GTVN = 1, 2
SHAPE = (14, 28, 28)
SPACING = {
    "CHUB-001": (1.0, 1.0, 2.0),
    "CHUB-002": (1.0, 1.0, 2.0),
    "MDA-003": (0.5, 0.5, 3.0),
    "USZ-004": (1.5, 1.5, 3.0),
}
LEAST_IOU = 0.3


def drawn(*balls: tuple[int, tuple[float, float, float], float]) -> Labels:
    labels = np.zeros(SHAPE, np.uint8)
    for value, centre, radius in balls:
        labels[ellipsoid(SHAPE, centre, (radius,) * 3)] = value
    return labels


REFERENCES = {
    "CHUB-001": drawn((GTVP, (6, 8, 8), 4), (GTVN, (7, 20, 20), 3), (GTVN, (3, 20, 8), 2)),
    "CHUB-002": drawn((GTVP, (6, 10, 14), 3)),  # no nodes
    "MDA-003": drawn((GTVN, (6, 8, 8), 3.5), (GTVN, (8, 20, 12), 2.5)),  # no primary tumour
    "USZ-004": drawn((GTVP, (7, 9, 9), 5), (GTVN, (7, 21, 21), 4)),
}
PINE = {
    "CHUB-001": drawn((GTVP, (6, 8, 9), 4), (GTVN, (7, 20, 21), 3), (GTVN, (3, 18, 6), 2)),  # the small node is missed
    "CHUB-002": drawn((GTVP, (6, 10, 14), 2.5)),
    "MDA-003": drawn((GTVN, (6, 8, 8), 3), (GTVN, (8, 20, 12), 2.5), (GTVN, (10, 24, 24), 1.5)),
    "USZ-004": drawn((GTVP, (7, 9, 9), 4.5), (GTVN, (7, 21, 20), 4)),
}
FIR = {
    "CHUB-001": drawn((GTVP, (6, 9, 10), 4), (GTVN, (7, 20, 20), 2)),
    "CHUB-002": drawn((GTVP, (6, 12, 14), 3), (GTVN, (4, 22, 4), 2)),
    "MDA-003": drawn((GTVP, (6, 8, 8), 3.5), (GTVN, (8, 20, 12), 2)),
    "USZ-004": np.repeat(REFERENCES["USZ-004"], 2, axis=0),  # another resolution: the rules do not resample it
}


def dice(prediction: Mask, reference: Mask) -> float:
    size = int(prediction.sum() + reference.sum())
    return 2 * int((prediction & reference).sum()) / size if size else 1.0


def detections(prediction: Mask, reference: Mask) -> tuple[int, int, int]:
    """True positives, false positives and false negatives of the pairing with the largest sum of overlaps."""
    found, components = ndimage.label(prediction, np.ones((3, 3, 3)))
    expected, lesions = ndimage.label(reference, np.ones((3, 3, 3)))

    def overlap(lesion: int, component: int) -> float:
        one, other = expected == lesion, found == component
        iou = float((one & other).sum() / (one | other).sum()) if component else 0.0
        return iou if iou > LEAST_IOU else 0.0

    ways = set(permutations([*range(1, components + 1), *[0] * lesions], lesions))
    scored = [[overlap(lesion, component) for lesion, component in enumerate(way, start=1)] for way in ways]
    hits = sum(value > 0 for value in max(scored, key=sum))
    return hits, components - hits, lesions - hits


def write_team(folder: Path, team: str, predictions: Mapping[str, Labels], *, position: int) -> None:
    primary, sizes, counts, lost = [], np.zeros(2), np.zeros(3), {}
    cases: dict[str, dict[str, float | None]] = {}
    for case, reference in REFERENCES.items():
        write_volume(folder / "teams" / team / f"{case}.nii.gz", predictions[case], spacing=SPACING[case])
        prediction = predictions[case]
        if prediction.shape != SHAPE:
            lost[case] = "failed"
            prediction = np.zeros(SHAPE, np.uint8)
        primary.append(dice(prediction == GTVP, reference == GTVP) if case not in lost else 0.0)
        cases[case] = {"dice.gtvp": primary[-1]}
        nodes = prediction == GTVN, reference == GTVN
        voxel_mm3 = np.prod(SPACING[case])
        sizes += voxel_mm3 * np.array([2 * (nodes[0] & nodes[1]).sum(), nodes[0].sum() + nodes[1].sum()])
        counts += detections(*nodes)
    tp, fp, fn = counts
    aggregates: dict[str, float | None] = {
        "dice.gtvp.mean": float(np.mean(primary)),
        "dice_agg.gtvn": sizes[0] / sizes[1],
        "nodes.gtvn.tp": tp,
        "nodes.gtvn.fp": fp,
        "nodes.gtvn.fn": fn,
        "nodes.gtvn.f1": 2 * tp / (2 * tp + fp + fn),
    }
    write_expected(folder, team, position=position, lost=lost, aggregates=aggregates, cases=cases)


def write(folder: Path) -> None:
    clear(folder)
    for case, labels in REFERENCES.items():
        write_volume(folder / "references" / f"{case}.nii.gz", labels, spacing=SPACING[case])
    write_team(folder, "pine", PINE, position=1)
    write_team(folder, "fir", FIR, position=2)
