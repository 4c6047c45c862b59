"""The ranking rules read literally: slow loops over lists, exact fractions, and SciPy's own tests."""

import math
import warnings
from collections.abc import Sequence
from fractions import Fraction

from scipy.stats import kendalltau, wilcoxon

Values = Sequence[Sequence[float | None]]  # [team][case], None where there is no value


def min_ranks(scores: Sequence[float], *, higher_is_better: bool) -> list[int]:
    """1 + the number of better scores: equals to 12 significant digits share the smaller position."""
    rounded = [float(f"{score if higher_is_better else -score:.12g}") for score in scores]
    return [1 + sum(other > mine for other in rounded) for mine in rounded]


def filled(values: Values, worst: float) -> list[list[float]]:
    return [[worst if value is None else value for value in team] for team in values]


def means(values: Values, worst: float) -> list[float]:
    """Exact sums, rounded once, divided."""
    return [float(sum(map(Fraction, team))) / len(team) for team in filled(values, worst)]


def quantiles(values: Values, worst: float, share: float) -> list[float]:
    """Position (n - 1) q in the sorted cases, linear between neighbours."""
    found = []
    for team in filled(values, worst):
        ordered = sorted(team)
        position = (len(ordered) - 1) * share
        below = math.floor(position)
        above = min(below + 1, len(ordered) - 1)
        found.append(ordered[below] + (ordered[above] - ordered[below]) * (position - below))
    return found


def medians(values: Values, worst: float) -> list[float]:
    found = []
    for team in filled(values, worst):
        ordered, n = sorted(team), len(team)
        found.append(ordered[n // 2] if n % 2 else (ordered[n // 2 - 1] + ordered[n // 2]) / 2)
    return found


def ranks_in_case(values: Sequence[float | None], *, higher_is_better: bool) -> list[int]:
    """Those with a value by value; those without one get the largest of these ranks plus one."""
    present = [value for value in values if value is not None]
    ranks = iter(min_ranks(present, higher_is_better=higher_is_better))
    given = [None if value is None else next(ranks) for value in values]
    last = max((rank for rank in given if rank is not None), default=0) + 1
    return [last if rank is None else rank for rank in given]


def case_ranks(values: Values, *, higher_is_better: bool) -> list[list[int]]:
    """[team][case]"""
    cases = [
        ranks_in_case([team[case] for team in values], higher_is_better=higher_is_better)
        for case in range(len(values[0]))
    ]
    return [[ranks[team] for ranks in cases] for team in range(len(values))]


def p_better(first: Sequence[float], second: Sequence[float]) -> float:
    """SciPy's one-sided test, as the rule names it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # all differences zero: NaN, which is the rule's answer too
        test = wilcoxon(
            first, second, alternative="greater", correction=True, method="asymptotic", zero_method="wilcox"
        )
    return float(test.pvalue)


def p_table(values: Values, worst: float, *, higher_is_better: bool) -> list[list[float]]:
    teams = [[value if higher_is_better else -value for value in team] for team in filled(values, worst)]
    return [
        [math.nan if row == column else p_better(teams[row], teams[column]) for column in range(len(teams))]
        for row in range(len(teams))
    ]


def holm(table: Sequence[Sequence[float]]) -> list[list[float]]:
    """Step down over all ordered pairs; a pair without a p value is no test."""
    adjusted = [[math.nan] * len(table) for _ in table]
    tests = sorted(
        (p, row, column) for row, line in enumerate(table) for column, p in enumerate(line) if not math.isnan(p)
    )
    largest = 0.0
    for step, (p, row, column) in enumerate(tests):
        largest = max(largest, p * (len(tests) - step))
        adjusted[row][column] = min(1.0, largest)
    return adjusted


def wins(table: Sequence[Sequence[float]], alpha: float = 0.05) -> list[float]:
    return [sum(p <= alpha for p in row) / max(1, len(table) - 1) for row in table]


def tau(first: Sequence[float], second: Sequence[float]) -> float:
    return float(kendalltau(first, second).statistic)


def redrawn(values: Values, draws: Sequence[int]) -> list[list[float | None]]:
    """The cases at `draws`, as often as they were drawn."""
    return [[team[case] for case in draws] for team in values]
