"""What counts as a number in a file."""

import math
from typing import Any


def finite_number(value: Any) -> float | None:
    """A JSON number as a float; None for anything else: texts, true and false, NaN, and what no float can hold."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
