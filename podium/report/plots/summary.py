"""The figures a box plot is drawn from, and the few dots that stand for many."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True)
class Summary:
    """A sample in the figures of Tukey's box plot; quartiles by linear interpolation, SD over n - 1.

    Whiskers end at the outermost values no farther than 1.5 interquartile ranges from the box.
    """

    n: int
    mean: float
    sd: float
    minimum: float
    first_quartile: float
    median: float
    third_quartile: float
    maximum: float
    lower_whisker: float
    upper_whisker: float


LARGEST = 1e150
"""What is larger cannot be squared; an error of that size is as good as none."""


def defined(values: Iterable[float | None]) -> NDArray[np.float64]:
    """The values that can be drawn, sorted: undefined figures and errors without bound have no place on an axis."""
    array = drawable(values)
    return np.sort(array[~np.isnan(array)])


def drawable(values: Iterable[float | None]) -> NDArray[np.float64]:
    """The values as an array, NaN where there is none or one without measure."""
    array = np.array([math.nan if value is None else value for value in values], dtype=np.float64)
    return np.where(np.abs(array) <= LARGEST, array, math.nan)


def summarise(ordered: NDArray[np.float64]) -> Summary | None:
    """The summary of sorted finite values, None of no values."""
    if not len(ordered):
        return None
    first, median, third = (float(each) for each in np.quantile(ordered, (0.25, 0.5, 0.75)))
    reach = 1.5 * (third - first)
    inside = ordered[(ordered >= first - reach) & (ordered <= third + reach)]
    mean = math.fsum(ordered) / len(ordered)
    variance = math.fsum((ordered - mean) ** 2) / (len(ordered) - 1) if len(ordered) > 1 else 0.0
    return Summary(
        n=len(ordered),
        mean=mean,
        sd=math.sqrt(variance),
        minimum=float(ordered[0]),
        first_quartile=first,
        median=median,
        third_quartile=third,
        maximum=float(ordered[-1]),
        lower_whisker=float(inside[0]),
        upper_whisker=float(inside[-1]),
    )


def thinned(ordered: NDArray[np.float64], most: int) -> NDArray[np.float64]:
    """At most `most` of the sorted values, evenly by rank, the smallest and the largest among them."""
    if len(ordered) <= most:
        return ordered
    places = np.rint(np.linspace(0, len(ordered) - 1, most)).astype(int)
    return np.asarray(ordered[places])


def spread(count: int) -> Sequence[float]:
    """Offsets in [-1, 1] that keep neighbouring dots apart: multiples of the golden ratio, the same every time."""
    return [2 * ((index * 0.6180339887 + 0.5) % 1) - 1 for index in range(count)]
