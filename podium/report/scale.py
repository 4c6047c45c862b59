"""From figures to pixels, and the round figures an axis is labelled with."""

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """A straight line from [low, high] to [start, end] pixels."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return self.start + min(max(share, 0.0), 1.0) * (self.end - self.start)

    def ticks(self, wanted: int = 5) -> list[float]:
        """Multiples of 1, 2 or 5 times a power of ten inside the range, about `wanted` of them."""
        step = _nice_step((self.high - self.low) / max(1, wanted))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [round(index * step, 12) for index in range(first, last + 1)]


def scale_for(
    values: Iterable[float],
    *,
    start: float,
    end: float,
    lowest: float = -math.inf,
    highest: float = math.inf,
) -> Scale:
    """A scale that holds the finite values with round ends, inside the declared range; never of no length.

    A declared bound is kept as the end where the values come near it: a Dice axis that almost reaches 1 shows 1.
    """
    finite = [value for value in values if math.isfinite(value)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
    if high - low <= 1e-12 * max(abs(low), abs(high), 1e-12):  # one value, or differences that are rounding
        pad = max(abs(low), abs(high)) * 0.1 or 0.5
        low, high = low - pad, high + pad
    step = _nice_step((high - low) / 5)
    low, high = math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
    low, high = max(low, lowest), min(high, highest)
    if not low < high:  # all values on a declared bound
        low, high = (low - step, low) if low >= highest else (low, low + step)
    return Scale(low, high, start, end)


def _nice_step(rough: float) -> float:
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9)) * power
