"""The catalogue of classes and probabilities; a probability becomes a class by its threshold."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, StrictInt

from podium.challenges.declared.catalogue.base import CohortArrays, CohortFacts, CohortValueMetric, MetricSettings
from podium.challenges.declared.values import AnyValueKind
from podium.challenges.declared.values.classes import FindingValue
from podium.challenges.settings import Threshold
from podium.errors import ValidationProblem
from podium.metrics import Floats, classification
from podium.metrics.classification import MISSING, Codes, ConfusionCounts, class_codes, confusion, predicted_classes
from podium.metrics.declaration import Figure
from podium.metrics.engines import MetricEngine
from podium.metrics.resampling import Resamples

_THRESHOLD = 0.5
_ONE_CLASS = "where all references are of one class"
_AVERAGES = {
    "macro": classification.f1_macro,
    "micro": classification.f1_micro,
    "weighted": classification.f1_weighted,
}


class ClassesSettings(MetricSettings):
    """`threshold`: from which probability on a case is of the positive class; `"> 0.3"` excludes 0.3 itself."""

    threshold: Threshold | None = None


class PositiveSettings(ClassesSettings):
    """`positive`: the class that is to be found [that of the value]."""

    positive: str | None = None


class KappaSettings(ClassesSettings):
    """`weights`: how much a disagreement of two classes weighs, by their distance in the order of the classes."""

    weights: Literal["none", "linear", "quadratic"] = "none"


def _codes(cohort: CohortFacts) -> tuple[Codes, Codes, Resamples]:
    """The predicted and the true classes of the cases."""
    reference = class_codes(
        [fact["reference"] for fact in cohort.facts], classes=list(cohort.value.settings.class_table)
    )
    predicted = _predicted(cohort)
    if cohort.value.settings.kind == "probability":  # a missing one is of the class furthest from the true one
        last = len(cohort.value.settings.class_table) - 1
        predicted = np.where(predicted == MISSING, np.where(2 * reference <= last, last, 0), predicted)
    return predicted, reference, cohort.resamples


def _counts(cohort: CohortFacts) -> ConfusionCounts:
    """The confusion counts of every replicate."""
    predicted, reference, resamples = _codes(cohort)
    classes = len(cohort.value.settings.class_table)
    return confusion(prediction=predicted, reference=reference, classes=classes, resamples=resamples)


def _exact(cohort: CohortFacts, engine: MetricEngine) -> float | None:
    """The published figure of classes."""
    predicted, reference, _ = _codes(cohort)
    names = list(cohort.value.settings.class_table)
    part: int | str = cohort.part if cohort.part in _AVERAGES else _positive(cohort)
    return engine.class_figure(
        cohort.settings.kind,
        prediction=predicted,
        reference=reference,
        classes=len(names),
        part=names.index(cohort.part) if cohort.part in names else part,
        weights=getattr(cohort.settings, "weights", "none"),
    )


def _exact_probability(cohort: CohortFacts, engine: MetricEngine) -> float | None:
    arrays = _arrays(cohort)
    return engine.probability_figure(
        cohort.settings.kind,
        prediction=arrays["prediction"],
        reference=arrays["reference"],
        clip=getattr(cohort.settings, "clip", None),
    )


def _predicted(cohort: CohortFacts) -> Codes:
    """The numbers of the predicted classes: of probabilities the most probable, or the positive one from the threshold
    on."""
    settings, value = cohort.settings, cohort.value
    classes = list(value.settings.class_table)
    if value.settings.kind == "class":
        return class_codes([fact["prediction"] for fact in cohort.facts], classes=classes)
    probabilities = _probabilities(cohort)
    if not value.settings.is_binary:
        return predicted_classes(probabilities)
    positive = classes.index(value.settings.positive)
    threshold = _THRESHOLD if settings.threshold is None else settings.threshold
    found = predicted_classes(probabilities[:, positive], threshold=threshold)
    return np.where(found == MISSING, MISSING, np.where(found == 1, positive, 1 - positive))


def _probabilities(cohort: CohortFacts) -> Floats:
    """As `[case, class]`; NaN for a case without a usable prediction."""
    classes = list(cohort.value.settings.class_table)
    none = dict.fromkeys(classes, math.nan)
    rows = [[(fact["prediction"] or none)[name] for name in classes] for fact in cohort.facts]
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(classes))


def _positive(cohort: CohortFacts) -> int:
    """The number of the positive class: that of the metric, else of the value, else the last."""
    classes = list(cohort.value.settings.class_table)
    return classes.index(getattr(cohort.settings, "positive", None) or cohort.value.settings.positive or classes[-1])


def _check(settings: ClassesSettings, value: AnyValueKind) -> Sequence[ValidationProblem]:
    if settings.threshold is not None and (value.settings.kind == "class" or not value.settings.is_binary):
        return [ValidationProblem(key=("threshold",), words="is for the probability of a positive class")]
    positive = getattr(settings, "positive", None)
    if positive is not None and positive not in value.settings.class_table:
        return [ValidationProblem(key=("positive",), words=f"is '{positive}', which is not one of the classes")]
    return ()


def _f1(cohort: CohortFacts) -> Floats:
    counts = _counts(cohort)
    if cohort.part in _AVERAGES:
        return _AVERAGES[cohort.part](counts)
    names = list(cohort.value.settings.class_table)
    place = names.index(cohort.part) if cohort.part else _positive(cohort)
    return np.asarray(classification.f1(counts)[:, place])


_class_metric = partial(
    CohortValueMetric,
    compares=("class", "probability", "findings"),
    settings_model=ClassesSettings,
    check=_check,
    exact=_exact,
    by_engine=lambda _: True,
)
_share = partial(Figure, direction="higher", highest=1.0)
_correlation = partial(Figure, direction="higher", lowest=-1.0, highest=1.0)


def _of_counts(compute: Callable[[ConfusionCounts], Floats], definition: str, figure: Figure) -> CohortValueMetric:
    """A metric of the confusion counts alone, named like its function."""
    return _class_metric(
        name=compute.__name__, definition=definition, figure=figure, compute=lambda cohort: compute(_counts(cohort))
    )


def _of_positive(compute: Callable[..., Floats], definition: str) -> CohortValueMetric:
    """A metric of the confusion counts of the positive class, named like its function."""
    return _class_metric(
        name=compute.__name__,
        definition=definition,
        settings_model=PositiveSettings,
        figure=_share(title=compute.__name__.capitalize()),
        compute=lambda cohort: compute(_counts(cohort), positive=_positive(cohort)),
    )


_CLASS_METRICS = (
    _of_counts(classification.accuracy, "share of cases with the right class", _share(title="Accuracy")),
    _of_counts(
        classification.balanced_accuracy, "mean recall of the classes that occur", _share(title="Balanced accuracy")
    ),
    _class_metric(
        name="f1",
        definition="2 TP / (2 TP + FP + FN) of every class; macro, micro and weighted means. In macro a declared class "
        "that does not occur counts 0",
        figure=_share(title="F1"),
        parts=lambda _, value: ("",) if isinstance(value, FindingValue) else (*value.settings.class_table, *_AVERAGES),
        compute=_f1,
    ),
    _of_positive(classification.sensitivity, "TP / (TP + FN) of the positive class"),
    _of_positive(classification.specificity, "TN / (TN + FP) of the positive class"),
    _of_counts(classification.mcc, "Matthews' correlation of true and predicted classes", _correlation(title="MCC")),
    _class_metric(
        name="kappa",
        definition="Cohen's kappa; a disagreement weighs 1, the distance of the classes, or its square",
        settings_model=KappaSettings,
        figure=_correlation(title="Kappa"),
        undefined_when=_ONE_CLASS,
        compute=lambda cohort: classification.kappa(_counts(cohort), weights=cohort.settings.weights),
    ),
)


# Probabilities


class OperatingPointSettings(MetricSettings):
    """`at`: the least that the other figure may be."""

    at: Annotated[float, Field(strict=True, gt=0, le=1)]


class LogLossSettings(MetricSettings):
    """`clip`: probabilities below it count as it, so that one case costs -ln(clip) at most. Without it one confident
    error shows in the mean of hundreds of cases, and a few submissions read the hidden labels."""

    clip: Annotated[float, Field(strict=True, gt=0, lt=0.5)]


class EceSettings(MetricSettings):
    """`bins`: how many equal parts of 0 to 1."""

    bins: Annotated[StrictInt, Field(gt=0)] = 15


def _arrays(cohort: CohortFacts) -> CohortArrays:
    """Probabilities `[case]` or `[case, class]` and what is true.

    A missing probability is the worst one, unless `failed` gives a number. For average precision that is not 0:
    scikit-learn gives 0, shared by many cases, the precision of all cases.
    """
    settings, value = cohort.settings, cohort.value
    classes = list(value.settings.class_table)
    reference: Any = class_codes([fact["reference"] for fact in cohort.facts], classes=classes)
    prediction = _probabilities(cohort)
    if value.settings.is_binary:
        positive = classes.index(value.settings.positive)
        prediction, reference = prediction[:, positive], reference == positive
    if isinstance(settings.failed, int | float):
        prediction = np.where(np.isnan(prediction), float(settings.failed), prediction)
    of_truth = classification.NEVER_FOUND if settings.kind in ("average_precision", "ppv_at_recall") else 0.0
    filled = classification.with_worst(prediction=prediction, reference=reference, of_truth=of_truth)
    return {"prediction": filled, "reference": reference, "resamples": cohort.resamples}


_probability_metric = partial(
    CohortValueMetric,
    compares=("probability", "findings"),
    failed="a number",
    exact=_exact_probability,
    by_engine=lambda _: True,
)


def _of_probabilities(
    compute: Callable[..., Floats], definition: str, figure: Figure, undefined_when: str = ""
) -> CohortValueMetric:
    """A metric of the probabilities alone, named like its function."""
    return _probability_metric(
        name=compute.__name__,
        definition=definition,
        figure=figure,
        undefined_when=undefined_when,
        compute=lambda cohort: compute(**_arrays(cohort)),
    )


def _needs_one_class(_: MetricSettings, value: AnyValueKind) -> Sequence[ValidationProblem]:
    words = f"is for the probability of one class, and '{value.name}' has one for each of several"
    return [] if value.settings.is_binary else [ValidationProblem(key=("kind",), words=words)]


def _operating_point(
    name: str, best: classification.Share, least: classification.Share, lacking: str = _ONE_CLASS
) -> CohortValueMetric:
    return _probability_metric(
        name=name,
        definition=f"the best {best} of all thresholds with a {least} of at least `at`",
        settings_model=OperatingPointSettings,
        figure=_share(title=name.replace("_", " ").capitalize().replace("Ppv", "PPV")),
        undefined_when=lacking,
        check=_needs_one_class,
        exact=None,
        by_engine=lambda _: False,
        compute=lambda cohort: classification.operating_point(
            **_arrays(cohort), best=best, least=least, at=cohort.settings.at
        ),
    )


_OPERATING_POINTS = (
    _operating_point("ppv_at_recall", "precision", "sensitivity", "without a positive case"),
    _operating_point("sensitivity_at_specificity", "sensitivity", "specificity"),
    _operating_point("specificity_at_sensitivity", "specificity", "sensitivity"),
)
_PROBABILITY_METRICS = (
    _of_probabilities(
        classification.auroc,
        "area under the ROC curve; of several classes the mean of each one against the rest",
        _share(title="AUROC"),
        _ONE_CLASS,
    ),
    _of_probabilities(
        classification.average_precision,
        "sum over thresholds of the rise of recall times precision; a missing positive case is never found",
        _share(title="AP"),
        "without a positive case",
    ),
    _of_probabilities(
        classification.brier,
        "mean squared error of the probabilities",
        Figure(title="Brier score", direction="lower", highest=2.0),
    ),
    _probability_metric(
        name="log_loss",
        definition="- mean of log p(true class), p from clip to 1 - clip",
        settings_model=LogLossSettings,
        figure=Figure(title="Log loss", direction="lower"),
        compute=lambda cohort: classification.log_loss(**_arrays(cohort), clip=cohort.settings.clip),
    ),
    _probability_metric(
        name="ece",
        definition="mean over bins of |mean probability - share that is true|, weighted by their cases",
        settings_model=EceSettings,
        figure=Figure(title="ECE", direction="lower", highest=1.0),
        compute=lambda cohort: classification.ece(
            **_arrays(cohort),
            bins=cohort.settings.bins,
            missing=np.flatnonzero([fact["prediction"] is None for fact in cohort.facts])
            if cohort.settings.failed == "worst"
            else None,
        ),
    ),
)

METRICS = (*_CLASS_METRICS, *_PROBABILITY_METRICS, *_OPERATING_POINTS)
