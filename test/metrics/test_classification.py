"""F1 and the confusion matrix, cases without a prediction included."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from podium.metrics.classification import confusion_counts, resampled_f1
from podium.metrics.resampling import Resamples

PREDICTIONS = st.lists(st.tuples(st.sampled_from([0, 1]), st.sampled_from([0, 1, None])), min_size=1, max_size=30)


def f1_by_class(
    *, truth: list[int], predicted: list[int | None], classes: list[int], resamples: Resamples | None = None
) -> dict[int, float]:
    rows = [{"truth": true, "found": found} for true, found in zip(truth, predicted, strict=True)]
    drawn = resamples or Resamples.whole(len(rows))
    return {label: float(resampled_f1(label, truth="truth", predicted="found")(rows, drawn)[0]) for label in classes}


def test_hand_calculated() -> None:
    """Class 0: TP 2, FN 1 (unanswered), FP 1 -> 4/6. Class 1: TP 1, FN 1, FP 0 -> 2/3."""
    f1 = f1_by_class(truth=[0, 0, 0, 1, 1], predicted=[0, 0, None, 1, 0], classes=[0, 1])
    assert f1 == {0: pytest.approx(4 / 6), 1: pytest.approx(2 / 3)}


def test_a_missing_prediction_is_wrong_for_its_class_and_a_false_positive_nowhere() -> None:
    assert f1_by_class(truth=[0, 1], predicted=[0, None], classes=[0, 1]) == {0: 1.0, 1: 0.0}


def test_configured_class_that_never_occurs_scores_zero() -> None:
    assert f1_by_class(truth=[0, 0], predicted=[0, 0], classes=[0, 1]) == {0: 1.0, 1: 0.0}


def test_only_missing_predictions() -> None:
    assert f1_by_class(truth=[0, 1], predicted=[None, None], classes=[0, 1]) == {0: 0.0, 1: 0.0}


def test_confusion_counts() -> None:
    counts = confusion_counts(truth=[0, 0, 0, 1, 1], predicted=[0, 1, None, 1, 1], classes=[0, 1])
    assert counts == {0: {0: 1, 1: 1, None: 1}, 1: {0: 0, 1: 2, None: 0}}


@given(PREDICTIONS, st.randoms(use_true_random=False))
def test_agrees_with_scikit_learn_also_in_a_replicate(cases: list[tuple[int, int | None]], random: Random) -> None:
    drawn = random.choices(range(len(cases)), k=len(cases))
    resamples = Resamples(np.bincount(drawn, minlength=len(cases)).astype(np.int32)[None])
    truth, predicted = [true for true, _ in cases], [found for _, found in cases]
    f1 = f1_by_class(truth=truth, predicted=predicted, classes=[0, 1], resamples=resamples)
    expected = f1_score(
        y_true=[truth[case] for case in drawn],
        y_pred=[-1 if predicted[case] is None else predicted[case] for case in drawn],
        labels=[0, 1],
        average=None,
        zero_division=0,
    )
    assert list(f1.values()) == pytest.approx(expected.tolist(), abs=1e-12)


@given(PREDICTIONS)
def test_agrees_with_counting(answers: list[tuple[int, int | None]]) -> None:
    truth, predicted = [true for true, _ in answers], [answer for _, answer in answers]
    f1 = f1_by_class(truth=truth, predicted=predicted, classes=[0, 1])
    for label in (0, 1):
        true_positives = answers.count((label, label))
        wrong = truth.count(label) + predicted.count(label) - 2 * true_positives
        expected = 2 * true_positives / (2 * true_positives + wrong) if true_positives else 0.0
        assert f1[label] == pytest.approx(expected, abs=1e-12)
    counts = confusion_counts(truth=truth, predicted=predicted, classes=[0, 1])
    assert sum(sum(row.values()) for row in counts.values()) == len(answers)
