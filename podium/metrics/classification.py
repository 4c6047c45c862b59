"""Class labels: F1 a class, and who was taken for whom. An unanswered case is wrong for its true class only."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def f1_by_class(*, truth: Sequence[int], predicted: Sequence[int | None], classes: Sequence[int]) -> dict[int, float]:
    """F1 = 2TP / (2TP + FP + FN) of every configured class, between 0 and 1. Source: scikit-learn's `f1_score`.

    `None` is an unanswered case: a false negative of its true class, a false positive of none. A class that occurs in
    neither truth nor predictions has F1 = 0 (`zero_division=0`), since the configuration says which classes count.
    """
    from sklearn.metrics import f1_score

    if not truth:
        return dict.fromkeys(classes, 0.0)
    values = f1_score(
        y_true=np.asarray(truth),
        y_pred=_with_unanswered(predicted, classes),
        labels=list(classes),
        average=None,
        zero_division=0,
    )
    return {label: float(value) for label, value in zip(classes, values, strict=True)}


def confusion_counts(
    *, truth: Sequence[int], predicted: Sequence[int | None], classes: Sequence[int]
) -> dict[int, dict[int | None, int]]:
    """Cases by true class, then by answer, `None` standing for no answer. Source: evalutils' confusion matrix."""
    from grand_challenge_metrics.stats import calculate_confusion_matrix

    unanswered = _unused_label(classes)
    matrix = calculate_confusion_matrix(
        np.asarray(truth), _with_unanswered(predicted, classes), labels=[*classes, unanswered]
    )
    answers: list[int | None] = [*classes, None]
    return {
        true: {answer: int(matrix[row, column]) for column, answer in enumerate(answers)}
        for row, true in enumerate(classes)
    }


def _unused_label(classes: Sequence[int]) -> int:
    return min(classes) - 1


def _with_unanswered(predicted: Sequence[int | None], classes: Sequence[int]) -> NDArray[np.int64]:
    unanswered = _unused_label(classes)
    return np.asarray([unanswered if label is None else label for label in predicted], dtype=np.int64)
