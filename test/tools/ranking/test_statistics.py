"""Intervals, differences, groups and how probabilities are written: against literal readings and SciPy."""

import math
from dataclasses import replace
from itertools import combinations, combinations_with_replacement, permutations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from literal import ranking as literal
from properties import examples
from scipy.stats import ttest_rel
from tools.report.made_rankings import golden_ranking

from podium.metrics.declaration import Metric
from podium.metrics.resampling import Resamples, percentile_interval
from podium.tools.ranking.comparisons import max_t_over_pairs, paired_p, paired_p_over_pairs, rank_groups
from podium.tools.ranking.prose import _outside
from podium.tools.ranking.schemes import (
    MEAN,
    RankingOptions,
    SchemeOutcome,
    apply_scheme,
    case_table,
)
from podium.tools.ranking.statistics import (
    holm,
    holm_over_pairs,
    kemeny_order,
    pairwise_p,
    positions,
    share_of_significant_wins,
    significant,
)
from podium.tools.ranking.wording import chance, column_decimals, even_decimals, percent

METRIC = Metric(name="m", title="M", direction="higher", lowest=-np.inf, highest=np.inf, worst=-np.inf)


def means(values: np.ndarray, *, replicates: int, seed: int = 0) -> tuple[SchemeOutcome, SchemeOutcome]:
    """The means of `values[team, case]`, on all cases and in every replicate."""
    table = case_table(METRIC, values)
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
@pytest.mark.parametrize("cases", [12, 80])  # fewer draws of fewer cases are coarse, and p is larger
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
        ([[0.9, 0.5], [0.8, -np.inf]], np.nan),  # a mean without bound cannot be tested
    ],
)
def test_comparisons_at_the_edges(values: list[list[float]], expected: float) -> None:
    array = np.array(values)
    full, drawn = means(array, replicates=50)
    assert paired_p(full, drawn, 0, 1, cases=array.shape[1]) == pytest.approx(expected, nan_ok=True)


def literal_groups(p: np.ndarray, alpha: float) -> list[int]:
    """The rule read aloud: p of all pairs in ascending order are compared with alpha / m, alpha / (m - 1), ... until
    one is not below; these pairs differ. The best team outside all groups is the anchor; all others outside that do not
    differ from it join its group."""
    pairs = sorted((p[one, other], one, other) for one in range(len(p)) for other in range(one + 1, len(p)))
    differ = set()
    for place, (value, one, other) in enumerate(pairs):
        if value > alpha / (len(pairs) - place):
            break
        differ.add((one, other))
    groups = [0] * len(p)
    group = 0
    while 0 in groups:
        group += 1
        anchor = groups.index(0)
        groups[anchor] = group
        for other in range(anchor + 1, len(p)):
            if groups[other] == 0 and (anchor, other) not in differ:
                groups[other] = group
    return groups


@given(seed=st.integers(0, 10**6), teams=st.integers(1, 7), step=st.sampled_from([0.0, 0.1, 0.3, 1.0]))
@examples(60)
def test_groups_follow_the_literal_rule(seed: int, teams: int, step: float) -> None:
    full, drawn = means(sorted_teams(seed, teams, 20, step), replicates=60, seed=seed)
    p = np.array([[paired_p(full, drawn, one, other, cases=20) for other in range(teams)] for one in range(teams)])
    groups, adjusted = rank_groups(full.scores[0], paired_p_over_pairs(full, drawn, cases=20), alpha=0.05)
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
    for p in (
        paired_p_over_pairs(full, drawn, cases=40),
        max_t_over_pairs(values, Resamples.draw(cases=40, replicates=500, seed=0)),
    ):
        assert rank_groups(full.scores[0], p, alpha=0.05)[0] == (1, 1, 2, 2)


def test_holm_by_hand() -> None:
    assert holm(np.array([0.04, 0.01, 0.03])) == pytest.approx([0.06, 0.03, 0.06])
    assert holm(np.array([0.5, 0.9])).tolist() == [1.0, 1.0]
    assert holm(np.array([])).tolist() == []


def test_intervals_without_a_value_or_an_end() -> None:
    assert percentile_interval(np.array([np.nan, np.nan]), confidence=0.95, cases=9) is None
    assert percentile_interval(np.array([1.0, np.nan, 3.0]), confidence=0.5, cases=1) == (1.5, 2.5)
    assert percentile_interval(np.array([1.0, 2.0, np.inf]), confidence=0.95, cases=9) is None
    many = np.array([1.0] * 99 + [np.inf])
    assert percentile_interval(many, confidence=0.5, cases=1) == (1.0, 1.0)


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
    assert cases < 10 or percent(share) == words


def test_decimals_of_columns() -> None:
    columns = ([0.5, 0.51], [91.65, 77.03], [91.651, 91.652], [83.3321, 83.3324, 10.0], [1.0, 2.0, None], [None])
    assert [column_decimals(column) for column in columns] == [4, 2, 3, 4, 0, 0]
    assert [even_decimals(column) for column in ([0.5, 1.0], [2.5, 12.25], [500.0, 1234.5], [])] == [4, 2, 1, 0]
    assert percent(None) == "–"


@given(
    ranks=st.integers(1, 5).flatmap(
        lambda teams: st.lists(st.lists(st.integers(1, teams), min_size=teams, max_size=teams), min_size=1, max_size=4)
    )
)
@examples(60)
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
    order, disagreements = kemeny_order(table)
    assert disagreements == fewest == contradictions(tuple(order))
    assert tuple(order) == next(order for order in orders if contradictions(order) == fewest)


def test_differences_and_scores_outside_their_intervals_are_found() -> None:
    """The worked example has a difference of 0.17 in the interval from -0.01 to 0.12."""
    ranking = golden_ranking()
    assert _outside(ranking) == ["difference"]
    assert not _outside(replace(ranking, differences=ranking.differences[:2]))
    schemes = tuple(replace(each, score_intervals=((0.9, 0.95),) * 4) for each in ranking.schemes)
    assert _outside(replace(ranking, schemes=schemes)) == ["score", "difference"]


# The vectorised tests against SciPy's own, on data full of ties and zeros, and in every replicate.

COARSE = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])


@given(hnp.arrays(np.float64, st.tuples(st.just(3), st.integers(1, 30)), elements=st.one_of(COARSE, st.floats(0, 1))))
@example(np.array([[0.25, 0.25], [0.0, 0.0], [0.0, 0.0]]))  # two teams that never differ: no p value, and no test
@examples(80)
def test_p_is_scipys(values: np.ndarray) -> None:
    p = pairwise_p(values, Resamples.whole(values.shape[1]))[0]
    expected = literal.p_table(values.tolist(), 0.0, higher_is_better=True)
    np.testing.assert_allclose(p, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(holm_over_pairs(p), literal.holm(expected), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("cases", [12, 200, 700])  # sums of ranks in 8, 16 and 32 bits
def test_replicates_are_tests_of_the_drawn_cases(cases: int) -> None:
    generator = np.random.default_rng(8)
    values = np.round(generator.random((3, cases)), 2)  # ties of sizes as well as of cases drawn twice
    resamples = Resamples.draw(cases=cases, replicates=4, seed=2)
    p = pairwise_p(values, resamples)
    for replicate, counts in enumerate(resamples.counts):
        expected = literal.p_table(np.repeat(values, counts, axis=1).tolist(), 0.0, higher_is_better=True)
        np.testing.assert_allclose(p[replicate], expected, rtol=1e-9)


def test_a_pair_is_tested_alike_among_many_and_alone() -> None:
    """Many pairs are tested block by block."""
    values = np.round(np.random.default_rng(1).random((10, 12)), 2)
    resamples = Resamples.draw(cases=12, replicates=3000, seed=2)
    p = pairwise_p(values, resamples)
    for first, second in ((0, 1), (3, 7), (8, 9)):
        alone = pairwise_p(values[[first, second]], resamples)
        np.testing.assert_array_equal(p[:, first, second], alone[:, 0, 1])
        np.testing.assert_array_equal(p[:, second, first], alone[:, 1, 0])


def test_infinite_worst_values_are_equal_to_each_other() -> None:
    values = -np.array([[1.0, math.inf, 2.0, math.inf], [3.0, math.inf, math.inf, 1.0]])
    p = pairwise_p(values, Resamples.whole(4))[0]
    # Differences 2, 0, infinite, -infinite: ranks 1, 2.5, 2.5; W+ = 3.5 of 6, n = 3, one tie of two.
    deviation = math.sqrt((3 * 4 * 7 - (8 - 2) / 2) / 24)
    assert p[0, 1] == pytest.approx(0.5 * math.erfc((3.5 - 3 - 0.5) / deviation / math.sqrt(2)))


def test_teams_that_never_differ_have_no_p_and_no_wins() -> None:
    p = pairwise_p(np.ones((2, 5)), Resamples.whole(5))[0]
    assert np.isnan(p).all()
    assert share_of_significant_wins(p, alpha=0.05).tolist() == [0.0, 0.0]


def test_equal_means_tie() -> None:
    """Of all pairs of three tenths with the same sum, 126 have means that differ as floats."""
    triples = [np.array(each) / 10 for each in combinations_with_replacement(range(1, 10), 3)]
    pairs = [(a, b) for a, b in combinations(triples, 2) if round(10 * a.sum()) == round(10 * b.sum())]
    assert sum(a.mean() != b.mean() for a, b in pairs) > 100
    assert all(positions([(np.array([[a.mean(), b.mean()]]), "higher")]).tolist() == [[1, 1]] for a, b in pairs)


def test_equal_means_tie_in_every_replicate() -> None:
    """Tenths, whose sums are compared as whole numbers."""
    tenths = np.array([[1, 1, 4], [1, 2, 3], [3, 2, 1], [2, 2, 3]])
    draws = Resamples.draw(cases=3, replicates=300, seed=0)
    sums = draws.counts @ tenths.T
    expected = 1 + (sums[:, None, :] > sums[:, :, None]).sum(axis=2)
    table = case_table(METRIC, tenths / 10)
    assert apply_scheme(MEAN, [table], draws, RankingOptions()).ranks.tolist() == expected.tolist()


@given(
    st.lists(
        st.floats(-1e30, 1e30, allow_subnormal=False).filter(lambda each: each == 0 or abs(each) > 1e-10), min_size=1
    )
)
@examples(60)
def test_scores_are_compared_in_twelve_significant_digits(values: list[float]) -> None:
    found = significant(np.array(values))
    assert found.tolist() == pytest.approx([float(f"{each:.11e}") for each in values], rel=2e-16, abs=0)


def test_intervals_are_expanded_percentiles() -> None:
    """The quantiles 0.010757 and 0.989243 of twelve cases at 95 %, by Hesterberg's formula."""
    drawn = np.random.default_rng(3).normal(size=4001)
    expected = np.quantile(drawn, [0.010757, 1 - 0.010757])
    assert percentile_interval(drawn, confidence=0.95, cases=12) == pytest.approx(tuple(expected), abs=1e-3)


@pytest.mark.parametrize(("cases", "expanded", "plain"), [(8, 0.935, 0.883), (12, 0.945, 0.913), (20, 0.952, 0.935)])
def test_expanded_intervals_of_a_mean_contain_it_as_often_as_stated(cases: int, expanded: float, plain: float) -> None:
    """Of 600 data sets of Beta(8, 2); bench/coverage.py has more figures."""
    values = np.random.default_rng(cases).beta(8, 2, (cases, 600))
    drawn = Resamples.draw(cases=cases, replicates=4000, seed=1).mean(values)
    for n, share in ((cases, expanded), (1, plain)):  # a single case has nothing to expand
        ends = [percentile_interval(column, confidence=0.95, cases=n) for column in drawn.T]
        inside = [each is not None and each[0] <= 0.8 <= each[1] for each in ends]
        assert np.mean(inside) == pytest.approx(share, abs=0.025)


def literal_max_t(values: np.ndarray, counts: np.ndarray) -> dict[tuple[int, int], float]:
    """For every pair: the share of the replicates whose largest |t| of all pairs is at least its own |t|, and at least
    the p-value of the paired t test."""
    teams, cases = values.shape
    pairs = [(one, other) for one in range(teams) for other in range(one + 1, teams)]
    largest = []
    for row in counts:
        drawn = np.repeat(np.arange(cases), row)
        sizes = [0.0]
        for one, other in pairs:
            d = values[one] - values[other]
            spread = d[drawn].std(ddof=0) / np.sqrt(cases - 1)
            if spread > 1e-9:
                sizes.append(abs(d[drawn].mean() - d.mean()) / spread)
        largest.append(max(sizes))
    found = {}
    for one, other in pairs:
        test = ttest_rel(values[one], values[other])
        found[one, other] = max(float(np.mean(np.array(largest) >= abs(test.statistic))), float(test.pvalue))
    return found


@given(seed=st.integers(0, 10**6), teams=st.integers(2, 4), cases=st.integers(4, 15))
@examples(20)
def test_the_largest_t_of_all_pairs_by_the_literal_rule(seed: int, teams: int, cases: int) -> None:
    values = sorted_teams(seed, teams, cases, 0.2)
    draws = Resamples.draw(cases=cases, replicates=50, seed=seed)
    p = max_t_over_pairs(values, draws)
    for (one, other), expected in literal_max_t(values, draws.counts).items():
        assert p[one, other] == p[other, one] == pytest.approx(expected, abs=1e-9)
