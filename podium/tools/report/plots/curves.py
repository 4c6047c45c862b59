"""Curves: how a figure runs along a case, over the steps of an interaction or the frames of a scan."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from podium.challenges.base import Diagram
from podium.metrics.declaration import Curve
from podium.tools.ranking.wording import NOTHING, count, figure, probability
from podium.tools.report.page import Exhibit, Table
from podium.tools.report.plots.axes import (
    AXIS_HEIGHT,
    column_labels,
    drawable,
    row_label_room,
    row_labels,
    slanted_room,
    upright_axis,
    value_axis,
)
from podium.tools.report.svg import (
    Scale,
    circle,
    dots,
    group,
    line,
    marker,
    picture,
    polyline,
    rectangle,
    scale_for,
    text,
)

_WIDTH = 500.0
_TOP = 30.0
_HEIGHT = 240.0
_LEFT = 64.0
_MOST_LINES = 60
_MOST_POINTS = 160  # a line: more cannot be told apart on a page
_MARKED_POINTS = 24
_TABLE_ROWS = 24


def curves(curve: Curve, cases: Mapping[str, Sequence[float | None]]) -> Exhibit:
    """A thin line per case, and over them the mean and the middle half of the cases that reach that far."""
    table = _padded(list(cases.values()))
    length = table.shape[1]
    places = [(math.floor(start) + math.ceil(end) - 1) / 2 + curve.first for start, end in _spans(length, _MOST_POINTS)]
    values = _shortened(table, _MOST_POINTS)
    known = values[np.isfinite(values)]
    bottom = _TOP + _HEIGHT
    x = Scale(curve.first, max(curve.first + length - 1, curve.first + 1), _LEFT + 8, _WIDTH - 18)
    y = scale_for(known.tolist(), start=bottom, end=_TOP, lowest=curve.lowest, highest=curve.highest)
    parts = value_axis(x, top=_TOP, bottom=bottom, title=curve.along)
    unit, spoken = (f" ({curve.unit})", f" {curve.unit}") if curve.unit else ("", "")
    better = f"{curve.direction} is better"
    parts += upright_axis(y, left=_LEFT, right=_WIDTH - 10, title=f"{curve.title}{unit}, {better}")
    lines = _evenly(len(values), _MOST_LINES)
    parts.append(group(*(_line(values[case], places, x, y, "case-line") for case in lines)))
    summary = _summary(values)
    parts.append(_band(summary, places, x, y))
    parts.append(_line(summary[0], places, x, y, "line line-series-1"))
    if length <= _MARKED_POINTS:
        points = zip(places, summary[0], strict=True)
        parts += [marker(0, x(place), y(mean), 4, "fill-series-1") for place, mean in points if math.isfinite(mean)]
    ends = [value for value in (summary[0][0], summary[0][-1]) if math.isfinite(value)] if length else []
    told = (
        f"The mean runs from {figure(ends[0])} to {figure(ends[1])}{spoken}."
        if len(ends) == 2
        else "No case has a value."
    )
    thin = f" {_MOST_LINES} of {len(values):,} cases are drawn." if len(values) > _MOST_LINES else ""
    return Exhibit(
        title=f"{curve.title} over {curve.along.lower()}s",
        caption=(
            f"{told} Thin lines are {count(len(values), 'case')}, the thick line is the mean of those that are "
            f"long enough, the band their middle half.{thin}"
        ),
        svg=picture(
            width=_WIDTH,
            height=bottom + AXIS_HEIGHT,
            title=f"{curve.title} by {curve.along.lower()}",
            description=f"{curve.title}{unit} along {count(len(values), 'case')}; {better}. {told}",
            parts=parts,
        ),
        table=_as_table(curve, table),
    )


def _padded(rows: Sequence[Sequence[float | None]]) -> NDArray[np.float64]:
    table = np.full((len(rows), max(map(len, rows), default=0)), math.nan)
    for row, values in enumerate(rows):
        table[row, : len(values)] = drawable(values)
    return table


def _spans(length: int, most: int) -> list[tuple[float, float]]:
    edges = np.linspace(0, length, min(length, most) + 1).tolist()
    return list(pairwise(edges))


def _shortened(table: NDArray[np.float64], most: int) -> NDArray[np.float64]:
    """At most a fixed number of points per row: the mean of the neighbours that share one."""
    columns = [_means(table[:, math.floor(start) : math.ceil(end)]) for start, end in _spans(table.shape[1], most)]
    return np.stack(columns, axis=1) if columns else table


def _means(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Row means of the defined values, NaN where a row has none (numpy would warn)."""
    known = np.isfinite(table)
    counts = known.sum(axis=1)
    totals = np.where(known, table, 0.0).sum(axis=1)
    return np.asarray(np.divide(totals, counts, out=np.full(len(table), math.nan), where=counts > 0))


def _summary(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """(3, points): mean, lower and upper quartile of the cases that have a value there."""
    columns = []
    for column in values.T:
        known = column[np.isfinite(column)]
        if len(known):
            columns.append((math.fsum(known) / len(known), *np.quantile(known, (0.25, 0.75))))
        else:
            columns.append((math.nan, math.nan, math.nan))
    return np.array(columns, dtype=np.float64).reshape(-1, 3).T


def _line(values: NDArray[np.float64], places: Sequence[float], x: Scale, y: Scale, class_: str) -> str:
    points = [(x(place), y(value)) for place, value in zip(places, values, strict=True) if math.isfinite(value)]
    return polyline(points, class_) if len(points) > 1 else ""


def _band(summary: NDArray[np.float64], places: Sequence[float], x: Scale, y: Scale) -> str:
    known = [index for index in range(len(places)) if math.isfinite(summary[0][index])]
    upper = [(x(places[index]), y(summary[2][index])) for index in known]
    lower = [(x(places[index]), y(summary[1][index])) for index in reversed(known)]
    return polyline([*upper, *lower], "band", closed=True) if len(known) > 1 else ""


def _evenly(length: int, most: int) -> list[int]:
    return np.unique(np.rint(np.linspace(0, length - 1, min(length, most))).astype(int)).tolist() if length else []


def _as_table(curve: Curve, table: NDArray[np.float64]) -> Table:
    rows = []
    values = _shortened(table, _TABLE_ROWS)
    spans = _spans(table.shape[1], _TABLE_ROWS)
    for (start, end), summary, column in zip(spans, _summary(values).T, values.T, strict=True):
        first, last = math.floor(start) + curve.first, math.ceil(end) - 1 + curve.first
        name = str(first) if first == last else f"{first} to {last}"
        rows.append((name, str(int(np.isfinite(column).sum())), *(figure(float(each)) for each in summary)))
    return Table(head=(curve.along, "Cases", "Mean", "Lower quartile", "Upper quartile"), rows=rows)


# Diagrams of all cases together: curves such as ROC, and scatter plots.

_DIAGRAM_WIDTH, _DIAGRAM_HEIGHT = 460.0, 320.0
_DIAGRAM_TOP, _DIAGRAM_LEFT = 30.0, 64.0
_SERIES = 6  # colours that plots.css has


def diagram(data: Diagram) -> Exhibit:
    """Lines, dots, levels and the diagonal over two axes; the table has points of all of them."""
    points = [*data.dots, *(point for each in data.lines.values() for point in each)]
    bottom = _DIAGRAM_TOP + _DIAGRAM_HEIGHT
    x, y = _scales(data, points, bottom)
    parts = value_axis(x, top=_DIAGRAM_TOP, bottom=bottom, title=data.x)
    parts += upright_axis(y, left=_DIAGRAM_LEFT, right=_DIAGRAM_WIDTH - 10, title=data.y)
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
                text(
                    _DIAGRAM_WIDTH - 16,
                    bottom - 14 - 18 * number,
                    name,
                    anchor="end",
                    class_=f"label fill-series-{series}",
                )
            )
    parts.append(dots([(x(one), y(other)) for one, other in data.dots], "dots"))
    return Exhibit(
        title=data.title,
        caption=data.told,
        svg=picture(
            width=_DIAGRAM_WIDTH,
            height=bottom + AXIS_HEIGHT,
            title=data.title,
            description=f"{data.y} over {data.x}. {data.told}",
            parts=parts,
        ),
        table=_table(data),
    )


def _scales(data: Diagram, points: Sequence[tuple[float, float]], bottom: float) -> tuple[Scale, Scale]:
    start, end = _DIAGRAM_LEFT + 8, _DIAGRAM_WIDTH - 18
    if data.share:
        return Scale(0.0, 1.0, start, end), Scale(0.0, 1.0, bottom, _DIAGRAM_TOP)
    heights = [point[1] for point in points] + list(data.levels.values())
    if data.diagonal:  # both axes the same, so that the diagonal is one
        both = [value for point in points for value in point]
        return scale_for(both, start=start, end=end), scale_for(both, start=bottom, end=_DIAGRAM_TOP)
    return (
        scale_for([point[0] for point in points], start=start, end=end),
        scale_for(heights, start=bottom, end=_DIAGRAM_TOP),
    )


def _table(data: Diagram) -> Table:
    rows: list[tuple[str, str, str]] = [(name, "", figure(level)) for name, level in data.levels.items()]
    for name, points in (*data.lines.items(), *([("case", data.dots)] if data.dots else [])):
        step = max(1, math.ceil(len(points) / _TABLE_ROWS))
        rows += [(name, figure(one), figure(other)) for one, other in points[::step]]
    return Table(head=("", data.x, data.y), rows=rows)


# Significance map: which team is better than which, beyond chance.


def significance_map(  # noqa: PLR0913  (two tables of p values, two of decisions)
    title: str,
    teams: Sequence[str],
    *,
    p: NDArray[np.float64],
    p_holm: NDArray[np.float64],
    significant: NDArray[np.bool_],
    significant_holm: NDArray[np.bool_],
    alpha: float,
) -> Exhibit:
    """`p[i, j]` tests that team i beats team j, `p_holm` is the same adjusted; NaN where there is no test.

    A full disc on colour: significant after Holm's adjustment. A ring: only without it. Nothing: neither.
    """
    size = len(teams)
    cell = 34.0 if size <= 15 else 18.0
    left, top = row_label_room(teams), slanted_room(teams)
    parts = row_labels(teams, right=left, row_height=cell, top=top)
    parts += column_labels(teams, left=left, top=top, column_width=cell, slanted=True)
    for row in range(size):
        for column in range(size):
            x, y = left + column * cell, top + row * cell
            if row == column:
                parts.append(rectangle(x + 1, y + 1, cell - 2, cell - 2, "diagonal"))
                continue
            sure = bool(significant_holm[row, column])
            parts.append(rectangle(x + 1, y + 1, cell - 2, cell - 2, "cell-yes" if sure else "cell-no"))
            if sure:
                parts.append(circle(x + cell / 2, y + cell / 2, 0.24 * cell, "sign-yes"))
            elif significant[row, column]:
                parts.append(circle(x + cell / 2, y + cell / 2, 0.22 * cell, "sign-half"))
    legend_y = top + size * cell + 24
    parts += _legend(legend_y, alpha)
    wins = int(significant_holm.sum())
    pairs = size * (size - 1)
    told = f"{count(wins, 'ordered pair')} of {pairs} differ at {alpha:g} after Holm's adjustment."
    return Exhibit(
        wide=size > 12,
        title=f"Significance map: {title}",
        caption=(
            f"One-sided p-values that the row's team beats the column's: paired Wilcoxon tests in {title}. {told}"
        ),
        svg=picture(
            width=max(left + size * cell + 0.64 * top + 12, 470.0),
            height=legend_y + 62,
            title=f"Significance map: {title}",
            description=f"Row better than column, by one-sided paired Wilcoxon tests. {told}",
            parts=parts,
        ),
        table=Table(
            head=("Team better than", *teams),
            rows=[
                (
                    team,
                    *(
                        NOTHING
                        if row == column
                        else f"{probability(p[row, column])} (Holm {probability(p_holm[row, column])})"
                        for column in range(size)
                    ),
                )
                for row, team in enumerate(teams)
            ],
            caption="p values, and adjusted by Holm's method over all ordered pairs",
        ),
    )


def _legend(y: float, alpha: float) -> list[str]:
    x = 16.0
    return [
        rectangle(x - 10, y - 10, 20, 20, "cell-yes"),
        circle(x, y, 5, "sign-yes"),
        text(x + 18, y, f"better after Holm's adjustment (p ≤ {alpha:g})", class_="tick"),
        rectangle(x - 10, y + 16, 20, 20, "cell-no"),
        circle(x, y + 26, 5, "sign-half"),
        text(x + 18, y + 26, f"better without adjustment only (p ≤ {alpha:g})", class_="tick"),
    ]
