"""Processing time as a score from 0 (slow) to 100 (fast), by the two rules published for CSV 2026."""

from collections.abc import Sequence
from dataclasses import dataclass


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


def fixed_bounds(baseline_seconds: float) -> TimeBounds:
    """The ISBI ranking document: two thirds of the baseline to twice the baseline."""
    return TimeBounds(fast=baseline_seconds * 2 / 3, slow=baseline_seconds * 2)


def widest_cohort_bounds(baseline_seconds: float) -> TimeBounds:
    """The cohort rule as far as it is known before the other teams' times are: a third to twice the baseline."""
    return TimeBounds(fast=baseline_seconds / 3, slow=baseline_seconds * 2)


def cohort_scores(team_seconds: Sequence[float], baseline_seconds: float) -> list[float]:
    """The challenge site's rule, one score per team: the bounds are the fastest and the slowest time, all times
    clamped to a third and twice the baseline first. Where these are one and the same time, every team has 0 if it is
    twice the baseline, else 100."""
    widest = widest_cohort_bounds(baseline_seconds)
    clamped = [widest.clamped(seconds) for seconds in team_seconds]
    bounds = TimeBounds(fast=min(clamped), slow=max(clamped))
    if bounds.fast == bounds.slow:
        return [0.0 if bounds.slow == widest.slow else 100.0] * len(clamped)
    return [bounds.score(seconds) for seconds in clamped]
