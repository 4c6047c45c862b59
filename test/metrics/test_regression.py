"""Figures of numbers against SciPy, scikit-learn and published examples, whole and in replicates."""

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import sklearn.metrics as sk
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from metrics import made
from metrics.made import Cases, resamples, samples
from scipy import stats

from podium.metrics.regression import bias, c_index, ccc, icc, median_absolute_error, pearson, r2, rmse, spearman
from podium.metrics.resampling import Resamples

# Whole numbers give many equal values and exact sums; halves and an offset of a million test the centring.
VALUES = st.one_of(st.integers(-3, 3).map(float), st.integers(-99, 99).map(lambda half: 1e6 + half / 2))


@st.composite
def numbers(draw: st.DrawFn) -> Cases:
    cases = draw(st.integers(1, 12))
    true, found = (draw(hnp.arrays(np.float64, cases, elements=VALUES)) for _ in range(2))
    return true, found, draw(resamples(cases))


assert_like = partial(made.assert_like, within=1e-9)


def whole(figure: Callable[..., np.ndarray], reference: list[float], prediction: list[float]) -> float:
    drawn = Resamples.whole(len(reference))
    return float(figure(prediction=np.array(prediction), reference=np.array(reference), resamples=drawn)[0])


def test_by_hand() -> None:
    """Errors 1, -1, 3, 0."""
    true, found = [1.0, 2.0, 3.0, 4.0], [2.0, 1.0, 6.0, 4.0]
    assert whole(rmse, true, found) == pytest.approx(math.sqrt(11 / 4))
    assert whole(median_absolute_error, true, found) == 1.0
    assert whole(bias, true, found) == 0.75
    assert whole(r2, true, found) == pytest.approx(1 - 11 / 5)
    assert whole(spearman, true, found) == pytest.approx(1 - 6 * (1 + 1 + 1 + 1) / (4 * 15))


def test_agreement_by_hand() -> None:
    """Always 1 too much. ICC: MSR 2, MSE 0, MSC 3/2, so 2 / (2 + 2 * 1.5 / 3). CCC: (4/3) / (2/3 + 2/3 + 1)."""
    true, found = [1.0, 2.0, 3.0], [2.0, 3.0, 4.0]
    assert whole(icc, true, found) == pytest.approx(2 / 3)
    assert whole(ccc, true, found) == pytest.approx(4 / 7)
    assert whole(pearson, true, found) == whole(spearman, true, found) == pytest.approx(1.0)


def test_absurd_predictions_overflow_nowhere() -> None:
    true, found = [1.0, 2.0, 3.0, 4.0], [2e300, 4e300, 6e300, 8e300]
    assert whole(pearson, true, found) == pytest.approx(1.0)
    assert whole(rmse, true, found) == pytest.approx(math.sqrt(30) * 1e300)
    assert whole(ccc, true, found) == pytest.approx(0.0, abs=1e-9)
    assert whole(icc, true, found) == pytest.approx(0.0, abs=1e-9)
    assert whole(r2, true, found) == -math.inf
    assert whole(r2, true, [1e100, 2.0, 3.0, 4.0]) == pytest.approx(-2e199)


def literal_icc(true: np.ndarray, found: np.ndarray) -> float:
    """The mean squares of the table of n cases and 2 raters, as Shrout and Fleiss have them."""
    if true.size < 2:
        return math.nan
    table = np.column_stack([true, found])
    n, k = table.shape
    grand = table.mean()
    rows, columns = table.mean(axis=1, keepdims=True), table.mean(axis=0, keepdims=True)
    between = k * ((rows - grand) ** 2).sum() / (n - 1)
    raters = n * ((columns - grand) ** 2).sum() / (k - 1)
    residual = ((table - rows - columns + grand) ** 2).sum() / ((n - 1) * (k - 1))
    whole = between + (k - 1) * residual + k * (raters - residual) / n
    return (between - residual) / whole if whole else math.nan


def literal_ccc(true: np.ndarray, found: np.ndarray) -> float:
    spread = true.var() + found.var() + (true.mean() - found.mean()) ** 2
    return 2 * np.mean((true - true.mean()) * (found - found.mean())) / spread if spread else math.nan


@given(numbers())
def test_errors_are_those_of_scikit_learn(cases: Cases) -> None:
    assert_like(cases, rmse, sk.root_mean_squared_error)
    assert_like(cases, median_absolute_error, sk.median_absolute_error)
    assert_like(cases, r2, sk.r2_score)
    assert_like(cases, bias, lambda y, p: float(np.mean(p - y)))


@given(numbers())
def test_correlations_are_those_of_scipy(cases: Cases) -> None:
    assert_like(cases, pearson, lambda y, p: stats.pearsonr(p, y).statistic if y.size > 1 else math.nan)
    assert_like(cases, spearman, lambda y, p: stats.spearmanr(p, y).statistic if y.size > 1 else math.nan)


@given(numbers())
def test_agreement_is_that_of_the_definitions(cases: Cases) -> None:
    assert_like(cases, ccc, literal_ccc)
    assert_like(cases, icc, literal_icc)


@pytest.mark.parametrize("figure", [pearson, spearman, ccc, icc])
def test_what_is_constant_has_no_correlation(figure: Callable[..., np.ndarray]) -> None:
    assert math.isnan(whole(figure, [0.1, 0.1, 0.1], [0.1, 0.1, 0.1]))


def test_r2_of_a_constant_reference_is_1_only_if_exact() -> None:
    assert whole(r2, [0.1, 0.1, 0.1], [0.1, 0.1, 0.1]) == 1.0
    assert whole(r2, [0.1, 0.1, 0.1], [0.1, 0.1, 0.2]) == 0.0
    assert math.isnan(whole(r2, [0.1], [0.1]))


@pytest.mark.parametrize("figure", [rmse, median_absolute_error, bias, r2, pearson, spearman, ccc, icc])
def test_no_cases_have_no_figure(figure: Callable[..., np.ndarray]) -> None:
    assert math.isnan(whole(figure, [], []))


# Harrell's C against the golden figures and a literal loop over pairs, whole and in replicates.


def whole_c_index(times: list[float], events: list[int], risks: list[float]) -> float:
    arrays = {"prediction": np.array(risks), "times": np.array(times), "events": np.array(events, dtype=np.bool_)}
    return float(c_index(**arrays, resamples=Resamples.whole(len(times)))[0])


MISSING = math.nan


@pytest.mark.parametrize(
    ("risks", "expected"),
    [
        ([4, 3, 2, 1], 1.0),
        ([1, 3, 2, 4], 0.2),
        ([1, 1, 1, 1], 0.5),
        # Comparable are (1,2) (1,3) (1,4) (2,3) (2,4). A missing case is wrong in all of its pairs.
        ([4, MISSING, 2, 1], 2 / 5),
        ([MISSING] * 4, 0.0),
    ],
)
def test_golden_figures_of_the_catalogue(risks: list[float], expected: float) -> None:
    assert whole_c_index([2, 4, 6, 8], [1, 1, 0, 1], risks) == expected


@pytest.mark.parametrize(
    ("times", "events", "expected"),
    [
        ([3, 3], [1, 0], 1.0),  # a censored case outlived an event of the same time
        ([3, 3], [0, 1], 0.0),
        ([3, 3], [1, 1], math.nan),  # two events, or none, at one time are not comparable
        ([3, 3], [0, 0], math.nan),
        ([2, 3], [0, 1], math.nan),  # what was censored first is not comparable
        ([], [], math.nan),
    ],
)
def test_which_cases_are_comparable(times: list[float], events: list[int], expected: float) -> None:
    assert whole_c_index(times, events, [2, 1][: len(times)]) == pytest.approx(expected, nan_ok=True)


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
