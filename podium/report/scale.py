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


@dataclass(frozen=True)
class BrokenScale:
    """A scale for all values but the worst one, which lies beyond a break: between the break and the worst value the
    axis is not to scale."""

    main: Scale
    worst: float
    place: float  # of the worst value, in pixels
    gap: float  # where the break is drawn, in pixels

    def __call__(self, value: float) -> float:
        edge, end = (self.main.high, self.main.end) if self.place > self.gap else (self.main.low, self.main.start)
        beyond = (value - edge) / (self.worst - edge)
        return self.main(value) if beyond <= 0 else end + min(beyond, 1.0) * (self.place - end)

    def ticks(self, wanted: int = 5) -> list[float]:
        """Those of the main part, and the worst value."""
        return [*self.main.ticks(wanted), self.worst]

    @property
    def start(self) -> float:
        return min(self.main.start, self.place)

    @property
    def end(self) -> float:
        return max(self.main.end, self.place)


AnyScale = Scale | BrokenScale
_BREAK_ROOM = 46.0
_WORTH_A_BREAK = 2.0


def scale_with_break(  # noqa: PLR0913  (what an axis needs)
    values: Iterable[float], *, worst: float, start: float, end: float, lowest: float, highest: float
) -> AnyScale:
    """`scale_for`, with a break before the worst value where that lies farther from the others than twice their range:
    a few lost cases must not press all others into a corner."""
    finite = [value for value in values if math.isfinite(value)]
    others = [value for value in finite if value != worst]
    if len(others) < 2 or len(others) == len(finite):
        return scale_for(finite, start=start, end=end, lowest=lowest, highest=highest)
    low, high = min(others), max(others)
    distance = max(low - worst, worst - high)
    if high == low or distance <= _WORTH_A_BREAK * (high - low):
        return scale_for(finite, start=start, end=end, lowest=lowest, highest=highest)
    if worst > high:
        main = scale_for(others, start=start, end=end - _BREAK_ROOM, lowest=lowest, highest=highest)
        return BrokenScale(main, worst, end, end - _BREAK_ROOM / 2)
    main = scale_for(others, start=start + _BREAK_ROOM, end=end, lowest=lowest, highest=highest)
    return BrokenScale(main, worst, start, start + _BREAK_ROOM / 2)


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
