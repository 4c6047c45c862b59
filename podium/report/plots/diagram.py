"""Diagrams of all cases together: curves such as ROC, and scatter plots."""

import math
from collections.abc import Sequence

from podium.challenges.base import Diagram
from podium.report.exhibit import Exhibit, Table
from podium.report.plots.axes import AXIS_HEIGHT, upright_axis, value_axis
from podium.report.scale import Scale, scale_for
from podium.report.svg import dots, line, picture, polyline, text
from podium.report.words import figure

_WIDTH, _HEIGHT = 460.0, 320.0
_TOP, _LEFT = 30.0, 64.0
_SERIES = 6  # colours that plots.css has
_TABLE_ROWS = 24


def diagram(data: Diagram) -> Exhibit:
    """Lines, dots, levels and the diagonal over two axes; the table has points of all of them."""
    points = [*data.dots, *(point for each in data.lines.values() for point in each)]
    bottom = _TOP + _HEIGHT
    x, y = _scales(data, points, bottom)
    parts = value_axis(x, top=_TOP, bottom=bottom, title=data.x)
    parts += upright_axis(y, left=_LEFT, right=_WIDTH - 10, title=data.y)
    if data.diagonal:
        low, high = max(x.low, y.low), min(x.high, y.high)
        parts.append(line(x(low), y(low), x(high), y(high), "equal"))
    for name, level in data.levels.items():
        parts.append(line(x.start, y(level), x.end, y(level), "equal"))
        parts.append(text(x.end - 4, y(level) - 8, f"{name} {figure(level)}", anchor="end", class_="tick"))
    for number, (name, each) in enumerate(data.lines.items()):
        series = number % _SERIES + 1
        parts.append(polyline([(x(one), y(other)) for one, other in each], f"line line-series-{series}"))
        if len(data.lines) > 1:
            parts.append(
                text(_WIDTH - 16, bottom - 14 - 18 * number, name, anchor="end", class_=f"label fill-series-{series}")
            )
    parts.append(dots([(x(one), y(other)) for one, other in data.dots], "dots"))
    return Exhibit(
        title=data.title,
        caption=data.told,
        svg=picture(
            width=_WIDTH,
            height=bottom + AXIS_HEIGHT,
            title=data.title,
            description=f"{data.y} over {data.x}. {data.told}",
            parts=parts,
        ),
        table=_table(data),
    )


def _scales(data: Diagram, points: Sequence[tuple[float, float]], bottom: float) -> tuple[Scale, Scale]:
    start, end = _LEFT + 8, _WIDTH - 18
    if data.share:
        return Scale(0.0, 1.0, start, end), Scale(0.0, 1.0, bottom, _TOP)
    heights = [point[1] for point in points] + list(data.levels.values())
    if data.diagonal:  # both axes the same, so that the diagonal is one
        both = [value for point in points for value in point]
        return scale_for(both, start=start, end=end), scale_for(both, start=bottom, end=_TOP)
    return (
        scale_for([point[0] for point in points], start=start, end=end),
        scale_for(heights, start=bottom, end=_TOP),
    )


def _table(data: Diagram) -> Table:
    rows: list[tuple[str, str, str]] = [(name, "", figure(level)) for name, level in data.levels.items()]
    for name, points in (*data.lines.items(), *([("case", data.dots)] if data.dots else [])):
        step = max(1, math.ceil(len(points) / _TABLE_ROWS))
        rows += [(name, figure(one), figure(other)) for one, other in points[::step]]
    return Table(head=("", data.x, data.y), rows=rows)
