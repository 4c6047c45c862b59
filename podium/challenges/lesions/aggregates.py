"""What the cases of lesions add up to, from their result rows alone."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from podium.challenges.lesions.settings import LesionsSettings
from podium.metrics.averages import mean_and_std, mean_of
from podium.metrics.detection import Detections
from podium.platform.results import CaseResult, put

CASE_FIGURES = (
    "auc_dice",
    "auc_dmm",
    "auc_dice_normalised",
    "auc_dmm_normalised",
    "final_dice",
    "final_dmm",
    "final_fpv_ml",
    "final_fnv_ml",
)
OPTIONAL_FIGURES = ("final_component_dice",)


def aggregate_lesions(results: Sequence[CaseResult], settings: LesionsSettings) -> dict[str, Any]:
    """Every figure over all cases, and over the cases of each group where there are groups."""
    figures = _summary(results, settings)
    for name in ("auc_dice", "auc_dmm"):
        put(figures, f"ranked.{name}", dict(figures[f"{name}{settings.ranked_suffix}"]))
    if settings.groups is None:
        return figures
    members: dict[str, list[CaseResult]] = defaultdict(list)
    for result in results:
        members[settings.group_of(result.case) or ""].append(result)
    figures["groups"] = {group: _summary(members[group], settings) for group in sorted(members)}
    for name in (*CASE_FIGURES, *OPTIONAL_FIGURES):
        if name in figures:
            defined = [group[name]["mean"] for group in figures["groups"].values() if group[name]["n"]]
            figures[f"{name}_group_mean"] = mean_of(defined)
    pooled = [group["dmm_pooled"] for group in figures["groups"].values() if group["dmm_pooled_defined"]]
    figures["dmm_pooled_group_mean"] = mean_of(pooled)
    return figures


def _summary(results: Sequence[CaseResult], settings: LesionsSettings) -> dict[str, Any]:
    rows = [result.metrics for result in results]
    figures: dict[str, Any] = {name: _spread([row[name] for row in rows]) for name in CASE_FIGURES}
    if settings.per_component_dice:
        figures["final_component_dice"] = _spread([row["final_component_dice"] for row in rows])
    for name in ("dice", "dmm"):
        figures[f"{name}_by_step"] = _mean_curve(rows, name)
    detections = _pooled([row["final_detections"] for row in rows])
    figures["final_detections"] = {"tp": detections.tp, "fp": detections.fp, "fn": detections.fn}
    figures["dmm_pooled"] = detections.f1 or 0.0
    figures["dmm_pooled_defined"] = int(detections.f1 is not None)
    if settings.centroid_radius_mm is not None:
        hits = _pooled([row["final_centroid_hits"] for row in rows if row["final_centroid_hits"] is not None])
        figures["final_centroid_hits"] = {"tp": hits.tp, "fp": hits.fp, "fn": hits.fn, "f1": hits.f1 or 0.0}
    return figures


def _spread(values: Sequence[float | None]) -> dict[str, float]:
    """Mean and population standard deviation of the defined values, and how many those are.

    Where none is defined, the leaderboard still needs a number: 0, with `n` 0 to say that it means nothing.
    """
    defined = [value for value in values if value is not None]
    mean, std = mean_and_std(defined)
    return {"mean": mean, "std": std, "n": len(defined)}


def _mean_curve(rows: Sequence[Mapping[str, Any]], name: str) -> dict[str, float]:
    """The mean of a figure at every step, over the cases that have that step and a value there."""
    values: dict[int, list[float]] = defaultdict(list)
    for row in rows:
        for step in row["steps"]:
            at_step = values[step["step"]]
            if step[name] is not None:
                at_step.append(step[name])
    return {str(step): mean_of(values[step]) for step in sorted(values)}


def _pooled(counts: Sequence[Mapping[str, int]]) -> Detections:
    return Detections(**{name: sum(count[name] for count in counts) for name in ("tp", "fp", "fn")})
