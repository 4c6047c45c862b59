"""Figures of probabilities against the golden figures, scikit-learn and a literal reading, whole and in replicates."""

import math
import warnings
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
import sklearn.metrics as sk
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from metrics.replicates import resamples, samples

from podium.metrics.classification import (
    MISSING,
    auroc,
    average_precision,
    brier,
    ece,
    log_loss,
    predicted_classes,
    with_worst,
)
from podium.metrics.resampling import Resamples

CLASSES = 3
# Few values, so that equal probabilities are common; 1/3 and 0.2 lie on the edges of 15 bins.
PROBABILITIES = st.one_of(st.sampled_from([0.0, 0.2, 1 / 3, 0.5, 0.75, 1.0]), st.floats(0, 1))


@st.composite
def binary(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, Resamples]:
    cases = draw(st.integers(1, 15))
    probability = draw(hnp.arrays(np.float64, cases, elements=PROBABILITIES))
    return draw(hnp.arrays(np.bool_, cases)), probability, draw(resamples(cases))


@st.composite
def multi_class(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, Resamples]:
    cases = draw(st.integers(1, 15))
    shares = draw(hnp.arrays(np.int64, (cases, CLASSES), elements=st.integers(0, 5)))
    shares[:, -1] += 1
    true = draw(hnp.arrays(np.int64, cases, elements=st.integers(0, CLASSES - 1)))
    return true, shares / shares.sum(axis=1, keepdims=True), draw(resamples(cases))


Cases = tuple[np.ndarray, np.ndarray, Resamples]


def assert_like(cases: Cases, ours: Callable[..., np.ndarray], theirs: Callable[..., float]) -> None:
    """Every replicate that holds a case has the figure of its cases written out."""
    true, probability, drawn = cases
    figures = ours(prediction=probability, reference=true, resamples=drawn)
    for figure, sample in zip(figures, samples(drawn, true, probability), strict=True):
        if sample[0].size == 0:
            assert math.isnan(figure)
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = theirs(*sample)
        assert figure == pytest.approx(expected, abs=1e-12, nan_ok=True)


def whole(figure: Callable[..., np.ndarray], reference: list[int], prediction: list, **options: object) -> float:
    drawn = Resamples.whole(len(reference))
    return float(figure(prediction=np.array(prediction), reference=np.array(reference), resamples=drawn, **options)[0])


def test_golden_figures_of_the_catalogue() -> None:
    truth, probability = [0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]
    assert whole(auroc, truth, probability) == 0.75
    assert whole(average_precision, truth, probability) == pytest.approx(5 / 6)


def test_equal_probabilities_count_half() -> None:
    assert whole(auroc, [0, 1], [0.5, 0.5]) == 0.5


@pytest.mark.parametrize("truth", [[0, 0], [1, 1]])
def test_one_class_only_has_no_auroc(truth: list[int]) -> None:
    assert math.isnan(whole(auroc, truth, [0.2, 0.7]))


def test_only_the_replicates_without_a_class_have_no_auroc() -> None:
    drawn = Resamples(np.array([[2, 0], [1, 1]], dtype=np.int32))
    figures = auroc(prediction=np.array([0.2, 0.7]), reference=np.array([False, True]), resamples=drawn)
    assert np.isnan(figures).tolist() == [True, False]
    figures = average_precision(prediction=np.array([0.2, 0.7]), reference=np.array([False, True]), resamples=drawn)
    assert np.isnan(figures).tolist() == [True, False]


@given(binary())
def test_ranking_is_that_of_scikit_learn(cases: Cases) -> None:
    assert_like(cases, auroc, lambda y, p: sk.roc_auc_score(y, p) if 0 < y.sum() < y.size else math.nan)
    assert_like(cases, average_precision, lambda y, p: sk.average_precision_score(y, p) if y.any() else math.nan)


@given(multi_class())
def test_ranking_of_several_classes_is_that_of_scikit_learn(cases: Cases) -> None:
    def by_class(figure: Callable[..., float], true: np.ndarray, probability: np.ndarray) -> float:
        numbers = np.arange(CLASSES)
        if set(true) != set(numbers):
            return math.nan
        return float(np.mean([figure(true == number, probability[:, number]) for number in numbers]))

    assert_like(cases, auroc, lambda y, p: by_class(sk.roc_auc_score, y, p))
    assert_like(cases, average_precision, lambda y, p: by_class(sk.average_precision_score, y, p))
    true, probability, _ = cases
    if set(true) == set(range(CLASSES)):
        drawn = Resamples.whole(true.size)
        expected = sk.roc_auc_score(true, probability, multi_class="ovr", average="macro")
        assert auroc(prediction=probability, reference=true, resamples=drawn)[0] == pytest.approx(expected, abs=1e-12)


@given(binary())
def test_losses_are_those_of_scikit_learn(cases: Cases) -> None:
    assert_like(cases, brier, lambda y, p: sk.brier_score_loss(y, p, pos_label=True))
    assert_like(cases, log_loss, lambda y, p: sk.log_loss(y, p, labels=[False, True]))


@given(multi_class())
def test_losses_of_several_classes_are_those_of_scikit_learn(cases: Cases) -> None:
    labels = list(range(CLASSES))
    assert_like(cases, brier, lambda y, p: sk.brier_score_loss(y, p, labels=labels))
    assert_like(cases, log_loss, lambda y, p: sk.log_loss(y, p, labels=labels))


@given(binary())
def test_two_columns_are_one_probability(cases: Cases) -> None:
    true, probability, drawn = cases
    pair = np.column_stack([1 - probability, probability])
    for figure in (brier, log_loss):
        one = figure(prediction=probability, reference=true, resamples=drawn)
        two = figure(prediction=pair, reference=true.astype(np.int64), resamples=drawn)
        assert two == pytest.approx(one, abs=1e-12, nan_ok=True)


def literal_ece(confidence: np.ndarray, right: np.ndarray, bins: int) -> float:
    """Bin by bin, as the definition says."""
    error = 0.0
    edges = [number / bins for number in range(bins + 1)]
    for lo, hi in pairwise(edges):
        inside = (confidence > lo) & (confidence <= hi) | ((confidence == 0) & (lo == 0))
        if inside.any():
            error += inside.mean() * abs(confidence[inside].mean() - right[inside].mean())
    return error


@given(binary(), st.sampled_from([1, 10, 15]))
def test_ece_of_the_positive_class(cases: Cases, bins: int) -> None:
    def ours(**arguments: np.ndarray) -> np.ndarray:
        return ece(**arguments, bins=bins)

    assert_like(cases, ours, lambda y, p: literal_ece(p, y, bins))


@given(multi_class())
def test_ece_of_several_classes(cases: Cases) -> None:
    assert_like(cases, ece, lambda y, p: literal_ece(p.max(axis=1), p.argmax(axis=1) == y, 15))


def test_ece_by_hand() -> None:
    """Bins of 0.5: {0.2, 0.5} with one positive: |0.7 - 1| / 3; {0.9}: |0.9 - 1| / 3. The edge belongs to the lower."""
    assert whole(ece, [0, 1, 1], [0.2, 0.5, 0.9], bins=2) == pytest.approx(0.4 / 3)


def test_a_missing_probability_is_the_worst() -> None:
    missing = np.array([np.nan, np.nan, 0.3])
    assert with_worst(prediction=missing, reference=np.array([True, False, True])).tolist() == [0.0, 1.0, 0.3]
    rows = np.array([[np.nan] * 3, [0.5, 0.25, 0.25]])
    filled = with_worst(prediction=rows, reference=np.array([1, 0]))
    assert filled.tolist() == [[1.0, 0.0, 1.0], [0.5, 0.25, 0.25]]
    assert whole(brier, [1], [[1.0, 0.0, 1.0]]) == 2.0
    assert whole(log_loss, [1], [[1.0, 0.0, 1.0]]) == pytest.approx(-math.log(2.0**-52))
    assert whole(ece, [1], [[1.0, 0.0, 1.0]]) == 1.0


def test_a_threshold_turns_a_probability_into_a_class() -> None:
    assert predicted_classes(np.array([0.29, 0.3, np.nan]), threshold=0.3).tolist() == [0, 1, MISSING]
    rows = np.array([[0.2, 0.4, 0.4], [np.nan, np.nan, np.nan], [0.0, 0.0, 1.0]])
    assert predicted_classes(rows).tolist() == [1, MISSING, 2]
