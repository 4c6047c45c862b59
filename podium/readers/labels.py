"""Label maps: whole, non-negative numbers, whatever type they are stored in."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.errors import Refused
from podium.readers.names import escape_for_display

PROBABILITY_SHARE = 0.01
"""From this share of fractional values on, values in 0..1 are taken for probabilities, not for a mistake."""

SMALLEST_PICTURE = 16
"""A last axis of 3 or 4 means colours where the other axes are at least this long, else a tiny volume."""


def as_integer_labels(values: NDArray[Any], *, name: str) -> NDArray[Any]:
    """`values` as unsigned integers: integers and booleans without a copy, floats in the smallest type that holds them.

    Refuses NaN, infinite, negative and fractional values, and arrays that are not numbers, each in its own words.
    `name` is the file (and dataset) as its author knows it.
    """
    label = f"'{escape_for_display(name)}'"
    kind = values.dtype.kind
    if kind == "c":
        raise Refused(f"{label} holds complex values; labels are whole numbers.")
    if kind not in "buif":
        raise Refused(f"{label} holds values of the type '{values.dtype}'; labels are whole numbers.")
    if values.ndim >= 3 and values.shape[-1] in (3, 4) and min(values.shape[:-1]) >= SMALLEST_PICTURE:
        raise Refused(
            f"{label} looks like an RGB image ({values.shape[-1]} values per pixel); send one label per pixel."
        )
    if kind == "b":
        return values.view(np.uint8)
    if kind == "u":
        return values
    if values.size == 0:
        return values.astype(np.uint8)
    largest = _largest_label(values, label)
    if kind == "i":
        return values.view(values.dtype.str.replace("i", "u"))  # none is negative: the bits mean the same
    labels = values.astype(np.min_scalar_type(largest))
    _check_whole(values, labels, label)
    return labels


def _largest_label(values: NDArray[Any], label: str) -> int:
    # As Python numbers, which compare without overflow whatever their type was. NaN wins both, infinity one of them.
    smallest, largest = values.min().item(), values.max().item()
    if math.isnan(smallest):
        raise Refused(f"{label} holds NaN; every pixel needs a label.")
    if math.isinf(smallest) or math.isinf(largest):
        raise Refused(f"{label} holds infinite values; labels are whole numbers.")
    if smallest < 0:
        raise Refused(f"{label} holds the negative value {_short(smallest)}; labels start at 0.")
    if largest >= 2**63:
        raise Refused(f"{label} holds the value {_short(largest)}, which is too large for a label.")
    return int(largest)


def _check_whole(values: NDArray[Any], labels: NDArray[Any], label: str) -> None:
    fractional = values != labels
    count = np.count_nonzero(fractional)
    if not count:
        return
    example = _short(values.flat[int(fractional.argmax())])
    if values.max() <= 1 and count >= PROBABILITY_SHARE * values.size:
        raise Refused(
            f"{label} holds the fractional value {example}; this looks like a probability map: send labels, "
            "for example by a threshold."
        )
    raise Refused(f"{label} holds the fractional value {example}; labels are whole numbers.")


def _short(value: Any) -> str:
    return f"{float(value):g}"
