"""What counts as a number in a file."""

from typing import Any

LARGEST = 1e200
"""No figure is larger, and thousands of them still have a sum."""


def finite_number(value: Any) -> float | None:
    """A JSON number as a float; None for anything else: texts, true and false, NaN, and what is too large to add up."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if abs(number) <= LARGEST else None
