"""Class labels and probabilities of classes: figures over cases, for every bootstrap replicate.

Classes are numbered from 0. `MISSING` is a case without a prediction: wrong for its true class, and a false positive
nowhere. All figures equal scikit-learn's with `zero_division=0` and the declared classes as `labels`; scikit-learn has
no form for a thousand bootstrap replicates. `reference` and `prediction` hold one class per case; the figures take the
counts that `confusion` returns, so that many figures share one count.
"""

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium.metrics import Floats
from podium.metrics.resampling import Resamples, quotient, running_counts

MISSING = -1
Codes = NDArray[np.int64]
ConfusionCounts = NDArray[np.int64]  # [replicate, true class, predicted class]; last: cases without a prediction


def class_codes(labels: Sequence[Hashable], *, classes: Sequence[Hashable]) -> Codes:
    """The number of each label's class; `MISSING` for None and for what is not a class."""
    numbers = {label: number for number, label in enumerate(classes)}
    return np.array([numbers.get(label, MISSING) for label in labels], dtype=np.int64)


def confusion(*, prediction: ArrayLike, reference: ArrayLike, classes: int, resamples: Resamples) -> ConfusionCounts:
    """How many cases each replicate has of every pair of true and predicted class; what is not a class is missing.

    Cases of the same pair are added up by one pass over the draws: time and memory do not grow with the square of the
    number of classes, but for the result itself.
    """
    predicted = np.asarray(prediction, dtype=np.int64)
    true = np.asarray(reference, dtype=np.int64)
    if ((true < 0) | (true >= classes)).any():
        raise ValueError("every reference must be one of the classes")
    counts = np.zeros((resamples.replicates, classes * (classes + 1)), dtype=np.int64)
    if true.size:
        is_class = (predicted >= 0) & (predicted < classes)
        pairs = true * (classes + 1) + np.where(is_class, predicted, classes)
        order = np.argsort(pairs, kind="stable")
        found, starts = np.unique(pairs[order], return_index=True)
        done = 0
        for block in resamples.blocks():
            counts[done : done + len(block), found] = np.add.reduceat(block[:, order], starts, axis=1)
            done += len(block)
    return counts.reshape(-1, classes, classes + 1)


def accuracy(counts: ConfusionCounts) -> Floats:
    """The share of cases with the right class; a case without a prediction counts as wrong. NaN without cases."""
    return quotient(_hits(counts).sum(axis=1), counts.sum(axis=(1, 2)))


def balanced_accuracy(counts: ConfusionCounts) -> Floats:
    """The mean recall of the classes that occur in the reference of the replicate. NaN without cases."""
    occurs = counts.sum(axis=2) > 0
    return quotient(recall(counts).sum(axis=1), occurs.sum(axis=1))


def recall(counts: ConfusionCounts) -> Floats:
    """TP / (TP + FN) as `[replicate, class]`; 0 for a class that does not occur in the reference."""
    return _quotient(_hits(counts), counts.sum(axis=2))


def sensitivity(counts: ConfusionCounts, *, positive: int) -> Floats:
    """The recall of the class `positive`; 0 without positive cases."""
    return recall(counts)[:, positive]


def specificity(counts: ConfusionCounts, *, positive: int) -> Floats:
    """The share of the other cases that are predicted to be of another class than `positive`; 0 without such cases.

    Which of the other classes was predicted does not matter. A case without a prediction is wrong here, too.
    """
    others = np.delete(counts, positive, axis=1)
    rejected = np.delete(others[:, :, :-1], positive, axis=2)
    return _quotient(rejected.sum(axis=(1, 2)), others.sum(axis=(1, 2)))


def f1(counts: ConfusionCounts) -> Floats:
    """F1 = 2TP / (2TP + FP + FN) as `[replicate, class]`; 0 for a class that is neither true nor predicted anywhere."""
    named = counts.sum(axis=2) + counts[:, :, :-1].sum(axis=1)
    return _quotient(2 * _hits(counts), named)


def f1_macro(counts: ConfusionCounts) -> Floats:
    """The mean F1 of all declared classes, those that do not occur included (with 0)."""
    return np.asarray(f1(counts).mean(axis=1))


def f1_micro(counts: ConfusionCounts) -> Floats:
    """F1 of the counts of all classes together: 2 right / (cases + predictions); 0 without cases.

    This is the accuracy where every case has a prediction. A missing one is a false negative only, so that it costs
    about half of a wrong one.
    """
    return _quotient(2 * _hits(counts).sum(axis=1), counts.sum(axis=(1, 2)) + counts[:, :, :-1].sum(axis=(1, 2)))


def f1_weighted(counts: ConfusionCounts) -> Floats:
    """The mean F1 of the classes, weighted with how many cases are of the class; 0 without cases."""
    support = counts.sum(axis=2)
    return _quotient((f1(counts) * support).sum(axis=1), support.sum(axis=1))


def mcc(counts: ConfusionCounts) -> Floats:
    """Matthews' correlation of true and predicted classes (Gorodkin's R_K), -1 to 1; 0 where one side is constant.

    "Missing" is one more predicted class, which is never right.
    """
    true, predicted = counts.sum(axis=2).astype(np.float64), counts.sum(axis=1).astype(np.float64)
    cases = true.sum(axis=1)
    covariance = _hits(counts).sum(axis=1) * cases - (true * predicted[:, :-1]).sum(axis=1)
    spread = (cases**2 - (true**2).sum(axis=1)) * (cases**2 - (predicted**2).sum(axis=1))
    return _quotient(covariance, np.sqrt(spread))


def kappa(counts: ConfusionCounts, *, weights: Literal["none", "linear", "quadratic"] = "none") -> Floats:
    """Cohen's kappa = 1 - (observed disagreement) / (disagreement expected by chance), at most 1.

    A disagreement of classes i and j weighs 1, |i - j| or (i - j)^2. "Missing" is one more predicted class; it weighs
    as much as the worst prediction for the true class. NaN where no disagreement is possible: one class only.
    """
    classes = counts.shape[1]
    numbers = np.arange(classes)
    apart = np.abs(numbers[:, None] - numbers)
    weight = {"none": np.sign(apart), "linear": apart, "quadratic": apart**2}[weights].astype(np.float64)
    weight = np.column_stack([weight, weight.max(axis=1, initial=0)])
    observed = (counts * weight).sum(axis=(1, 2))
    by_chance = np.einsum("ri,ij,rj->r", counts.sum(axis=2), weight, counts.sum(axis=1))
    return 1 - quotient(observed * counts.sum(axis=(1, 2)), by_chance)


def _hits(counts: ConfusionCounts) -> ConfusionCounts:
    return np.diagonal(counts, axis1=1, axis2=2)


_quotient = partial(quotient, undefined=0.0)  # scikit-learn's `zero_division`


# Probabilities of classes: ranking (AUROC, average precision), distance (Brier, log loss) and calibration (ECE).
#
# Every function takes one entry per case and returns one figure per replicate, NaN where a replicate has none. Either
# `prediction[case]` is the probability of the positive class and `reference[case]` says whether the case is positive,
# or `prediction[case, class]` holds the probabilities of all classes and `reference[case]` the number of the true
# class. No probability may be NaN: `with_worst` fills in what is missing. All figures equal scikit-learn's, which has
# no form for a thousand bootstrap replicates.

Reference = NDArray[np.bool_] | NDArray[np.integer]
Share = Literal["precision", "sensitivity", "specificity"]
_ROUNDING = 1e-12  # by which 1 - 1/10 may miss 0.9


NEVER_FOUND = -math.inf  # for the missing probability of a true class: no threshold is low enough (ranked cases only)


def with_worst(*, prediction: Floats, reference: Reference, of_truth: float = 0.0) -> Floats:
    """Missing probabilities (NaN) replaced by the worst: `of_truth` for the class of the case, 1 for any other class.

    With several classes such a row is not a distribution, but it is the worst for every single class.
    """
    true = _is_true(prediction, reference)
    return np.where(np.isnan(prediction), np.where(true, of_truth, 1.0), prediction)


def predicted_classes(prediction: Floats, *, threshold: float = 0.5) -> Codes:
    """The class that a probability means: 1 (positive) from `threshold` on, else 0; with several classes the most
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
    (scikit-learn: 0 with a warning). Positive cases that are `NEVER_FOUND` keep the recall below 1. With a probability
    of 0 instead, they would share the precision of all cases, which can be higher than that of a poor answer.
    """
    return _one_against_rest(_binary_average_precision, prediction, reference, resamples)


def operating_point(  # noqa: PLR0913  (two shares, and a cohort)
    *, prediction: Floats, reference: NDArray[np.bool_], resamples: Resamples, best: Share, least: Share, at: float
) -> Floats:
    """The highest `best` share of the thresholds at which the `least` share is at least `at`; 0 where there is none.

    TP / (TP + FP), TP / P and TN / N, cases from a threshold on being positive; one of `NEVER_FOUND` never is. NaN
    without a positive case, and where specificity is asked for also without a negative one.
    """
    found = []
    for hits, false, positives, negatives in _by_threshold(prediction, reference, resamples):
        shares: dict[Share, Floats] = {
            "precision": hits / np.maximum(hits + false, 1),
            "sensitivity": hits / np.maximum(positives, 1)[:, None],
            "specificity": 1 - false / np.maximum(negatives, 1)[:, None],
        }
        reached = np.where(shares[least] >= at - _ROUNDING, shares[best], 0.0).max(axis=1)
        is_defined = (positives > 0) & ((negatives > 0) | ("specificity" not in (best, least)))
        found.append(np.where(is_defined, reached, np.nan))
    return np.concatenate(found)


def _by_threshold(
    probability: Floats, positive: NDArray[np.bool_], resamples: Resamples
) -> Iterator[tuple[NDArray[np.int64], ...]]:
    """True and false positives `[replicate, threshold]`, positive and negative cases `[replicate]`, in blocks. The last
    threshold is above all cases; `NEVER_FOUND` is none."""
    thresholds = np.unique(probability[probability != NEVER_FOUND])
    high, low = (np.searchsorted(np.sort(probability[kind]), thresholds) for kind in (positive, ~positive))
    for positives, negatives in _sorted_draws(probability, positive, resamples):
        sums = [running_counts(each) for each in (positives, negatives)]
        hits, false = (total[:, -1:] - total[:, [*at, -1]] for total, at in zip(sums, (high, low), strict=True))
        yield hits, false, sums[0][:, -1], sums[1][:, -1]


def brier(*, prediction: Floats, reference: Reference, resamples: Resamples) -> Floats:
    """The mean squared distance to the truth; lower is better.

    Two classes: (p - y)^2, 0 to 1. More classes: summed over the classes, 0 to 2, as in scikit-learn since 1.7; more
    than 2 is only possible for a row of `with_worst`, and counts as 2.
    """
    squares = (prediction - _is_true(prediction, reference)) ** 2
    if prediction.ndim == 2:
        squares = squares.mean(axis=1) if prediction.shape[1] == 2 else np.minimum(squares.sum(axis=1), 2.0)
    return resamples.mean(squares)


def log_loss(
    *, prediction: Floats, reference: Reference, resamples: Resamples, clip: float = float(np.finfo(np.float64).eps)
) -> Floats:
    """The mean of -ln(probability of the true class); lower is better.

    Probabilities are clipped to [clip, 1 - clip]: one case costs -ln(clip) at most, 36.04 with 2^-52, 4.61 with 0.01.
    """
    true = _is_true(prediction, reference)
    of_truth = np.where(true, prediction, 1 - prediction) if prediction.ndim == 1 else prediction[true]
    return resamples.mean(-np.log(np.clip(of_truth, clip, 1 - clip)))


def ece(
    *, prediction: Floats, reference: Reference, resamples: Resamples, bins: int = 15, missing: Codes | None = None
) -> Floats:
    """Expected calibration error = sum over bins of (cases in the bin / cases) |mean confidence - share of right|.

    Bins of equal width (lo, hi], 0 in the first. With one probability per case the confidence is that of the positive
    class, right where the case is positive. With several classes it is that of the most probable one (of equals the
    first), right where it is the true class (Guo et al. 2017). 0 to 1, lower is better.

    The cases `missing` are in no bin, where the errors of others could hide theirs: each is wrong by 1.
    """
    if prediction.ndim == 1:
        confidence, right = prediction, np.asarray(reference, dtype=np.bool_)
    else:
        confidence, right = prediction.max(axis=1), predicted_classes(prediction) == reference
    edges = np.arange(bins + 1) / bins
    number = np.maximum(np.searchsorted(edges, confidence, side="left") - 1, 0)
    gaps = np.zeros((confidence.size, bins + 1))
    gaps[np.arange(confidence.size), number] = confidence - right
    if missing is not None:
        gaps[missing] = np.arange(bins + 1) == bins
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
        passed = running_counts(negatives)
        doubled = np.einsum("rc,rc->r", positives, passed[:, below] + passed[:, up_to])
        areas.append(quotient(doubled, 2 * positives.sum(axis=1) * passed[:, -1]))
    return np.concatenate(areas)


def _binary_average_precision(probability: Floats, positive: NDArray[np.bool_], resamples: Resamples) -> Floats:
    high, low = np.sort(probability[positive]), np.sort(probability[~positive])
    true_below, false_below = (np.searchsorted(group, high, side="left") for group in (high, low))
    figures = []
    for positives, negatives in _sorted_draws(probability, positive, resamples):
        passed_true, passed_false = running_counts(positives), running_counts(negatives)
        true = passed_true[:, -1:] - passed_true[:, true_below]  # positives from this probability on
        false = passed_false[:, -1:] - passed_false[:, false_below]
        precision = np.where(high == NEVER_FOUND, 0, true / np.maximum(true + false, 1))
        figures.append(quotient(np.einsum("rc,rc->r", positives, precision), passed_true[:, -1]))
    return np.concatenate(figures)


def _sorted_draws(
    probability: Floats, positive: NDArray[np.bool_], resamples: Resamples
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """How often each block of replicates holds the positive and the negative cases, in order of probability."""
    order = np.argsort(probability, kind="stable")
    positives, negatives = order[positive[order]], order[~positive[order]]
    for block in resamples.blocks():
        yield block[:, positives].astype(np.int64), block[:, negatives].astype(np.int64)
