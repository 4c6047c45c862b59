"""Means and standard deviations, against the standard library's exact ones."""

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.metrics.aggregation import mean_and_std, mean_of


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
