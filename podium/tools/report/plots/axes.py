"""The frames plots share: rows with labels on a horizontal axis of figures, and grids of cells."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from podium.tools.ranking.wording import tick
from podium.tools.report.svg import FONT_PX, AnyScale, BrokenScale, Scale, label_width, line, text

LONGEST_LABEL = 22
TOP = 14.0
AXIS_HEIGHT = 46.0


def row_label_room(labels: Sequence[str]) -> float:
    """The width of the column of labels at the left."""
    return max(40.0, label_width(labels, longest=LONGEST_LABEL) + 14)


def row_labels(labels: Sequence[str], *, right: float, row_height: float, top: float = TOP) -> list[str]:
    """Labels at the left of their rows."""
    return [
        text(right - 8, top + (row + 0.5) * row_height, label, anchor="end", longest=LONGEST_LABEL, class_="label")
        for row, label in enumerate(labels)
    ]


def value_axis(scale: AnyScale, *, top: float, bottom: float, title: str) -> list[str]:
    """A horizontal axis below a plot: grid lines, round figures, a title that says what and in which unit; where it is
    cut, two slanted strokes at both ends of the cut."""
    parts = []
    if isinstance(scale, BrokenScale):
        parts += [
            line(scale.gap + shift - 4, y + 7, scale.gap + shift + 4, y - 7, "axis-break")
            for y in (top, bottom)
            for shift in (-4.0, 4.0)
        ]
    for place in scale.ticks(5):
        parts.append(line(scale(place), top, scale(place), bottom, "grid"))
        parts.append(text(scale(place), bottom + 14, tick(place), anchor="middle", class_="tick"))
    parts.append(text((scale.start + scale.end) / 2, bottom + 34, title, anchor="middle", class_="tick", longest=60))
    return parts


def upright_axis(scale: Scale, *, left: float, right: float, title: str) -> list[str]:
    """A vertical axis at the left of a plot; its title stands above it, where it is read without turning the head."""
    parts = []
    for place in scale.ticks(5):
        parts.append(line(left, scale(place), right, scale(place), "grid"))
        parts.append(text(left - 6, scale(place), tick(place), anchor="end", class_="tick"))
    parts.append(text(4, FONT_PX / 2 + 1, title, class_="tick", longest=60))
    return parts


def column_labels(labels: Sequence[str], *, left: float, top: float, column_width: float, slanted: bool) -> list[str]:
    """Labels above their columns, slanted where they are too long to stand side by side."""
    parts = []
    for column, label in enumerate(labels):
        x = left + (column + 0.5) * column_width
        if slanted:
            parts.append(text(x, top - 8, label, longest=LONGEST_LABEL, rotate=-50, class_="tick"))
        else:
            parts.append(text(x, top - 10, label, anchor="middle", class_="tick"))
    return parts


def slanted_room(labels: Sequence[str]) -> float:
    """The height slanted column labels take (sin 50°)."""
    return 0.77 * label_width(labels, longest=LONGEST_LABEL) + 22


# The figures a box plot is drawn from, and the few dots that stand for many.


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
