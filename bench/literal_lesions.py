"""The rules of lesions as one would first write them: a mask for every lesion, a sum over the volume for every figure.

It uses the same labelling (cc3d) as Podium, so that only the work on the labels is compared.
"""

from typing import Any

import cc3d
import numpy as np
from numpy.typing import NDArray


def score(*, prediction: NDArray[np.uint8], reference: NDArray[np.uint8], threshold: float = 0.1) -> dict[str, Any]:
    """Dice over the whole volume; everything else over the bounding box of both masks, one lesion at a time."""
    box = []
    union = prediction + reference
    for axis in range(3):
        covered = np.flatnonzero(union.any(axis=tuple(other for other in range(3) if other != axis)))
        box.append(slice(covered[0], covered[-1] + 1))
    lesions, lesion_count = cc3d.connected_components(reference[tuple(box)].astype(int), connectivity=18, return_N=True)
    found, found_count = cc3d.connected_components(prediction[tuple(box)].astype(int), connectivity=18, return_N=True)

    matched_lesions, matched_components = set(), set()
    touched_lesions, touched_components = set(), set()
    volumes = {number: int((found == number).sum()) for number in range(1, found_count + 1)}
    lesion_volumes = {}
    for lesion in range(1, lesion_count + 1):
        mask = lesions == lesion
        lesion_volumes[lesion] = int(mask.sum())
        for component in np.unique(found[mask]):
            if component == 0:
                continue
            other = found == component
            shared = (mask * other).sum()
            iou = shared / (mask.sum() + other.sum() - shared)
            touched_lesions.add(lesion)
            touched_components.add(int(component))
            if iou >= threshold:
                matched_lesions.add(lesion)
                matched_components.add(int(component))
    tp, fn, fp = len(matched_lesions), lesion_count - len(matched_lesions), found_count - len(matched_components)
    return {
        "dice": 2 * (prediction * reference).sum() / (prediction.sum() + reference.sum()),
        "dmm": 2 * tp / (2 * tp + fp + fn),
        "tp": tp,
        "fp": fp,
        "fn": fn,
        "fpv_ml": sum(volume for number, volume in volumes.items() if number not in touched_components) / 1000,
        "fnv_ml": sum(volume for number, volume in lesion_volumes.items() if number not in touched_lesions) / 1000,
    }
