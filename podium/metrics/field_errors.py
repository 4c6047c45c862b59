"""Distance of fields given pixel by pixel from affine ones, tile by tile: no field is ever in memory as a whole.

The reference is affine, d = a + b x + c y (see reconstruction.py). Coefficients are float64, the arithmetic on pixels
is float32, sums are float64: within 1.5e-7 mm of float64 throughout, and several times faster.

An affine function on whole rows is a matrix product of rank 2, (1, c y) times (a + b x, 1): BLAS writes it some three
times faster than NumPy adds a row and a column. Sums are products with ones for the same reason. Every step takes all
three components at once: threads meet at the interpreter's lock between two steps, so there must be few of them.

Each object here owns its scratch memory: one for each thread.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from podium.metrics.reconstruction import Coefficients

TILE_PIXELS = 307_200
"""480x640. Less would fit a core's cache better, but threads would meet at the interpreter's lock more often."""

HUGE_PAGES_BYTES = 1 << 22
"""NumPy asks the kernel for huge pages for arrays from this size on: a tenth of the time, for memory that is reused."""

SUMMED_TOGETHER = 32
"""Lengths added in their own precision; more of them would add up their rounding, fewer take longer."""


@dataclass(frozen=True, kw_only=True)
class PixelGrid:
    """The pixels of a frame in flat order: x = 1 .. width fastest, y = 1 .. height; k = (y-1) width + (x-1)."""

    height: int
    width: int

    @property
    def pixels(self) -> int:
        return self.height * self.width

    @property
    def tile_pixels(self) -> int:
        """Pixels of a tile of whole rows, about TILE_PIXELS."""
        return max(1, min(self.height, TILE_PIXELS // self.width)) * self.width

    @cached_property
    def x(self) -> NDArray[np.float64]:
        return np.arange(1.0, self.width + 1)

    @cached_property
    def y(self) -> NDArray[np.float64]:
        return np.arange(1.0, self.height + 1)

    @cached_property
    def flat_x(self) -> NDArray[np.float64]:
        return np.tile(self.x, self.height)

    @cached_property
    def flat_y(self) -> NDArray[np.float64]:
        return np.repeat(self.y, self.width)


class TileDistance:
    """Sums of |prediction - reference| over tiles of frames, whose references are `coefficients` (frames, 3, 3)."""

    def __init__(self, grid: PixelGrid, coefficients: Coefficients, precision: DTypeLike = np.float32) -> None:
        self._grid, self._coefficients = grid, coefficients
        self._frame = -1  # of which the next two are
        self._of_rows = np.ones((3, grid.height, 2), precision)  # (1, c y) of every row
        self._of_columns = np.ones((3, 2, grid.width), precision)  # (a + b x, 1) of every column
        self._ones = np.ones(SUMMED_TOGETHER, precision)
        self._make_scratch(grid.tile_pixels)

    def _make_scratch(self, count: int) -> None:
        precision, width = self._ones.dtype, self._grid.width
        block = np.empty(max(4 * count, HUGE_PAGES_BYTES // precision.itemsize), precision)
        self._difference, self._lengths = block[: 3 * count].reshape(3, count), block[3 * count : 4 * count]
        self._in_rows = None if count % width else self._difference.reshape(3, count // width, width)
        whole = count - count % SUMMED_TOGETHER
        self._groups, self._rest = self._lengths[:whole].reshape(-1, SUMMED_TOGETHER), self._lengths[whole:]
        self._sums = np.empty(len(self._groups), precision)

    def sum(self, values: NDArray[Any], *, frame: int, start: int) -> float:
        """The sum over the pixels start .. start+n-1 of a frame whose predicted displacements are `values` (3, n).

        Not finite where `values` is not, or where a square is too large for the precision; the caller says whether
        NumPy is to warn of that.
        """
        if frame != self._frame:
            a, b, c = (column[:, None] for column in self._coefficients[frame].T)
            self._of_columns[:, 0] = a + b * self._grid.x
            self._of_rows[:, :, 1] = c * self._grid.y
            self._frame = frame
        tile = self._grid.tile_pixels
        return sum(
            self._tile_sum(values[:, first : first + tile], start + first) for first in range(0, values.shape[1], tile)
        )

    def _tile_sum(self, values: NDArray[Any], start: int) -> float:
        if values.shape[1] != self._lengths.size:
            self._make_scratch(values.shape[1])
        difference, lengths = self._difference, self._lengths
        self._put_reference(start)
        np.subtract(values, difference, out=difference, casting="same_kind")
        np.einsum("cp,cp->p", difference, difference, out=lengths)
        np.sqrt(lengths, out=lengths)
        # A few lengths at a time in their own precision, those sums together in float64.
        np.matmul(self._groups, self._ones, out=self._sums)
        total = float(self._sums.sum(dtype=np.float64))
        return total + float(self._rest.sum(dtype=np.float64)) if self._rest.size else total

    def _put_reference(self, start: int) -> None:
        """The frame's reference at the pixels from `start` on, where the difference will be; fast for whole rows."""
        first, past = divmod(start, self._grid.width)
        if past or self._in_rows is None:
            a, b, c = (column[:, None] for column in self._coefficients[self._frame].T)
            pixels = slice(start, start + self._lengths.size)
            self._difference[:] = a + b * self._grid.flat_x[pixels] + c * self._grid.flat_y[pixels]
        else:
            rows = self._of_rows[:, first : first + self._in_rows.shape[1]]
            np.matmul(rows, self._of_columns, out=self._in_rows)
