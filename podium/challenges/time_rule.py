"""The `[time]` table: how long a submission took, as a score."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, model_validator

from podium.challenges.settings import Positive, Settings
from podium.figures import Figures
from podium.metrics.declaration import GivenFigure
from podium.platform.metrics_file import CaseResult
from podium.platform.runtime import Runtime

# Processing time as a score from 0 (slow) to 100 (fast), by the two rules published for CSV 2026.


@dataclass(frozen=True, kw_only=True)
class TimeBounds:
    """Times at or below `fast` seconds score 100, at or above `slow` seconds 0, linearly between."""

    fast: float
    slow: float

    def clamped(self, seconds: float) -> float:
        return min(max(seconds, self.fast), self.slow)

    def score(self, seconds: float) -> float:
        """(slow - t) / (slow - fast) * 100 with t clamped to the bounds, which must differ."""
        return (self.slow - self.clamped(seconds)) / (self.slow - self.fast) * 100.0


def time_bounds(baseline_seconds: float, *, fastest: Fraction, slowest: Fraction) -> TimeBounds:
    """Bounds that are shares of the baseline."""
    fast, slow = (baseline_seconds * share.numerator / share.denominator for share in (fastest, slowest))
    return TimeBounds(fast=fast, slow=slow)


def cohort_scores(team_seconds: Sequence[float], widest: TimeBounds) -> list[float]:
    """The challenge site's rule, one score per team: the bounds are the fastest and the slowest time, all times
    clamped to `widest` first. Where these are one and the same time, every team has 0 if it is the slowest allowed,
    else 100."""
    clamped = [widest.clamped(seconds) for seconds in team_seconds]
    bounds = TimeBounds(fast=min(clamped), slow=max(clamped))
    if bounds.fast == bounds.slow:
        return [0.0 if bounds.slow == widest.slow else 100.0] * len(clamped)
    return [bounds.score(seconds) for seconds in clamped]


def _is_a_share(text: str) -> str:
    try:
        share = Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise ValueError('a share of the baseline is written as "2/3" or "2"') from None
    if share <= 0:
        raise ValueError("a share of the baseline is above 0")
    return text


Share = Annotated[str, AfterValidator(_is_a_share)]
_FASTEST: Mapping[str, str] = {"fixed": "2/3", "cohort": "1/3"}
_SLOWEST = "2"


class TimeSettings(Settings):
    """`[time]`.

    rule              fixed: the bounds are shares of the baseline; cohort: they are the fastest and the slowest team's
                      time within these shares, final only once all teams' times are known; none: seconds only
    baseline_seconds  the time that the shares refer to
    fastest, slowest  shares of the baseline ["2/3" and "2" for fixed, "1/3" and "2" for cohort]
    clock             the one that counts: jobs that were measured by the other are then an error
    """

    rule: Literal["fixed", "cohort", "none"]
    baseline_seconds: Positive | None = None
    fastest: Share | None = None
    slowest: Share | None = None
    clock: Literal["exec", "invoke", "any"] = "any"

    @model_validator(mode="after")
    def _fits_the_rule(self) -> Self:
        if self.rule == "none" and (self.baseline_seconds or self.fastest or self.slowest):
            raise ValueError('with rule = "none" there is no baseline, fastest or slowest')
        if self.rule != "none" and self.baseline_seconds is None:
            raise ValueError("baseline_seconds is missing")
        if self.rule != "none" and self.bounds.fast >= self.bounds.slow:
            raise ValueError("fastest must be below slowest")
        return self

    @property
    def bounds(self) -> TimeBounds:
        """From which time to which the score falls; under the cohort rule the widest that they can be."""
        assert self.baseline_seconds is not None
        return time_bounds(
            self.baseline_seconds,
            fastest=Fraction(self.fastest or _FASTEST[self.rule]),
            slowest=Fraction(self.slowest or _SLOWEST),
        )


def time_figures(rule: TimeSettings) -> tuple[GivenFigure, ...]:
    """What `[time]` publishes."""
    seconds = GivenFigure(path="total_seconds", title="Seconds", direction="lower", lowest=0.0, known="time_known")
    mean = GivenFigure(
        path="runtime_seconds", title="Seconds per case", direction="lower", lowest=0.0, known="time_known"
    )
    known = GivenFigure(path="time_known")
    if rule.rule == "none":
        return (known, seconds, mean)
    score = GivenFigure(path="time_score", title="Time", lowest=0.0, highest=100.0)
    return (score, GivenFigure(path="time_score_is_provisional"), known, seconds, mean)


def time_given(rule: TimeSettings) -> Callable[[Sequence[CaseResult], Runtime], Mapping[str, float]]:
    """The time figures as far as one team's time gives them.

    A case without a usable prediction counts with its share of the slowest time, so that failing fast never beats
    working slowly. An unknown time is published as the slowest: no column may show it as the fastest.
    """

    def figures(results: Sequence[CaseResult], runtime: Runtime) -> Mapping[str, float]:
        usable = [result.case for result in results if result.status == "scored"]
        seconds = runtime.of(usable)
        known = {"time_known": int(seconds is not None), **runtime.clock_figures()}
        if rule.rule == "none":
            return known if seconds is None else {**known, **_seconds(seconds, usable=len(usable))}
        bounds = rule.bounds
        unusable_seconds = (len(results) - len(usable)) * bounds.slow / len(results)
        total = bounds.slow if seconds is None else seconds + unusable_seconds
        return {
            "time_score": bounds.score(total),
            "time_score_is_provisional": int(rule.rule == "cohort"),
            **known,
            **_seconds(total, usable=len(results)),
        }

    return figures


def _seconds(total: float, *, usable: int) -> dict[str, float]:
    return {"total_seconds": total, "runtime_seconds": total / max(1, usable)}


def cohort_times(rule: TimeSettings, aggregates: Mapping[str, Figures]) -> dict[str, Mapping[str, float]]:
    """Under the cohort rule the time score needs all teams' times; a team without a known time keeps 0 and sets no
    bound."""
    times = {team: figures["total_seconds"] for team, figures in aggregates.items() if figures["time_known"]}
    if rule.rule != "cohort" or not times:
        return {}
    scores = dict(zip(times, cohort_scores(list(times.values()), rule.bounds), strict=True))
    return {team: {"time_score": scores.get(team, 0.0), "time_score_is_provisional": 0} for team in aggregates}
