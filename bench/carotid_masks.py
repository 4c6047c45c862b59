"""Realistic masks: a vessel with a plaque in two views, and a good prediction."""

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.uint8]

SIDE = 512
PLAQUE, VESSEL = 1, 2


def reference_and_prediction(rng: np.random.Generator, view: str) -> tuple[Mask, Mask]:
    """A reference, and a prediction with every wall moved by a few pixels."""
    draw = _longitudinal if view == "long" else _transverse
    walls = rng.uniform(-1, 1, size=8)
    return draw(walls), draw(walls + rng.normal(0, 0.08, size=8))


def _longitudinal(walls: NDArray[np.float64]) -> Mask:
    """A vessel from the left border to the right one, with a plaque on its lower wall."""
    rows, columns = np.mgrid[:SIDE, :SIDE]
    middle = 256 + 30 * walls[0] + 15 * np.sin(columns / SIDE * 4 + walls[1])
    half_width = 75 + 15 * walls[2] + 5 * np.cos(columns / SIDE * 9 + walls[3])
    along = (columns - 256 - 80 * walls[4]) / (110 + 30 * walls[5])
    thickness = (45 + 15 * walls[6]) * np.clip(1 - along**2, 0, None) * (1 + 0.1 * np.sin(columns / 9 + walls[7]))
    mask = np.zeros((SIDE, SIDE), np.uint8)
    mask[abs(rows - middle) <= half_width] = VESSEL
    mask[(mask == VESSEL) & (rows > middle + half_width - thickness)] = PLAQUE
    return mask


def _transverse(walls: NDArray[np.float64]) -> Mask:
    """A vessel cut across, with a crescent of plaque at its lower wall."""
    rows, columns = np.mgrid[:SIDE, :SIDE]
    down, right = rows - 256 - 40 * walls[0], columns - 256 - 40 * walls[1]
    angle = np.arctan2(down, right)
    radius = 95 + 20 * walls[2] + 6 * np.cos(2 * angle + walls[3]) + 3 * np.sin(5 * angle + walls[4])
    mask = np.zeros((SIDE, SIDE), np.uint8)
    mask[np.hypot(down, right) <= radius] = VESSEL
    lumen = np.hypot(down + 30 + 8 * walls[5], right - 8 * walls[6]) <= 85 + 10 * walls[7]
    mask[(mask == VESSEL) & ~lumen & (down > 0)] = PLAQUE
    return mask
