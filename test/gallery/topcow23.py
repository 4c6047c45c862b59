"""TopCoW 2023, multi-class: Dice, centre-line Dice and errors in the number of components, read from its rules."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from skimage.morphology import skeletonize

from gallery.files import clear, means, write_expected, write_volume

Labels = NDArray[np.uint8]
Mask = NDArray[np.bool_]
CLASSES = {
    "ba": 1,
    "r_pca": 2,
    "l_pca": 3,
    "r_ica": 4,
    "r_mca": 5,
    "l_ica": 6,
    "l_mca": 7,
    "r_pcom": 8,
    "l_pcom": 9,
    "acom": 10,
    "r_aca": 11,
    "l_aca": 12,
    "third_a2": 15,
}
SPACING = (0.3, 0.3, 0.6)
CASES = ("topcow_mr_091", "topcow_mr_092", "topcow_ct_091")
# From one point (z, y, x) to another; the figure of a circle of Willis, drawn with straight vessels.
COURSES = {
    "ba": ((1, 30, 20), (8, 30, 20)),
    "r_pca": ((8, 30, 20), (8, 36, 6)),
    "l_pca": ((8, 30, 20), (8, 36, 34)),
    "r_ica": ((1, 16, 10), (8, 16, 10)),
    "l_ica": ((1, 16, 30), (8, 16, 30)),
    "r_mca": ((8, 16, 10), (10, 18, 2)),
    "l_mca": ((8, 16, 30), (10, 18, 38)),
    "r_pcom": ((8, 17, 10), (8, 32, 13)),
    "l_pcom": ((8, 17, 30), (8, 32, 27)),
    "r_aca": ((8, 16, 10), (9, 6, 18)),
    "l_aca": ((8, 16, 30), (9, 6, 22)),
    "acom": ((9, 7, 18), (9, 7, 22)),
    "third_a2": ((9, 7, 20), (10, 1, 20)),
}
THIN = ("r_pcom", "l_pcom", "acom", "third_a2")
ABSENT = {"topcow_mr_091": ("third_a2",), "topcow_mr_092": ("third_a2", "l_pcom", "acom"), "topcow_ct_091": ("r_pcom",)}


def circle(absent: tuple[str, ...], *, wider: float = 0.0, moved: int = 0) -> Labels:
    """Tubes along the courses; the last one drawn has a voxel that two would have."""
    labels = np.zeros((12, 40, 40), np.uint8)
    places = np.stack(np.indices(labels.shape), axis=-1).astype(float)
    for name, (start, end) in COURSES.items():
        if name in absent:
            continue
        first, last = np.array(start, float), np.array(end, float)
        along = np.clip(((places - first) @ (last - first)) / ((last - first) @ (last - first)), 0, 1)
        distance = np.linalg.norm(places - (first + along[..., None] * (last - first)), axis=-1)
        labels[distance <= (1.1 if name in THIN else 1.6) + wider] = CLASSES[name]
    return np.roll(labels, moved, axis=2)


def willow() -> dict[str, Labels]:
    """All cases; a little wide, one vessel broken in two, one invented."""
    found = {case: circle(ABSENT[case], wider=0.4) for case in CASES}
    found["topcow_mr_091"][:, 22:25, :20] = 0
    found["topcow_mr_092"] = circle(("third_a2", "l_pcom"), wider=0.4)
    return found


def poplar() -> dict[str, Labels]:
    """Displaced, with islands and sides that are swapped; one case is missing."""
    found = {case: circle((*ABSENT[case], "r_pcom"), moved=1) for case in CASES[:2]}
    first, second = found.values()
    first[2, 3:6, 3:6] = CLASSES["r_mca"]
    first[4, 3:6, 30:33] = CLASSES["r_mca"]
    second[second == CLASSES["l_aca"]] = CLASSES["r_aca"]
    return found


def centre_line_dice(prediction: Mask, reference: Mask) -> float:
    lines = skeletonize(prediction), skeletonize(reference)
    precision = (lines[0] & reference).sum() / lines[0].sum()
    sensitivity = (lines[1] & prediction).sum() / lines[1].sum()
    return float(2 * precision * sensitivity / (precision + sensitivity))


def components(mask: Mask) -> int:
    return int(ndimage.label(mask, np.ones((3, 3, 3)))[1])


def scores(case: str, prediction: Labels | None) -> dict[str, float | None]:
    """The figures of a case; None for a class that neither side has."""
    reference = circle(ABSENT[case])
    found: dict[str, float | None] = {}
    given = np.zeros_like(reference) if prediction is None else prediction
    for name, label in CLASSES.items():
        one, other = given == label, reference == label
        size = int(one.sum() + other.sum())
        found[f"dice.{name}"] = 2 * int((one & other).sum()) / size if size else None
        found[f"component_error.{name}"] = abs(components(one) - components(other)) if size else None
        if prediction is None:
            found[f"dice.{name}"] = 0.0
    for metric in ("dice", "component_error"):
        defined = [value for name in CLASSES if (value := found[f"{metric}.{name}"]) is not None]
        found[f"{metric}.mean"] = sum(defined) / len(defined)
    found["cldice.merged"] = 0.0 if prediction is None else centre_line_dice(prediction > 0, reference > 0)
    return found


def write_team(folder: Path, team: str, predictions: Mapping[str, Labels], *, position: int) -> None:
    for case, labels in predictions.items():
        write_volume(folder / "teams" / team / f"{case}.nii.gz", labels, spacing=SPACING)
    cases = {case: scores(case, predictions.get(case)) for case in CASES}
    lost = {case: "missing" for case in CASES if case not in predictions}
    write_expected(folder, team, position=position, lost=lost, aggregates=means(cases), cases=cases)


def write(folder: Path) -> None:
    clear(folder)
    for case in CASES:
        write_volume(folder / "references" / f"{case}.nii.gz", circle(ABSENT[case]), spacing=SPACING)
    write_team(folder, "willow", willow(), position=1)
    write_team(folder, "poplar", poplar(), position=2)
