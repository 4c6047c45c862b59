"""The carotid rules, word by word: loops and counts instead of libraries, so that it can be checked by reading.

Masks here are already spelt 0 background, 1 plaque, 2 vessel. Nothing is imported from podium: agreement between the
two then means something.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

STRUCTURE_VALUES = {"vessel": 2, "plaque": 1}
STRUCTURE_WEIGHTS = {"vessel": 0.4, "plaque": 0.6}
VIEWS = ("long", "trans")
FIGURES = tuple(f"{view}_{structure}" for view in VIEWS for structure in STRUCTURE_VALUES)
CLASS_NAMES = {0: "low_risk", 1: "high_risk"}


@dataclass(frozen=True)
class Answer:
    """What a reference or a team says about one case: a mask for each view and a class, None where it is unusable."""

    masks: Mapping[str, NDArray[np.uint8] | None]
    cls: int | None


@dataclass(frozen=True)
class Row:
    """The figures of one case: what is missing has zeros, and `predicted_class` None."""

    status: str
    dice: Mapping[str, float]
    nsd: Mapping[str, float]
    true_class: int
    predicted_class: int | None

    @property
    def segmentation_score(self) -> float:
        """The mean of both views, each 0.4 vessel + 0.6 plaque, each of those the mean of Dice and NSD."""
        views = []
        for view in VIEWS:
            views.append(
                sum(
                    weight * (self.dice[f"{view}_{structure}"] + self.nsd[f"{view}_{structure}"]) / 2
                    for structure, weight in STRUCTURE_WEIGHTS.items()
                )
            )
        return sum(views) / len(views)

    @property
    def class_correct(self) -> int:
        return int(self.predicted_class == self.true_class)

    def metrics(self) -> dict[str, Any]:
        return {
            "dice": dict(self.dice),
            "nsd": dict(self.nsd),
            "segmentation": self.segmentation_score,
            "risk": {"correct": self.class_correct},
        }


def dice(prediction: NDArray[np.bool_], reference: NDArray[np.bool_]) -> float:
    """2|P∩G| / (|P|+|G|) by counting pixels; 1 when both are empty."""
    in_prediction, in_reference = pixels(prediction), pixels(reference)
    if not in_prediction and not in_reference:
        return 1.0
    return 2 * len(in_prediction & in_reference) / (len(in_prediction) + len(in_reference))


def nsd(prediction: NDArray[np.bool_], reference: NDArray[np.bool_], tolerance_px: float) -> float:
    """The share of both boundaries' pixels that lie within the tolerance of the other boundary.

    1 when both masks are empty, 0 when one is.
    """
    of_prediction, of_reference = boundary(prediction), boundary(reference)
    if not of_prediction and not of_reference:
        return 1.0
    if not of_prediction or not of_reference:
        return 0.0
    near = count_near(of_prediction, of_reference, tolerance_px) + count_near(of_reference, of_prediction, tolerance_px)
    return near / (len(of_prediction) + len(of_reference))


def pixels(mask: NDArray[np.bool_]) -> set[tuple[int, int]]:
    return {(int(row), int(column)) for row, column in np.argwhere(mask)}


def boundary(mask: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Pixels of the mask with at least one of their four neighbours outside it; beyond the image is outside."""
    inside = pixels(mask)
    return sorted(
        (row, column)
        for row, column in inside
        if not {(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)} <= inside
    )


def count_near(these: list[tuple[int, int]], those: list[tuple[int, int]], tolerance_px: float) -> int:
    """How many of `these` have one of `those` at a Euclidean distance <= tolerance: every pair is measured."""
    others = np.array(those)
    count = 0
    for point in these:
        squared_distances = ((others - point) ** 2).sum(axis=1)
        count += bool(squared_distances.min() <= tolerance_px**2)
    return count


def f1_of_class(truth: Sequence[int], predicted: Sequence[int | None], cls: int) -> float:
    """2TP / (2TP + FP + FN), 0 where nothing was counted; None (no answer) is a false negative and nothing else."""
    pairs = list(zip(truth, predicted, strict=True))
    true_positives = sum(1 for true, said in pairs if true == cls and said == cls)
    false_positives = sum(1 for true, said in pairs if true != cls and said == cls)
    false_negatives = sum(1 for true, said in pairs if true == cls and said != cls)
    counted = 2 * true_positives + false_positives + false_negatives
    return 2 * true_positives / counted if counted else 0.0


def macro_f1(truth: Sequence[int], predicted: Sequence[int | None], classes: Sequence[int] = (0, 1)) -> float:
    """The plain mean of F1 over the configured classes, whether they occur or not."""
    return sum(f1_of_class(truth, predicted, cls) for cls in classes) / len(classes)


def time_score_fixed(t: float, baseline: float) -> float:
    """100 at two thirds of the baseline or less, 0 at twice the baseline or more, a straight line between."""
    return time_score_between(t, lowest=2 * baseline / 3, highest=2 * baseline)


def time_score_provisional(t: float, baseline: float) -> float:
    """What the container says under the cohort rule, where it knows one team only."""
    return time_score_between(t, lowest=baseline / 3, highest=2 * baseline)


def time_scores_cohort(times: Sequence[float], baseline: float) -> list[float]:
    """Times below a third of the baseline count as that, times above twice the baseline as that; then the fastest has
    100 and the slowest 0. All the same: 0 if that is twice the baseline, else 100."""
    counted = [baseline / 3 if t < baseline / 3 else 2 * baseline if t > 2 * baseline else t for t in times]
    if len(set(counted)) == 1:
        return [0.0 if t == 2 * baseline else 100.0 for t in counted]
    return [time_score_between(t, lowest=min(counted), highest=max(counted)) for t in counted]


def time_score_between(t: float, *, lowest: float, highest: float) -> float:
    clamped = min(max(t, lowest), highest)
    return (highest - clamped) / (highest - lowest) * 100


def score_case(prediction: Answer, reference: Answer, tolerance_px: float) -> Row:
    """The eight figures and the class of one case; 0 for both structures of a view without a mask."""
    dices, nsds = {}, {}
    for view in VIEWS:
        for structure, value in STRUCTURE_VALUES.items():
            if prediction.masks[view] is None:
                dices[f"{view}_{structure}"] = nsds[f"{view}_{structure}"] = 0.0
                continue
            in_prediction = prediction.masks[view] == value
            in_reference = reference.masks[view] == value
            dices[f"{view}_{structure}"] = dice(in_prediction, in_reference)
            nsds[f"{view}_{structure}"] = nsd(in_prediction, in_reference, tolerance_px)
    is_whole = prediction.cls is not None and all(mask is not None for mask in prediction.masks.values())
    return Row("scored" if is_whole else "partial", dices, nsds, reference.cls, prediction.cls)


def worst_case(status: str, reference: Answer) -> Row:
    """A case that is missing or failed: 0 in all eight figures, and no class."""
    zeros = dict.fromkeys(FIGURES, 0.0)
    return Row(status, zeros, dict(zeros), reference.cls, None)


def aggregates(cases: Sequence[Row], *, total_seconds: float | None, baseline: float) -> dict[str, Any]:
    """Everything the leaderboard may show, from the rows of all expected cases, under the fixed time rule;
    `total_seconds` is what the scored cases took."""
    truth = [case.true_class for case in cases]
    predicted = [case.predicted_class for case in cases]
    classification = 100 * macro_f1(truth, predicted)
    segmentation = 100 * mean([case.segmentation_score for case in cases])
    # A case that is missing, failed or partial counts as if it had taken its share of twice the baseline.
    lost = sum(1 for case in cases if case.status != "scored")
    seconds = 2 * baseline if total_seconds is None else total_seconds + lost * 2 * baseline / len(cases)
    time = 0.0 if total_seconds is None else time_score_fixed(seconds, baseline)
    return {
        "score": 0.4 * classification + 0.4 * segmentation + 0.2 * time,
        "classification_score": classification,
        "segmentation_score": segmentation,
        "time_score": time,
        "time_score_is_provisional": 0,
        "total_seconds": seconds,
        "time_known": 0 if total_seconds is None else 1,
        "score_without_time": 0.5 * classification + 0.5 * segmentation,
        "f1": {
            **{name: f1_of_class(truth, predicted, cls) for cls, name in CLASS_NAMES.items()},
            "macro": macro_f1(truth, predicted),
        },
        "dice": {figure: mean_and_std([case.dice[figure] for case in cases]) for figure in FIGURES},
        "nsd": {figure: mean_and_std([case.nsd[figure] for case in cases]) for figure in FIGURES},
        "confusion_matrix": confusion_matrix(truth, predicted),
    }


def confusion_matrix(truth: Sequence[int], predicted: Sequence[int | None]) -> dict[str, dict[str, int]]:
    """Rows are the truth; a case without an answer stands in the column `missing`."""
    columns: dict[int | None, str] = {**CLASS_NAMES, None: "missing"}
    pairs = list(zip(truth, predicted, strict=True))
    return {
        row_name: {column_name: pairs.count((true, said)) for said, column_name in columns.items()}
        for true, row_name in CLASS_NAMES.items()
    }


def mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def mean_and_std(values: Sequence[float]) -> dict[str, float]:
    """The mean and the population standard deviation (divided by n: the expected cases are all there are)."""
    middle = mean(values)
    return {"mean": middle, "std": math.sqrt(mean([(value - middle) ** 2 for value in values]))}
