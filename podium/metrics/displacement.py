"""Freehand reconstruction errors and scores: GPE, GLE, LPE, LLE, as TUS-REC defines them.

A displacement says, in mm, how far a pixel of frame i is from where it would be if the probe had not moved since the
frame of comparison: the first frame ("global") or the one before ("local"). With S (pixel -> image mm), C (image mm ->
tool) and T_i (tool -> camera):

    G_i = C^-1 T_0^-1 T_i C        L_i = C^-1 T_{i-1}^-1 T_i C        i = 1 .. N-1
    d(x, y) = ((M - I) S (x, y, 0, 1))[:3]     x = 1 .. W, y = 1 .. H

so the field of a transform is affine in (x, y): nine numbers per frame, d = a + b x + c y, and never more than that is
kept of a reference.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from podium.metrics import Floats

ERRORS = ("gpe", "gle", "lpe", "lle")  # global and local error over pixels and over landmarks, mm
CATEGORIES: Mapping[str, tuple[str, str]] = {
    "global_score": ("gpe", "gle"),
    "local_score": ("lpe", "lle"),
    "pixel_score": ("gpe", "lpe"),
    "landmark_score": ("gle", "lle"),
}
"""Each category is the mean of two normalised errors."""

STILL_MM = 1e-4  # less is rounding in float32, not motion; asked only where the reference does not move
Matrices = NDArray[np.float64]  # (n, 4, 4)
Coefficients = NDArray[np.float64]  # (n, 3 components, 3): a, b, c of d = a + b x + c y, mm and mm per pixel


def global_transforms(tool_to_camera: Matrices, image_to_tool: NDArray[np.float64]) -> Matrices:
    """G_1 .. G_{N-1}: image mm of a frame -> image mm of the first frame."""
    first = np.broadcast_to(tool_to_camera[0], tool_to_camera[1:].shape)
    return _relative(first, tool_to_camera[1:], image_to_tool)


def local_transforms(tool_to_camera: Matrices, image_to_tool: NDArray[np.float64]) -> Matrices:
    """L_1 .. L_{N-1}: image mm of a frame -> image mm of the frame before it."""
    return _relative(tool_to_camera[:-1], tool_to_camera[1:], image_to_tool)


def _relative(base: Matrices, moved: Matrices, image_to_tool: NDArray[np.float64]) -> Matrices:
    transforms = np.linalg.inv(image_to_tool) @ np.linalg.inv(base) @ moved @ image_to_tool
    # Equal poses give exactly no motion; the product of a matrix and its computed inverse would leave some.
    transforms[(base == moved).all(axis=(1, 2))] = np.eye(4)
    return np.asarray(transforms)


def chained(local: Matrices) -> Matrices:
    """Global transforms from local ones: the running product L_1 L_2 ... L_i."""
    result = np.empty_like(local)
    total = np.eye(4)
    for number, step in enumerate(local):
        total = total @ step
        result[number] = total
    return result


def unchained(global_: Matrices) -> Matrices:
    """Local transforms from global ones, L_i = G_{i-1}^-1 G_i: what `chained` undoes."""
    before = np.concatenate([np.eye(4)[None], global_[:-1]])
    return np.asarray(np.linalg.inv(before) @ global_)


def field_coefficients(transforms: Matrices, pixel_to_mm: NDArray[np.float64]) -> Coefficients:
    """a, b, c of every transform's field: columns 3, 0 and 1 of (M - I) S; column 2 meets a zero."""
    return np.ascontiguousarray(((transforms - np.eye(4)) @ pixel_to_mm)[:, :3, [3, 0, 1]])


def landmark_displacements(coefficients: Coefficients, landmarks: NDArray[np.int64]) -> NDArray[np.float64]:
    """(3, n): the fields at the landmarks, rows (frame from 0, x from 1, y from 1); frame 0 has no field."""
    frames, x, y = landmarks.T
    places = np.stack([np.ones(len(landmarks)), x, y], axis=1)
    return np.asarray(np.einsum("ncj,nj->cn", coefficients[frames - 1], places))


def mean_distance(*, prediction: NDArray[Any], reference: NDArray[np.float64]) -> float:
    """The mean Euclidean distance of two (3, n) sets of vectors, in float64."""
    return float(np.linalg.norm(np.asarray(prediction, dtype=np.float64) - reference, axis=0).mean())


def normalised_error(error: float, *, largest: float) -> float:
    """E* = (E - largest) / (0 - largest) = 1 - E / largest: 1 is perfect, 0 no better than not moving at all.

    `largest` is the error of an all-zero prediction. Where the reference does not move it is 0: then E* is 1 for a
    prediction that does not move either, else 0. Worse than identity is negative here.
    """
    if largest > STILL_MM:
        return 1 - error / largest
    return 1.0 if error <= STILL_MM else 0.0


def clipped(value: float) -> float:
    """Into [0, 1], the range of a normalised error in the rules."""
    return min(max(value, 0.0), 1.0)


def final_score(normalised: Mapping[str, float]) -> float:
    """0.25 GPE* + 0.25 GLE* + 0.25 LPE* + 0.25 LLE*."""
    return sum(0.25 * normalised[error] for error in ERRORS)


def category_scores(normalised: Mapping[str, float]) -> dict[str, float]:
    """Global, local, pixel and landmark score: the mean of the two E* each, higher is better."""
    return {name: (normalised[one] + normalised[other]) / 2 for name, (one, other) in CATEGORIES.items()}


def category_scores_as_written(normalised: Mapping[str, float]) -> dict[str, float]:
    """0.5 (1 - E*) + 0.5 (1 - E*), as in the document: lower is better, and its own leaderboards do not use it."""
    return {name: 1 - score for name, score in category_scores(normalised).items()}


# Distance of fields given pixel by pixel from affine ones, tile by tile: no field is ever in memory as a whole.
#
# The reference is affine, d = a + b x + c y. Coefficients are float64, the arithmetic on pixels is float32, sums are
# float64: within 1.5e-7 mm of float64 throughout, and several times faster.
#
# An affine function on whole rows is a matrix product of rank 2, (1, c y) times (a + b x, 1): BLAS writes it some
# three times faster than NumPy adds a row and a column. Sums are products with ones for the same reason. Every step
# takes all three components at once: threads meet at the interpreter's lock between two steps, so there must be few
# of them.
#
# Each object here owns its scratch memory: one for each thread.

TILE_PIXELS = 307_200  # 480x640: with less, threads would meet at the interpreter's lock more often
HUGE_PAGES_BYTES = 1 << 22  # from this size on arrays have huge pages: a tenth of the time, for reused memory
SUMMED_TOGETHER = 32  # lengths added in their own precision; more would add up their rounding, fewer take longer


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


# Mean length of affine displacement fields: identity errors, and predictions that are transforms.
#
# |a + b x + c y| is smooth but for the place where nothing moves. So a frame is cut into blocks, and the sum over a
# block's pixels is taken from a few places by Gauss's rule for sums: exact for polynomials of degree 15 in x and in
# y. About its centre, where the field is d0, the length on a block is a power series in r = (change of d within the
# block) / |d0| with coefficients below 2/(2n-1), of which the rule misses next to nothing (some 1e-12 of a frame)
# while r is at most 2/3. Blocks nearer to where nothing moves are summed pixel by pixel. All of it is float64.

BLOCK_PIXELS = 80
NODES = 8
LARGEST_CHANGE = 2 / 3


class _Axis:
    """1 .. length in equal blocks, each with the places and weights of its rule."""

    def __init__(self, length: int) -> None:
        self.blocks = np.array_split(np.arange(1.0, length + 1), math.ceil(length / BLOCK_PIXELS))
        self.centres = np.array([block.mean() for block in self.blocks])
        rules = [gauss_rule(len(block)) for block in self.blocks]
        self.places = np.concatenate([centre + nodes for centre, (nodes, _) in zip(self.centres, rules, strict=True)])
        weights = np.concatenate([weights for _, weights in rules])
        self.rule = np.repeat(np.eye(len(rules)), len(weights) // len(rules), axis=1) * weights  # (blocks, places)
        self.half = (len(self.blocks[0]) - 1) / 2


def gauss_rule(count: int) -> tuple[Floats, Floats]:
    """Places and weights for the sum of a polynomial over `count` whole steps around 0.

    From the recurrence of the polynomials that are orthogonal on these steps (Gram's), by Golub and Welsch.
    """
    k = np.arange(1, min(NODES, count))
    beside = k / 2 * np.sqrt((count**2 - k**2) / (4 * k**2 - 1))
    places, vectors = np.linalg.eigh(np.diag(beside, 1) + np.diag(beside, -1))
    return places, count * vectors[0] ** 2


def affine_errors(coefficients: Coefficients, grid: PixelGrid) -> Floats:
    """The mean distance of every frame's field from zero; not finite where a square is too large.

    A rotation of space changes no length, so the QR decomposition of [b c] first turns d into
    (a1 + r11 x + r12 y, a2 + r22 y, a3): two of three components no longer depend on x.
    """
    x, y = _Axis(grid.width), _Axis(grid.height)
    with np.errstate(all="ignore"):
        turn, upper = np.linalg.qr(coefficients[:, :, 1:], mode="complete")
        turned = np.concatenate([np.einsum("fji,fj->fi", turn, coefficients[:, :, 0])[:, :, None], upper], axis=2)
        sums = y.rule @ _lengths(turned, x.places, y.places) @ x.rule.T
        across, down = upper[:, :, 0] * x.half, upper[:, :, 1] * y.half
        change = np.maximum(np.linalg.norm(across + down, axis=1), np.linalg.norm(across - down, axis=1))
        near = change[:, None, None] > LARGEST_CHANGE * _lengths(turned, x.centres, y.centres)
        for frame, row, column in np.argwhere(near):
            sums[frame, row, column] = _lengths(turned[frame : frame + 1], x.blocks[column], y.blocks[row]).sum()
        return np.asarray(sums.sum(axis=(1, 2)) / grid.pixels)


def _lengths(turned: Coefficients, x: Floats, y: Floats) -> Floats:
    """(frames, y, x): |d| of turned fields at these places."""
    (a1, b1, c1), (a2, _, c2), (a3, _, _) = turned.transpose(1, 2, 0)[..., None]
    lengths = (a1 + b1 * x)[:, None, :] + (c1 * y)[:, :, None]
    np.square(lengths, out=lengths)
    lengths += ((a2 + c2 * y) ** 2 + a3**2)[:, :, None]
    return np.asarray(np.sqrt(lengths, out=lengths))


# A long run of values in few: the means of equal stretches, for curves in reports.


def stretch_means(values: Sequence[float], *, most: int = 100) -> list[float]:
    """At most `most` means, each of ceil(n / most) neighbours, the last of the rest; short runs stay as they are."""
    size = max(1, math.ceil(len(values) / most))
    parts = (values[start : start + size] for start in range(0, len(values), size))
    return [math.fsum(part) / len(part) for part in parts]


def stretched(means: Sequence[float | None], *, length: int) -> list[float | None]:
    """Each mean at every place it covers, `length` in all: what `stretch_means` leaves of the run.

    The size of a stretch follows from the two lengths for runs of up to `most` squared values; beyond that a mean may
    be a little off its place.
    """
    size = max(1, math.ceil(length / max(1, len(means))))
    return [mean for mean in means for _ in range(size)][:length]
