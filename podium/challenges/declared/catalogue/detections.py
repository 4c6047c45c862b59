"""The catalogue of detections: points, boxes and detection maps, matched case by case and scored over all cases."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from podium.challenges.declared.catalogue.base import (
    CaseValueMetric,
    CohortFacts,
    CohortValueMetric,
    DeclaredCase,
    MetricSettings,
    OfCase,
)
from podium.challenges.declared.values import AnyValueKind, Compared
from podium.challenges.declared.values.images import DetectionMapValue
from podium.challenges.declared.values.points import Places, PointsValue
from podium.challenges.settings import Positive, Text, Threshold
from podium.errors import ValidationProblem
from podium.figures import Figures
from podium.metrics import Floats
from podium.metrics.declaration import Figure
from podium.metrics.detection import (
    FROC_RATES,
    CountedFigure,
    FrocRule,
    average_precision,
    case_auroc,
    counted,
    cpm,
    froc,
    match_boxes,
    match_detection_map,
    match_points,
    missing_facts,
)

_MAP_IOU = 0.1
_NO_FINDING = "without a finding"


class DetectionSettings(MetricSettings):
    """How candidates are matched with references.

    match                  distance: the nearest within the radius; iou: the best overlap from the threshold on
                           [distance for points, iou for boxes and detection maps]
    radius_mm, radius_px   how far a point may be from its reference, in the unit of the value
    threshold              with iou the least overlap [0.1 for detection maps], with distance as probability_threshold
    probability_threshold  from which probability on a candidate counts [all]; "> 0.3" excludes 0.3 itself, in both
    repeats                what a second candidate at a reference is: false_positive, or ignore (neither right nor
                           wrong); in detection maps it is always ignored, as in picai_eval
    """

    match: Literal["distance", "iou"] | None = None
    radius_mm: Positive | None = None
    radius_px: Positive | None = None
    threshold: Threshold | None = None
    probability_threshold: Threshold | None = None
    repeats: Literal["false_positive", "ignore"] = "false_positive"

    def matching(self, value: AnyValueKind) -> Literal["distance", "iou"]:
        return self.match or ("distance" if value.settings.kind == "points" else "iou")

    def least_probability(self, value: AnyValueKind) -> float | None:
        if self.probability_threshold is not None or self.matching(value) == "iou":
            return self.probability_threshold
        return self.threshold


class FrocSettings(DetectionSettings):
    """Where sensitivities are read from the curve.

    levels       false positives, in rising order [1/8, 1/4, 1/2, 1, 2, 4 and 8]
    per          what they are per: a case, or one of a column of cases.csv, such as an area
    interpolate  between two points of the curve: linear, or steps, the lower one of them [linear]
    """

    levels: Annotated[tuple[Positive, ...], Field(min_length=1)] | None = None
    per: Text = "case"
    interpolate: Literal["linear", "steps"] | None = None

    @model_validator(mode="after")
    def _levels_are_complete(self) -> Self:
        if self.levels is not None and self.interpolate is None:
            raise ValueError('has levels, so say how it reads between points: interpolate = "linear" or "steps"')
        if self.levels is not None and [*self.levels] != sorted({*self.levels}):
            raise ValueError("levels must rise")
        return self

    @property
    def by_name(self) -> Mapping[str, float]:
        return {f"at_{level:.12g}".replace(".", "_"): level for level in self.levels or FROC_RATES}

    def rule(self, facts: Sequence[Figures]) -> FrocRule:
        per = None if self.per == "case" else [fact["per"] for fact in facts]
        return FrocRule(levels=[*self.by_name.values()], per=per, steps=self.interpolate == "steps")


def _check(settings: DetectionSettings, value: AnyValueKind) -> Sequence[ValidationProblem]:
    kind, matching = value.settings.kind, settings.matching(value)
    wrong: tuple[str, str] | None = None
    if matching == "iou" and kind == "points":
        wrong = ("match", "is iou, but points have no extent; match them by distance")
    elif matching == "distance" and kind != "points":
        wrong = ("match", f"is distance, but {kind} are matched by iou")
    elif matching == "iou" and kind == "boxes" and settings.threshold is None:
        wrong = ("threshold", "is missing: give the least overlap (IoU) with which a box has found its reference")
    elif matching == "distance":
        key = "radius_mm" if value.settings.unit == "mm" else "radius_px"
        other = "radius_px" if key == "radius_mm" else "radius_mm"
        if getattr(settings, key) is None or getattr(settings, other) is not None:
            wrong = (key, f"is missing: the coordinates of '{value.name}' are in {value.settings.unit}")
    if wrong is None and settings.kind == "fp" and settings.failed == "worst":
        wrong = ("failed", 'is missing: fp has no worst value; write "empty", which counts as no candidate')
    return [] if wrong is None else [ValidationProblem(key=(wrong[0],), words=wrong[1])]


def _facts(case: DeclaredCase, value: AnyValueKind, settings: DetectionSettings) -> Mapping[str, object]:
    """What was found in a case."""
    assert isinstance(value, PointsValue | DetectionMapValue)
    compared: Compared[Any, Any] = case.values[value.name]
    per = getattr(settings, "per", "case")
    units = {} if per == "case" else {"per": case.facts[per]}
    if compared.is_missing:
        return {**missing_facts(references=value.references(compared.reference)), **units}
    return {**_matched(value, compared, settings), **units}


def _matched(
    value: PointsValue | DetectionMapValue, compared: Compared[Any, Any], settings: DetectionSettings
) -> Mapping[str, object]:
    found, expected = compared.found, compared.reference
    if isinstance(value, DetectionMapValue):
        return match_detection_map(
            prediction=found.pixels,
            reference=expected.pixels,
            iou_threshold=_MAP_IOU if settings.threshold is None else settings.threshold,
            connectivity=value.settings.neighbours,
            max_candidates=value.settings.max_candidates,
            reference_instances=value.settings.reference_instances,
        )
    shared: dict[str, Any] = {
        "prediction": found.coordinates,
        "reference": expected.coordinates,
        "probabilities": found.probabilities,
        "repeats": settings.repeats,
    }
    if value.settings.kind == "points":
        return match_points(**shared, radius_mm=settings.radius_mm or settings.radius_px or 0.0)
    return match_boxes(**shared, iou_threshold=settings.threshold or 0.0)


def _counted(figure: CountedFigure, cohort: CohortFacts) -> Floats:
    least = cohort.settings.least_probability(cohort.value)
    return counted(figure, cohort.facts, cohort.resamples, threshold=least)


def _froc(cohort: CohortFacts) -> Floats:
    rule = cohort.settings.rule(cohort.facts)
    if cohort.part == "cpm":
        return cpm(cohort.facts, cohort.resamples, rule=rule)
    return froc(cohort.facts, cohort.resamples, rate=cohort.settings.by_name[cohort.part], rule=rule)


_metric = partial(
    CohortValueMetric,
    compares=("points", "boxes", "detection_map"),
    settings_model=DetectionSettings,
    fact=_facts,
    failed='"empty"',
    check=_check,
)
_share = partial(Figure, direction="higher", highest=1.0)
_COUNTED: Mapping[CountedFigure, tuple[str, Figure]] = {
    "tp": ("candidates that found a reference", Figure(title="True positives", direction="higher")),
    "fp": ("candidates that found none", Figure(title="False positives", direction="lower")),
    "fn": ("references that no candidate found", Figure(title="False negatives", direction="lower")),
    "f1": ("2 TP / (2 TP + FP + FN), counts of all cases", _share(title="F1")),
    "precision": ("TP / (TP + FP), counts of all cases", _share(title="Precision")),
    "recall": ("TP / (TP + FN), counts of all cases", _share(title="Recall")),
}
_OF_DETECTIONS = (
    *(
        _metric(
            name=name,
            definition=definition,
            figure=figure,
            undefined_when="" if name in ("tp", "fp", "fn") else _NO_FINDING,
            compute=partial(_counted, name),
        )
        for name, (definition, figure) in _COUNTED.items()
    ),
    _metric(
        name="froc",
        settings_model=FrocSettings,
        definition="sensitivity at 1/8, 1/4, 1/2, 1, 2, 4 and 8 false positives per case, or at `levels`, and their "
        "mean, cpm",
        figure=_share(title="Sensitivity"),
        undefined_when=_NO_FINDING,
        parts=lambda settings, _: (*settings.by_name, "cpm"),
        needs_probability=True,
        compute=_froc,
    ),
    _metric(
        name="ap",
        definition="area under the precision-recall curve of all candidates",
        figure=_share(title="AP"),
        undefined_when=_NO_FINDING,
        needs_probability=True,
        compute=lambda cohort: average_precision(cohort.facts, cohort.resamples),
    ),
    _metric(
        name="case_auroc",
        definition="AUROC of a case's highest probability against whether there is anything to find",
        figure=_share(title="Case AUROC"),
        undefined_when="where all cases have a finding, or none has",
        needs_probability=True,
        compute=lambda cohort: case_auroc(cohort.facts, cohort.resamples),
    ),
)


# Landmarks.


class DetectionRateSettings(MetricSettings):
    """`radii_mm`: up to which distances a landmark counts as found, in the unit of the value: a figure for each."""

    radii_mm: Annotated[tuple[Positive, ...], Field(min_length=1)]


def _distances(case: DeclaredCase, value: AnyValueKind) -> Floats:
    """Of every landmark of the reference; infinite where its name is missing. Without z on one side, z is left out."""
    compared: Compared[Places, Places] = case.values[value.name]
    distances = []
    for name, place in compared.reference.items():
        found = compared.found.get(name)
        axes = len(place) if found is None else min(len(place), len(found))
        distances.append(np.inf if found is None else float(np.linalg.norm(place[:axes] - found[:axes])))
    return np.array(distances)


def _mean_error(case: DeclaredCase, value: AnyValueKind, settings: MetricSettings) -> float:
    """A landmark is never worse than a missing one."""
    assert isinstance(settings.failed, int | float), "checked: there is no worst value"
    return float(np.minimum(_distances(case, value), settings.failed).mean())


def _detected(case: DeclaredCase, value: AnyValueKind, _: MetricSettings, *, radius: float) -> float:
    return float((_distances(case, value) <= radius).mean())


def _rates(settings: DetectionRateSettings) -> Mapping[str, OfCase]:
    return {f"at_{radius:g}".replace(".", "_"): partial(_detected, radius=radius) for radius in settings.radii_mm}


_OF_LANDMARKS: Sequence[CaseValueMetric] = (
    CaseValueMetric(
        name="mre",
        definition="mean radial error: the mean distance of a case's landmarks, each at most `failed`, which is also "
        "that of a missing name",
        compares=("landmarks",),
        figure=Figure(title="MRE", direction="lower"),
        reveals_reference=True,
        compute=_mean_error,
    ),
    CaseValueMetric(
        name="sdr",
        definition="successful detection rate: the share of a case's landmarks at most so far away",
        compares=("landmarks",),
        settings_model=DetectionRateSettings,
        figure=Figure(title="SDR", direction="higher", highest=1.0),
        reveals_reference=True,
        has_unit=False,
        worst=lambda _, __: 0.0,
        several=_rates,
    ),
)

METRICS = (*_OF_DETECTIONS, *_OF_LANDMARKS)
