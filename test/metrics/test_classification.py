"""Figures of class labels, cases without a prediction included."""

import math
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import sklearn.metrics as sk
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from metrics import made
from metrics.made import Cases, resamples
from properties import examples
from sklearn.metrics import f1_score

from podium.metrics.classification import (
    MISSING,
    NEVER_FOUND,
    ConfusionCounts,
    accuracy,
    auroc,
    average_precision,
    balanced_accuracy,
    brier,
    class_codes,
    confusion,
    ece,
    f1,
    f1_macro,
    f1_micro,
    f1_weighted,
    kappa,
    log_loss,
    mcc,
    operating_point,
    predicted_classes,
    sensitivity,
    specificity,
    with_worst,
)
from podium.metrics.resampling import Resamples


def counted(reference: list[int], prediction: list[int | None], classes: int) -> ConfusionCounts:
    return confusion(
        prediction=class_codes(prediction, classes=range(classes)),
        reference=reference,
        classes=classes,
        resamples=Resamples.whole(len(reference)),
    )


@pytest.mark.parametrize(
    ("reference", "prediction", "expected"),
    [
        ([0, 0, 0, 1, 1], [0, 0, None, 1, 0], [4 / 6, 2 / 3]),  # TP 2, FN 1 (missing), FP 1; TP 1, FN 1, FP 0
        ([0, 1], [0, None], [1, 0]),  # missing is wrong for its class, and a false positive nowhere
        ([0, 0], [0, 0], [1, 0]),  # a class that never occurs
        ([0, 1], [None, None], [0, 0]),
    ],
)
def test_f1_by_hand(reference: list[int], prediction: list[int | None], expected: list[float]) -> None:
    assert f1(counted(reference, prediction, 2))[0].tolist() == pytest.approx(expected)


def test_golden_figures_of_the_catalogue() -> None:
    """Truth 0,0,1,1,1; predictions 0,1,1,1,missing. By hand: class 0 has TP 1, FN 1; class 1 has TP 2, FP 1, FN 1."""
    counts = counted([0, 0, 1, 1, 1], [0, 1, 1, 1, None], 2)
    assert counts.tolist() == [[[1, 1, 0], [0, 2, 1]]]
    assert f1(counts).tolist() == [[pytest.approx(2 / 3)] * 2]
    assert f1_macro(counts)[0] == pytest.approx(2 / 3)
    assert f1_weighted(counts)[0] == pytest.approx(2 / 3)
    assert accuracy(counts)[0] == 0.6
    assert balanced_accuracy(counts)[0] == pytest.approx(7 / 12)
    assert f1_micro(counts)[0] == pytest.approx(6 / 9)
    assert sensitivity(counts, positive=1)[0] == pytest.approx(2 / 3)
    assert specificity(counts, positive=1)[0] == 0.5


def test_a_missing_prediction_is_wrong_for_the_other_classes_too() -> None:
    counts = counted([0, 0, 1, 2], [None, 2, 1, 0], 3)
    assert specificity(counts, positive=1)[0] == pytest.approx(2 / 3)
    assert specificity(counts, positive=2)[0] == pytest.approx(1 / 3)


def test_a_missing_prediction_weighs_as_the_worst_one_in_kappa() -> None:
    """Weights of the true class 0 are 0, 1, 2: the missing case counts as a prediction of class 2 would."""
    worst = counted([0, 1, 2, 2], [2, 1, 2, 2], 3)
    missing = counted([0, 1, 2, 2], [None, 1, 2, 2], 3)
    # Observed 2 of 4; by chance with missing: rows 1,1,2; columns 0,1,2,1: (1 + 4 + 2) + (2 + 1) + (2 + 4) over 4.
    assert kappa(missing, weights="linear")[0] == pytest.approx(1 - 2 / (16 / 4))
    # With class 2 instead: columns 0,1,3: (1 + 6) + 3 + 2 over 4.
    assert kappa(worst, weights="linear")[0] == pytest.approx(1 - 2 / (12 / 4))


def test_labels_that_are_no_class_are_missing() -> None:
    assert class_codes(["high", None, "odd", "low"], classes=["low", "high"]).tolist() == [1, MISSING, MISSING, 0]
    whole = Resamples.whole(2)
    assert confusion(prediction=[7, 2], reference=[0, 1], classes=2, resamples=whole)[0, :, 2].tolist() == [1, 1]
    with pytest.raises(ValueError, match="every reference must be one of the classes"):
        confusion(prediction=[0], reference=[MISSING], classes=2, resamples=Resamples.whole(1))


def test_what_has_no_cases_has_no_accuracy() -> None:
    nothing = confusion(prediction=[0], reference=[0], classes=2, resamples=Resamples(np.zeros((1, 1), np.int32)))
    for figure in (accuracy, balanced_accuracy, kappa):
        assert np.isnan(figure(nothing)).tolist() == [True]
    assert f1_micro(nothing)[0] == f1_weighted(nothing)[0] == mcc(nothing)[0] == 0
    empty = confusion(prediction=[], reference=[], classes=2, resamples=Resamples.whole(0))
    assert np.isnan(accuracy(empty)).tolist() == [True]


CLASSES = 3
LABELS = list(range(CLASSES))


@st.composite
def classified(draw: st.DrawFn, lowest: int) -> Cases:
    """True classes, predicted classes (from `lowest`: -1 is missing) and replicates."""
    cases = draw(st.integers(1, 15))
    true = draw(hnp.arrays(np.int64, cases, elements=st.integers(0, CLASSES - 1)))
    found = draw(hnp.arrays(np.int64, cases, elements=st.integers(lowest, CLASSES - 1)))
    return true, found, draw(resamples(cases))


def assert_like(
    case: Cases, ours: Callable[[ConfusionCounts], np.ndarray], theirs: Callable[[np.ndarray, np.ndarray], float]
) -> None:
    def figure(*, resamples: Resamples, **sides: np.ndarray) -> np.ndarray:
        return np.where(resamples.sizes > 0, ours(confusion(**sides, classes=CLASSES, resamples=resamples)), math.nan)

    made.assert_like(case, figure, theirs, within=1e-12)


@given(classified(lowest=MISSING), st.sampled_from(["macro", "micro", "weighted"]))
def test_f1_is_that_of_scikit_learn(case: Cases, average: str) -> None:
    ours = {"macro": f1_macro, "micro": f1_micro, "weighted": f1_weighted}[average]
    assert_like(case, ours, lambda y, p: f1_score(y, p, labels=LABELS, average=average, zero_division=0))
    for label in LABELS:
        assert_like(
            case,
            lambda counts, label=label: f1(counts)[:, label],
            lambda y, p, label=label: f1_score(y, p, labels=[label], average=None, zero_division=0)[0],
        )


@examples(40)  # each compares nine figures in four samples
@given(classified(lowest=MISSING))
def test_accuracies_are_those_of_scikit_learn(case: Cases) -> None:
    assert_like(case, accuracy, sk.accuracy_score)
    assert_like(case, balanced_accuracy, sk.balanced_accuracy_score)
    assert_like(case, mcc, sk.matthews_corrcoef)
    for label in LABELS:
        assert_like(
            case,
            lambda counts, label=label: sensitivity(counts, positive=label),
            lambda y, p, label=label: sk.recall_score(y == label, p == label, zero_division=0),
        )
        assert_like(  # a missing prediction of a negative case is as wrong as the positive class
            case,
            lambda counts, label=label: specificity(counts, positive=label),
            lambda y, p, label=label: sk.recall_score(y != label, (p != label) & (p != MISSING), zero_division=0),
        )


@given(classified(lowest=MISSING), st.sampled_from(["none", "linear", "quadratic"]))
def test_kappa_is_that_of_scikit_learn(case: Cases, weights: str) -> None:
    true, found, drawn = case
    if weights != "none":  # scikit-learn knows no distance of a missing prediction
        found = np.where(found == MISSING, 0, found)
    labels = [*LABELS, MISSING] if weights == "none" else LABELS
    assert_like(
        (true, found, drawn),
        lambda counts: kappa(counts, weights=weights),
        lambda y, p: sk.cohen_kappa_score(y, p, labels=labels, weights=None if weights == "none" else weights),
    )


# Figures of probabilities against the golden figures, scikit-learn and a literal reading, whole and in replicates.

# Few values, so that equal probabilities are common; 1/3 and 0.2 lie on the edges of 15 bins.
PROBABILITIES = st.one_of(st.sampled_from([0.0, 0.2, 1 / 3, 0.5, 0.75, 1.0]), st.floats(0, 1))


@st.composite
def binary(draw: st.DrawFn) -> Cases:
    cases = draw(st.integers(1, 15))
    probability = draw(hnp.arrays(np.float64, cases, elements=PROBABILITIES))
    return draw(hnp.arrays(np.bool_, cases)), probability, draw(resamples(cases))


@st.composite
def multi_class(draw: st.DrawFn) -> Cases:
    cases = draw(st.integers(1, 15))
    shares = draw(hnp.arrays(np.int64, (cases, CLASSES), elements=st.integers(0, 5)))
    shares[:, -1] += 1
    true = draw(hnp.arrays(np.int64, cases, elements=st.integers(0, CLASSES - 1)))
    return true, shares / shares.sum(axis=1, keepdims=True), draw(resamples(cases))


assert_probability_like = partial(made.assert_like, within=1e-12)


def whole(figure: Callable[..., np.ndarray], reference: list[int], prediction: list, **options: object) -> float:
    drawn = Resamples.whole(len(reference))
    return float(figure(prediction=np.array(prediction), reference=np.array(reference), resamples=drawn, **options)[0])


def test_golden_figures_of_probabilities() -> None:
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
    assert_probability_like(cases, auroc, lambda y, p: sk.roc_auc_score(y, p) if 0 < y.sum() < y.size else math.nan)
    assert_probability_like(
        cases, average_precision, lambda y, p: sk.average_precision_score(y, p) if y.any() else math.nan
    )


@given(multi_class())
def test_ranking_of_several_classes_is_that_of_scikit_learn(cases: Cases) -> None:
    def by_class(figure: Callable[..., float], true: np.ndarray, probability: np.ndarray) -> float:
        numbers = np.arange(CLASSES)
        if set(true) != set(numbers):
            return math.nan
        return float(np.mean([figure(true == number, probability[:, number]) for number in numbers]))

    assert_probability_like(cases, auroc, lambda y, p: by_class(sk.roc_auc_score, y, p))
    assert_probability_like(cases, average_precision, lambda y, p: by_class(sk.average_precision_score, y, p))
    true, probability, _ = cases
    if set(true) == set(range(CLASSES)):
        drawn = Resamples.whole(true.size)
        expected = sk.roc_auc_score(true, probability, multi_class="ovr", average="macro")
        assert auroc(prediction=probability, reference=true, resamples=drawn)[0] == pytest.approx(expected, abs=1e-12)


@given(binary())
def test_losses_are_those_of_scikit_learn(cases: Cases) -> None:
    assert_probability_like(cases, brier, lambda y, p: sk.brier_score_loss(y, p, pos_label=True))
    assert_probability_like(cases, log_loss, lambda y, p: sk.log_loss(y, p, labels=[False, True]))


@given(multi_class())
def test_losses_of_several_classes_are_those_of_scikit_learn(cases: Cases) -> None:
    labels = list(range(CLASSES))
    assert_probability_like(cases, brier, lambda y, p: sk.brier_score_loss(y, p, labels=labels))
    assert_probability_like(cases, log_loss, lambda y, p: sk.log_loss(y, p, labels=labels))


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

    assert_probability_like(cases, ours, lambda y, p: literal_ece(p, y, bins))


@given(multi_class())
def test_ece_of_several_classes(cases: Cases) -> None:
    assert_probability_like(cases, ece, lambda y, p: literal_ece(p.max(axis=1), p.argmax(axis=1) == y, 15))


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


def test_a_missing_positive_case_is_never_found() -> None:
    """The other one comes first: precision 1 for half of the recall. 0 would add the precision of all cases, 2 / 4."""
    missing = np.array([0.1, 0.4, np.nan, 0.8])
    truth = np.array([0, 0, 1, 1])
    filled = with_worst(prediction=missing, reference=truth, of_truth=NEVER_FOUND)
    assert whole(average_precision, truth, filled) == 0.5
    assert whole(average_precision, [0, 1], [0.3, NEVER_FOUND]) == 0.0


def test_a_threshold_turns_a_probability_into_a_class() -> None:
    assert predicted_classes(np.array([0.29, 0.3, np.nan]), threshold=0.3).tolist() == [0, 1, MISSING]
    rows = np.array([[0.2, 0.4, 0.4], [np.nan, np.nan, np.nan], [0.0, 0.0, 1.0]])
    assert predicted_classes(rows).tolist() == [1, MISSING, 2]


# Operating points, read literally: every threshold is tried.

POINTS = [
    ("precision", "sensitivity", lambda tp, fp, p, _: (tp / p, tp / (tp + fp) if tp + fp else 0.0)),
    ("sensitivity", "specificity", lambda tp, fp, p, n: (1 - fp / n, tp / p)),
    ("specificity", "sensitivity", lambda tp, fp, p, n: (tp / p, 1 - fp / n)),
]


@pytest.mark.parametrize(("best", "least", "shares"), POINTS)
@given(
    cases=st.lists(st.tuples(st.booleans(), st.integers(0, 5)), min_size=2, max_size=12),
    at=st.sampled_from([0.1, 0.5, 0.9, 1.0]),
)
def test_an_operating_point_is_the_best_of_all_thresholds(
    best: Any, least: Any, shares: Any, cases: Any, at: float
) -> None:
    truth = np.array([positive for positive, _ in cases])
    scores = np.array([score / 5 for _, score in cases])
    if truth.all() or not truth.any():
        return
    highest = 0.0
    for threshold in [*scores.tolist(), 2.0]:
        found = scores >= threshold
        reached, value = shares(
            int((found & truth).sum()), int((found & ~truth).sum()), int(truth.sum()), int((~truth).sum())
        )
        highest = max(highest, value) if reached >= at - 1e-9 else highest
    resamples = Resamples.draw(cases=len(cases), replicates=3, seed=1)
    whole = Resamples(np.vstack([np.ones((1, len(cases)), np.int32), resamples.counts]))
    found = operating_point(prediction=scores, reference=truth, resamples=whole, best=best, least=least, at=at)
    assert found[0] == pytest.approx(highest)


def test_operating_points_of_one_class_have_no_value() -> None:
    one = {"prediction": np.array([0.2, 0.4]), "resamples": Resamples.whole(2), "at": 0.9}
    for best, least, _ in POINTS:
        assert np.isnan(operating_point(reference=np.array([False, False]), best=best, least=least, **one)).all()
    assert operating_point(reference=np.array([True, True]), best="precision", least="sensitivity", **one) == [1.0]
