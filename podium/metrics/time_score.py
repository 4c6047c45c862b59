"""Processing time as a score from 0 (slow) to 100 (fast), by the two rules published for CSV 2026."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction


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
