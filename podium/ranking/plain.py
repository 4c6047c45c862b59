"""From arrays to plain numbers for JSON, which has neither NaN nor infinity."""

import math

import numpy as np
from numpy.typing import NDArray

from podium.ranking.result import Row, Table


def plain_row(values: NDArray[np.float64]) -> Row:
    """What is not finite becomes None."""
    return tuple(value if math.isfinite(value) else None for value in values.tolist())


def plain_table(values: NDArray[np.float64]) -> Table:
    return tuple(plain_row(row) for row in values)
