"""The two published time rules, by their worked figures."""

import pytest

from podium.metrics.time_score import cohort_bounds, fixed_bounds, widest_cohort_bounds

BASELINE_SECONDS = 90.0


@pytest.mark.parametrize(
    ("seconds", "expected"), [(30, 100), (60, 100), (75, 87.5), (90, 75), (120, 50), (180, 0), (500, 0)]
)
def test_fixed_rule(seconds: float, expected: float) -> None:
    assert fixed_bounds(BASELINE_SECONDS).score(seconds) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("teams", "fast", "slow", "expected"),
    [
        ([20, 100, 150], 30, 150, [100, 41.666667, 0]),
        ([40, 100, 200], 40, 180, [100, 57.142857, 0]),
        ([20, 100, 200], 30, 180, [100, 53.333333, 0]),
        ([40, 100, 150], 40, 150, [100, 45.454545, 0]),
    ],
)
def test_cohort_rule(teams: list[float], fast: float, slow: float, expected: list[float]) -> None:
    bounds = cohort_bounds(teams, BASELINE_SECONDS)
    assert (bounds.fast, bounds.slow) == (fast, slow)
    assert [bounds.score(seconds) for seconds in teams] == pytest.approx(expected, abs=1e-6)


def test_equal_teams_all_score_full() -> None:
    bounds = cohort_bounds([100, 100], BASELINE_SECONDS)
    assert bounds.score(100) == 100.0


def test_a_time_on_the_threshold_does_not_widen_the_bounds() -> None:
    bounds = cohort_bounds([30, 180], BASELINE_SECONDS)
    assert (bounds.fast, bounds.slow) == (30, 180)


def test_provisional_bounds_of_a_single_team() -> None:
    bounds = widest_cohort_bounds(BASELINE_SECONDS)
    assert (bounds.fast, bounds.slow) == (30, 180)
    assert bounds.score(105) == pytest.approx(50)
