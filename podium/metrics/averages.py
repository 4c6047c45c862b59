"""Mean and spread over cases, by exact sums: equal data give equal figures in any order."""

import math
from collections.abc import Sequence

_SQUARES_OVERFLOW_FROM = 1e150


def mean_of(values: Sequence[float]) -> float:
    """0 where there is nothing: the platform needs a number, and the counts beside it say what it is worth."""
    return math.fsum(values) / len(values) if values else 0.0


def mean_and_std(values: Sequence[float]) -> tuple[float, float]:
    """Mean and standard deviation of the population (over n)."""
    mean = mean_of(values)
    deviations = [value - mean for value in values]
    largest = max(map(abs, deviations), default=0.0)
    unit = largest if largest > _SQUARES_OVERFLOW_FROM else 1.0
    return mean, unit * math.sqrt(mean_of([(deviation / unit) ** 2 for deviation in deviations]))
