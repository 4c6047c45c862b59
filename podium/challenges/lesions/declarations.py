"""Lesions' rules: Dice and DMM over the steps of an interaction, the areas under their curves, and the last step."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from podium.challenges.lesions.scoring import LesionsCase
from podium.challenges.lesions.settings import LesionsSettings
from podium.challenges.ranking_rule import Criterion, RankingRule
from podium.figures import Figures
from podium.metrics.area import mean_height, trapezoid_area
from podium.metrics.declaration import CaseMetric, CohortMetric, Curve, Scoreboard
from podium.metrics.lesions import component_dice
from podium.metrics.resampling import Floats, Resamples


def lesions_metrics(settings: LesionsSettings) -> list[CaseMetric[LesionsCase]]:
    """What a case's figures are. An area is at most the number of steps less 1; a missed volume has no upper bound."""
    longest = settings.steps - 1 if settings.regime == "simulated" else math.inf
    areas = (("dice", "Dice"), ("dmm", "DMM"))
    return [
        *(_area(f"auc_{name}", f"AUC-{title}", name, trapezoid_area, highest=longest) for name, title in areas),
        *(
            _area(f"auc_{name}_normalised", f"AUC-{title}, normalised", name, mean_height, highest=1.0)
            for name, title in areas
        ),
        *(_area(f"final_{name}", f"Final {title}", name, _last, highest=1.0) for name, title in areas),
        _volume(
            "final_fpv_ml",
            "Final FPV",
            of=lambda case: case.steps[-1]["fpv_ml"] if case.final else None,
        ),
        _volume(
            "final_fnv_ml",
            "Final FNV",
            of=lambda case: case.steps[-1]["fnv_ml"],
            when_lost=lambda case: case.reference.total_ml,
        ),
        *(
            [
                CaseMetric(
                    name="final_component_dice",
                    title="Final Dice per component",
                    direction="higher",
                    lowest=0.0,
                    highest=1.0,
                    worst=0.0,
                    count="final_component_dice.n",
                    of=_component_dice,
                    when_lost=_component_dice,
                )
            ]
            if settings.per_component_dice
            else []
        ),
    ]


def _area(
    name: str, title: str, figure: str, area: Callable[[Sequence[float]], float], *, highest: float
) -> CaseMetric[LesionsCase]:
    """A figure over all steps. A lost case is one whose steps all failed, so the same function serves it."""

    def of(case: LesionsCase) -> float | None:
        return case.along_steps(figure, area)

    return CaseMetric(
        name=name,
        title=title,
        direction="higher",
        lowest=0.0,
        highest=highest,
        worst=0.0,
        count=f"{name}.n",
        of=of,
        when_lost=of,
    )


def _last(values: Sequence[float]) -> float:
    return values[-1]


def _volume(
    name: str,
    title: str,
    *,
    of: Callable[[LesionsCase], float | None],
    when_lost: Callable[[LesionsCase], float | None] | None = None,
) -> CaseMetric[LesionsCase]:
    return CaseMetric(
        name=name,
        title=title,
        direction="lower",
        lowest=0.0,
        highest=math.inf,
        worst=math.inf,
        unit="ml",
        count=f"{name}.n",
        of=of,
        when_lost=when_lost,
    )


def _component_dice(case: LesionsCase) -> float | None:
    if case.final is None:
        return None if case.reference.is_empty else 0.0
    return component_dice(prediction=case.final.mask, reference=case.reference.mask())


_CURVES = tuple(
    Curve(
        name=f"steps.{name}",
        title=title,
        along="Interaction step",
        direction="higher",
        lowest=0.0,
        highest=1.0,
        mean=f"{name}_by_step",
    )
    for name, title in (("dice", "Dice"), ("dmm", "DMM"))
)


def scoreboard(settings: LesionsSettings) -> Scoreboard[LesionsCase]:
    """Every figure of lesions."""
    metrics = lesions_metrics(settings)
    ranked = ("ranked.auc_dice.mean", "ranked.auc_dmm.mean")
    return Scoreboard(
        metrics=metrics,
        curves=_CURVES,
        cohort_metrics=[
            *_counts("final_detections"),
            CohortMetric(
                path="dmm_pooled",
                title="DMM pooled",
                of=lambda rows, resamples: _pooled_f1("final_detections", rows, resamples),
                defined="dmm_pooled_defined",
            ),
            *(_centroid_metrics() if settings.centroid_radius_mm is not None else ()),
        ],
        aliases={f"ranked.{name}": f"{name}{settings.ranked_suffix}" for name in ("auc_dice", "auc_dmm")},
        leaderboard=(
            *ranked,
            *(metric.mean_path for metric in metrics if metric.name not in ("auc_dice", "auc_dmm")),
            "dmm_pooled",
        ),
        headline=(*ranked, *(metric.mean_path for metric in metrics if metric.name.startswith("final"))),
        ranked=ranked,
    )


def _counts(facts: str) -> list[CohortMetric]:
    def of(name: str) -> Callable[[Sequence[Figures], Resamples], Floats]:
        return lambda rows, resamples: _total(facts, name, rows, resamples)

    return [CohortMetric(path=f"{facts}.{name}", of=of(name), whole=True) for name in ("tp", "fp", "fn")]


def _centroid_metrics() -> list[CohortMetric]:
    return [
        *_counts("final_centroid_hits"),
        CohortMetric(
            path="final_centroid_hits.f1",
            of=lambda rows, resamples: _pooled_f1("final_centroid_hits", rows, resamples),
        ),
    ]


def _total(facts: str, name: str, rows: Sequence[Figures], resamples: Resamples) -> Floats:
    """The sum over cases of one count; a case that was not counted adds nothing."""
    return resamples.total([row[facts][name] if row[facts] is not None else 0 for row in rows])


def _pooled_f1(facts: str, rows: Sequence[Figures], resamples: Resamples) -> Floats:
    """F1 = 2TP / (2TP + FP + FN) of the summed counts; NaN where there is nothing to count."""
    tp, fp, fn = (_total(facts, name, rows, resamples) for name in ("tp", "fp", "fn"))
    counted = 2 * tp + fp + fn
    return np.divide(2 * tp, counted, out=np.full_like(tp, np.nan), where=counted > 0)


def ranking_rule(settings: LesionsSettings) -> RankingRule:
    """Rank by mean AUC-Dice, rank by mean AUC-DMM, average the two ranks; per regime."""
    suffix = settings.ranked_suffix
    names = ("auc_dice", "auc_dmm")
    titles = {metric.name: metric.title for metric in lesions_metrics(settings)}
    return RankingRule(
        words="teams are ranked by mean AUC-Dice and by mean AUC-DMM, then by the mean of the two positions with "
        "equal weights" + (", the areas divided by the number of corrections" if suffix else ""),
        criteria=tuple(
            Criterion(
                path=f"ranked.{name}.mean", title=f"Mean {titles[f'{name}{suffix}']}", direction="higher", weight=0.5
            )
            for name in names
        ),
        case_metrics=tuple(f"{name}{suffix}" for name in names),
        division="regime",
    )
