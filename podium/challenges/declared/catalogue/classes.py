"""The catalogue of classes; a probability becomes a class by its threshold."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from podium.challenges.declared.catalogue.base import Figure, MetricSettings
from podium.challenges.declared.catalogue.cohort import CohortValueMetric, Compute, Facts
from podium.challenges.declared.values import AnyValueKind
from podium.errors import ValidationProblem
from podium.metrics import classification
from podium.metrics.classification import Counts, class_codes, confusion
from podium.metrics.resampling import Floats, Resamples

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


_metric = partial(CohortValueMetric, compares=("class", "probability"), settings_model=ClassesSettings, check=_check)
_share = partial(Figure, direction="higher", highest=1.0)
_correlation = partial(Figure, direction="higher", lowest=-1.0, highest=1.0)
CLASS_METRICS = (
    _metric(
        name="accuracy",
        definition="share of cases with the right class",
        figure=_share(title="Accuracy"),
        compute=_from_counts(lambda counts, *_: classification.accuracy(counts)),
    ),
    _metric(
        name="balanced_accuracy",
        definition="mean recall of the classes that occur",
        figure=_share(title="Balanced accuracy"),
        compute=_from_counts(lambda counts, *_: classification.balanced_accuracy(counts)),
    ),
    _metric(
        name="f1",
        definition="2 TP / (2 TP + FP + FN) of every class; macro, micro and weighted means",
        figure=_share(title="F1"),
        parts=_f1_parts,
        compute=_from_counts(_f1),
    ),
    _metric(
        name="sensitivity",
        definition="TP / (TP + FN) of the positive class",
        settings_model=PositiveSettings,
        figure=_share(title="Sensitivity"),
        compute=_from_counts(_of_positive(classification.sensitivity)),
    ),
    _metric(
        name="specificity",
        definition="TN / (TN + FP) of the positive class",
        settings_model=PositiveSettings,
        figure=_share(title="Specificity"),
        compute=_from_counts(_of_positive(classification.specificity)),
    ),
    _metric(
        name="mcc",
        definition="Matthews' correlation of true and predicted classes",
        figure=_correlation(title="MCC"),
        compute=_from_counts(lambda counts, *_: classification.mcc(counts)),
    ),
    _metric(
        name="kappa",
        definition="Cohen's kappa; a disagreement weighs 1, the distance of the classes, or its square",
        settings_model=KappaSettings,
        figure=_correlation(title="Kappa"),
        compute=_from_counts(lambda counts, _, settings, __: classification.kappa(counts, weights=settings.weights)),
    ),
)
