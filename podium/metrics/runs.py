"""Connected components of a sparse mask, from its voxels alone: the empty rest of the volume is looked at once.

Lesions are some ten thousand of fifty million voxels. The mask is scanned eight voxels at a time; what is found is
joined into runs along the last axis, runs of neighbouring rows that touch are linked, and the components of that graph
are the components of the mask.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.int64]  # flat indices of voxels in C order, ascending

_AT_A_TIME = 8  # voxels in a word


def sparse_places(mask: NDArray[np.bool_], *, limit: int) -> Places | None:
    """The voxels of a contiguous mask, None where they may be more than `limit`."""
    flat = mask.reshape(-1).view(np.uint8)
    whole = flat.size - flat.size % _AT_A_TIME
    words = np.flatnonzero(flat[:whole].view(np.uint64) != 0)
    if len(words) * _AT_A_TIME > limit:
        return None
    candidates = (words[:, None] * _AT_A_TIME + np.arange(_AT_A_TIME)).reshape(-1)
    candidates = np.concatenate([candidates, np.arange(whole, flat.size)])
    found: Places = candidates[flat[candidates] != 0]
    return found


def label_places(places: Places, shape: tuple[int, ...], *, connectivity: int) -> tuple[NDArray[np.int64], int]:
    """The component (from 1) of every voxel of a 3-D mask, and how many components there are."""
    if len(places) == 0:
        return np.zeros(0, np.int64), 0
    _, height, width = shape
    row, column = np.divmod(places, width)
    begins = np.ones(len(places), np.bool_)
    begins[1:] = (np.diff(places) != 1) | (np.diff(row) != 0)
    first = np.flatnonzero(begins)
    last = np.append(first[1:], len(places)) - 1
    runs = _Runs(row[first], column[first], column[last])
    pairs = list(_touching(runs, height=height, width=width, connectivity=connectivity))
    one, other = (np.concatenate(side) for side in zip(*pairs, strict=True))
    component, count = _joined(len(first), one, other)
    return np.repeat(component, last - first + 1), count


def _joined(count: int, one: NDArray[np.int64], other: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """The component (from 1, in the order of their first members) of each of `count` things, given the pairs that are
    linked, and how many components there are.

    Everything points to a member of its component that is not behind it, in the end to the first one. In every round
    the ends of the chains that a pair still keeps apart are linked, and all chains are followed to their ends. SciPy's
    csgraph does the same; importing it takes longer than everything else here.
    """
    first = np.arange(count)
    while True:
        low, high = first[one], first[other]
        apart = low != high
        if not apart.any():
            break
        one, other = one[apart], other[apart]
        low, high = low[apart], high[apart]
        np.minimum.at(first, np.maximum(low, high), np.minimum(low, high))
        while not np.array_equal(further := first[first], first):
            first = further
    number = np.cumsum(first == np.arange(count))
    return number[first], int(number[-1])


@dataclass(frozen=True, eq=False)
class _Runs:
    """Neighbouring voxels of one row (a line along the last axis), in the order of the volume."""

    row: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]


def _touching(
    runs: _Runs, *, height: int, width: int, connectivity: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Pairs of runs that touch, for every kind of neighbouring row that comes later in the volume."""
    most = {6: 1, 18: 2, 26: 3}[connectivity]  # axes along which neighbours may differ at once
    # A free column on either side of every row: a search that reaches one beyond a run cannot meet another row's run.
    starts, ends = (runs.row * (width + 2) + column + 1 for column in (runs.start, runs.end))
    y = runs.row % height
    for rows_on, differing, allowed in (
        (1, 1, y < height - 1),
        (height, 1, None),
        (height - 1, 2, y > 0),
        (height + 1, 2, y < height - 1),
    ):
        if differing > most:
            continue
        reach = 1 if differing < most else 0
        shift = rows_on * (width + 2)
        asked = np.arange(len(y)) if allowed is None else np.flatnonzero(allowed)
        low = np.searchsorted(ends, starts[asked] + shift - reach, side="left")
        high = np.searchsorted(starts, ends[asked] + shift + reach, side="right")
        hits = np.maximum(high - low, 0)
        one = np.repeat(asked, hits)
        offsets = np.arange(len(one)) - np.repeat(np.cumsum(hits) - hits, hits)
        yield one, np.repeat(low, hits) + offsets
