"""Lesion-wise figures read literally: SciPy's labels, loops over all pairs, for small volumes only."""

from collections.abc import Sequence
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

Mask = NDArray[np.bool_]
STEPS = {6: 1, 18: 2, 26: 3}


def components(mask: Mask, connectivity: int) -> list[Mask]:
    """Every connected component as a mask of its own."""
    steps = min(STEPS[connectivity], mask.ndim)
    labels, count = ndimage.label(mask, ndimage.generate_binary_structure(mask.ndim, steps))
    return [labels == number for number in range(1, count + 1)]


def grow(mask: Mask, voxels: int) -> Mask:
    """18 neighbours in 3-D, all 8 in 2-D."""
    if not voxels:
        return mask
    grown: Mask = ndimage.binary_dilation(mask, ndimage.generate_binary_structure(mask.ndim, 2), iterations=voxels)
    return grown


def lesions(reference: Mask, connectivity: int, dilate: int) -> list[Mask]:
    """What of the reference is in one component of the grown reference is one lesion."""
    return [reference & grown for grown in components(grow(reference, dilate), connectivity)]


def iou(one: Mask, other: Mask) -> float:
    return int((one & other).sum()) / int((one | other).sum())


def dice(one: Mask, other: Mask) -> float:
    return 2 * int((one & other).sum()) / (int(one.sum()) + int(other.sum()))


def brats(prediction: Mask, reference: Mask, *, dilate: int, larger_than: int) -> tuple[float | None, int, int, int]:
    """(lesion-wise Dice, TP, FP, FN) as BraTS 2023 has them, from the description of its algorithm.

    A lesion is compared with all components that reach into its grown surroundings; small lesions are left out after
    matching; the sum of Dice is divided by lesions plus components that no lesion reached.
    """
    predicted = components(prediction, 26)
    reached: set[int] = set()
    scores = []
    for lesion in lesions(reference, 26, dilate):
        hits = [number for number, one in enumerate(predicted) if (one & grow(lesion, dilate)).any()]
        reached.update(hits)
        if lesion.sum() > larger_than:
            union = np.any([predicted[number] for number in hits], axis=0) if hits else np.zeros_like(lesion)
            scores.append((dice(union, lesion), bool(hits)))
    wrong = len(predicted) - len(reached)
    found = sum(hit for _, hit in scores)
    total = len(scores) + wrong
    mean = sum(score for score, _ in scores) / total if total else None
    return mean, found, wrong, len(scores) - found


def best_sum(table: Sequence[Sequence[float]]) -> float:
    """The largest sum of entries with no two in one row or column, by trying all of them."""
    cells = [(row, column) for row, line in enumerate(table) for column, value in enumerate(line) if value > 0]
    best = 0.0
    for size in range(1, min(len(table), len(table[0]) if table else 0) + 1):
        for chosen in combinations(cells, size):
            if len({row for row, _ in chosen}) == len({column for _, column in chosen}) == size:
                best = max(best, sum(table[row][column] for row, column in chosen))
    return best


def greedy(table: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """The best cell first, then the best of the other rows and columns, and so on."""
    cells = [(table[row][column], row, column) for row, column in product(range(len(table)), range(len(table[0])))]
    taken: list[tuple[int, int]] = []
    for value, row, column in sorted(cells, key=lambda cell: (-cell[0], cell[1], cell[2])):
        if value > 0 and all(row != other and column != another for other, another in taken):
            taken.append((row, column))
    return taken
