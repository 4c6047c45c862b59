"""Freehand's rules: four reconstruction errors per scan, normalised by those of not moving, and the final score."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from podium.challenges.base import Scorer
from podium.challenges.board import Criterion, RankingRule
from podium.challenges.freehand.format import FreehandFormat, FreehandSettings
from podium.challenges.freehand.reading import (
    ComparedField,
    ExpectedSizes,
    FreehandPrediction,
    ReferenceScan,
    frame_errors,
    open_arrays,
    read_scan_prediction,
)
from podium.errors import Refused
from podium.figures import Figures
from podium.metrics import Floats
from podium.metrics.aggregation import mean_of
from podium.metrics.declaration import CaseMetric, Curve, Formula, GivenFigure, Scoreboard, Values
from podium.metrics.displacement import (
    CATEGORIES,
    ERRORS,
    PixelGrid,
    category_scores,
    category_scores_as_written,
    clipped,
    final_score,
    landmark_displacements,
    mean_distance,
    normalised_error,
    stretch_means,
)
from podium.platform.jobs import LONGEST_SECONDS, Runtime
from podium.platform.metrics_file import CaseResult

# The largest errors: those of a prediction that moves nothing, the same for every submission.


@lru_cache(maxsize=1)  # the predictions of all teams for one scan are compared one after the other
def identity_errors(scan: ReferenceScan, grid: PixelGrid, *, threads: int) -> Mapping[str, float]:
    """GPE, GLE, LPE and LLE in mm of an all-zero prediction."""
    fields = [ComparedField(np.zeros_like(field), field) for field in (scan.global_field, scan.local_field)]
    gpe, lpe = (mean_of(means.tolist()) for means in frame_errors(fields, grid, threads=threads))
    gle, lle = (
        mean_distance(prediction=np.zeros((3, len(scan.landmarks))), reference=vectors)
        for vectors in (
            landmark_displacements(scan.global_field, scan.landmarks),
            landmark_displacements(scan.local_field, scan.landmarks),
        )
    )
    return {"gpe": gpe, "gle": gle, "lpe": lpe, "lle": lle}


TIE_BREAK_SHARE = 0.0005
"""What the runtime may add to the ranking score: less than half of the third decimal, so it can only break ties."""

_FAILED = 0.0
"""The normalised errors of a lost scan: those of a prediction that moves nothing."""

_TITLES = {"gpe": "GPE", "gle": "GLE", "lpe": "LPE", "lle": "LLE"}
_CATEGORY_TITLES = {
    "global_score": "Global",
    "local_score": "Local",
    "pixel_score": "Pixel",
    "landmark_score": "Landmark",
}


@dataclass(frozen=True)
class FreehandCase:
    """One scan, compared: its errors in mm, those of not moving, and how the errors run over the frames."""

    errors: Mapping[str, float]
    largest: Mapping[str, float]
    by_frame: Mapping[str, object] | None = None
    runtime_seconds: float | None = None

    @property
    def is_lost(self) -> bool:
        return not self.errors


class FreehandScorer(Scorer[FreehandPrediction, ReferenceScan, FreehandCase]):
    """Streams the fields of a scan."""

    def __init__(self, format: FreehandFormat, *, clip: bool) -> None:  # noqa: A002  (the part's name everywhere)
        self._format, self._grid, self._clip = format, format.grid, clip

    def compare(self, prediction: FreehandPrediction, expected: ReferenceScan) -> FreehandCase:
        largest = identity_errors(expected, self._grid, threads=self.threads)
        with np.errstate(over="ignore", invalid="ignore"):  # what is too large for float64 shows at the end
            errors, by_frame = self._measured(prediction, expected)
        if not all(math.isfinite(error) for error in errors.values()):
            raise Refused(f"'{prediction.label}' holds displacements too large to be measured.")
        return FreehandCase(errors, largest, {"frames": expected.frames, **by_frame}, prediction.runtime_seconds)

    def score_missing(self, expected: ReferenceScan) -> FreehandCase:  # noqa: ARG002
        """The same for every scan."""
        return FreehandCase({}, {})

    def facts(self, case: FreehandCase) -> Figures:
        normalised = dict.fromkeys(ERRORS, _FAILED) if case.is_lost else _normalised(case, clip=self._clip)
        return {
            "as_written": category_scores_as_written(normalised),
            "largest": dict(case.largest) or dict.fromkeys(ERRORS),
            "by_frame": case.by_frame,
            "runtime_seconds": case.runtime_seconds,
        }

    def _measured(
        self, prediction: FreehandPrediction, scan: ReferenceScan
    ) -> tuple[dict[str, float], dict[str, list[float]]]:
        """GPE, GLE, LPE and LLE in mm, and how GPE and LPE run over the frames."""
        expected = ExpectedSizes(scan.frames, self._grid.pixels, len(scan.landmarks))
        with open_arrays(prediction, expected) as source:
            found = read_scan_prediction(source, expected, name=prediction.label)
            fields = [
                ComparedField(found.pixels("global", scan.pixel_to_mm), scan.global_field),
                ComparedField(found.pixels("local", scan.pixel_to_mm), scan.local_field),
            ]
            frames = [means.tolist() for means in frame_errors(fields, self._grid, threads=self.threads)]
        gpe, lpe = map(mean_of, frames)
        gle, lle = (
            mean_distance(
                prediction=found.at_landmarks(level, scan.landmarks, scan.pixel_to_mm),
                reference=landmark_displacements(field, scan.landmarks),
            )
            for level, field in (("global", scan.global_field), ("local", scan.local_field))
        )
        errors = {"gpe": gpe, "gle": gle, "lpe": lpe, "lle": lle}
        return errors, {name: stretch_means(means) for name, means in zip(("gpe", "lpe"), frames, strict=True)}


def _normalised(case: FreehandCase, *, clip: bool) -> dict[str, float]:
    unclipped = {name: normalised_error(case.errors[name], largest=case.largest[name]) for name in ERRORS}
    return {name: clipped(value) for name, value in unclipped.items()} if clip else unclipped


# Figures


def freehand_metrics(*, clip: bool) -> list[CaseMetric[FreehandCase]]:
    """Errors have no worst value: that of a lost scan is null. A score below 0 exists only without clipping."""

    def error(name: str) -> Callable[[FreehandCase], float]:
        return lambda case: case.errors[name]

    def normalised(name: str, *, clip: bool) -> Callable[[FreehandCase], float]:
        return lambda case: _normalised(case, clip=clip)[name]

    def category(name: str) -> Callable[[Figures], float]:
        return lambda row: category_scores(row["normalised"])[name]

    lowest = 0.0 if clip else -math.inf
    return [
        *(
            CaseMetric(
                name=name,
                title=title,
                direction="lower",
                lowest=0.0,
                highest=math.inf,
                worst=math.inf,
                unit="mm",
                of=error(name),
            )
            for name, title in _TITLES.items()
        ),
        *(
            CaseMetric(
                name=name,
                title=title,
                direction="higher",
                lowest=low,
                highest=1.0,
                worst=_FAILED,
                of_row=of_row,
                mean=name,
                std="",
            )
            for name, title, low, of_row in (
                ("final_score", "Final score", lowest, _final_score),
                ("final_score_unclipped", "Final score, unclipped", -math.inf, _unclipped_score),
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
                worst=_FAILED,
                of=normalised(name, clip=clips),
            )
            for group, low, clips in (("normalised", lowest, clip), ("unclipped", -math.inf, False))
            for name, title in _TITLES.items()
        ),
    ]


def _final_score(row: Figures) -> float:
    return final_score(row["normalised"])


def _unclipped_score(row: Figures) -> float:
    return final_score(row["unclipped"])


_CURVES = tuple(
    Curve(
        name=f"by_frame.{name}",
        title=_TITLES[name],
        along="Frame",
        direction="lower",
        lowest=0.0,
        highest=math.inf,
        unit="mm",
        first=1,
        length="by_frame.frames",
    )
    for name in ("gpe", "lpe")
)


def scoreboard(settings: FreehandSettings) -> Scoreboard[FreehandCase]:
    """Every figure of freehand."""
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
            *(Formula(path=f"as_written.{name}", direction="lower", of=_as_written(name)) for name in CATEGORIES),
            Formula(path="score", title="Final score", of=lambda values: _rounded(values["final_score"])),
            Formula(path="ranking_score", title="Ranking score", of=_ranking_score),
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


def _rounded(values: Floats) -> Floats:
    """To 3 decimals as Python rounds, on the exact binary value: numpy scales first, and can lift a figure over the
    half."""
    return np.array([round(value, 3) for value in values.ravel().tolist()]).reshape(values.shape)


def _ranking_score(values: Values) -> Floats:
    """The score, and where it is equal the smaller runtime first; a runtime alone is worth nothing."""
    is_timed = values["runtime_known"] * (values["scans.scored"] > 0)
    share = is_timed * TIE_BREAK_SHARE / (1 + values["runtime_seconds"])
    return np.asarray(values["score"] + share)


def given_figures(results: Sequence[CaseResult], runtime: Runtime) -> dict[str, float]:
    """The mean runtime over all scans, and what became of the scans.

    A scan without a known runtime makes the mean unknown; it is then that of the other scans. Where there is none, the
    longest duration stands for it: no column may show an unknown runtime as the fastest.
    """
    counts = {status: sum(each.status == status for each in results) for status in ("scored", "failed", "missing")}
    known = [runtime.by_case[each.case] for each in results if each.case in runtime.by_case]
    return {
        "runtime_known": int(len(known) == len(results)),
        "runtime_seconds": mean_of(known) if known else LONGEST_SECONDS,
        **runtime.clock_figures(),
        "scans.expected": len(results),
        **{f"scans.{status}": count for status, count in counts.items()},
    }


RANKING = RankingRule(
    words="teams are ranked by the final score, the mean over all scans rounded to 3 decimals",
    criteria=(Criterion(path="final_score", title="Final score", direction="higher", decimals=3),),
    tie_breaks=(
        Criterion(path="runtime_seconds", title="Mean runtime", direction="lower", known_path="runtime_known"),
    ),
    case_metrics=("final_score",),
)
