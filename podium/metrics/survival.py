"""Survival: whether cases with an earlier event have a higher risk."""

from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from podium.metrics.resampling import Floats, Resamples


def c_index(*, prediction: Floats, times: Floats, events: NDArray[np.bool_], resamples: Resamples) -> Floats:
    """Harrell's C = the share of comparable pairs in which the case with the earlier event has the higher risk.

    Equal risks count half. A pair is comparable where the earlier time is that of an event. At equal times it is where
    exactly one of the two is an event: the censored case outlived it. Two events at the same time are not comparable.
    This is the rule of lifelines, scikit-survival and R's survival. 0 to 1, higher is better; NaN without comparable
    pairs.

    From the latest time to the earliest, a Fenwick tree over the risks holds how often each replicate drew the cases
    passed so far: n log n steps for all replicates together, where a loop over pairs takes n^2 for each of them.
    """
    draws = np.ascontiguousarray(resamples.counts.T)
    levels, risks = np.unique(prediction, return_inverse=True)
    tree = np.zeros((levels.size + 1, resamples.replicates), dtype=np.int32)
    passed, pairs, doubled = (np.zeros(resamples.replicates, dtype=np.int64) for _ in range(3))

    def insert(case: int) -> None:
        tree[_covering(int(risks[case]), levels.size)] += draws[case]
        np.add(passed, draws[case], out=passed)

    latest_first = sorted(range(times.size), key=lambda case: -times[case])
    for _, group in groupby(latest_first, key=lambda case: float(times[case])):
        together = list(group)
        deaths = [case for case in together if events[case]]
        for case in together:
            if not events[case]:
                insert(case)
        for case in deaths:
            risk = int(risks[case])
            # Cases of a lower risk, and those of a lower or the same: half of both together is "equal counts half".
            lower_twice = tree[_prefix(risk) + _prefix(risk + 1)].sum(axis=0, dtype=np.int64)
            doubled += draws[case] * lower_twice
            pairs += draws[case] * passed
        for case in deaths:
            insert(case)
    return np.asarray(np.divide(doubled, 2 * pairs, out=np.full(pairs.shape, np.nan), where=pairs > 0))


def _prefix(length: int) -> list[int]:
    """The nodes of a Fenwick tree that together hold the first `length` entries."""
    nodes = []
    while length > 0:
        nodes.append(length)
        length &= length - 1
    return nodes


def _covering(entry: int, size: int) -> list[int]:
    """The nodes of a Fenwick tree that hold an entry (from 0)."""
    nodes = []
    node = entry + 1
    while node <= size:
        nodes.append(node)
        node += node & -node
    return nodes
