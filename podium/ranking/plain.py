"""From arrays to plain numbers for JSON, which has neither NaN nor infinity, and to safe cells of a table."""

import math

import numpy as np
from numpy.typing import NDArray

from podium.ranking.result import Row, Table


def plain_row(values: NDArray[np.float64]) -> Row:
    """What is not finite becomes None."""
    return tuple(value if math.isfinite(value) else None for value in values.tolist())


def plain_table(values: NDArray[np.float64]) -> Table:
    return tuple(plain_row(row) for row in values)


def csv_safe(name: str) -> str:
    """A team may be called =HYPERLINK(...): a spreadsheet must read its name as text."""
    return f"'{name}" if name.startswith(("=", "+", "-", "@", "\t", "\r")) else name
