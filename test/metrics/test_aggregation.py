"""Means and standard deviations, against the standard library's exact ones."""

import math
import statistics
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from podium.figures import Figures
from podium.metrics.aggregation import CohortValues, harmonic_mean, mean_and_std, mean_of
from podium.metrics.declaration import CaseMetric, Metric, Scoreboard
from podium.metrics.resampling import Resamples, expanded_tail, running_sums


@given(st.lists(st.floats(-1e6, 1e6), min_size=1), st.randoms())
def test_they_are_those_of_the_population_in_any_order(values: list[float], random: object) -> None:
    mean, std = mean_and_std(values)
    assert mean == mean_of(values) == pytest.approx(statistics.fmean(values), rel=1e-12, abs=1e-12)
    assert std == pytest.approx(statistics.pstdev(values), rel=1e-6, abs=1e-6)
    random.shuffle(values)  # type: ignore[attr-defined]
    assert mean_and_std(values) == (mean, std)


def test_nothing_is_zero_and_one_value_has_no_spread() -> None:
    assert mean_and_std([]) == (0.0, 0.0)
    assert mean_and_std([7.5]) == (7.5, 0.0)


def test_squares_need_not_be_numbers() -> None:
    assert mean_and_std([0.0, 8e200]) == (4e200, 4e200)


# A metric's declaration refuses a worst value it could never have.


def test_worst_value_must_lie_in_the_range() -> None:
    with pytest.raises(ValueError, match=r"dice: worst value -1 is outside 0 to 1"):
        Metric(name="dice", title="Dice", direction="higher", lowest=0, highest=1, worst=-1)


# Means over groups of resampled cases.


def test_a_replicate_without_a_group_has_no_mean_over_the_groups() -> None:
    """The third replicate has no case of the group b: its mean would be that of a alone. c has no value at all."""
    metric: CaseMetric[Any] = CaseMetric(name="dice", title="Dice", direction="higher", highest=1, worst=0)
    board: Scoreboard[Any] = Scoreboard(metrics=[metric], leaderboard=["dice.mean"], groupings=1)
    rows: list[Figures] = [{"dice": 0.2}, {"dice": 0.4}, {"dice": 0.9}, {"dice": None}]
    resamples = Resamples(np.array([[1, 1, 1, 1], [2, 0, 1, 1], [2, 2, 0, 0]], dtype=np.int32))
    values = CohortValues(board, rows, resamples, {}, ["a", "a", "b", "c"])
    assert values["dice_group_mean"] == pytest.approx([0.6, 0.55, math.nan], nan_ok=True)


# Exact sums, means and quantiles over resampled cases, against a literal reading of each replicate.

FINITE = st.floats(-1e6, 1e6, allow_nan=False)


@st.composite
def samples(draw: st.DrawFn) -> tuple[np.ndarray, Resamples]:
    cases = draw(st.integers(1, 12))
    values = draw(hnp.arrays(np.float64, cases, elements=FINITE))
    return values, Resamples(draw(hnp.arrays(np.int32, (3, cases), elements=st.integers(0, 4))))


def drawn(values: np.ndarray, counts: np.ndarray) -> list[float]:
    return np.repeat(values, counts).tolist()


@given(samples())
def test_totals_are_exact_sums_rounded_once(sample: tuple[np.ndarray, Resamples]) -> None:
    values, resamples = sample
    totals = resamples.total(values)
    for replicate, counts in enumerate(resamples.counts):
        assert totals[replicate] == float(sum(map(Fraction, drawn(values, counts))))


def test_a_sum_just_above_the_middle_of_two_numbers_is_rounded_up() -> None:
    values = [1.0, 2.0**-53, 2.0**-120]
    assert Resamples.whole(3).total(values)[0] == 1 + 2.0**-52
    assert Resamples.whole(3).total([-value for value in values])[0] == -1 - 2.0**-52


@given(hnp.arrays(np.float64, st.integers(1, 300), elements=st.floats(0, 1)), st.randoms())
def test_scores_sum_as_fsum_does_in_any_order(values: np.ndarray, random: object) -> None:
    shuffled = values.tolist()
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    whole = Resamples.whole(values.size)
    assert whole.total(shuffled)[0] == whole.total(values)[0]
    assert whole.total(values)[0] == math.fsum(values)
    assert whole.mean(values)[0] == math.fsum(values) / values.size


def test_equal_data_tie_where_plain_sums_do_not() -> None:
    ordered = [0.1, 0.2, 0.3]
    backwards = ordered[::-1]
    assert 0.1 + 0.2 + 0.3 != 0.3 + 0.2 + 0.1  # `sum` compensates since Python 3.12
    whole = Resamples.whole(3)
    assert whole.total(ordered)[0] == whole.total(backwards)[0] == math.fsum(ordered)


@given(samples(), st.sampled_from([0.0, 0.05, 0.25, 0.5, 0.9, 1.0]))
def test_quantiles_are_those_of_the_drawn_cases(sample: tuple[np.ndarray, Resamples], share: float) -> None:
    values, resamples = sample
    found = resamples.quantiles(values, [share])[0]
    for replicate, counts in enumerate(resamples.counts):
        cases = drawn(values, counts)
        if cases:
            assert found[replicate] == pytest.approx(np.quantile(cases, share), rel=1e-12, abs=1e-9)
        else:
            assert math.isnan(found[replicate])


def test_an_infinite_worst_value_stays_infinite_and_spoils_no_other_replicate() -> None:
    resamples = Resamples(np.array([[1, 1, 0], [0, 1, 1]], dtype=np.int32))
    assert resamples.mean([1.0, 2.0, math.inf]).tolist() == [1.5, math.inf]
    assert resamples.quantiles(np.array([1.0, 2.0, math.inf]), [0.0, 0.5]).tolist() == [[1.0, 2.0], [1.5, math.inf]]


def test_a_replicate_without_the_cases_that_count_has_no_mean() -> None:
    resamples = Resamples(np.array([[2, 0], [1, 1]], dtype=np.int32)).only(np.array([False, True]))
    means = resamples.mean([7.0])
    assert math.isnan(means[0])
    assert means[1] == 7.0
    assert np.isnan(resamples.only(np.array([False])).mean([])).all()


def test_draws_have_as_many_cases_as_there_are_and_follow_the_seed() -> None:
    first = Resamples.draw(cases=20, replicates=50, seed=3)
    assert (first.sizes == 20).all()
    assert (first.counts == Resamples.draw(cases=20, replicates=50, seed=3).counts).all()
    assert (first.counts != Resamples.draw(cases=20, replicates=50, seed=4).counts).any()
    # Every case is drawn about once a replicate: 1,000 draws at p = 1/20 have a standard deviation of 6.9.
    assert np.abs(first.counts.sum(axis=0) - 50).max() < 5 * 6.9


@given(hnp.arrays(np.int16, st.tuples(st.integers(1, 9), st.integers(1, 5)), elements=st.integers(0, 9)))
def test_running_sums(table: np.ndarray) -> None:
    assert (running_sums(table) == np.cumsum(table, axis=0)).all()


# Expanded percentiles: golden tails of 95 % intervals.


@pytest.mark.parametrize(
    ("cases", "tail"), [(8, 0.005738), (12, 0.010757), (20, 0.015881), (50, 0.021179), (300, 0.024349), (1, 0.025)]
)
def test_the_tail_of_an_expanded_percentile_interval(cases: int, tail: float) -> None:
    assert expanded_tail(0.95, cases) == pytest.approx(tail, abs=5e-7)


@pytest.mark.parametrize(("one", "other", "mean"), [(0.25, 0.75, 0.375), (1.0, 0.0, 0.0), (0.0, 0.0, 0.0)])
def test_a_harmonic_mean_of_two(one: float, other: float, mean: float) -> None:
    assert harmonic_mean(one, other) == mean
