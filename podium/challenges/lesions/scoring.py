"""Scoring of lesions: the figures of every step of a case, of the case, and of all cases, and the ranking rule."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import pairwise
from operator import itemgetter
from typing import Any

import numpy as np

from podium.challenges.board import Criterion, RankingRule
from podium.challenges.lesions.files import LesionReference, LesionsSettings
from podium.figures import Figures
from podium.metrics import Floats, Mask
from podium.metrics.components import Components, Overlap, count_overlap, masks_at
from podium.metrics.declaration import CaseMetric, CohortMetric, Curve, Direction, Reason, Scoreboard
from podium.metrics.engines import OWN, MetricEngine
from podium.metrics.lesions import match_lesions, reported_pairs
from podium.metrics.overlap import VoxelCounts
from podium.metrics.resampling import Resamples, quotient
from podium.readers.volumes import Volume

MISSING_STEP = "There is no prediction for this step."
_VOLUME: Mapping[str, Any] = {"direction": "lower", "highest": math.inf, "worst": math.inf, "unit": "ml"}

_CURVES = tuple(
    Curve(
        name=f"steps.{name}",
        title=title,
        along="Interaction step",
        direction="higher",
        highest=1.0,
        mean=f"{name}_by_step",
    )
    for name, title in (("dice", "Dice"), ("dmm", "DMM"))
)


def computed_by(settings: LesionsSettings, engine: MetricEngine) -> Mapping[str, str]:
    """The package that computes each figure of a step."""
    found = {"dice": engine.PACKAGES.get("dice", OWN), "dmm": OWN}
    if settings.per_component_dice:
        found["component_dice"] = engine.PACKAGES.get("component_dice", OWN)
    return found


@dataclass(frozen=True, eq=False)
class StepMasks:
    """The masks of a step, for an engine."""

    step: "ReadStep"
    reference: LesionReference
    overlap: Overlap

    @property
    def counts(self) -> VoxelCounts:
        return self.overlap.counts

    def masks(self) -> tuple[Mask, Mask]:
        """Cut to the box around both; made of their voxels where these are few, as they are as a rule."""
        lesions, voxels = self.reference.lesions, self.step.volume.voxels
        if voxels is None:
            return self.step.mask, self.reference.mask()
        return masks_at(voxels.places, lesions.places, lesions.shape)


def score_step(
    step: int, read: "ReadStep", reference: LesionReference, settings: LesionsSettings, engine: MetricEngine
) -> dict[str, Any]:
    """The figures of one step and the counts behind them.

    Without lesions, Dice follows the setting `empty_reference`; DMM and the false negative volume are undefined. The
    false positive volume always has a value.
    """
    components = read.components
    overlap = count_overlap(components, reference.lesions)
    detections = match_lesions(overlap, iou_threshold=settings.iou_threshold)
    if reference.is_empty:
        dice = None if settings.empty_reference == "undefined" else float(components.count == 0)
    else:
        dice = engine.dice(StepMasks(read, reference, overlap)) if components.count else 0.0
    return {
        "step": step,
        "status": "scored",
        "error": None,
        "dice": dice,
        "dmm": None if reference.is_empty else detections.f1,
        "fpv_ml": reference.ml(overlap.untouched_component_voxels),
        "fnv_ml": None if reference.is_empty else reference.ml(overlap.untouched_lesion_voxels),
        **asdict(detections),
        "components": components.count,
        "voxels": asdict(overlap.counts),
        "pairs": reported_pairs(overlap, iou_threshold=settings.iou_threshold),
    }


def failed_step(
    step: int, reference: LesionReference, settings: LesionsSettings, *, status: str, error: str
) -> dict[str, Any]:
    """A step without a usable prediction: every lesion is missed, and there are no false positives."""
    is_undefined = reference.is_empty and settings.empty_reference == "undefined"
    return {
        "step": step,
        "status": status,
        "error": error,
        "dice": None if is_undefined else 0.0,
        "dmm": None if reference.is_empty else 0.0,
        "fpv_ml": 0.0,
        "fnv_ml": reference.total_ml,
        "tp": 0,
        "fp": 0,
        "fn": reference.lesions.count,
        "components": 0,
        "voxels": {"prediction": 0, "reference": reference.lesions.total_voxels, "shared": 0},
        "pairs": [],
    }


@dataclass(frozen=True, eq=False)
class ReadStep:
    """A step's mask and its components."""

    volume: Volume
    components: Components

    @property
    def mask(self) -> Mask:
        """A value for every voxel, expanded on access."""
        return self.volume.labels.view(np.bool_)


@dataclass(frozen=True, eq=False)
class LesionsCase:
    """The figures of every step of a case; `final` is None if the last step has no usable prediction."""

    reference: LesionReference
    steps: Sequence[Mapping[str, Any]]
    final: ReadStep | None = None
    warnings: Sequence[str] = ()

    def along_steps(self, name: str, area: Callable[[Sequence[float]], float]) -> float | Reason:
        """`area` of a figure's values over all steps; without a lesion to find it is undefined at every step."""
        values = [step[name] for step in self.steps]
        defined = [value for value in values if value is not None]
        return area(defined) if len(defined) == len(values) else "reference_empty"


# The declared figures: areas under the curves of Dice and DMM over the steps, the last step, and pooled counts.


def lesions_metrics(settings: LesionsSettings, engine: MetricEngine) -> list[CaseMetric[LesionsCase]]:
    """The figures of a case. An area is at most the number of steps minus 1; volumes have no upper bound."""
    longest = math.inf if settings.fixed_steps is None else settings.fixed_steps - 1
    both = (("dice", "Dice"), ("dmm", "DMM"))
    areas = [
        *(_area(f"auc_{name}", f"AUC-{title}", name, trapezoid_area, highest=longest) for name, title in both),
        *(
            _area(f"auc_{name}_normalised", f"AUC-{title}, normalised", name, mean_height, highest=1.0)
            for name, title in both
        ),
        *(_area(f"final_{name}", f"Final {title}", name, itemgetter(-1), highest=1.0) for name, title in both),
    ]
    without = "where no reference has a lesion" if settings.empty_reference == "undefined" else ""
    component_dice = _metric(
        "final_component_dice",
        "Final Dice per component",
        lambda case: _component_dice(case, engine),
        undefined_when="where no reference has a lesion",
    )
    return [
        *(replace(area, undefined_when=without) for area in areas),
        _metric(
            "final_fpv_ml",
            "Final FPV",
            lambda case: case.steps[-1]["fpv_ml"] if case.final else "prediction_empty",
            **_VOLUME,
        ),
        _metric("final_fnv_ml", "Final FNV", lambda case: case.steps[-1]["fnv_ml"], **_VOLUME),
        *([component_dice] if settings.per_component_dice else []),
    ]


def trapezoid_area(values: Sequence[float]) -> float:
    """Trapezoidal rule with unit spacing, not normalised: six perfect steps give 5. The area of a single value is 0."""
    return math.fsum((left + right) / 2 for left, right in pairwise(values))


def mean_height(values: Sequence[float]) -> float:
    """The area divided by its width, n - 1; a single value itself. Comparable for any number of steps."""
    return trapezoid_area(values) / (len(values) - 1) if len(values) > 1 else values[0]


def _area(
    name: str, title: str, figure: str, area: Callable[[Sequence[float]], float], *, highest: float
) -> CaseMetric[LesionsCase]:
    """A figure over all steps. In a missing case every step failed, so the same function applies."""
    return _metric(name, title, lambda case: case.along_steps(figure, area), highest=highest)


def _metric(
    name: str, title: str, compute: Callable[[LesionsCase], float | Reason], **more: Any
) -> CaseMetric[LesionsCase]:
    """A figure of which more is better, unless `more` says otherwise."""
    declared = {"direction": "higher", "highest": 1.0, "worst": 0.0, **more}
    return CaseMetric(name=name, title=title, count=f"{name}.n", compute=compute, **declared)


def _component_dice(case: LesionsCase, engine: MetricEngine) -> float | Reason:
    if case.reference.is_empty:
        return "reference_empty"
    if case.final is None or case.final.components.count == 0:
        return 0.0
    overlap = count_overlap(case.final.components, case.reference.lesions)
    return engine.component_dice(StepMasks(case.final, case.reference, overlap))


def scoreboard(settings: LesionsSettings, engine: MetricEngine) -> Scoreboard[LesionsCase]:
    """All figures of lesions."""
    metrics = lesions_metrics(settings, engine)
    means = [metric.mean_path for metric in metrics]
    ranked = [criterion.path for criterion in ranking_rule(settings).criteria]
    return Scoreboard(
        metrics=metrics,
        curves=_CURVES,
        cohort_metrics=_detection_metrics(),
        leaderboard=(*ranked, *(path for path in means if path not in ranked), "dmm_pooled"),
        headline=(*ranked, *(path for path in means if path.startswith("final"))),
        ranked=ranked,
    )


def _detection_metrics() -> list[CohortMetric]:
    """The counts of the last step, summed over cases, and their F1, which has no value if all are 0."""

    def total(name: str, rows: Sequence[Figures], resamples: Resamples) -> Floats:
        return resamples.total([row["final_detections"][name] for row in rows])

    def pooled_f1(rows: Sequence[Figures], resamples: Resamples) -> Floats:
        tp, fp, fn = (total(name, rows, resamples) for name in ("tp", "fp", "fn"))
        return quotient(2 * tp, 2 * tp + fp + fn)

    directions: dict[str, Direction] = {"tp": "higher", "fp": "lower", "fn": "lower"}
    return [
        *(
            CohortMetric(
                path=f"final_detections.{name}",
                direction=direction,
                lowest=0.0,
                compute=partial(total, name),
                whole=True,
            )
            for name, direction in directions.items()
        ),
        CohortMetric(
            path="dmm_pooled",
            title="DMM pooled",
            lowest=0.0,
            highest=1.0,
            compute=pooled_f1,
            defined="dmm_pooled_defined",
            undefined_when="where no reference has a lesion",
        ),
    ]


def ranking_rule(settings: LesionsSettings) -> RankingRule:
    """Rank by mean AUC-Dice, rank by mean AUC-DMM, average the two ranks; per regime."""
    suffix = settings.ranked_suffix
    titles = {"auc_dice": "AUC-Dice", "auc_dmm": "AUC-DMM"}
    return RankingRule(
        words="teams are ranked by mean AUC-Dice and by mean AUC-DMM, then by the mean of the two positions with "
        "equal weights" + (", the areas divided by the number of corrections" if suffix else ""),
        criteria=tuple(
            Criterion(
                path=f"{name}{suffix}.mean",
                title=f"Mean {title}{', normalised' if suffix else ''}",
                direction="higher",
                weight=0.5,
                absent_is_last=True,
            )
            for name, title in titles.items()
        ),
        case_metrics=tuple(f"{name}{suffix}" for name in titles),
        division="regime",
    )
