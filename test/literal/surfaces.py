"""Surface metrics read literally: loops over voxels and all pairs of boundary voxels, for small masks only."""

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]
Place = tuple[int, ...]


def boundary(mask: Mask) -> list[Place]:
    """The voxels of a mask with a face neighbour that is not in it; beyond the image nothing is."""

    def inside(place: Place) -> bool:
        return all(0 <= index < length for index, length in zip(place, mask.shape, strict=True)) and bool(mask[place])

    found = []
    for place in product(*(range(length) for length in mask.shape)):
        neighbours = [
            (*place[:axis], place[axis] + step, *place[axis + 1 :]) for axis in range(mask.ndim) for step in (-1, 1)
        ]
        if inside(place) and not all(inside(neighbour) for neighbour in neighbours):
            found.append(place)
    return found


def directed(start: Mask, goal: Mask, spacing: Sequence[float]) -> list[float]:
    """The distance of every boundary voxel of one mask from the nearest of the other."""

    def distance(one: Place, other: Place) -> float:
        return math.sqrt(sum(((a - b) * size) ** 2 for a, b, size in zip(one, other, spacing, strict=True)))

    goals = boundary(goal)
    return [min(distance(place, other) for other in goals) for place in boundary(start)]


def percentile(values: Sequence[float], share: float) -> float:
    """Linear between the neighbours of place (n - 1) * share / 100 in the sorted values."""
    ordered = sorted(values)
    place = (len(ordered) - 1) * share / 100
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
