"""The catalogue of classes; a probability becomes a class by its threshold."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, StrictInt

from podium.challenges.declared.catalogue.base import CohortValueMetric, Compute, Facts, Figure, MetricSettings
from podium.challenges.declared.values import AnyValueKind
from podium.errors import ValidationProblem
from podium.metrics import Floats, classification
from podium.metrics.classification import Counts, class_codes, confusion
from podium.metrics.resampling import Resamples

_THRESHOLD = 0.5
_AVERAGES = {
    "macro": classification.f1_macro,
    "micro": classification.f1_micro,
    "weighted": classification.f1_weighted,
}


class ClassesSettings(MetricSettings):
    """`threshold`: from which probability on a case is of the positive class."""

    threshold: Annotated[float, Field(ge=0, le=1)] | None = None


class PositiveSettings(ClassesSettings):
    """`positive`: the class that is to be found [that of the value]."""

    positive: str | None = None


class KappaSettings(ClassesSettings):
    """`weights`: how much a disagreement of two classes weighs, by their distance in the order of the classes."""

    weights: Literal["none", "linear", "quadratic"] = "none"


def _class_names(value: AnyValueKind) -> list[str]:
    return list(value.settings.classes if value.settings.kind == "class" else value.settings.class_table)


def _counts(facts: Facts, settings: ClassesSettings, value: AnyValueKind, resamples: Resamples) -> Counts:
    classes = _class_names(value)
    reference = class_codes([fact["reference"] for fact in facts], classes=classes)
    predicted = class_codes([_predicted(fact["prediction"], settings, value) for fact in facts], classes=classes)
    if settings.failed == "exclude":
        kept = predicted >= 0
        reference, predicted, resamples = reference[kept], predicted[kept], resamples.only(kept)
    return confusion(prediction=predicted, reference=reference, classes=len(classes), resamples=resamples)


def _predicted(prediction: Any, settings: ClassesSettings, value: AnyValueKind) -> str | None:
    """The class that a prediction means: of probabilities the most probable, or the positive one from the threshold."""
    if prediction is None or isinstance(prediction, str):
        return prediction
    classes = _class_names(value)
    if value.settings.is_binary:
        positive: str = value.settings.positive
        other = next(name for name in classes if name != positive)
        least = _THRESHOLD if settings.threshold is None else settings.threshold
        return positive if prediction[positive] >= least else other
    return max(classes, key=lambda name: prediction[name])


def _positive(settings: PositiveSettings, value: AnyValueKind) -> str:
    named = settings.positive or value.settings.positive
    return named or _class_names(value)[-1]


def _check(settings: ClassesSettings, value: AnyValueKind) -> Sequence[ValidationProblem]:
    if settings.threshold is not None and (value.settings.kind == "class" or not value.settings.is_binary):
        return [ValidationProblem(key=("threshold",), words="is for the probability of a positive class")]
    if settings.failed not in ("worst", "exclude"):
        return [ValidationProblem(key=("failed",), words='is "worst" or "exclude": a missing class is wrong')]
    positive = getattr(settings, "positive", None)
    if positive is not None and positive not in _class_names(value):
        return [ValidationProblem(key=("positive",), words=f"is '{positive}', which is none of the classes")]
    return ()


def _from_counts(
    function: Callable[[Counts, str, Any, AnyValueKind], Floats],
) -> Callable[[str, Any, AnyValueKind], Compute]:
    """A figure from the confusion counts of every replicate."""

    def compute(part: str, settings: Any, value: AnyValueKind) -> Compute:
        def of(facts: Facts, resamples: Resamples) -> Floats:
            return function(_counts(facts, settings, value, resamples), part, settings, value)

        return of

    return compute


def _f1_parts(_: Any, value: AnyValueKind) -> Sequence[str]:
    return (*_class_names(value), *_AVERAGES)


def _f1(counts: Counts, part: str, _: Any, value: AnyValueKind) -> Floats:
    if part in _AVERAGES:
        return _AVERAGES[part](counts)
    return np.asarray(classification.f1(counts)[:, _class_names(value).index(part)])


def _of_positive(function: Callable[..., Floats]) -> Callable[[Counts, str, Any, AnyValueKind], Floats]:
    return lambda counts, _, settings, value: function(
        counts, positive=_class_names(value).index(_positive(settings, value))
    )


_class_metric = partial(
    CohortValueMetric, compares=("class", "probability"), settings_model=ClassesSettings, check=_check
)
_share = partial(Figure, direction="higher", highest=1.0)
_correlation = partial(Figure, direction="higher", lowest=-1.0, highest=1.0)
CLASS_METRICS = (
    _class_metric(
        name="accuracy",
        definition="share of cases with the right class",
        figure=_share(title="Accuracy"),
        compute=_from_counts(lambda counts, *_: classification.accuracy(counts)),
    ),
    _class_metric(
        name="balanced_accuracy",
        definition="mean recall of the classes that occur",
        figure=_share(title="Balanced accuracy"),
        compute=_from_counts(lambda counts, *_: classification.balanced_accuracy(counts)),
    ),
    _class_metric(
        name="f1",
        definition="2 TP / (2 TP + FP + FN) of every class; macro, micro and weighted means",
        figure=_share(title="F1"),
        parts=_f1_parts,
        compute=_from_counts(_f1),
    ),
    _class_metric(
        name="sensitivity",
        definition="TP / (TP + FN) of the positive class",
        settings_model=PositiveSettings,
        figure=_share(title="Sensitivity"),
        compute=_from_counts(_of_positive(classification.sensitivity)),
    ),
    _class_metric(
        name="specificity",
        definition="TN / (TN + FP) of the positive class",
        settings_model=PositiveSettings,
        figure=_share(title="Specificity"),
        compute=_from_counts(_of_positive(classification.specificity)),
    ),
    _class_metric(
        name="mcc",
        definition="Matthews' correlation of true and predicted classes",
        figure=_correlation(title="MCC"),
        compute=_from_counts(lambda counts, *_: classification.mcc(counts)),
    ),
    _class_metric(
        name="kappa",
        definition="Cohen's kappa; a disagreement weighs 1, the distance of the classes, or its square",
        settings_model=KappaSettings,
        figure=_correlation(title="Kappa"),
        compute=_from_counts(lambda counts, _, settings, __: classification.kappa(counts, weights=settings.weights)),
    ),
)


# The catalogue of probabilities.


class EceSettings(MetricSettings):
    """`bins`: how many equal parts of 0 to 1."""

    bins: Annotated[StrictInt, Field(gt=0)] = 15


def arrays(facts: Facts, settings: MetricSettings, value: AnyValueKind) -> tuple[Floats, Any, Any]:
    """Probabilities `[case]` or `[case, class]`, what is true, and which cases count.

    A missing probability is the worst one, unless `failed` gives a number or leaves the case out.
    """
    classes = list(value.settings.class_table)
    codes = class_codes([fact["reference"] for fact in facts], classes=classes)
    rows = [[_of(fact["prediction"], name) for name in classes] for fact in facts]
    prediction = np.array(rows, dtype=np.float64).reshape(len(facts), len(classes))
    reference: Any = codes
    if value.settings.is_binary:
        positive = classes.index(value.settings.positive)
        prediction, reference = prediction[:, positive], codes == positive
    kept = ~np.isnan(prediction.reshape(len(facts), -1)).any(axis=1)
    if settings.failed == "exclude":
        return prediction[kept], reference[kept], kept
    if isinstance(settings.failed, int | float):
        prediction = np.where(np.isnan(prediction), float(settings.failed), prediction)
    return classification.with_worst(prediction=prediction, reference=reference), reference, np.ones_like(kept)


def _of(prediction: Any, name: str) -> float:
    return math.nan if prediction is None else prediction[name]


def _with(function: Callable[..., Floats], *options: str) -> Callable[[str, MetricSettings, AnyValueKind], Compute]:
    """A function of probabilities and truth, with these options of the metric."""

    def compute(_: str, settings: MetricSettings, value: AnyValueKind) -> Compute:
        def of(facts: Facts, resamples: Resamples) -> Floats:
            prediction, reference, kept = arrays(facts, settings, value)
            more = {option: getattr(settings, option) for option in options}
            return function(prediction=prediction, reference=reference, resamples=resamples.only(kept), **more)

        return of

    return compute


_probability_metric = partial(CohortValueMetric, compares=("probability",))
PROBABILITY_METRICS = (
    _probability_metric(
        name="auroc",
        definition="area under the ROC curve; of several classes the mean of each one against the rest",
        figure=Figure(title="AUROC", direction="higher", highest=1.0),
        compute=_with(classification.auroc),
    ),
    _probability_metric(
        name="average_precision",
        definition="sum over thresholds of the rise of recall times precision",
        figure=Figure(title="AP", direction="higher", highest=1.0),
        compute=_with(classification.average_precision),
    ),
    _probability_metric(
        name="brier",
        definition="mean squared error of the probabilities",
        figure=Figure(title="Brier score", direction="lower", highest=2.0),
        compute=_with(classification.brier),
    ),
    _probability_metric(
        name="log_loss",
        definition="- mean of log p(true class)",
        figure=Figure(title="Log loss", direction="lower"),
        compute=_with(classification.log_loss),
    ),
    _probability_metric(
        name="ece",
        definition="mean over bins of |mean probability - share that is true|, weighted by their cases",
        settings_model=EceSettings,
        figure=Figure(title="ECE", direction="lower", highest=1.0),
        compute=_with(classification.ece, "bins"),
    ),
)
