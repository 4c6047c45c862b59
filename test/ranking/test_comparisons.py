"""Intervals, differences, groups and how probabilities are written: against literal readings and SciPy."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ttest_rel

from podium.metrics.declaration import Metric
from podium.metrics.resampling import Resamples
from podium.tools.ranking.schemes import (
    MEAN,
    CaseTable,
    RankingOptions,
    SchemeOutcome,
    apply_scheme,
    neighbour_differences,
    paired_p,
    rank_groups,
)
from podium.tools.ranking.statistics import holm, kemeny_order, percentile_interval
from podium.tools.ranking.wording import chance, column_decimals, even_decimals

METRIC = Metric(name="m", title="M", direction="higher", lowest=-np.inf, highest=np.inf, worst=-np.inf)


def means(values: np.ndarray, *, replicates: int, seed: int = 0) -> tuple[SchemeOutcome, SchemeOutcome]:
    """The means of `values[team, case]`, on all cases and in every replicate."""
    table = CaseTable(metric=METRIC, values=values)
    draws = Resamples.draw(cases=values.shape[1], replicates=replicates, seed=seed)
    whole = Resamples.whole(values.shape[1])
    return tuple(apply_scheme(MEAN, [table], each, RankingOptions()) for each in (whole, draws))  # type: ignore[return-value]


def sorted_teams(seed: int, teams: int, cases: int, step: float) -> np.ndarray:
    """Teams a `step` apart with paired noise, the best first."""
    generator = np.random.default_rng(seed)
    values = generator.normal(0, 1, (1, cases)) + generator.normal(0, 0.5, (teams, cases))
    values -= step * np.arange(teams)[:, None]
    return values[np.argsort(-values.mean(axis=1))]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("cases", [3, 12, 80])
def test_for_a_mean_the_comparison_is_the_paired_t_test(seed: int, cases: int) -> None:
    values = sorted_teams(seed, 2, cases, 0.15)
    full, drawn = means(values, replicates=20_000)
    expected = ttest_rel(values[0], values[1]).pvalue
    assert paired_p(full, drawn, 0, 1, cases=cases) == pytest.approx(expected, rel=0.06, abs=0.002)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([[0.9], [0.1]], 1.0),  # one case cannot tell
        ([[0.9, 0.5], [0.9, 0.5]], 1.0),  # equal
        ([[0.9, 0.5], [0.8, 0.4]], 0.0),  # the same difference in every case
        ([[0.9, 0.5], [0.8, -np.inf]], 1.0),  # a mean without bound has no spread
    ],
)
def test_comparisons_at_the_edges(values: list[list[float]], expected: float) -> None:
    array = np.array(values)
    full, drawn = means(array, replicates=50)
    assert paired_p(full, drawn, 0, 1, cases=array.shape[1]) == pytest.approx(expected)


def literal_groups(p: np.ndarray, alpha: float) -> list[int]:
    """The rule read aloud: the best team outside all groups is the anchor; of those left, p in ascending order are
    compared with alpha / m, alpha / (m - 1), ... until one is not below; it and all larger ones join the anchor."""
    groups = [0] * len(p)
    group = 0
    while 0 in groups:
        group += 1
        anchor = groups.index(0)
        groups[anchor] = group
        left = sorted((other for other in range(len(p)) if groups[other] == 0), key=lambda other: p[anchor, other])
        rejecting = True
        for place, other in enumerate(left):
            rejecting = rejecting and p[anchor, other] <= alpha / (len(left) - place)
            if not rejecting:
                groups[other] = group
    return groups


@given(seed=st.integers(0, 10**6), teams=st.integers(1, 7), step=st.sampled_from([0.0, 0.1, 0.3, 1.0]))
@settings(max_examples=60, deadline=None)
def test_groups_follow_the_literal_rule(seed: int, teams: int, step: float) -> None:
    full, drawn = means(sorted_teams(seed, teams, 20, step), replicates=60, seed=seed)
    p = np.array([[paired_p(full, drawn, one, other, cases=20) for other in range(teams)] for one in range(teams)])
    groups, adjusted = rank_groups(full, drawn, cases=20, alpha=0.05)
    assert list(groups) == literal_groups(p, 0.05)
    for number, (group, value) in enumerate(zip(groups, adjusted, strict=True)):
        assert (value is None) == (number == groups.index(group)), "only the anchor has no p"
        assert value is None or value > 0.05


def test_groups_by_hand() -> None:
    """Two pairs of near teams, far from each other."""
    generator = np.random.default_rng(1)
    noise = generator.normal(0, 0.1, (4, 40))
    values = np.array([[1.0], [0.999], [0.0], [-0.001]]) + noise - noise.mean(axis=1, keepdims=True)
    full, drawn = means(values, replicates=500)
    assert rank_groups(full, drawn, cases=40, alpha=0.05)[0] == (1, 1, 2, 2)


def test_holm_by_hand() -> None:
    assert holm(np.array([0.04, 0.01, 0.03])) == pytest.approx([0.06, 0.03, 0.06])
    assert holm(np.array([0.5, 0.9])).tolist() == [1.0, 1.0]
    assert holm(np.array([])).tolist() == []


def test_neighbours_by_literal_drawing() -> None:
    values = np.array([[0.9, 0.4, 0.8], [0.7, 0.6, 0.5], [0.1, 0.2, 0.9]])
    full, drawn = means(values, replicates=400, seed=5)
    counts = Resamples.draw(cases=3, replicates=400, seed=5).counts
    first, second = neighbour_differences(("a", "b", "c"), full, drawn, confidence=0.9)
    literal = [np.mean(np.repeat(values[0], times)) - np.mean(np.repeat(values[1], times)) for times in counts]
    assert (first.better, first.worse, second.worse) == ("a", "b", "c")
    assert first.difference == pytest.approx(0.7 - 0.6)
    assert first.interval == pytest.approx(tuple(np.quantile(literal, [0.05, 0.95])))
    ahead = np.mean([1.0 if each > 1e-12 else 0.5 if abs(each) <= 1e-12 else 0.0 for each in literal])
    assert first.probability_ahead == pytest.approx(ahead)


def test_intervals_without_a_value_or_an_end() -> None:
    assert percentile_interval(np.array([np.nan, np.nan]), confidence=0.95) is None
    assert percentile_interval(np.array([1.0, np.nan, 3.0]), confidence=0.5) == (1.5, 2.5)
    assert percentile_interval(np.array([1.0, 2.0, np.inf]), confidence=0.95) is None
    many = np.array([1.0] * 99 + [np.inf])
    assert percentile_interval(many, confidence=0.5) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("share", "cases", "words"),
    [
        (1.0, 4, "> 99 % (n = 4 cases)"),
        (0.0, 9, "< 1 % (n = 9 cases)"),
        (1.0, 1, "> 99 % (n = 1 case)"),
        (0.83, 4, "83 %"),
        (1.0, 10, "100 %"),
        (0.0, 10, "0 %"),
        (0.999, 100, "> 99 %"),
        (0.001, 100, "< 1 %"),
    ],
)
def test_few_cases_are_never_certain(share: float, cases: int, words: str) -> None:
    assert chance(share, cases=cases) == words


def test_decimals_of_columns() -> None:
    assert column_decimals([0.5, 0.51]) == 4
    assert column_decimals([91.651, 91.652]) == 3
    assert column_decimals([1.0, 2.0, None]) == 0
    assert even_decimals([0.5, 1.0]) == 4
    assert even_decimals([2.5, 12.25]) == 2
    assert even_decimals([500.0, 1234.5]) == 1
    assert even_decimals([]) == 0


@given(
    ranks=st.integers(1, 5).flatmap(
        lambda teams: st.lists(st.lists(st.integers(1, teams), min_size=teams, max_size=teams), min_size=1, max_size=4)
    )
)
@settings(max_examples=60, deadline=None)
def test_kemeny_against_all_orders(ranks: list[list[int]]) -> None:
    table = np.array(ranks)

    def contradictions(order: tuple[int, ...]) -> int:
        return sum(
            ranking[later] < ranking[earlier]
            for ranking in ranks
            for place, earlier in enumerate(order)
            for later in order[place + 1 :]
        )

    orders = sorted(permutations(range(table.shape[1])))
    fewest = min(map(contradictions, orders))
    found = kemeny_order(table)
    assert found.disagreements == fewest == contradictions(found.order)
    assert found.order == next(order for order in orders if contradictions(order) == fewest)
