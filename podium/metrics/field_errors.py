"""Distance of fields given pixel by pixel from affine ones, tile by tile: no field is ever in memory as a whole.

The reference is affine, d = a + b x + c y (see reconstruction.py). Coefficients are float64, the arithmetic on pixels
is float32, sums are float64: within 1.5e-7 mm of float64 throughout, and several times faster.

An affine function on whole rows is a matrix product of rank 2, (1, c y) times (a + b x, 1): BLAS writes it some three
times faster than NumPy adds a row and a column. Sums are products with ones for the same reason.

Each object here owns its scratch memory: one for each thread.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from podium.metrics.reconstruction import Coefficients

TILE_PIXELS = 76_800
"""A tile and the scratch beside it then stay in a core's cache, and threads seldom wait for the interpreter's lock."""

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
        self._scratch = np.empty((2, 0), precision)

    def sum(self, values: NDArray[Any], *, frame: int, start: int) -> float:
        """The sum over the pixels start .. start+n-1 of a frame whose predicted displacements are `values` (3, n).

        Not finite where `values` is not, or where a square is too large for the precision.
        """
        count = values.shape[1]
        if count > self._scratch.shape[1]:
            self._scratch = np.empty((2, count), self._scratch.dtype)
        squares, further = self._scratch[:, :count]
        with np.errstate(all="ignore"):
            for component, predicted in enumerate(values):
                target = further if component else squares
                self._put_reference(target, component, frame=frame, start=start)
                np.subtract(predicted, target, out=target, casting="same_kind")
                np.square(target, out=target)
                if component:
                    np.add(squares, target, out=squares)
            np.sqrt(squares, out=squares)
            return _sum(squares)

    def _put_reference(self, target: NDArray[Any], component: int, *, frame: int, start: int) -> None:
        """One component of the reference at the pixels from `start` on; fast for whole rows."""
        first, past = divmod(start, self._grid.width)
        rows, short = divmod(target.size, self._grid.width)
        if past or short:
            a, b, c = self._coefficients[frame, component]
            pixels = slice(start, start + target.size)
            target[:] = a + b * self._grid.flat_x[pixels] + c * self._grid.flat_y[pixels]
            return
        if frame != self._frame:
            a, b, c = (column[:, None] for column in self._coefficients[frame].T)
            self._of_columns[:, 0] = a + b * self._grid.x
            self._of_rows[:, :, 1] = c * self._grid.y
            self._frame = frame
        of_rows, of_columns = self._of_rows[component, first : first + rows], self._of_columns[component]
        np.matmul(of_rows, of_columns, out=target.reshape(rows, -1))


def _sum(lengths: NDArray[Any]) -> float:
    """A few lengths at a time in their own precision, those sums together in float64."""
    whole = lengths.size - lengths.size % SUMMED_TOGETHER
    groups = lengths[:whole].reshape(-1, SUMMED_TOGETHER) @ np.ones(SUMMED_TOGETHER, lengths.dtype)
    return float(groups.sum(dtype=np.float64) + lengths[whole:].sum(dtype=np.float64))
