"""Probabilities of classes: ranking (AUROC, average precision), distance (Brier, log loss) and calibration (ECE).

Every function takes one entry per case and returns one figure per replicate, NaN where a replicate has none. Either
`prediction[case]` is the probability of the positive class and `reference[case]` says whether the case is positive, or
`prediction[case, class]` holds the probabilities of all classes and `reference[case]` the number of the true class.
No probability may be NaN: `with_worst` fills in what is missing.
All figures equal scikit-learn's, which has no form for a thousand bootstrap replicates.
"""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from podium.metrics.classification import MISSING, Codes
from podium.metrics.resampling import Floats, Resamples

Reference = NDArray[np.bool_] | NDArray[np.integer]


def with_worst(*, prediction: Floats, reference: Reference) -> Floats:
    """Missing probabilities (NaN) replaced by the worst: 0 for the class of the case, 1 for any other class.

    With several classes such a row is no distribution, but it is the worst for every class alone.
    """
    true = _is_true(prediction, reference)
    return np.where(np.isnan(prediction), np.where(true, 0.0, 1.0), prediction)


def predicted_classes(prediction: Floats, *, threshold: float = 0.5) -> Codes:
    """The class that a probability stands for: 1 (positive) from `threshold` on, else 0; with several classes the most
    probable one, of equals the first. `MISSING` where a probability is missing (NaN)."""
    if prediction.ndim == 1:
        classes = (prediction >= threshold).astype(np.int64)
        return np.where(np.isnan(prediction), MISSING, classes)
    return np.where(np.isnan(prediction).any(axis=1), MISSING, prediction.argmax(axis=1))


def auroc(*, prediction: Floats, reference: Reference, resamples: Resamples) -> Floats:
    """The area under the ROC curve = the share of pairs (positive, negative) in which the positive case has the higher
    probability; equal ones count half. 0 to 1, higher is better.

    Several classes: the mean over the classes of each one against the rest. NaN where a class has no cases or all.
    """
    return _one_against_rest(_binary_auroc, prediction, reference, resamples)


def average_precision(*, prediction: Floats, reference: Reference, resamples: Resamples) -> Floats:
    """AP = sum over thresholds of (R_n - R_n-1) P_n, without interpolation; 0 to 1, higher is better.

    Several classes: the mean over the classes of each one against the rest. NaN where a class has no cases
    (scikit-learn: 0 with a warning).
    """
    return _one_against_rest(_binary_average_precision, prediction, reference, resamples)


def brier(*, prediction: Floats, reference: Reference, resamples: Resamples) -> Floats:
    """The mean squared distance to the truth; lower is better.

    Two classes: (p - y)^2, 0 to 1. More classes: summed over the classes, 0 to 2, as in scikit-learn since 1.7; more
    than 2 is only possible for a row of `with_worst`, and counts as 2.
    """
    squares = (prediction - _is_true(prediction, reference)) ** 2
    if prediction.ndim == 2:
        squares = squares.mean(axis=1) if prediction.shape[1] == 2 else np.minimum(squares.sum(axis=1), 2.0)
    return resamples.mean(squares)


def log_loss(*, prediction: Floats, reference: Reference, resamples: Resamples) -> Floats:
    """The mean of -ln(probability of the true class); lower is better.

    Probabilities are clipped to [eps, 1 - eps] with eps = 2^-52, so that the worst is 36.04.
    """
    true = _is_true(prediction, reference)
    of_truth = np.where(true, prediction, 1 - prediction) if prediction.ndim == 1 else prediction[true]
    eps = float(np.finfo(np.float64).eps)
    return resamples.mean(-np.log(np.clip(of_truth, eps, 1 - eps)))


def ece(*, prediction: Floats, reference: Reference, resamples: Resamples, bins: int = 15) -> Floats:
    """Expected calibration error = sum over bins of (cases in the bin / cases) |mean confidence - share of right|.

    Bins of equal width (lo, hi], 0 in the first. With one probability per case the confidence is that of the positive
    class, right where the case is positive. With several classes it is that of the most probable one (of equals the
    first), right where it is the true class (Guo et al. 2017). 0 to 1, lower is better.
    """
    if prediction.ndim == 1:
        confidence, right = prediction, np.asarray(reference, dtype=np.bool_)
    else:
        confidence, right = prediction.max(axis=1), predicted_classes(prediction) == reference
    edges = np.arange(bins + 1) / bins
    number = np.maximum(np.searchsorted(edges, confidence, side="left") - 1, 0)
    gaps = np.zeros((confidence.size, bins))
    gaps[np.arange(confidence.size), number] = confidence - right
    with np.errstate(invalid="ignore"):
        return np.asarray(np.abs(resamples.total(gaps)).sum(axis=1) / resamples.sizes)


def _is_true(prediction: Floats, reference: Reference) -> NDArray[np.bool_]:
    """Whether each probability is the one of the true class."""
    if prediction.ndim == 1:
        return np.asarray(reference, dtype=np.bool_)
    return np.equal(reference[:, None], np.arange(prediction.shape[1]))


def _one_against_rest(
    binary: Callable[[Floats, NDArray[np.bool_], Resamples], Floats],
    prediction: Floats,
    reference: Reference,
    resamples: Resamples,
) -> Floats:
    true = _is_true(prediction, reference)
    if prediction.ndim == 1:
        return binary(prediction, true, resamples)
    figures = [binary(*column, resamples) for column in zip(prediction.T, true.T, strict=True)]
    return np.asarray(np.mean(figures, axis=0))


def _binary_auroc(probability: Floats, positive: NDArray[np.bool_], resamples: Resamples) -> Floats:
    high, low = np.sort(probability[positive]), np.sort(probability[~positive])
    below, up_to = (np.searchsorted(low, high, side=side) for side in ("left", "right"))
    areas = []
    for positives, negatives in _sorted_draws(probability, positive, resamples):
        passed = _running(negatives)
        doubled = np.einsum("rc,rc->r", positives, passed[:, below] + passed[:, up_to])
        areas.append(_share(doubled, 2 * positives.sum(axis=1) * passed[:, -1]))
    return np.concatenate(areas)


def _binary_average_precision(probability: Floats, positive: NDArray[np.bool_], resamples: Resamples) -> Floats:
    high, low = np.sort(probability[positive]), np.sort(probability[~positive])
    true_below, false_below = (np.searchsorted(group, high, side="left") for group in (high, low))
    figures = []
    for positives, negatives in _sorted_draws(probability, positive, resamples):
        passed_true, passed_false = _running(positives), _running(negatives)
        true = passed_true[:, -1:] - passed_true[:, true_below]  # positives from this probability on
        false = passed_false[:, -1:] - passed_false[:, false_below]
        precision = true / np.maximum(true + false, 1)
        figures.append(_share(np.einsum("rc,rc->r", positives, precision), passed_true[:, -1]))
    return np.concatenate(figures)


def _sorted_draws(
    probability: Floats, positive: NDArray[np.bool_], resamples: Resamples
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """How often each block of replicates holds the positive and the negative cases, in order of probability."""
    order = np.argsort(probability, kind="stable")
    positives, negatives = order[positive[order]], order[~positive[order]]
    for block in resamples.blocks():
        yield block[:, positives].astype(np.int64), block[:, negatives].astype(np.int64)


def _running(draws: NDArray[np.int64]) -> NDArray[np.int64]:
    """`[replicate, n]`: how many of the draws are among the first n cases."""
    sums = np.zeros((draws.shape[0], draws.shape[1] + 1), dtype=np.int64)
    np.cumsum(draws, axis=1, out=sums[:, 1:])
    return sums


def _share(part: NDArray[np.int64] | Floats, whole: NDArray[np.int64]) -> Floats:
    return np.asarray(np.divide(part, whole, out=np.full(part.shape, np.nan), where=whole != 0))
