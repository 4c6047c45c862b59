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

TILE_PIXELS = 153_600
"""Smaller tiles would fit a core's cache better, but threads would meet at the interpreter's lock more often."""

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
        self._difference, self._lengths = np.empty((3, count), self._ones.dtype), np.empty(count, self._ones.dtype)
        whole = count - count % SUMMED_TOGETHER
        self._groups, self._rest = self._lengths[:whole].reshape(-1, SUMMED_TOGETHER), self._lengths[whole:]
        self._sums = np.empty(len(self._groups), self._ones.dtype)

    def sum(self, values: NDArray[Any], *, frame: int, start: int) -> float:
        """The sum over the pixels start .. start+n-1 of a frame whose predicted displacements are `values` (3, n).

        Not finite where `values` is not, or where a square is too large for the precision; the caller says whether
        NumPy is to warn of that.
        """
        if values.shape[1] != self._lengths.size:
            self._make_scratch(values.shape[1])
        difference, lengths = self._difference, self._lengths
        self._put_reference(difference, frame=frame, start=start)
        np.subtract(values, difference, out=difference, casting="same_kind")
        np.einsum("cp,cp->p", difference, difference, out=lengths)
        np.sqrt(lengths, out=lengths)
        # A few lengths at a time in their own precision, those sums together in float64.
        np.matmul(self._groups, self._ones, out=self._sums)
        return float(self._sums.sum(dtype=np.float64) + self._rest.sum(dtype=np.float64))

    def _put_reference(self, target: NDArray[Any], *, frame: int, start: int) -> None:
        """The reference at the pixels from `start` on; fast for whole rows."""
        first, past = divmod(start, self._grid.width)
        rows, short = divmod(target.shape[1], self._grid.width)
        if past or short:
            a, b, c = (column[:, None] for column in self._coefficients[frame].T)
            pixels = slice(start, start + target.shape[1])
            target[:] = a + b * self._grid.flat_x[pixels] + c * self._grid.flat_y[pixels]
            return
        if frame != self._frame:
            a, b, c = (column[:, None] for column in self._coefficients[frame].T)
            self._of_columns[:, 0] = a + b * self._grid.x
            self._of_rows[:, :, 1] = c * self._grid.y
            self._frame = frame
        np.matmul(self._of_rows[:, first : first + rows], self._of_columns, out=target.reshape(3, rows, -1))
