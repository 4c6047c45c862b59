"""Class labels: F1 per class, and the confusion matrix. A missing prediction is wrong for its true class only."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from podium.figures import Figures
from podium.metrics.resampling import Floats, Resamples


def resampled_f1(label: int | str, *, truth: str, predicted: str) -> Callable[[Sequence[Figures], Resamples], Floats]:
    """F1 = 2TP / (2TP + FP + FN) of one class, between 0 and 1, from the rows' facts at `truth` and `predicted`.

    A predicted class of None is a case without a prediction: a false negative of its true class, a false positive of
    none. A class that occurs in neither has F1 = 0, as in scikit-learn's `f1_score` with `zero_division=0`, which it
    equals; scikit-learn has no form for a thousand bootstrap replicates.
    """

    def of(rows: Sequence[Figures], resamples: Resamples) -> Floats:
        true = np.array([row[truth] for row in rows]) == label
        found = np.array([row[predicted] for row in rows], dtype=object) == label
        hits = resamples.total(true & found)
        named = resamples.total(true) + resamples.total(found)  # 2TP + FP + FN
        return np.divide(2 * hits, named, out=np.zeros_like(hits), where=named > 0)

    return of


def confusion_counts(
    *, truth: Sequence[int], predicted: Sequence[int | None], classes: Sequence[int]
) -> dict[int, dict[int | None, int]]:
    """Cases by true class, then by predicted class, None for no prediction. Source: evalutils' confusion matrix."""
    from grand_challenge_metrics.stats import calculate_confusion_matrix

    missing = _unused_label(classes)
    matrix = calculate_confusion_matrix(
        np.asarray(truth), _with_missing(predicted, classes), labels=[*classes, missing]
    )
    columns: list[int | None] = [*classes, None]
    return {
        true: {found: int(matrix[row, column]) for column, found in enumerate(columns)}
        for row, true in enumerate(classes)
    }


def _unused_label(classes: Sequence[int]) -> int:
    return min(classes) - 1


def _with_missing(predicted: Sequence[int | None], classes: Sequence[int]) -> NDArray[np.int64]:
    missing = _unused_label(classes)
    return np.asarray([missing if label is None else label for label in predicted], dtype=np.int64)
