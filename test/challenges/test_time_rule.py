"""The two published time rules, by their worked figures."""

import math

import pytest

from podium.challenges.declared.settings import TimeSettings, cohort_scores

FIXED = TimeSettings(rule="fixed", baseline_seconds=90.0).bounds
WIDEST = TimeSettings(rule="cohort", baseline_seconds=90.0).bounds


@pytest.mark.parametrize(
    ("seconds", "expected"), [(30, 100), (60, 100), (75, 87.5), (90, 75), (120, 50), (180, 0), (500, 0)]
)
def test_fixed_rule(seconds: float, expected: float) -> None:
    assert FIXED.score(seconds) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("teams", "expected"),
    [
        ([20, 100, 150], [100, 41.666667, 0]),
        ([40, 100, 200], [100, 57.142857, 0]),
        ([20, 100, 200], [100, 53.333333, 0]),
        ([40, 100, 150], [100, 45.454545, 0]),
        # Degenerate cohorts: all below a third of the baseline, all above twice the baseline, all equal.
        ([10, 20], [100, 100]),
        ([10], [100]),
        ([200, 250], [0, 0]),
        ([180, 250], [0, 0]),
        ([100, 100], [100, 100]),
        ([10, 200], [100, 0]),
        ([30, 180], [100, 0]),
    ],
)
def test_cohort_rule(teams: list[float], expected: list[float]) -> None:
    scores = cohort_scores(teams, WIDEST)
    assert scores == pytest.approx(expected, abs=1e-6)
    assert not any(math.copysign(1, score) < 0 for score in scores)


def test_provisional_bounds_of_a_single_team() -> None:
    assert (WIDEST.fast, WIDEST.slow) == (30, 180)
    assert WIDEST.score(105) == pytest.approx(50)
