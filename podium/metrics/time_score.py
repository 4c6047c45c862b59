"""Processing time as a score from 0 (slow) to 100 (fast), by the two rules published for CSV 2026."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class TimeBounds:
    """Times at or below `fast` seconds score 100, at or above `slow` seconds 0, linearly between."""

    fast: float
    slow: float

    def score(self, seconds: float) -> float:
        """(slow - t) / (slow - fast) * 100 with t clamped to the bounds; 100 where the bounds coincide."""
        if self.slow == self.fast:
            return 100.0
        clamped = min(max(seconds, self.fast), self.slow)
        return (self.slow - clamped) / (self.slow - self.fast) * 100.0


def fixed_bounds(baseline_seconds: float) -> TimeBounds:
    """The ISBI ranking document: two thirds of the baseline to twice the baseline."""
    return TimeBounds(fast=baseline_seconds * 2 / 3, slow=baseline_seconds * 2)


def widest_cohort_bounds(baseline_seconds: float) -> TimeBounds:
    """The cohort rule as far as it is known before the other teams' times are: a third to twice the baseline."""
    return TimeBounds(fast=baseline_seconds / 3, slow=baseline_seconds * 2)


def cohort_bounds(team_seconds: Sequence[float], baseline_seconds: float) -> TimeBounds:
    """The challenge site's rule: the slowest and fastest team, cut off at a third and at twice the baseline."""
    widest = widest_cohort_bounds(baseline_seconds)
    fastest, slowest = min(team_seconds), max(team_seconds)
    return TimeBounds(
        fast=widest.fast if fastest < widest.fast else fastest,
        slow=widest.slow if slowest > widest.slow else slowest,
    )
