"""One-sided paired Wilcoxon signed-rank tests of every team against every other, for a whole bootstrap at once."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from podium.metrics import Floats
from podium.metrics.resampling import Resamples, running_sums

# Rank sums are multiples of one half up to n(n+1)/2: single precision, twice as fast, holds them exactly up to here.
_EXACT_IN_SINGLE = 4000


def pairwise_p(values: Floats, resamples: Resamples, *, workers: int = 1) -> Floats:
    """`p[replicate, row, column]`: the chance of the row's team looking this much better if it were not.

    `values[team, case]`, larger is better. The same figure as SciPy's `wilcoxon(x, y, alternative="greater",
    correction=True, method="asymptotic", zero_method="wilcox")`: the normal approximation with continuity correction,
    zero differences dropped, ties by middle ranks. NaN on the diagonal and where two teams never differ.

    A case drawn twice is two cases with equal differences, hence a tie: nothing is removed before testing.
    """
    teams = values.shape[0]
    p = np.full((resamples.replicates, teams, teams), np.nan)
    precision = np.float32 if resamples.sizes.max(initial=0) <= _EXACT_IN_SINGLE else np.float64
    counts: NDArray[np.floating] = np.ascontiguousarray(resamples.counts.T).astype(precision)
    by_case = _CaseSums(numbers=counts.sum(axis=0, dtype=np.float64), ties=_tie_sum(counts))

    def test(pair: tuple[int, int]) -> None:
        first, second = pair
        x, y = values[first], values[second]
        # Two infinite worst values are equal, their difference is not a number.
        with np.errstate(invalid="ignore"):
            difference = np.where(x == y, 0.0, x - y)
        p[:, first, second], p[:, second, first] = _both_p(difference, counts, by_case)

    pairs = list(combinations(range(teams), 2))
    with ThreadPoolExecutor(max_workers=workers) as pool:
        list(pool.map(test, pairs))
    return p


@dataclass(frozen=True, kw_only=True)
class _CaseSums:
    """Of all cases in every replicate, where each case is a group of its own: what no pair of teams changes."""

    numbers: Floats
    ties: Floats


def _both_p(difference: Floats, counts: NDArray[np.floating], by_case: _CaseSums) -> tuple[Floats, Floats]:
    """p of "greater" and of "less", for every replicate; `counts[case, replicate]`."""
    size = np.abs(difference)
    order = np.argsort(size, kind="stable")
    order = order[size[order] > 0]
    if order.size == 0:
        nothing = np.full(counts.shape[1], np.nan)
        return nothing, nothing
    drawn = counts[order]
    is_positive = difference[order] > 0
    sizes = size[order]
    starts = np.flatnonzero(np.concatenate([[True], sizes[1:] != sizes[:-1]]))
    if starts.size < order.size:  # equal sizes share their middle rank: work on the groups instead of the cases
        positive = np.add.reduceat(drawn * is_positive[:, None].astype(drawn.dtype), starts, axis=0)
        drawn = groups = np.add.reduceat(drawn, starts, axis=0)
        running = running_sums(drawn)
        number, ties = running[-1].astype(np.float64), _tie_sum(drawn)
    else:
        positive = groups = drawn[is_positive]
        running = running_sums(drawn)[is_positive]
        dropped = counts[size == 0]  # few, or none
        number = by_case.numbers - dropped.sum(axis=0, dtype=np.float64)
        ties = by_case.ties - (_tie_sum(dropped) if dropped.size else 0.0)
    # A group's middle rank is what came up to its end, less half of itself, plus one half.
    greater = (
        _sum_of_products(positive, running)
        - _sum_of_products(positive, groups) / 2
        + positive.sum(axis=0, dtype=np.float64) / 2
    )
    mean = number * (number + 1) / 4
    with np.errstate(invalid="ignore", divide="ignore"):
        deviation = np.sqrt((number * (number + 1) * (2 * number + 1) - ties / 2) / 24)
        above = ndtr(-(greater - mean - 0.5) / deviation)
        below = ndtr(-(mean - greater - 0.5) / deviation)
    return above, below


def _sum_of_products(first: NDArray[np.floating], second: NDArray[np.floating]) -> Floats:
    return np.asarray(np.einsum("gr,gr->r", first, second), dtype=np.float64)


def _tie_sum(group_sizes: NDArray[np.floating]) -> Floats:
    """The sum of t^3 - t over the groups of equal differences."""
    exact_in_single = group_sizes.max(initial=0) ** 3 * group_sizes.shape[0] < 2**24
    sizes = group_sizes if exact_in_single else group_sizes.astype(np.float64)
    linear: Floats = sizes.sum(axis=0, dtype=np.float64)
    return _sum_of_products(sizes * sizes, sizes) - linear


def holm(p: Floats) -> Floats:
    """Holm's adjustment over all ordered pairs of `p[..., row, column]`; what was NaN stays NaN and counts as a test.

    The i-th smallest of m is multiplied by m - i + 1, made non-decreasing, and cut off at 1.
    """
    teams = p.shape[-1]
    pairs = ~np.eye(teams, dtype=bool)
    flat = p[..., pairs]
    tests = flat.shape[-1]
    order = np.argsort(flat, axis=-1, kind="stable")  # NaN comes last
    stepped = np.take_along_axis(flat, order, axis=-1) * (tests - np.arange(tests))
    stepped = np.minimum(np.maximum.accumulate(stepped, axis=-1), 1.0)
    adjusted = np.empty_like(flat)
    np.put_along_axis(adjusted, order, stepped, axis=-1)
    result = np.full_like(p, np.nan)
    result[..., pairs] = adjusted
    return result


def share_of_significant_wins(p: Floats, *, alpha: float) -> Floats:
    """`[..., team]`: against what share of the others the team is better at p <= alpha; NaN is not significant.

    A single team has no other team to beat: 0.
    """
    others = p.shape[-1] - 1
    with np.errstate(invalid="ignore"):
        wins = np.count_nonzero(p <= alpha, axis=-1)
    return np.asarray(wins / max(1, others))
