"""Carotid's rules: Dice and NSD of four structures, F1 of the class, time, and how they make the score."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module

import numpy as np
from numpy.typing import NDArray

from podium.challenges.base import Scorer
from podium.challenges.carotid.format import STRUCTURES, VIEWS, CarotidFormat, CarotidPrediction
from podium.challenges.carotid.settings import CarotidSettings, Weights
from podium.challenges.ranking_rule import Criterion, RankingRule
from podium.figures import Figures, get
from podium.metrics.classification import confusion_counts, resampled_f1
from podium.metrics.crop import crop_to_union
from podium.metrics.declaration import CaseMetric, CohortMetric, Formula, GivenFigure, Scoreboard, Values
from podium.metrics.overlap import dice
from podium.metrics.policy import AGREEMENT
from podium.metrics.resampling import Floats
from podium.metrics.surface import surface_dice
from podium.metrics.time_score import cohort_scores, fixed_bounds, widest_cohort_bounds
from podium.platform.results import CaseResult
from podium.platform.runtime import Runtime
from podium.readers.files import SafeFile

Place = tuple[str, str]  # view and structure
MaskPair = tuple[NDArray[np.bool_], NDArray[np.bool_]]  # prediction and reference
PLACES: tuple[Place, ...] = tuple((view, structure) for view in VIEWS for structure in STRUCTURES)
_VIEW_WORDS = {"long": "longitudinal", "trans": "transverse"}


@dataclass(frozen=True, eq=False)
class CarotidCase:
    """One case, compared; `masks` are cropped to what a structure covers, none without a usable prediction."""

    masks: Mapping[Place, MaskPair]
    true_class: int
    predicted_class: int | None


class CarotidScorer(Scorer[CarotidPrediction, SafeFile, CarotidCase]):
    """Reads both sides of a case and pairs their structures."""

    def __init__(self, format: CarotidFormat) -> None:  # noqa: A002  (the part's name everywhere)
        self._format = format

    def import_packages(self) -> None:
        for package in ("monai.metrics.meandice", "monai.metrics.utils"):
            import_module(package)

    def compare(self, prediction: CarotidPrediction, reference: SafeFile) -> CarotidCase:
        expected = self._format.read_reference(reference)
        found = self._format.read(prediction, expected.shapes)
        masks = {
            place: crop_to_union(prediction=found.masks[place], reference=expected.masks[place]) for place in PLACES
        }
        return CarotidCase(masks, expected.risk_class, found.risk_class)

    def lost(self, reference: SafeFile) -> CarotidCase:
        return CarotidCase({}, self._format.read_reference(reference).risk_class, None)

    def facts(self, case: CarotidCase) -> Figures:
        return {"true_class": case.true_class, "predicted_class": case.predicted_class}


def scoreboard(settings: CarotidSettings) -> Scoreboard[CarotidCase]:
    """Every figure of carotid."""
    policy = replace(AGREEMENT, both_empty=settings.both_empty)
    segmentation = [
        *_family("dice", "Dice", lambda pair: dice(prediction=pair[0], reference=pair[1], policy=policy)),
        *_family(
            "nsd",
            "NSD",
            lambda pair: surface_dice(
                prediction=pair[0], reference=pair[1], tolerance_px=settings.tolerance_px, policy=policy
            ),
        ),
    ]
    return Scoreboard(
        metrics=(
            *segmentation,
            CaseMetric(
                name="segmentation_score",
                title="Segmentation",
                direction="higher",
                lowest=0.0,
                highest=1.0,
                worst=0.0,
                of_row=lambda row: float(_segmentation(settings, lambda name: get(row, name))),
                mean="",
            ),
            CaseMetric(
                name="class_correct",
                title="Class correct",
                direction="higher",
                lowest=0,
                highest=1,
                worst=0,
                of=lambda case: int(case.predicted_class == case.true_class),
                mean="",
            ),
        ),
        cohort_metrics=[
            CohortMetric(
                path=f"f1.{risk.name}",
                title=f"F1 {risk.name}",
                of=resampled_f1(risk.value, truth="true_class", predicted="predicted_class"),
            )
            for risk in settings.classes
        ],
        tables={"confusion_matrix": lambda rows: _confusion(rows, settings)},
        given=(
            GivenFigure(path="time_score", title="Time"),
            GivenFigure(path="time_score_is_provisional"),
            GivenFigure(path="time_known"),
            GivenFigure(path="total_seconds", title="Seconds", direction="lower", known="time_known"),
        ),
        formulas=_formulas(settings),
        leaderboard=(
            *("score", "classification_score", "segmentation_score", "time_score"),
            *("score_without_time", "total_seconds"),
            *(metric.mean_path for metric in segmentation),
        ),
        headline=("score", "classification_score", "segmentation_score", "time_score"),
    )


def _family(family: str, title: str, at: Callable[[MaskPair], float | None]) -> list[CaseMetric[CarotidCase]]:
    """The four figures of one metric."""

    def of(place: Place) -> Callable[[CarotidCase], float | None]:
        return lambda case: at(case.masks[place])

    return [
        CaseMetric(
            name=f"{family}.{view}_{structure}",
            title=f"{title} {structure} ({_VIEW_WORDS[view]})",
            direction="higher",
            lowest=0.0,
            highest=1.0,
            worst=0.0,
            of=of((view, structure)),
        )
        for view, structure in PLACES
    ]


def _segmentation(settings: CarotidSettings, figure: Callable[[str], Floats]) -> Floats:
    """Mean over the two views of 0.4 vessel + 0.6 plaque, each the mean of Dice and NSD; on numbers or replicates."""
    weights = {"vessel": settings.structure_weights.vessel, "plaque": settings.structure_weights.plaque}
    terms = [
        weights[structure] * (figure(f"dice.{view}_{structure}") + figure(f"nsd.{view}_{structure}")) / 2
        for view, structure in PLACES
    ]
    return np.asarray(sum(terms) / len(VIEWS))


def _formulas(settings: CarotidSettings) -> tuple[Formula, ...]:
    weights = settings.weights
    share = weights.classification + weights.segmentation

    def classification(values: Values) -> Floats:
        return np.asarray(100 * np.mean([values[f"f1.{risk.name}"] for risk in settings.classes], axis=0))

    def segmentation(values: Values) -> Floats:
        return 100 * _segmentation(settings, lambda name: values[f"{name}.mean"])

    def without_time(values: Values) -> Floats:
        return np.asarray(
            weights.classification * values["classification_score"]
            + weights.segmentation * values["segmentation_score"]
        )

    return (
        Formula(path="classification_score", title="Classification", of=classification),
        Formula(path="segmentation_score", title="Segmentation", of=segmentation),
        Formula(
            path="score_without_time",
            title="Score without time",
            of=lambda values: without_time(values) / share if share else np.zeros_like(without_time(values)),
        ),
        Formula(
            path="score",
            title="Score (0-100)",
            of=lambda values: without_time(values) + weights.time * values["time_score"],
        ),
    )


def _confusion(rows: Sequence[Figures], settings: CarotidSettings) -> Figures:
    counts = confusion_counts(
        truth=[row["true_class"] for row in rows],
        predicted=[row["predicted_class"] for row in rows],
        classes=settings.class_values,
    )
    names: dict[int | None, str] = {**{risk.value: risk.name for risk in settings.classes}, None: "missing"}
    return {names[true]: {names[found]: count for found, count in row.items()} for true, row in counts.items()}


# Time


def given_figures(settings: CarotidSettings) -> Callable[[Sequence[CaseResult], Runtime], Mapping[str, float]]:
    """The time score as far as one team's time gives it.

    A case without a usable prediction counts with its share of the slowest time, so that failing fast never beats
    working slowly. An unknown time is published as the slowest: no column may show it as the fastest.
    """
    rule = settings.time
    bounds = (fixed_bounds if rule.rule == "fixed" else widest_cohort_bounds)(rule.baseline_seconds)

    def figures(results: Sequence[CaseResult], runtime: Runtime) -> Mapping[str, float]:
        usable = [result.case for result in results if result.status == "scored"]
        seconds = runtime.of(usable)
        unusable_seconds = (len(results) - len(usable)) * bounds.slow / len(results)
        total = bounds.slow if seconds is None else seconds + unusable_seconds
        return {
            "time_score": bounds.score(total),
            "time_score_is_provisional": int(rule.rule == "cohort"),
            "time_known": int(seconds is not None),
            "total_seconds": total,
            **runtime.clock_figures(),
        }

    return figures


def cohort_times(settings: CarotidSettings, aggregates: Mapping[str, Figures]) -> dict[str, Mapping[str, float]]:
    """Under the cohort rule the time score needs all teams' times; a team without a known time keeps 0 and sets no
    bound."""
    times = {team: figures["total_seconds"] for team, figures in aggregates.items() if figures["time_known"]}
    if settings.time.rule != "cohort" or not times:
        return {}
    scores = dict(zip(times, cohort_scores(list(times.values()), settings.time.baseline_seconds), strict=True))
    return {team: {"time_score": scores.get(team, 0.0), "time_score_is_provisional": 0} for team in aggregates}


def provisional_figures(settings: CarotidSettings) -> Sequence[str]:
    """What changes once all teams' times are known."""
    if settings.time.rule != "cohort":
        return ()
    return ("time_score", "score") if settings.weights.time else ("time_score",)


def ranking_rule(settings: CarotidSettings) -> RankingRule:
    return RankingRule(
        words="teams are ranked by the total score 0.4 classification + 0.4 segmentation + 0.2 time"
        if settings.weights == Weights()
        else "teams are ranked by the weighted total of classification, segmentation and time",
        criteria=(Criterion(path="score", title="Score (0-100)", direction="higher"),),
        case_metrics=("segmentation_score", "class_correct"),
    )
