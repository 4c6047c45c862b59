"""The statistics of a ranking: positions, paired tests, the agreement of rankings, and what a bootstrap says.

Every function works on the data as they are and on all replicates of a bootstrap at once.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, ndtr, stdtr

from podium.metrics import Floats
from podium.metrics.declaration import Direction
from podium.metrics.resampling import Resamples, percentile_interval
from podium.tools.ranking.result import Intervals, Stability, Taus
from podium.tools.ranking.wording import Interval

Ranks = NDArray[np.int64]
DrawCounts = NDArray[np.unsignedinteger[Any]]

MOST_TEAMS = 12  # of which the Kemeny order is found: it takes 2^n steps
_DIGITS = 12  # significant ones, in which scores are compared
_POWERS = np.array([float(f"1e{power}") for power in range(23)])
_COMPARISONS_AT_ONCE = 2**24
_RANK_SUMS_AT_ONCE = 2**16  # few enough to stay in a processor's cache

# Positions: 1 is best, and equal scores share the smaller position (1, 1, 3).


def positions(keys: Sequence[tuple[Floats, Direction]]) -> Ranks:
    """Positions along the last axis by the first key, among its equals by the second, and so on.

    A position is one more than the number of teams that are better. Keys are compared after rounding (`significant`),
    so that equal means tie. NaN never outranks a value and is never outranked: where no team has a figure, all share
    the first position.
    """
    signed = [significant(key if direction == "higher" else -key) for key, direction in keys]
    shape = np.broadcast_shapes(*(key.shape for key in signed))
    teams = shape[-1]
    rows = [np.broadcast_to(key, shape).reshape(math.prod(shape[:-1]), teams) for key in signed]
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


def significant(values: Floats) -> Floats:
    """Rounded to 12 significant digits: (.1, .1, .4) and (.1, .2, .3) have the same mean, but floats that differ.

    Powers of ten up to 10^22 are exact floats, so one division gives the float nearest to the rounded decimal. Values
    below 1e-11 or above 1e33, for which that does not hold, stay as they are.
    """
    size = np.abs(values)
    inside = (size >= 1e-11) & (size < 1e33)
    places = _DIGITS - 1 - np.floor(np.log10(np.where(inside, size, 1.0))).astype(np.int64)
    up, down = _POWERS[np.maximum(places, 0)], _POWERS[np.maximum(-places, 0)]
    return np.where(inside, np.rint(np.where(inside, values, 0.0) * up / down) / up * down, values)


def mean_positions(ranks: Sequence[Ranks], weights: Sequence[float]) -> Floats:
    """The weighted mean of several positions."""
    total = sum(weight * rank for weight, rank in zip(weights, ranks, strict=True))
    return np.asarray(total, dtype=np.float64) / sum(weights)


def case_positions(values: Floats, direction: Direction) -> Ranks:
    """Positions of the teams in every case: `values[team, case]` to `[team, case]`, NaN where there is no value.

    A team without a value comes last, at the largest position of the others plus one (as in challengeR: .9, .9, .9,
    none give 1, 1, 1, 2). Where no team has a value, all share position 1.
    """
    by_case = values.T
    missing = np.isnan(by_case)
    ranks = positions([(by_case, direction)])
    largest = np.where(missing, 0, ranks).max(axis=1, initial=0)
    return np.where(missing, largest[:, None] + 1, ranks).T


# One-sided paired Wilcoxon signed-rank tests of every team against every other.


def pairwise_p(values: Floats, resamples: Resamples) -> Floats:
    """`p[replicate, row, column]`: one-sided p-value that the row's team beats the column's.

    `values[team, case]`, larger is better. The same figure as SciPy's `wilcoxon(x, y, alternative="greater",
    correction=True, method="asymptotic", zero_method="wilcox")`: the normal approximation with continuity correction,
    zero differences dropped, ties by middle ranks. NaN on the diagonal and where two teams never differ.

    A case drawn twice counts as two cases that tie: duplicates are not removed before testing.
    """
    teams, replicates = values.shape[0], resamples.replicates
    p = np.full((replicates, teams, teams), np.nan)
    draws = int(resamples.sizes.max(initial=0))
    # Unsigned numbers wrap around without an error: only the results have to fit, which are doubled sums of ranks.
    counts = np.zeros((resamples.cases + 1, replicates), dtype=np.min_scalar_type(draws * (draws + 1)))
    counts[:-1] = resamples.counts.T  # the last row is what a dropped case counts
    repeats = _tie_terms(counts)
    first, second = np.triu_indices(teams, k=1)
    step = max(1, _RANK_SUMS_AT_ONCE // replicates)
    for start in range(0, first.size, step):
        one, other = first[start : start + step], second[start : start + step]
        x, y = values[one], values[other]
        with np.errstate(invalid="ignore"):  # two infinite worst values are equal, but their difference is NaN
            difference = np.where(x == y, 0.0, x - y)
        greater, less = _both_p(difference, counts, repeats)
        p[:, one, other], p[:, other, one] = greater.T, less.T
    return p


def _both_p(difference: Floats, counts: DrawCounts, repeats: Floats) -> tuple[Floats, Floats]:
    """p of "greater" and of "less" as `[pair, replicate]`, from `difference[pair, case]` and `counts[case, replicate]`.
    `repeats` are the tie terms where only repeated draws of a case tie."""
    size = np.abs(difference)
    order = np.argsort(size, axis=1, kind="stable")
    sizes = np.take_along_axis(size, order, axis=1)
    is_tied = ((sizes[:, 1:] == sizes[:, :-1]) & (sizes[:, 1:] > 0)).any(axis=1)
    greater, number, ties = np.empty((3, len(size), counts.shape[1]))
    greater[~is_tied], number[~is_tied] = _rank_sums(order[~is_tied], difference[~is_tied], counts)
    is_zero = size[~is_tied] == 0
    ties[~is_tied] = repeats.sum(axis=0) - (is_zero.astype(np.float64) @ repeats[:-1] if is_zero.any() else 0)
    for pair in np.flatnonzero(is_tied):
        greater[pair], number[pair], ties[pair] = _sums_with_ties(order[pair], difference[pair], counts)
    mean = number * (number + 1) / 4
    with np.errstate(invalid="ignore", divide="ignore"):
        deviation = np.sqrt((number * (number + 1) * (2 * number + 1) - ties / 2) / 24)
        deviation[~size.any(axis=1)] = np.nan
        return ndtr(-(greater - mean - 0.5) / deviation), ndtr(-(mean - greater - 0.5) / deviation)


def _rank_sums(order: NDArray[np.int64], difference: Floats, counts: DrawCounts) -> tuple[Floats, Floats]:
    """The sum of the ranks of the positive differences, and the number of ranks; `order[pair]` sorts the cases by size.

    A case whose draws follow m others and end at n has ranks that sum to n(n+1)/2 - m(m+1)/2. In a row of positive
    differences, all but the ends cancel out: a case contributes where the next one has another sign.
    """
    is_positive = np.take_along_axis(difference > 0, order, axis=1).astype(np.int8)
    signs = -np.diff(is_positive, axis=1, append=0).astype(counts.dtype)
    drawn = np.where(np.take_along_axis(difference, order, axis=1) == 0, len(counts) - 1, order)
    number = np.zeros((order.shape[0], counts.shape[1]), dtype=counts.dtype)
    doubled, work = np.zeros_like(number), np.empty_like(number)
    for case, sign in zip(drawn.T, signs.T, strict=True):
        np.take(counts, case, axis=0, out=work, mode="clip")
        number += work
        np.multiply(number, number, out=work)
        work += number
        work *= sign[:, None]
        doubled += work
    return doubled / 2, number.astype(np.float64)


def _sums_with_ties(order: NDArray[np.int64], difference: Floats, counts: DrawCounts) -> tuple[Floats, Floats, Floats]:
    """Rank sum, number of ranks and tie terms of one pair whose equal differences share a middle rank."""
    order = order[difference[order] != 0]
    sizes, is_positive = np.abs(difference[order]), difference[order] > 0
    starts = np.flatnonzero(np.append(True, sizes[1:] != sizes[:-1]))
    drawn = counts[order]
    groups = np.add.reduceat(drawn, starts, axis=0, dtype=counts.dtype)
    positive = np.add.reduceat(drawn * is_positive[:, None], starts, axis=0, dtype=counts.dtype)
    ends = np.cumsum(groups, axis=0, dtype=counts.dtype)
    doubled = (positive * (2 * ends - groups + 1)).sum(axis=0, dtype=counts.dtype)
    return doubled / 2, ends[-1].astype(np.float64), _tie_terms(groups).sum(axis=0)


def _tie_terms(group_sizes: DrawCounts) -> Floats:
    """t^3 - t of every group of equal differences."""
    sizes = group_sizes.astype(np.float64)
    return sizes * sizes * sizes - sizes


def holm(p: Floats) -> Floats:
    """Holm's adjustment along the last axis; NaN stays NaN and is not counted as a test.

    The i-th smallest of m is multiplied by m - i + 1, made non-decreasing, and capped at 1.
    """
    tests = np.count_nonzero(~np.isnan(p), axis=-1, keepdims=True)
    order = np.argsort(p, axis=-1, kind="stable")  # NaN comes last
    stepped = np.take_along_axis(p, order, axis=-1) * (tests - np.arange(p.shape[-1]))
    stepped = np.minimum(np.maximum.accumulate(stepped, axis=-1), 1.0)
    adjusted = np.empty_like(p)
    np.put_along_axis(adjusted, order, stepped, axis=-1)
    return adjusted


def holm_over_pairs(p: Floats) -> Floats:
    """`holm` over all ordered pairs of teams in `p[..., row, column]`; NaN on the diagonal."""
    pairs = ~np.eye(p.shape[-1], dtype=bool)
    adjusted = np.full_like(p, np.nan)
    adjusted[..., pairs] = holm(p[..., pairs])
    return adjusted


def share_of_significant_wins(p: Floats, *, alpha: float) -> Floats:
    """`[..., team]`: against what share of the others the team is better at p <= alpha; NaN is not significant.

    A single team has no other team to beat: 0.
    """
    return np.asarray(np.count_nonzero(p <= alpha, axis=-1) / max(1, p.shape[-1] - 1))


# Rankings compared with each other.


def tau_b(rankings: NDArray[np.int64], reference: NDArray[np.int64]) -> Floats:
    """(concordant - discordant) / sqrt(pairs untied in one * pairs untied in the other), one ranking per row.

    NaN where either ranking has all teams tied, a single team included: there is no order to agree with.
    """
    first, second = np.triu_indices(reference.shape[-1], k=1)
    ours = np.sign(rankings[..., first] - rankings[..., second]).astype(np.float64)
    theirs = np.sign(reference[..., first] - reference[..., second]).astype(np.float64)
    agreement = (ours * theirs).sum(axis=-1)
    untied = np.abs(ours).sum(axis=-1) * np.abs(theirs).sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        taus: Floats = agreement / np.sqrt(untied)
    return taus


# The Kemeny order: of all orders of the teams, the one that contradicts the given rankings in the fewest pairs. Found
# exactly by dynamic programming over sets of teams (Held and Karp's scheme).
# Source: J. G. Kemeny, Mathematics without numbers, Daedalus 88, 1959.


def kemeny_order(ranks: Ranks) -> tuple[list[int], int]:
    """The teams best first, and in how many pairs, counted over all rankings, this order contradicts them.

    `ranks[ranking, team]`, 1 being best; teams that tie in a ranking do not contradict any order. Of several best
    orders, the lexicographically first by team number.
    """
    teams = ranks.shape[1]
    # cost[i][j]: how many rankings have j before i and so contradict placing i before j
    cost = (ranks[:, :, None] > ranks[:, None, :]).sum(axis=0).tolist()
    everybody = (1 << teams) - 1
    # fewest[rest]: disagreements among the teams of the set `rest` when they are ordered best
    fewest = np.zeros(1 << teams, dtype=np.int64)
    first = [0] * (1 << teams)
    for rest in range(1, everybody + 1):
        members = [team for team in range(teams) if rest >> team & 1]
        best = None
        for team in members:
            found = int(fewest[rest ^ (1 << team)]) + sum(cost[team][other] for other in members if other != team)
            if best is None or found < best:
                best, first[rest] = found, team
        fewest[rest] = best or 0
    order, rest = [], everybody
    while rest:
        order.append(first[rest])
        rest ^= 1 << first[rest]
    return order, int(fewest[everybody])


# What the replicates of a bootstrap say.


def max_t_p(differences: Floats, resamples: Resamples) -> Floats:
    """Two-sided p-values of the means of `differences[pair, case]`, adjusted over all pairs; 1 for a single case.

    Studentised bootstrap: t_b = (mean_b - mean) / se_b with the standard error of the replicate; p is the share of the
    replicates whose largest |t_b| over the pairs is at least the pair's own |t|, and never below that of the paired t
    test. A replicate without spread (the same difference throughout) gives its pair no t_b.
    Source: J. Romano and M. Wolf, Stepwise multiple testing as formalized data snooping, Econometrica 73, 2005.
    """
    cases, means = differences.shape[1], differences.mean(axis=1)
    if cases < 2:
        return np.ones(len(differences))
    centred = differences - means[:, None]
    errors = np.sqrt((centred * centred).sum(axis=1) / (cases - 1) / cases)
    errors[errors < 1e-12 * np.abs(means)] = 0.0
    largest = np.zeros(resamples.replicates)
    step, counts = max(1, _COMPARISONS_AT_ONCE // resamples.replicates), resamples.counts.astype(np.float64)
    spread = np.flatnonzero(errors)
    with np.errstate(invalid="ignore", divide="ignore"):
        for start in range(0, spread.size, step):
            part = centred[spread[start : start + step]].T
            shift = counts @ part / cases
            variance = (counts @ (part * part) / cases - shift * shift) / (cases - 1)
            size = np.where(variance > 1e-24 * (part * part).mean(axis=0), np.abs(shift) / np.sqrt(variance), 0.0)
            np.maximum(largest, size.max(axis=1), out=largest)
        t = np.where(means == 0, 0.0, np.abs(means) / errors)
    share = 1 - np.searchsorted(np.sort(largest), t, side="left") / largest.size
    return np.asarray(np.maximum(share, 2 * stdtr(cases - 1, -t)))


def percentile_intervals(replicates: Floats, *, confidence: float, cases: int) -> Intervals:
    """One interval per team from `replicates[replicate, team]`."""
    return tuple(percentile_interval(column, confidence=confidence, cases=cases) for column in replicates.T)


def median_interval(values: Floats, *, confidence: float) -> Interval | None:
    """The exact binomial interval of a median: between the k-th smallest and the k-th largest value, with the largest k
    for which both ends of a binomial distribution of n halves leave out 1 - confidence at most.

    None where there is no such k (fewer than 6 values at 95 %) or an end is infinite.
    Source: W. J. Conover, Practical Nonparametric Statistics, 1999, section 3.2.
    """
    ordered = np.sort(values)
    tails = 2 * bdtr(np.arange(ordered.size), ordered.size, 0.5)  # [k - 1]
    k = int(np.count_nonzero(tails <= 1 - confidence))
    ends = (float(ordered[k - 1]), float(ordered[-k])) if k else (np.nan, np.nan)
    return ends if np.isfinite(ends).all() else None


def stability(replicates: Ranks, full: Ranks, *, confidence: float) -> Stability:
    """`replicates[replicate, team]` against `full[team]`.

    The interval's ends are ranks that occurred: the lower quantile is rounded down and the upper one up, so that no
    more replicates are outside than the confidence allows.
    """
    teams = full.size
    counts = np.stack([(replicates == rank).sum(axis=0) for rank in range(1, teams + 1)], axis=1)
    tail = (1 - confidence) / 2
    low = np.quantile(replicates, tail, axis=0, method="lower")
    high = np.quantile(replicates, 1 - tail, axis=0, method="higher")
    first = replicates == 1
    wins = (first / first.sum(axis=1, keepdims=True)).mean(axis=0)
    taus = tau_b(replicates, full)
    defined = taus[~np.isnan(taus)]
    lower, median, upper = np.quantile(defined, [0.25, 0.5, 0.75]).tolist() if defined.size else (None, None, None)
    return Stability(
        replicates=replicates.shape[0],
        rank_frequencies=tuple(tuple(row) for row in (counts / replicates.shape[0]).tolist()),
        rank_intervals=tuple((int(a), int(b)) for a, b in zip(low, high, strict=True)),
        mean_ranks=tuple(replicates.mean(axis=0).tolist()),
        win_probabilities=tuple(wins.tolist()),
        taus=Taus(
            values=tuple(defined.tolist()),
            undefined=int(taus.size - defined.size),
            mean=float(defined.mean()) if defined.size else None,
            median=median,
            lower_quartile=lower,
            upper_quartile=upper,
        ),
    )
