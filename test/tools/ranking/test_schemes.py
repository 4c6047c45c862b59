"""Every scheme against the literal reading, in every replicate, and what must hold whatever the data."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from literal import ranking as literal
from properties import examples
from tools.ranking.files import METRIC, TABLE, VALUES

from podium.metrics.declaration import Direction, Metric
from podium.metrics.resampling import Resamples
from podium.tools.ranking.schemes import SCHEMES, RankingOptions, SchemeOutcome, apply_scheme, case_table
from podium.tools.ranking.statistics import case_positions, holm_over_pairs, pairwise_p, stability, tau_b

Values = list[list[float | None]]
LOWER = replace(METRIC, direction="lower", worst=1.0)
# Few different values, so that ties and zero differences are the rule; and floats that do not sum nicely.
FIGURES = st.one_of(st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0]), st.floats(0, 1, width=16))


@st.composite
def tables(draw: st.DrawFn, *, missing: bool = True) -> Values:
    """Any number of teams from one, any number of cases from one; some values missing, but nowhere all of them."""
    teams, cases = draw(st.integers(1, 5)), draw(st.integers(1, 9))
    figures = st.one_of(FIGURES, st.none()) if missing else FIGURES
    columns = [
        draw(
            st.lists(figures, min_size=teams, max_size=teams).filter(lambda column: any(v is not None for v in column))
        )
        for _ in range(cases)
    ]
    return [[column[team] for column in columns] for team in range(teams)]


def apply(scheme: str, values: Values, resamples: Resamples | None = None, metric: Metric = METRIC) -> SchemeOutcome:
    table = case_table(metric, values)
    return apply_scheme(SCHEMES[scheme], [table], resamples or Resamples.whole(len(values[0])), RankingOptions())


def literally(values: Values, direction: Direction) -> dict[str, tuple[list[float], bool]]:
    """By scheme: scores, and whether higher is better."""
    higher = direction == "higher"
    worst = 0.0 if higher else 1.0
    ranks = literal.case_ranks(values, higher_is_better=higher)
    p = literal.p_table(values, worst, higher_is_better=higher)
    return {
        "mean-then-rank": (literal.means(values, worst), higher),
        "median-then-rank": (literal.medians(values, worst), higher),
        "quantile-then-rank": (literal.quantiles(values, worst, 0.05 if higher else 0.95), higher),
        "rank-then-mean": ([sum(team) / len(team) for team in ranks], False),
        "rank-then-median": (literal.medians(ranks, 0.0), False),
        "test-then-rank": (literal.wins(p), True),
        "test-then-rank-holm": (literal.wins(literal.holm(p)), True),
    }


@pytest.mark.parametrize("direction", ["higher", "lower"])
@given(values=tables(), seed=st.integers(0, 10))
@example(values=[[0.0, 0.1, 0.1], [0.0, 0.0, 0.3]], seed=0)  # in a replicate, three times 0.1 and once 0.3
@examples(40)
def test_every_replicate_is_what_the_literal_reading_of_its_cases_gives(
    direction: Direction, values: Values, seed: int
) -> None:
    metric = METRIC if direction == "higher" else LOWER
    cases = len(values[0])
    resamples = Resamples.draw(cases=cases, replicates=3, seed=seed)
    outcomes = {scheme: apply(scheme, values, resamples, metric) for scheme in SCHEMES}
    for replicate, counts in enumerate(resamples.counts):
        draws = np.repeat(np.arange(cases), counts).tolist()
        expected = literally(literal.redrawn(values, draws), direction)
        assert expected.keys() == outcomes.keys()
        for scheme, (scores, higher) in expected.items():
            outcome = outcomes[scheme]
            assert outcome.scores[replicate] == pytest.approx(scores, abs=1e-12), scheme
            assert outcome.ranks[replicate].tolist() == literal.min_ranks(scores, higher_is_better=higher), scheme


@given(values=tables())
def test_monotone_transforms_change_nothing_for_schemes_by_rank(values: Values) -> None:
    stretched = [[None if value is None else math.exp(3 * value) - 7 for value in team] for team in values]
    for scheme in ("rank-then-mean", "rank-then-median"):
        assert apply(scheme, stretched).ranks.tolist() == apply(scheme, values).ranks.tolist(), scheme


@given(values=tables(), random=st.randoms(use_true_random=False))
@examples(40)
def test_the_order_of_teams_and_cases_changes_nothing(values: Values, random: object) -> None:
    teams, cases = list(range(len(values))), list(range(len(values[0])))
    random.shuffle(teams)  # type: ignore[attr-defined]
    random.shuffle(cases)  # type: ignore[attr-defined]
    shuffled = [[values[team][case] for case in cases] for team in teams]
    for scheme in SCHEMES:
        before, after = apply(scheme, values), apply(scheme, shuffled)
        assert after.scores[0].tolist() == [before.scores[0][team] for team in teams], scheme
        assert after.ranks[0].tolist() == [before.ranks[0][team] for team in teams], scheme


@given(values=tables(), seed=st.integers(0, 5))
@examples(40)
def test_identical_teams_tie_in_every_replicate(values: Values, seed: int) -> None:
    doubled = [*values, values[0]]
    resamples = Resamples.draw(cases=len(values[0]), replicates=20, seed=seed)
    for scheme in SCHEMES:
        ranks = apply(scheme, doubled, resamples).ranks
        assert (ranks[:, 0] == ranks[:, -1]).all(), scheme


def test_identical_teams_tie_at_full_size() -> None:
    """Where matrix products are cut into blocks, equal columns may be summed in different orders."""
    generator = np.random.default_rng(5)
    values = generator.random((13, 257))
    values[[4, 9, 12]] = values[0]
    resamples = Resamples.draw(cases=257, replicates=50, seed=1)
    for scheme in SCHEMES:
        ranks = apply(scheme, values.tolist(), resamples).ranks
        assert (ranks[:, [4, 9, 12]] == ranks[:, [0]]).all(), scheme


@given(values=tables(), seed=st.integers(0, 5), scheme=st.sampled_from(["mean-then-rank", "test-then-rank"]))
@examples(50)
def test_what_a_bootstrap_says_adds_up(values: Values, seed: int, scheme: str) -> None:
    resamples = Resamples.draw(cases=len(values[0]), replicates=25, seed=seed)
    full = apply(scheme, values).ranks[0]
    ranks = apply(scheme, values, resamples).ranks
    found = stability(ranks, full, confidence=0.95)
    frequencies = np.array(found.rank_frequencies)
    assert frequencies.shape == (len(values), len(values))
    assert frequencies.sum(axis=1) == pytest.approx(1)
    assert sum(found.win_probabilities) == pytest.approx(1)
    assert len(found.taus.values) + found.taus.undefined == 25
    for team, (low, high) in enumerate(found.rank_intervals):
        inside = ((ranks[:, team] >= low) & (ranks[:, team] <= high)).mean()
        assert inside >= 0.95
        assert frequencies[team, low - 1] > 0
        assert frequencies[team, high - 1] > 0


def test_a_wins_by_hand() -> None:
    """Four replicates of three teams: two clear wins, one shared by two, one shared by all."""
    replicates = np.array([[1, 2, 3], [2, 1, 3], [1, 1, 3], [1, 1, 1]])
    found = stability(replicates, np.array([1, 2, 3]), confidence=0.95)
    assert found.win_probabilities == pytest.approx(
        [(1 + 0 + 1 / 2 + 1 / 3) / 4, (0 + 1 + 1 / 2 + 1 / 3) / 4, (1 / 3) / 4]
    )
    assert found.rank_frequencies == ((0.75, 0.25, 0.0), (0.75, 0.25, 0.0), (0.25, 0.0, 0.75))
    assert found.rank_intervals == ((1, 2), (1, 2), (1, 3))
    # tau-b: all three pairs agree; one pair turned round; one tied in the replicate; all tied, where it has no value.
    assert found.taus.values == pytest.approx([1.0, 1 / 3, 2 / math.sqrt(2 * 3)])
    assert found.taus.undefined == 1
    assert found.taus.median == pytest.approx(2 / math.sqrt(6))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_few_teams_few_cases_and_no_values(scheme: str) -> None:
    assert apply(scheme, [[0.5, 0.6, None]]).ranks.tolist() == [[1]], "one team"
    # One case is never significant: p = 0.5 after the correction.
    assert apply(scheme, [[0.5], [0.6]]).ranks[0].tolist() == ([1, 1] if scheme.startswith("test") else [2, 1])
    outcome = apply(scheme, [[0.5, 0.6, 0.1]] * 4, Resamples.draw(cases=3, replicates=10, seed=0))
    assert (outcome.ranks == 1).all(), "all teams tie"
    assert math.isnan(tau_b(outcome.ranks[0], outcome.ranks[1]))
    good = [0.5 + 0.01 * case for case in range(12)]
    without = apply(scheme, [[None] * 12, good, [value + 0.1 for value in good]])
    assert without.ranks[0, 0] == 3, "a team without any value is last"


def test_cases_that_exist_for_nobody_are_left_out_for_everybody() -> None:
    with_gap = [[0.5, None, 0.9], [0.6, None, 0.7]]
    without = [[0.5, 0.9], [0.6, 0.7]]
    for scheme in SCHEMES:
        assert apply(scheme, with_gap).scores.tolist() == apply(scheme, without).scores.tolist()


def test_several_metrics_rank_by_the_mean_of_the_positions() -> None:
    # Positions 1, 2, 3 by the first and 3, 1, 2 by the second: means 2, 1.5, 2.5.
    first = case_table(METRIC, [[0.9], [0.8], [0.7]])
    second = case_table(LOWER, [[0.9], [0.7], [0.8]])
    outcome = apply_scheme(SCHEMES["mean-then-rank"], [first, second], Resamples.whole(1), RankingOptions())
    assert outcome.scores.tolist() == [[2.0, 1.5, 2.5]]
    assert outcome.ranks.tolist() == [[2, 1, 3]]


@given(
    st.integers(1, 6).flatmap(
        lambda n: st.tuples(*[st.lists(st.integers(1, 6), min_size=n, max_size=n) for _ in range(2)])
    )
)
def test_tau_is_scipys(rankings: tuple[list[int], list[int]]) -> None:
    first, second = rankings
    found = float(tau_b(np.array(first), np.array(second)))
    if len(first) == 1 or len(set(first)) == 1 or len(set(second)) == 1:
        assert math.isnan(found)
    else:
        assert found == pytest.approx(literal.tau(first, second), abs=1e-12)


# The published small table: every scheme, every p value, every tau, to the digits given.

WHOLE = Resamples.whole(8)
THIRD = 1 / 3

EXPECTED = {
    "mean-then-rank": ([0.82, 0.86875, 0.8625, 0.65], [3, 1, 2, 4]),
    "median-then-rank": ([0.89, 0.87, 0.865, 0.715], [1, 2, 3, 4]),
    "quantile-then-rank": ([0.4925, 0.8335, 0.807, 0.245], [3, 1, 2, 4]),
    "rank-then-mean": ([1.375, 2.25, 2.5, 3.625], [1, 2, 3, 4]),
    "rank-then-median": ([1.0, 2.0, 2.5, 4.0], [1, 2, 3, 4]),
    "test-then-rank": ([0.0, THIRD, THIRD, 0.0], [3, 1, 1, 3]),
    "test-then-rank-holm": ([0.0, 0.0, 0.0, 0.0], [1, 1, 1, 1]),
}
P = [
    [np.nan, 0.0900972, 0.135091, 0.0704970],
    [0.930727, np.nan, 0.217475, 0.0111271],
    [0.898364, 0.8219196, np.nan, 0.0103531],
    [0.946552, 0.9929623, 0.992926, np.nan],
]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_scores_and_ranks(scheme: str) -> None:
    outcome = apply(scheme, VALUES)
    scores, positions = EXPECTED[scheme]
    assert outcome.scores[0] == pytest.approx(scores, abs=1e-12)
    assert outcome.ranks[0].tolist() == positions


def test_ranks_in_every_case() -> None:
    assert case_positions(TABLE.values, "higher").tolist() == [
        [1, 1, 1, 1, 1, 1, 1, 4],
        [3, 3, 3, 2, 2, 2, 2, 1],
        [2, 2, 1, 3, 4, 3, 3, 2],
        [4, 4, 4, 4, 2, 4, 4, 3],
    ]


def test_p_values_and_holm_against_a_calculation_by_hand() -> None:
    # 12 pairs; the smallest is 12 * .01035311, the second 11 * .0111271 = .1223976 and may not be below the first.
    p = pairwise_p(TABLE.gains(), WHOLE)[0]
    np.testing.assert_allclose(p, P, atol=6e-7)
    adjusted = holm_over_pairs(p)
    assert adjusted[2, 3] == pytest.approx(12 * 0.0103531, abs=1e-6)
    assert adjusted[1, 3] == pytest.approx(12 * 0.0103531, abs=1e-6)
    assert adjusted[0, 3] == pytest.approx(10 * 0.0704970, abs=1e-5)
    assert adjusted[3, 1] == 1.0


def test_tau_between_schemes() -> None:
    schemes = ("mean-then-rank", "rank-then-mean", "test-then-rank")
    mean, rank, test = (apply(scheme, VALUES).ranks[0] for scheme in schemes)
    assert tau_b(mean, rank) == pytest.approx(0.3333, abs=5e-5)
    assert tau_b(mean, test) == pytest.approx(0.8164965809, abs=1e-10)
    assert tau_b(rank, test) == 0.0


def test_a_missing_value_comes_after_all_others_in_its_case() -> None:
    """In the second case no team has a value: all share its first position."""
    values = np.array([[0.9, np.nan], [0.9, np.nan], [0.9, np.nan], [np.nan, np.nan]])
    assert case_positions(values, "higher").tolist() == [[1, 1], [1, 1], [1, 1], [2, 1]]


def test_the_literal_reading_agrees_with_the_golden_figures() -> None:
    assert literal.means(VALUES, 0.0) == pytest.approx(EXPECTED["mean-then-rank"][0])
    assert literal.medians(VALUES, 0.0) == pytest.approx(EXPECTED["median-then-rank"][0])
    assert literal.quantiles(VALUES, 0.0, 0.05) == pytest.approx(EXPECTED["quantile-then-rank"][0])
    np.testing.assert_allclose(literal.p_table(VALUES, 0.0, higher_is_better=True), P, atol=6e-7)
    assert literal.wins(P) == pytest.approx(EXPECTED["test-then-rank"][0])
