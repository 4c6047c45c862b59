"""The distance of every element of one boundary from the nearest element of another."""

import numpy as np
from numpy.typing import NDArray

from podium.metrics.boundaries import Boundary

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

_LEAF = 32  # larger than SciPy's 16: a tree is built for one query
_REACH = 3  # voxels: most elements have a neighbour within them, and looking there takes half of a tree's time
_FEW = 1000  # elements: below, the fixed cost of looking around is not worth it (an estimate)


def nearest_distances(start: Boundary, goal: Boundary, scale: Floats) -> Floats:
    """From every element of `start` to the nearest of `goal`, both on one grid with spacing `scale`; infinite where
    `goal` has none.

    Elements near the goal are found by looking at all places around them, the others by a KD-tree, which was three to
    four times as fast as a distance transform of the crop on organs of 10,000 boundary voxels. Distances come from
    differences of indices, so they are the same wherever in the image a pair lies.
    """
    distances = np.full(len(start.places), np.inf)
    if len(goal.places) == 0 or len(start.places) == 0:
        return distances
    asked, goals = start.coordinates(), goal.coordinates()
    far = np.arange(len(asked))
    if len(asked) > _FEW:
        far = _look_around(asked, goals, goal.shape, scale, distances)
    if len(far):
        from scipy.spatial import cKDTree

        tree = cKDTree(goals * scale, leafsize=_LEAF, balanced_tree=False)
        _, found = tree.query(asked[far] * scale)
        distances[far] = np.sqrt((((asked[far] - goals[found]) * scale) ** 2).sum(axis=1))
    return distances


def _look_around(asked: Places, goals: Places, shape: tuple[int, ...], scale: Floats, distances: Floats) -> Places:
    """Sets the distances of elements that have a goal nearby; returns the others' numbers.

    The places around an element are visited in order of their distance, up to where a place out of reach may be nearer.
    """
    padded = tuple(length + 2 * _REACH for length in shape)
    grid = np.zeros(padded, np.bool_)
    grid[tuple((goals + _REACH).T)] = True
    flat = grid.reshape(-1)
    steps = np.indices((2 * _REACH + 1,) * len(shape)).reshape(len(shape), -1).T - _REACH
    lengths = np.sqrt(((steps * scale) ** 2).sum(axis=1))
    order = np.argsort(lengths, kind="stable")
    order = order[lengths[order] < (_REACH + 1) * scale.min()]
    strides = np.array(grid.strides)  # of one byte per place
    left, at = np.arange(len(asked)), (asked + _REACH) @ strides
    for offset, length in zip((steps[order] @ strides).tolist(), lengths[order].tolist(), strict=True):
        hit = flat[at + offset]
        if hit.any():
            distances[left[hit]] = length
            left, at = left[~hit], at[~hit]
    return left
