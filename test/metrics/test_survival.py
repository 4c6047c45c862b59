"""Harrell's C against the golden figures and a literal loop over pairs, whole and in replicates."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from metrics.replicates import resamples, samples

from podium.metrics.regression import c_index
from podium.metrics.resampling import Resamples


def whole(times: list[float], events: list[int], risks: list[float]) -> float:
    arrays = {"prediction": np.array(risks), "times": np.array(times), "events": np.array(events, dtype=np.bool_)}
    return float(c_index(**arrays, resamples=Resamples.whole(len(times)))[0])


@pytest.mark.parametrize(("risks", "expected"), [([4, 3, 2, 1], 1.0), ([1, 3, 2, 4], 0.2), ([1, 1, 1, 1], 0.5)])
def test_golden_figures_of_the_catalogue(risks: list[float], expected: float) -> None:
    assert whole([2, 4, 6, 8], [1, 1, 0, 1], risks) == expected


def test_a_censored_case_outlived_an_event_of_the_same_time() -> None:
    assert whole([3, 3], [1, 0], [2, 1]) == 1.0
    assert whole([3, 3], [0, 1], [2, 1]) == 0.0


@pytest.mark.parametrize("events", [[1, 1], [0, 0]])
def test_two_events_or_none_at_one_time_are_not_comparable(events: list[int]) -> None:
    assert math.isnan(whole([3, 3], events, [2, 1]))


def test_what_was_censored_first_is_not_comparable() -> None:
    assert math.isnan(whole([2, 3], [0, 1], [2, 1]))


def test_no_cases_have_no_figure() -> None:
    assert math.isnan(whole([], [], []))


def literal(times: np.ndarray, events: np.ndarray, risks: np.ndarray) -> float:
    """Every ordered pair: is the first the one with the earlier event, and has it the higher risk?"""
    right, comparable = 0.0, 0
    for first in range(times.size):
        for second in range(times.size):
            outlived = times[first] < times[second] or (times[first] == times[second] and not events[second])
            if events[first] and outlived:
                comparable += 1
                right += 1.0 if risks[first] > risks[second] else 0.5 if risks[first] == risks[second] else 0.0
    return right / comparable if comparable else math.nan


@given(st.data())
def test_is_that_of_a_loop_over_pairs(data: st.DataObject) -> None:
    cases = data.draw(st.integers(1, 12))
    times, risks = (data.draw(hnp.arrays(np.float64, cases, elements=st.integers(0, 6))) for _ in range(2))
    events = data.draw(hnp.arrays(np.bool_, cases))
    drawn = data.draw(resamples(cases))
    figures = c_index(prediction=risks, times=times, events=events, resamples=drawn)
    for figure, sample in zip(figures, samples(drawn, times, events, risks), strict=True):
        assert figure == pytest.approx(literal(*sample), abs=1e-12, nan_ok=True)
