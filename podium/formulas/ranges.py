"""Range and direction of a formula, derived from those of its terms before anything is scored."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Known:
    """What is known of a figure before anything is scored.

    better   1: higher is better, -1: lower is better, 0: it says nothing about quality, None: neither way
    """

    lowest: float = -math.inf
    highest: float = math.inf
    better: int | None = 0

    @property
    def is_positive(self) -> bool:
        return self.lowest >= 0

    @property
    def is_negative(self) -> bool:
        return self.highest <= 0

    def rising_with(self, sign: int) -> int | None:
        """`better` of something that rises (1) or falls (-1) with this."""
        return None if self.better is None else sign * self.better


def _together(*qualities: int | None) -> int | None:
    """The direction of something that depends on several: theirs, where they agree."""
    found = {quality for quality in qualities if quality != 0}
    if not found:
        return 0
    return found.pop() if len(found) == 1 else None


def _between(values: Sequence[float], better: int | None) -> Known:
    if any(math.isnan(value) for value in values):
        return Known(better=better)
    return Known(lowest=min(values), highest=max(values), better=better)


def _add(one: Known, other: Known) -> Known:
    return _between([one.lowest + other.lowest, one.highest + other.highest], _together(one.better, other.better))


def _negative(value: Known) -> Known:
    return Known(lowest=-value.highest, highest=-value.lowest, better=value.rising_with(-1))


def _sign(value: Known) -> int | None:
    return 1 if value.is_positive else -1 if value.is_negative else None


def _product(one: Known, other: Known) -> Known:
    corners = [_times(a, b) for a in (one.lowest, one.highest) for b in (other.lowest, other.highest)]
    better = _together(_scaled(one, _sign(other)), _scaled(other, _sign(one)))
    return _between(corners, better)


def _scaled(value: Known, sign: int | None) -> int | None:
    """The direction of `value` times something of this sign."""
    if value.better == 0:
        return 0
    return None if sign is None else value.rising_with(sign)


def _times(one: float, other: float) -> float:
    return 0.0 if one == 0 or other == 0 else one * other


def _inverse(value: Known) -> Known:
    if value.lowest < 0 < value.highest:
        return Known(better=None if value.better else value.better)
    ends = [math.copysign(math.inf, value.lowest + value.highest) if end == 0 else 1 / end for end in _ends(value)]
    return _between(ends, value.rising_with(-1))


def _ends(value: Known) -> tuple[float, float]:
    return value.lowest, value.highest


def _power(base: Known, power: Known) -> Known:
    if power.lowest != power.highest or not base.is_positive:
        better = 0 if base.better == power.better == 0 else None
        return Known(lowest=0.0 if base.is_positive else -math.inf, better=better)
    number = power.lowest
    if number < 0:
        return _power(_inverse(base), Known(lowest=-number, highest=-number))
    return _between([_raised(end, number) for end in _ends(base)], base.better if number else 0)


def _raised(base: float, power: float) -> float:
    try:
        return math.pow(base, power)  # as `**`, but always a float
    except OverflowError:
        return math.inf


def _all(*values: Known, reduce: Callable[[Sequence[float]], float]) -> Known:
    return _between(
        [reduce([value.lowest for value in values]), reduce([value.highest for value in values])],
        _together(*(value.better for value in values)),
    )


def _clipped(value: Known, lowest: Known, highest: Known) -> Known:
    return Known(
        lowest=min(max(value.lowest, lowest.lowest), highest.lowest),
        highest=min(max(value.highest, lowest.highest), highest.highest),
        better=_together(value.better, lowest.better, highest.better),
    )


def _rising(function: Callable[[float], float]) -> Callable[[Known], Known]:
    def known(value: Known) -> Known:
        return _between([function(end) for end in _ends(value)], value.better)

    return known


def _exp(value: float) -> float:
    return math.exp(value) if value < 700 else math.inf


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf


def _absolute(value: Known) -> Known:
    sign = _sign(value)
    if sign is not None:
        return value if sign == 1 else _negative(value)
    return Known(lowest=0.0, highest=max(-value.lowest, value.highest), better=0 if value.better == 0 else None)


RANGES: Mapping[str, Callable[..., Known]] = {
    "+": _add,
    "-": lambda one, other: _add(one, _negative(other)),
    "*": _product,
    "/": lambda one, other: _product(one, _inverse(other)),
    "**": _power,
    "negative": _negative,
    "mean": lambda *values: _all(*values, reduce=lambda ends: sum(ends) / len(ends)),
    "min": lambda *values: _all(*values, reduce=min),
    "max": lambda *values: _all(*values, reduce=max),
    "clip": _clipped,
    "sqrt": _rising(lambda end: math.sqrt(max(end, 0.0))),
    "exp": _rising(_exp),
    "log": _rising(_log),
    "abs": _absolute,
    "harmonic": lambda *values: Known(
        lowest=min(value.lowest for value in values),
        highest=max(value.highest for value in values),
        better=_together(*(value.better for value in values)),
    ),
}
