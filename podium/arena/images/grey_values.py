"""Measured values as 16-bit codes for the viewer, and the window in which they are first shown."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

HIGHEST_CODE = 65535
DARKEST_SHARE, BRIGHTEST_SHARE = 0.005, 0.995
"""The first window leaves out half a per cent at either end: metal and air would otherwise take most grey levels."""

_LOOKED_UP_BYTES = 2
Codes = NDArray[np.uint16]


@dataclass(frozen=True)
class ValueRange:
    """The smallest and the largest finite value: codes 0 and 65535."""

    low: float
    high: float

    @classmethod
    def over(cls, slices: Iterable[NDArray[Any]]) -> "ValueRange | None":
        """None where no value is finite, or where they lie too far apart to be subtracted."""
        low, high = np.inf, -np.inf
        for values in slices:
            ends = float(values.min()), float(values.max())
            if not np.isfinite(ends).all():
                finite = values[np.isfinite(values)]
                ends = (float(finite.min()), float(finite.max())) if finite.size else (np.inf, -np.inf)
            low, high = min(low, ends[0]), max(high, ends[1])
        if not np.isfinite(high - low):
            return None
        return cls(low, high if high > low else low + 1)

    def codes(self, values: NDArray[Any]) -> Codes:
        """NaN counts as the lowest value, an infinite one as the end of the range it lies beyond."""
        shares = values.astype(np.float64)
        if not np.isfinite(shares).all():
            np.nan_to_num(shares, copy=False, nan=self.low, neginf=self.low, posinf=self.high)
        shares -= self.low
        shares /= self.high - self.low
        shares *= HIGHEST_CODE
        return np.rint(shares, out=shares).astype(np.uint16)

    def coder(self, dtype: np.dtype[Any]) -> Callable[[NDArray[Any]], Codes]:
        """`codes` for values of this type; the codes of small integers are looked up."""
        if dtype.kind not in "iu" or dtype.itemsize > _LOOKED_UP_BYTES:
            return self.codes
        unsigned = np.dtype(f"u{dtype.itemsize}")
        every = np.arange(np.iinfo(unsigned).max + 1).astype(unsigned).view(dtype)
        table = self.codes(np.clip(every.astype(np.float64), self.low, self.high))
        return lambda values: table[values.view(unsigned)]

    def value(self, code: int) -> float:
        return self.low + (self.high - self.low) * code / HIGHEST_CODE


@dataclass(frozen=True)
class Window:
    """The codes from which on all is black and all is white."""

    darkest: int
    brightest: int

    def greys(self) -> NDArray[np.uint8]:
        """The grey of every code."""
        share = (np.arange(HIGHEST_CODE + 1) - self.darkest) / (self.brightest - self.darkest)
        return np.asarray(np.rint(np.clip(share, 0, 1) * 255), dtype=np.uint8)


def count_codes(codes: Codes) -> NDArray[np.int64]:
    """How often every code occurs."""
    return np.bincount(codes.reshape(-1), minlength=HIGHEST_CODE + 1)


def first_window(counts: NDArray[np.int64]) -> Window:
    """From the 0.5th to the 99.5th percentile; the whole range where these coincide."""
    up_to = np.cumsum(counts)
    darkest, brightest = (int(np.searchsorted(up_to, share * up_to[-1])) for share in (DARKEST_SHARE, BRIGHTEST_SHARE))
    return Window(darkest, brightest) if darkest < brightest else Window(0, HIGHEST_CODE)


def stretched(values: NDArray[Any], span: ValueRange) -> NDArray[np.uint8]:
    """One picture in its first window."""
    codes = span.codes(values)
    return first_window(count_codes(codes)).greys()[codes]
