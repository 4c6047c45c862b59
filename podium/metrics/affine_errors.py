"""Mean length of affine displacement fields: identity errors, and predictions that are transforms.

|a + b x + c y| is smooth but for the place where nothing moves. So a frame is cut into blocks, and the sum over a
block's pixels is taken from a few places by Gauss's rule for sums: exact for polynomials of degree 15 in x and in y.
About its centre, where the field is d0, the length on a block is a power series in r = (change of d within the block) /
|d0| with coefficients below 2/(2n-1), of which the rule misses next to nothing (some 1e-12 of a frame) while r is at
most 2/3. Blocks nearer to where nothing moves are summed pixel by pixel. All of it is float64.
"""

import math

import numpy as np
from numpy.typing import NDArray

from podium.metrics.field_errors import PixelGrid
from podium.metrics.reconstruction import Coefficients

BLOCK_PIXELS = 80
NODES = 8
LARGEST_CHANGE = 2 / 3

Floats = NDArray[np.float64]


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
