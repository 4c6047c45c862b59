"""From scores to positions: 1 is best, and equal scores share the smaller position (1, 1, 3)."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from podium.metrics import Floats
from podium.metrics.declaration import Direction

Ranks = NDArray[np.int64]

_COMPARISONS_AT_ONCE = 2**24


def positions(keys: Sequence[tuple[Floats, Direction]]) -> Ranks:
    """Positions along the last axis by the first key, among its equals by the second, and so on.

    A position is one more than the number of those that are better. NaN is better than nothing and nothing is better
    than it: where a figure exists for no team, all share the first position.
    """
    signed = [key if direction == "higher" else -key for key, direction in keys]
    shape = np.broadcast_shapes(*(key.shape for key in signed))
    teams = shape[-1]
    rows = [np.broadcast_to(key, shape).reshape(-1, teams) for key in signed]
    ranks = np.empty((rows[0].shape[0], teams), dtype=np.int64)
    step = max(1, _COMPARISONS_AT_ONCE // max(1, teams * teams))
    for start in range(0, ranks.shape[0], step):
        part = slice(start, start + step)
        better = np.zeros((ranks[part].shape[0], teams, teams), dtype=bool)
        for row in reversed(rows):
            mine, theirs = row[part, :, None], row[part, None, :]
            better = (theirs > mine) | ((theirs == mine) & better)
        ranks[part] = 1 + np.count_nonzero(better, axis=-1)
    return ranks.reshape(shape)


def mean_positions(ranks: Sequence[Ranks], weights: Sequence[float]) -> Floats:
    """The weighted mean of several positions, freed of the last digits' noise so that equal means stay equal."""
    total = sum(weight * rank for weight, rank in zip(weights, ranks, strict=True))
    return np.asarray(np.round(np.asarray(total, dtype=np.float64) / sum(weights), 9))


def case_positions(values: Floats, direction: Direction) -> Ranks:
    """Positions of the teams in every case: `values[team, case]` to `[team, case]`, NaN meaning no value.

    A team without a value comes after all others: the largest position there, plus one (as in challengeR:
    .9, .9, .9, none give 1, 1, 1, 2). Where no team has a value, all share position 1.
    """
    by_case = values.T
    missing = np.isnan(by_case)
    ranks = positions([(by_case, direction)])
    largest = np.where(missing, 0, ranks).max(axis=1, initial=0)
    return np.where(missing, largest[:, None] + 1, ranks).T
