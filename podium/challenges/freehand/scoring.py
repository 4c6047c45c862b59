"""Freehand's settings and rules: four errors per scan, normalised by the identity baseline, and the final score."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field, StrictInt

from podium.challenges.board import Criterion, RankingRule
from podium.challenges.freehand.reading import ComparedField, ReferenceScan, frame_errors
from podium.challenges.settings import Positive, Settings, Slug, Tables
from podium.figures import Figures
from podium.metrics import Floats
from podium.metrics.aggregation import mean_of, rounded
from podium.metrics.declaration import CaseMetric, Curve, Formula, GivenFigure, Reason, Scoreboard, Values
from podium.metrics.displacement import (
    CATEGORIES,
    ERRORS,
    Coefficients,
    PixelGrid,
    category_scores,
    clipped,
    final_score,
    landmark_displacements,
    mean_distance,
    normalised_error,
)
from podium.platform.jobs import LONGEST_SECONDS, Runtime
from podium.platform.metrics_file import CaseResult
from podium.readers.frames import FrameStream

_TIE_BREAK_SHARE = 0.0005
"""The most the runtime can add to the ranking score: half of the third decimal, so it can only break ties."""

_OVER_TIME_LIMIT = "over_time_limit"

FAILED = 0.0
"""The normalised errors of a missing scan: those of the identity baseline."""

_TITLES = {"gpe": "GPE", "gle": "GLE", "lpe": "LPE", "lle": "LLE"}
_CATEGORY_TITLES = {
    "global_score": "Global",
    "local_score": "Local",
    "pixel_score": "Pixel",
    "landmark_score": "Landmark",
}
_CURVES = tuple(
    Curve(
        name=f"by_frame.{name}",
        title=_TITLES[name],
        along="Frame",
        direction="lower",
        unit="mm",
        first=1,
        length="by_frame.frames",
    )
    for name in ("gpe", "lpe")
)


Length = Annotated[StrictInt, Field(ge=1, le=10_000)]


class FreehandSockets(Settings):
    """`[freehand.sockets]`: the slug of an algorithm's output."""

    fields: Slug = "displacement-fields"


class FreehandSettings(Settings):
    """The `[freehand]` table of challenge.toml.

    edition           "2024" clips every normalised error to [0, 1]; in "2025" a method worse than the identity baseline
                      scores below 0
    frame_size        (height, width) in pixels
    time_limit_hours  for all scans together: teams beyond it are marked
    """

    retired: ClassVar = {"clip": 'write edition = "2024" for clip = true, or edition = "2025" for clip = false'}

    edition: Literal["2024", "2025"]
    sockets: FreehandSockets = FreehandSockets()
    frame_size: tuple[Length, Length] = (480, 640)
    time_limit_hours: Positive | None = None

    @property
    def clip(self) -> bool:
        return self.edition == "2024"

    @property
    def grid(self) -> PixelGrid:
        height, width = self.frame_size
        return PixelGrid(height=height, width=width)


class FreehandTables(Tables):
    """The tables of a challenge of freehand ultrasound."""

    freehand: FreehandSettings


@dataclass(frozen=True)
class FreehandCase:
    """The errors of one scan in mm, those of the identity baseline, and the course of the errors over the frames."""

    errors: Mapping[str, float]
    largest: Mapping[str, float]
    by_frame: Mapping[str, object] | None = None
    runtime_seconds: float | None = None

    @property
    def is_missing(self) -> bool:
        return not self.errors


@lru_cache(maxsize=1)  # the predictions of all teams for one scan are compared one after the other
def identity_errors(scan: ReferenceScan, grid: PixelGrid, *, threads: int) -> Mapping[str, float]:
    """The errors of the identity baseline, a prediction that moves nothing: the largest, the same for every team."""
    unmoved = [np.zeros_like(field) for field in (scan.global_field, scan.local_field)]
    landmarks = [np.zeros((3, len(scan.landmarks)))] * 2
    errors, _ = scan_errors(scan, grid, pixels=unmoved, landmarks=landmarks, threads=threads)
    return errors


def scan_errors(
    scan: ReferenceScan,
    grid: PixelGrid,
    *,
    pixels: Sequence[FrameStream | Coefficients],
    landmarks: Sequence[Floats],
    threads: int,
) -> tuple[dict[str, float], list[list[float]]]:
    """GPE, GLE, LPE and LLE in mm, and the errors of every frame; predictions are (global, local)."""
    references = (scan.global_field, scan.local_field)
    fields = [ComparedField(field, reference) for field, reference in zip(pixels, references, strict=True)]
    frames = [means.tolist() for means in frame_errors(fields, grid, threads=threads)]
    gpe, lpe = map(mean_of, frames)
    gle, lle = (
        mean_distance(prediction=prediction, reference=landmark_displacements(reference, scan.landmarks))
        for prediction, reference in zip(landmarks, references, strict=True)
    )
    return {"gpe": gpe, "gle": gle, "lpe": lpe, "lle": lle}, frames


def normalised_errors(case: FreehandCase, *, clip: bool) -> dict[str, float]:
    if case.is_missing:
        return dict.fromkeys(ERRORS, FAILED)
    unclipped = {name: normalised_error(case.errors[name], largest=case.largest[name]) for name in ERRORS}
    return {name: clipped(value) for name, value in unclipped.items()} if clip else unclipped


# Figures


def freehand_metrics(*, clip: bool) -> list[CaseMetric[FreehandCase]]:
    """Errors have no worst value: those of a missing scan are null. Scores below 0 exist only without clipping."""

    def error(name: str) -> Callable[[FreehandCase], float | Reason]:
        return lambda case: case.errors.get(name, "prediction_empty")

    def normalised(name: str, *, clip: bool) -> Callable[[FreehandCase], float]:
        return lambda case: normalised_errors(case, clip=clip)[name]

    def category(name: str) -> Callable[[Figures], float]:
        return lambda row: category_scores(row["normalised"])[name]

    def unclipped(row: Figures) -> float:
        return final_score(row["unclipped"])

    lowest = 0.0 if clip else -math.inf
    return [
        *(
            CaseMetric(name=name, title=title, direction="lower", worst=math.inf, unit="mm", compute=error(name))
            for name, title in _TITLES.items()
        ),
        *(
            CaseMetric(
                name=name,
                title=title,
                direction="higher",
                lowest=low,
                highest=1.0,
                worst=FAILED,
                compute_from_row=compute_from_row,
                mean=name,
                std="",
            )
            for name, title, low, compute_from_row in (
                ("final_score", "Final score", lowest, lambda row: final_score(row["normalised"])),
                ("final_score_unclipped", "Final score, unclipped", -math.inf, unclipped),
                *((name, f"{title} score", lowest, category(name)) for name, title in _CATEGORY_TITLES.items()),
            )
        ),
        *(
            CaseMetric(
                name=f"{group}.{name}",
                title=f"{title} {group}",
                direction="higher",
                lowest=low,
                highest=1.0,
                worst=FAILED,
                compute=normalised(name, clip=clips),
            )
            for group, low, clips in (("normalised", lowest, clip), ("unclipped", -math.inf, False))
            for name, title in _TITLES.items()
        ),
    ]


def scoreboard(settings: FreehandSettings) -> Scoreboard[FreehandCase]:
    """All figures of freehand."""
    headline = ("score", *CATEGORIES, "runtime_seconds")
    return Scoreboard(
        metrics=freehand_metrics(clip=settings.clip),
        curves=_CURVES,
        given=(
            GivenFigure(path="runtime_seconds", title="Runtime", direction="lower", unit="s", known="runtime_known"),
            GivenFigure(path="runtime_known"),
            GivenFigure(path="scans.scored"),
        ),
        formulas=(
            *(Formula(path=f"as_written.{name}", direction="lower", compute=_as_written(name)) for name in CATEGORIES),
            Formula(path="score", title="Final score", compute=lambda values: rounded(values["final_score"], 3)),
            Formula(path="ranking_score", title="Ranking score", compute=_ranking_score),
        ),
        leaderboard=(
            *headline,
            *("ranking_score", "final_score_unclipped"),
            *(f"{name}.mean" for name in ERRORS),
        ),
        headline=headline,
    )


def _as_written(name: str) -> Callable[[Values], Floats]:
    return lambda values: 1 - values[name]


def _ranking_score(values: Values) -> Floats:
    """The score, with ties broken by the smaller runtime; without a scored scan the runtime does not count."""
    is_timed = values["runtime_known"] * (values["scans.scored"] > 0)
    share = is_timed * _TIE_BREAK_SHARE / (1 + values["runtime_seconds"])
    return np.asarray(values["score"] + share)


def given_figures(settings: FreehandSettings, results: Sequence[CaseResult], runtime: Runtime) -> dict[str, float]:
    """The mean runtime over all scans, whether their sum is beyond the time limit, and the number of scans by status.

    If the runtime of a scan is unknown, so is the mean; the figure is then the mean over the other scans. If all are
    unknown, it is the longest duration: no column may show an unknown runtime as the fastest. The known runtimes alone
    can be beyond the limit, but not within it.
    """
    counts = {status: sum(each.status == status for each in results) for status in ("scored", "failed", "missing")}
    known = [runtime.by_case[each.case] for each in results if each.case in runtime.by_case]
    is_known = len(known) == len(results)
    limit = settings.time_limit_hours
    is_over = limit is not None and math.fsum(known) > limit * 3600
    return {
        **({_OVER_TIME_LIMIT: int(is_over)} if limit is not None and (is_over or is_known) else {}),
        "runtime_known": int(is_known),
        "runtime_seconds": mean_of(known) if known else LONGEST_SECONDS,
        **runtime.clock_figures(),
        "scans.expected": len(results),
        **{f"scans.{status}": count for status, count in counts.items()},
    }


def ranking_rule(settings: FreehandSettings) -> RankingRule:
    """By the final score, then by the runtime."""
    limit = settings.time_limit_hours
    return RankingRule(
        words="teams are ranked by the final score, the mean over all scans rounded to 3 decimals",
        criteria=(Criterion(path="final_score", title="Final score", direction="higher", decimals=3),),
        tie_breaks=(
            Criterion(path="runtime_seconds", title="Mean runtime", direction="lower", known_path="runtime_known"),
        ),
        case_metrics=("final_score",),
        limits={} if limit is None else {_OVER_TIME_LIMIT: f"the time limit of {limit:g} h for all cases"},
    )
