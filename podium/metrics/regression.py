"""Numbers: errors, correlation and agreement of predicted and true numbers over cases, and the C-index of survival.

Every function takes one finite number per case and returns one figure per replicate, NaN where a replicate has none.
They equal scikit-learn's and SciPy's, which have no form for a thousand bootstrap replicates.
"""

from collections.abc import Callable
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from podium.metrics import Floats
from podium.metrics.resampling import Resamples, quotient, running_counts

Draws = NDArray[np.int32]


def rmse(*, prediction: Floats, reference: Floats, resamples: Resamples) -> Floats:
    """The root of the mean of (prediction - reference)^2, in the unit of the number; lower is better."""
    (found, true), exponent = _scaled(prediction, reference)
    return np.ldexp(np.sqrt(resamples.mean((found - true) ** 2)), exponent)


def median_absolute_error(*, prediction: Floats, reference: Floats, resamples: Resamples) -> Floats:
    """The median of |prediction - reference|, in the unit of the number; lower is better."""
    return np.asarray(resamples.quantiles(np.abs(prediction - reference), [0.5])[0])


def bias(*, prediction: Floats, reference: Floats, resamples: Resamples) -> Floats:
    """The mean of prediction - reference, in the unit of the number; 0 is best."""
    return resamples.mean(prediction - reference)


def r2(*, prediction: Floats, reference: Floats, resamples: Resamples) -> Floats:
    """R^2 = 1 - sum (reference - prediction)^2 / sum (reference - its mean)^2; at most 1, higher is better.

    Where the reference is constant: 1 if every prediction is exact, else 0, as in scikit-learn. NaN for fewer than two
    cases; -inf where the errors of absurdly large predictions overflow.
    """
    (found, true), exponent = _scaled(prediction, reference)
    (alone,), exponent_alone = _scaled(reference)
    errors = resamples.total((found - true) ** 2)
    spread = _by_block(lambda draws: _moments(draws, alone, alone).xx, resamples)
    unexplained = np.divide(errors, spread, out=(errors > 0).astype(np.float64), where=spread > 0)
    with np.errstate(over="ignore"):
        unexplained = np.ldexp(unexplained, np.where(spread > 0, 2 * (exponent - exponent_alone), 0))
    return np.where(resamples.sizes < 2, np.nan, 1 - unexplained)


def pearson(*, prediction: Floats, reference: Floats, resamples: Resamples) -> Floats:
    """Pearson's correlation, -1 to 1, higher is better. NaN where one side is constant."""
    ((found,), _), ((true,), _) = _scaled(prediction), _scaled(reference)
    return _by_block(lambda draws: _correlation(_moments(draws, found, true)), resamples)


def spearman(*, prediction: Floats, reference: Floats, resamples: Resamples) -> Floats:
    """Pearson's correlation of the ranks within the replicate, equal numbers sharing their mean rank.

    -1 to 1, higher is better. NaN where one side is constant.
    """
    ranks = [_ranks(values) for values in (prediction, reference)]
    return _by_block(lambda draws: _correlation(_moments(draws, *(rank(draws) for rank in ranks))), resamples)


def ccc(*, prediction: Floats, reference: Floats, resamples: Resamples) -> Floats:
    """Lin's concordance correlation coefficient (1989) = 2 S_xy / (S_xx + S_yy + (mean x - mean y)^2).

    Variances over n, as in the paper. -1 to 1, higher is better. NaN where all numbers of both sides are the same.
    """
    (found, true), _ = _scaled(prediction, reference)

    def compute(draws: Draws) -> Floats:
        m = _moments(draws, found, true)
        return quotient(2 * m.xy, m.xx + m.yy + m.cases * (m.x - m.y) ** 2)

    return _by_block(compute, resamples)


def icc(*, prediction: Floats, reference: Floats, resamples: Resamples) -> Floats:
    """ICC(2,1) of Shrout and Fleiss (1979): two-way random effects, absolute agreement, single measurement.

    ICC = (MSR - MSE) / (MSR + MSE + 2 (MSC - MSE) / n) with prediction and reference as two raters: MSR the mean square
    between cases, MSC between the raters, MSE the residual. At most 1, higher is better. NaN for fewer than two cases
    and where the denominator is 0: all numbers of both sides are the same.
    """
    (found, true), _ = _scaled(prediction, reference)
    total, difference = found + true, found - true

    def compute(draws: Draws) -> Floats:
        m = _moments(draws, total, difference)
        freedom = m.cases - 1
        rows, residual = quotient(m.xx / 2, freedom), quotient(m.yy / 2, freedom)
        raters = m.cases * m.y**2 / 2
        part = 2 / np.maximum(m.cases, 1)
        return quotient(rows - residual, rows + (1 - part) * residual + part * raters)

    return _by_block(compute, resamples)


def _scaled(*values: Floats) -> tuple[list[Floats], int]:
    """The numbers divided by a common power of two that brings them below 1, and its exponent: exact, and squares of
    absurdly large predictions stay finite."""
    exponent = max(int(np.frexp(np.abs(each).max(initial=0.0))[1]) for each in values)
    return [np.ldexp(each, -exponent) for each in values], exponent


class _Moments(NamedTuple):
    """Of each replicate: the cases, the means, and the sums of squares and products about the means."""

    cases: Floats
    x: Floats
    y: Floats
    xx: Floats
    yy: Floats
    xy: Floats


def _moments(draws: Draws, x: Floats, y: Floats) -> _Moments:
    """`x` and `y` as `[case]` or `[replicate, case]`.

    In two passes: squares are of distances from the replicate's own mean, since a difference of two large sums would
    lose the digits that count.
    """
    weights = draws.astype(np.float64)
    cases = weights.sum(axis=1)
    means, distances = [], []
    for values in (x, y):
        table = np.broadcast_to(values, weights.shape)
        # About any drawn value first, so that a constant has exactly its own value as mean, and distances of 0.
        drawn = table[np.arange(len(table)), draws.argmax(axis=1)] if table.shape[1] else np.zeros(len(table))
        shifted = np.where(draws > 0, table - drawn[:, None], 0.0)
        offset = np.einsum("rc,rc->r", weights, shifted) / np.maximum(cases, 1)
        means.append(drawn + offset)
        distances.append(shifted - offset[:, None])
    (dx, dy), (mean_x, mean_y) = distances, means
    products = (np.einsum("rc,rc->r", weights * one, other) for one, other in ((dx, dx), (dy, dy), (dx, dy)))
    return _Moments(cases, mean_x, mean_y, *products)


def _ranks(values: Floats) -> Callable[[Draws], Floats]:
    """The rank of every case among the drawn ones, from 1: half of the first and the last rank of its equals."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    below, up_to = (np.searchsorted(ordered, values, side=side) for side in ("left", "right"))

    def compute(draws: Draws) -> Floats:
        running = running_counts(draws[:, order])
        return (running[:, below] + running[:, up_to] + 1) / 2

    return compute


def _correlation(m: _Moments) -> Floats:
    return np.clip(quotient(m.xy, np.sqrt(m.xx) * np.sqrt(m.yy)), -1.0, 1.0)


def _by_block(figure: Callable[[Draws], Floats], resamples: Resamples) -> Floats:
    return np.concatenate([figure(block) for block in resamples.blocks()])


# Survival: whether cases with an earlier event have a higher risk.


def c_index(*, prediction: Floats, times: Floats, events: NDArray[np.bool_], resamples: Resamples) -> Floats:
    """Harrell's C = the share of comparable pairs in which the case with the earlier event has the higher risk.

    Equal risks count half. A pair is comparable where the earlier time is that of an event. At equal times it is where
    exactly one of the two is an event: the censored case outlived it. Two events at the same time are not comparable.
    This is the rule of lifelines, scikit-survival and R's survival. A case without a prediction (NaN) is wrong in all
    of its pairs. 0 to 1, higher is better; NaN without comparable pairs.

    From the latest time to the earliest, a Fenwick tree over the risks holds how often each replicate drew the cases
    passed so far: n log n steps for all replicates together, where a loop over pairs takes n^2 for each of them.
    """
    draws = np.ascontiguousarray(resamples.counts.T)
    missing = np.isnan(prediction)
    levels, risks = np.unique(np.where(missing, 0.0, prediction), return_inverse=True)
    tree = np.zeros((levels.size + 1, resamples.replicates), dtype=np.int32)
    passed, pairs, doubled = (np.zeros(resamples.replicates, dtype=np.int64) for _ in range(3))

    def insert(case: int) -> None:
        if not missing[case]:
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
            doubled += 0 if missing[case] else draws[case] * lower_twice
            pairs += draws[case] * passed
        for case in deaths:
            insert(case)
    return quotient(doubled, 2 * pairs)


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
