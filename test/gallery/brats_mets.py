"""BraTS-METS 2023: lesion-wise Dice and HD95, read from its rules; distances by DeepMind's surface-distance."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import surface_distance
from numpy.typing import NDArray
from scipy import ndimage

from gallery.files import clear, means, write_expected, write_volume

Labels = NDArray[np.uint8]
Mask = NDArray[np.bool_]
CORE, OEDEMA, ENHANCING = 1, 2, 3
REGIONS = {"wt": (CORE, OEDEMA, ENHANCING), "tc": (CORE, ENHANCING), "et": (ENHANCING,)}
SHAPE = (16, 24, 24)
MISS_MM = 374.0
SMALLEST_MM3 = 2
CONNECTED = np.ones((3, 3, 3))  # 26 neighbours
GROWTH = ndimage.generate_binary_structure(3, 2)  # 18 neighbours


def references() -> dict[str, Labels]:
    found = {f"BraTS-MET-{number:05}-000": np.zeros(SHAPE, np.uint8) for number in (11, 27, 30, 41)}
    large, close, small, _ = found.values()
    large[2:10, 2:10, 2:10] = OEDEMA  # one lesion of three tissues,
    large[3:8, 3:8, 3:8] = ENHANCING
    large[5, 5, 5] = CORE
    large[10:13, 16:20, 15:20] = ENHANCING  # and one without oedema
    close[3:6, 3:6, 3:6] = ENHANCING  # two voxels apart: one lesion once grown
    close[3:6, 3:6, 8:10] = ENHANCING
    close[3:6, 3:6, 13:15] = ENHANCING  # three voxels apart: another lesion
    close[10:13, 14:18, 14:18] = OEDEMA
    small[8, 8, 8:10] = ENHANCING  # 2 mm3: does not count
    return found  # the last one has no lesion


def ash() -> dict[str, Labels]:
    """Every case; a component that only touches a grown lesion, and a split one."""
    found = references()
    large, close, small, _ = found.values()
    large[2] = 0
    large[6, 4:6, 4:6] = CORE
    large[11, 16:20, 15:20] = 0
    close[3:6, 3:6, 3:10] = 0
    close[3:5, 3:6, 3:5] = ENHANCING
    close[6, 4:6, 7:10] = ENHANCING
    small[8:11, 8, 8] = ENHANCING
    return found


def elm() -> dict[str, Labels]:
    """False positives, a lesion that is missed, one case cut short."""
    found = references()
    large, close, small, none = found.values()
    large[10:13, 16:20, 15:20] = 0
    large[12:14, 2:4, 18:22] = ENHANCING
    found["BraTS-MET-00011-000"] = np.roll(large, 2, axis=2)
    close[10:13, 14:18, 14:18] = CORE
    small[8, 8, 8:10] = 0
    none[4, 4, 4] = ENHANCING
    found["BraTS-MET-00027-000"] = close[:, :-2]
    return found


def grown(mask: Mask) -> Mask:
    return np.asarray(ndimage.binary_dilation(mask, GROWTH))


def region_scores(prediction: Mask, reference: Mask) -> dict[str, float]:
    """The figures of one region: lesion-wise Dice and HD95 in mm, and counts; voxels have 1 mm3."""
    extents, lesions = ndimage.label(grown(reference), CONNECTED)
    components, count = ndimage.label(prediction, CONNECTED)
    touched: set[int] = set()
    dices, distances = [], []
    for number in range(1, lesions + 1):
        lesion = reference & (extents == number)
        touching = set(np.unique(components[grown(lesion)]).tolist()) - {0}
        touched |= touching
        if lesion.sum() <= SMALLEST_MM3:
            continue
        found = np.isin(components, list(touching))
        dices.append(2 * int((found & lesion).sum()) / int(found.sum() + lesion.sum()))
        distances.append(hd95(found, lesion) if touching else MISS_MM)
    false_positives = count - len(touched)
    total = len(dices) + false_positives
    return {
        "dice": sum(dices) / total if total else 1.0,
        "hd95": (sum(distances) + false_positives * MISS_MM) / total if total else 0.0,
        "tp": sum(distance < MISS_MM for distance in distances),
        "fp": false_positives,
        "fn": sum(distance == MISS_MM for distance in distances),
    }


def hd95(prediction: Mask, reference: Mask) -> float:
    found = surface_distance.compute_surface_distances(reference, prediction, (1.0, 1.0, 1.0))
    return float(surface_distance.compute_robust_hausdorff(found, 95))


def scores(case: str, prediction: Labels) -> dict[str, float]:
    """The figures of a case, the worst ones where the prediction is of another size."""
    reference = references()[case]
    found: dict[str, float] = {}
    for region, values in REGIONS.items():
        expected = np.isin(reference, values)
        usable = prediction.shape == reference.shape
        figures = region_scores(np.isin(prediction, values) if usable else np.zeros_like(expected), expected)
        if not usable:
            figures |= {"dice": 0.0, "hd95": MISS_MM}
        found |= {
            f"lesionwise.{region}.lesion_dice": figures["dice"],
            f"lesionwise_distance.{region}.lesion_hd95": figures["hd95"],
            **{f"lesionwise.{region}.{count}": figures[count] for count in ("tp", "fp", "fn")},
        }
    return found


def write_team(folder: Path, team: str, predictions: Mapping[str, Labels], **expected: Any) -> None:
    for case, labels in predictions.items():
        write_volume(folder / "teams" / team / f"{case}.nii.gz", labels)
    cases = {case: scores(case, labels) for case, labels in predictions.items()}
    write_expected(folder, team, aggregates=means(cases), cases=cases, **expected)


def write(folder: Path) -> None:
    clear(folder)
    for case, labels in references().items():
        write_volume(folder / "references" / f"{case}-seg.nii.gz", labels)
    write_team(folder, "ash", ash(), position=1)
    write_team(folder, "elm", elm(), position=2, lost={"BraTS-MET-00027-000": "failed"})
