"""The frames plots share: rows with labels on a horizontal axis of figures, and grids of cells."""

from collections.abc import Sequence

from podium.report.scale import AnyScale, BrokenScale, Scale
from podium.report.svg import FONT_PX, label_width, line, text
from podium.report.words import tick

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
