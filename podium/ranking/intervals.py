"""Percentile intervals of a bootstrap."""

import numpy as np

from podium.metrics import Floats
from podium.ranking.result import Interval, Intervals


def percentile_interval(replicates: Floats, *, confidence: float) -> Interval | None:
    """The central part of the replicates, linear between neighbours; None where there is none or an end is infinite.

    Replicates without a value (a group of which no case was drawn) are left out.
    """
    defined = replicates[~np.isnan(replicates)]
    if not defined.size:
        return None
    tail = (1 - confidence) / 2
    if np.isinf(defined).any():  # between a number and infinity there is nothing to interpolate
        low, high = np.quantile(defined, tail, method="lower"), np.quantile(defined, 1 - tail, method="higher")
    else:
        low, high = np.quantile(defined, [tail, 1 - tail])
    return (float(low), float(high)) if np.isfinite([low, high]).all() else None


def percentile_intervals(replicates: Floats, *, confidence: float) -> Intervals:
    """One interval per team from `replicates[replicate, team]`."""
    return tuple(percentile_interval(column, confidence=confidence) for column in replicates.T)
