"""Curves: how a figure runs along a case, over the steps of an interaction or the frames of a scan."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from podium.metrics.declaration import Curve
from podium.report.exhibit import Exhibit, Table
from podium.report.plots.axes import AXIS_HEIGHT, upright_axis, value_axis
from podium.report.plots.summary import drawable
from podium.report.scale import Scale, scale_for
from podium.report.svg import group, marker, picture, polyline
from podium.report.words import count, figure

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
            f"{told} Thin lines are {count(len(values), 'case')}, the thick line is the mean of those that reach so "
            f"far, the band their middle half.{thin}"
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
