"""Box and dots: what each team's cases scored in one metric."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from podium.metrics.declaration import Direction, Metric
from podium.tools.ranking.result import Interval, Intervals
from podium.tools.ranking.wording import (
    NOTHING,
    count,
    even_decimals,
    figure,
    fixed,
    interval_words,
    percent,
    with_interval,
)
from podium.tools.report.page import Exhibit, Table
from podium.tools.report.plots.axes import (
    AXIS_HEIGHT,
    TOP,
    Summary,
    column_labels,
    defined,
    row_label_room,
    row_labels,
    slanted_room,
    spread,
    summarise,
    thinned,
    value_axis,
)
from podium.tools.report.plots.ranks import STRONGEST
from podium.tools.report.svg import (
    AnyScale,
    BrokenScale,
    Scale,
    dots,
    element,
    group,
    line,
    marker,
    picture,
    rectangle,
    scale_for,
    scale_with_break,
    text,
)

WIDTH = 470.0
_MOST_DOTS = 3_000  # in one plot: beyond that a reader sees a bar and a browser slows down
_FEWEST_DOTS = 40  # a team
_AT_THE_CUT = "; a mean or an end of an interval in the gap is drawn at the cut"


def box_and_dots(
    metric: Metric,
    teams: Sequence[str],
    values: Sequence[NDArray[np.float64]],
    intervals: Intervals | None = None,
) -> Exhibit:
    """One row per team in ranking order; `values` are the teams' cases, worst values filled in, NaN where undefined;
    `intervals` are those of the means."""
    ordered = [defined(each) for each in values]
    summaries = [summarise(each) for each in ordered]
    left = row_label_room(teams)
    row_height = 34.0 if len(teams) <= 12 else 22.0
    bottom = TOP + len(teams) * row_height
    scale = scale_with_break(
        (value for each in ordered for value in each.tolist()),
        worst=metric.worst,
        start=left + 14,
        end=WIDTH - 20,
        lowest=metric.lowest,
        highest=metric.highest,
    )
    most = max(_FEWEST_DOTS, _MOST_DOTS // max(1, len(teams)))
    rows = [
        _row(
            each,
            summary,
            scale,
            middle=TOP + (row + 0.5) * row_height,
            height=row_height,
            most=most,
            interval=intervals[row] if intervals else None,
        )
        for row, (each, summary) in enumerate(zip(ordered, summaries, strict=True))
    ]
    unit, spoken = (f" ({metric.unit})", f" {metric.unit}") if metric.unit else ("", "")
    better = f"{metric.direction} is better"
    known = [(summary.median, team) for summary, team in zip(summaries, teams, strict=True) if summary]
    extreme = (max if metric.direction == "higher" else min)(known, key=lambda pair: pair[0], default=None)
    told = f"The best median is {figure(extreme[0])}{spoken}, of {extreme[1]}." if extreme else "No case has a value."
    thin = any(len(each) > most for each in ordered)
    is_cut = isinstance(scale, BrokenScale)
    return Exhibit(
        title=metric.title,
        caption=(
            f"{better.capitalize()}. A dot is a case, the box spans the middle half, the bar is the median, the "
            f"diamond the mean{' with its interval' if intervals else ''}; whiskers reach 1.5 box lengths."
            + (f" The axis is cut before the worst value, {figure(metric.worst)}{_AT_THE_CUT}." if is_cut else "")
            + (f" Of each team {count(most, 'dot')} are drawn, evenly by rank." if thin else "")
        ),
        svg=picture(
            width=WIDTH,
            height=bottom + AXIS_HEIGHT,
            title=f"{metric.title}: box and dot plot by team",
            description=f"{metric.title}{unit} of every case by team in ranking order; {better}. {told}",
            parts=[
                *value_axis(scale, top=TOP, bottom=bottom, title=f"{metric.title}{unit}, {better}"),
                *row_labels(teams, right=left, row_height=row_height),
                *rows,
            ],
        ),
        table=summary_table(teams, summaries, cases=[len(each) for each in values], intervals=intervals),
    )


def summary_table(
    names: Sequence[str],
    summaries: Sequence[Summary | None],
    *,
    cases: Sequence[int],
    intervals: Intervals | None = None,
) -> Table:
    """One row of figures per team, all with the same decimals; `Undefined` counts the cases without a value."""
    ends = [end for summary in summaries if summary for end in (summary.mean, summary.minimum, summary.maximum)]
    decimals = even_decimals(ends)
    head = (
        "Team",
        "Cases",
        "Undefined",
        "Mean",
        *(["Interval of the mean"] if intervals else []),
        "SD",
        "Minimum",
        "Lower quartile",
        "Median",
        "Upper quartile",
        "Maximum",
    )
    rows = []
    for row, (name, summary, number) in enumerate(zip(names, summaries, cases, strict=True)):
        figures = (
            [None] * 7
            if summary is None
            else [
                summary.mean,
                summary.sd,
                summary.minimum,
                summary.first_quartile,
                summary.median,
                summary.third_quartile,
                summary.maximum,
            ]
        )
        undefined = number - (summary.n if summary else 0)
        mean, *others = (fixed(each, decimals) for each in figures)
        interval = [interval_words(intervals[row], decimals) or NOTHING] if intervals else []
        rows.append((name, str(number), str(undefined), mean, *interval, *others))
    return Table(head=head, rows=rows)


def _row(  # noqa: PLR0913  (a row, where it stands and how full it may be)
    ordered: NDArray[np.float64],
    summary: Summary | None,
    scale: AnyScale,
    *,
    middle: float,
    height: float,
    most: int,
    interval: Interval | None,
) -> str:
    if summary is None:
        return ""
    shown = thinned(ordered, most)
    reach = 0.36 * height
    points = [(scale(value), middle + reach * offset) for value, offset in zip(shown, spread(len(shown)), strict=True)]
    box = 0.52 * height
    first, third = scale(summary.first_quartile), scale(summary.third_quartile)
    median = scale(summary.median)
    return group(
        dots(points, "dots"),
        line(scale(summary.lower_whisker), middle, first, middle, "whisker"),
        line(third, middle, scale(summary.upper_whisker), middle, "whisker"),
        rectangle(first, middle - box / 2, max(third - first, 0.8), box, "box"),
        line(median, middle - box / 2, median, middle + box / 2, "median"),
        line(scale(interval[0]), middle, scale(interval[1]), middle, "interval") if interval else "",
        marker(3, scale(summary.mean), middle, 3.4, "mean"),
    )


# Distribution: how one submission's cases spread in one metric.

_BINS = 20
_TOP = 26.0
_HEIGHT = 110.0
_STRIP = 40.0
_MOST_DOTS_SHOWN = 400


def distribution(metric: Metric, values: Sequence[float | None], *, lost: int) -> Exhibit:
    """A histogram over a strip of cases; `values` include those the rules give the `lost` (failed or missing) cases."""
    ordered = defined(values)
    summary = summarise(ordered)
    left, right = 40.0, WIDTH - 14
    scale = scale_for(ordered.tolist(), start=left, end=right, lowest=metric.lowest, highest=metric.highest)
    heights, edges = np.histogram(ordered, bins=_BINS, range=(scale.low, scale.high))
    base = _TOP + _HEIGHT
    bottom = base + _STRIP
    unit = f" ({metric.unit})" if metric.unit else ""
    better = f"{metric.direction} is better"
    parts = value_axis(scale, top=_TOP, bottom=bottom, title=f"{metric.title}{unit}, {better}")
    most = max(1, int(heights.max()))
    parts.append(text(left - 8, _TOP, str(most), anchor="end", class_="tick"))
    parts.append(text(left - 8, base, "0", anchor="end", class_="tick"))
    parts.append(text(4, 8, "Cases", class_="tick"))
    for height, low, high in zip(heights, edges[:-1], edges[1:], strict=True):
        if height:
            tall = _HEIGHT * int(height) / most
            span = f"{figure(float(low))} to {figure(float(high))}: {count(int(height), 'case')}"
            x, end = scale(float(low)), scale(float(high))
            parts.append(rectangle(x + 0.6, base - tall, max(end - x - 1.2, 0.8), tall, "bar", hint=span))
    parts.append(line(left, base, right, base, "whisker"))
    told = "No case has a value."
    if summary is not None:
        shown = thinned(ordered, _MOST_DOTS_SHOWN)
        offsets = spread(len(shown))
        parts.append(dots([(scale(v), base + 18 + 10 * o) for v, o in zip(shown, offsets, strict=True)], "dots"))
        parts.append(line(scale(summary.median), _TOP, scale(summary.median), bottom, "median"))
        parts.append(marker(3, scale(summary.mean), base, 4, "mean"))
        told = f"Median {figure(summary.median)}, mean {figure(summary.mean)} over {count(summary.n, 'case')}."
    filled = f" {count(lost, 'failed or missing case')} included." if lost else ""
    without = len(values) - len(ordered)
    left_out = f" {count(without, 'case')} without a value left out." if without else ""
    return Exhibit(
        title=metric.title,
        caption=f"{told} The line is the median, the diamond the mean.{filled}{left_out}",
        svg=picture(
            width=WIDTH,
            height=bottom + AXIS_HEIGHT,
            title=f"{metric.title}: distribution over cases",
            description=f"Histogram of {metric.title}{unit}; {better}. {told}{filled}{left_out}",
            parts=parts,
        ),
        table=Table(
            head=("From", "To", "Cases"),
            rows=[
                (figure(float(low)), figure(float(high)), str(int(height)))
                for height, low, high in zip(heights, edges[:-1], edges[1:], strict=True)
                if height
            ],
        ),
    )


# Share of cases: a metric that is either right or wrong, as one bar per team. A box of zeros and ones says nothing.

_COUNT_ROOM = 84.0


def is_yes_or_no(metric: Metric, values: Sequence[NDArray[np.float64]]) -> bool:
    """Whether a metric from 0 to 1 only ever takes these two values."""
    return (metric.lowest, metric.highest) == (0, 1) and all(np.isin(defined(each), (0, 1)).all() for each in values)


def share_bars(
    metric: Metric,
    teams: Sequence[str],
    values: Sequence[NDArray[np.float64]],
    intervals: Intervals | None = None,
) -> Exhibit:
    """One bar per team in ranking order: the share of its cases with the value 1, and its interval."""
    known = [defined(each) for each in values]
    hits = [int(each.sum()) for each in known]
    left = row_label_room(teams)
    row_height = 34.0 if len(teams) <= 12 else 22.0
    bottom = TOP + len(teams) * row_height
    scale = Scale(0.0, 1.0, left + 6, WIDTH - _COUNT_ROOM)
    better = f"{metric.direction} is better"
    parts = value_axis(scale, top=TOP, bottom=bottom, title=f"{metric.title}: share of cases, {better}")
    parts += row_labels(teams, right=left, row_height=row_height)
    for row, (hit, each) in enumerate(zip(hits, known, strict=True)):
        if len(each):
            y = TOP + row * row_height
            parts.append(
                rectangle(scale(0), y + 0.2 * row_height, scale(hit / len(each)) - scale(0), 0.6 * row_height, "bar")
            )
            if intervals and (interval := intervals[row]):
                middle = y + row_height / 2
                parts.append(line(scale(interval[0]), middle, scale(interval[1]), middle, "interval"))
            parts.append(text(WIDTH - _COUNT_ROOM + 10, y + row_height / 2, f"{hit} of {len(each)}", class_="tick"))
    shares = [hit / len(each) if len(each) else None for hit, each in zip(hits, known, strict=True)]
    told = ", ".join(f"{team} {percent(share)}" for team, share in list(zip(teams, shares, strict=True))[:3])
    return Exhibit(
        title=metric.title,
        caption=f"{better.capitalize()}. A bar is the share of cases with the value 1"
        f"{', the line its interval' if intervals else ''}.",
        svg=picture(
            width=WIDTH,
            height=bottom + AXIS_HEIGHT,
            title=f"{metric.title}: share of cases by team",
            description=f"Share of cases with the value 1, by team in ranking order; {better}. The first: {told}.",
            parts=parts,
        ),
        table=Table(
            head=("Team", "Cases", "With the value 1", "Share", *(["Interval of the share"] if intervals else [])),
            rows=[
                (team, str(len(each)), str(hit), percent(share), *_interval_cell(intervals, row))
                for row, (team, each, hit, share) in enumerate(zip(teams, known, hits, shares, strict=True))
            ],
        ),
    )


def _interval_cell(intervals: Intervals | None, row: int) -> list[str]:
    if not intervals:
        return []
    interval = intervals[row]
    return [NOTHING if interval is None else f"{percent(interval[0])} to {percent(interval[1])}"]


# Heat map of figures: many means at once, where a panel for each would fill pages.

_CELL, _ROW = 52.0, 24.0
_CELL_WITH_INTERVAL, _ROW_WITH_INTERVAL = 70.0, 34.0


def figure_heatmap(  # noqa: PLR0913  (a table, its two heads, and what is said of it)
    title: str,
    caption: str,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    values: NDArray[np.float64],
    directions: Sequence[Direction],
    intervals: Sequence[Sequence[Interval | None]] | None = None,
    corner: str,
) -> Exhibit:
    """`values[row, column]`, NaN where there is none, each above its interval; `directions` by column. A column's best
    figure is strongest."""
    has_intervals = intervals is not None and any(each is not None for row in intervals for each in row)
    cell_width, row_height = (_CELL_WITH_INTERVAL, _ROW_WITH_INTERVAL) if has_intervals else (_CELL, _ROW)
    found = [[None] * len(columns)] * len(rows) if intervals is None else intervals
    left, top = row_label_room(rows), slanted_room(columns)
    parts = row_labels(rows, right=left, row_height=row_height, top=top)
    parts += column_labels(columns, left=left, top=top, column_width=cell_width, slanted=True)
    decimals = [even_decimals(column[~np.isnan(column)].tolist(), most=3) for column in values.T]
    for column, direction in enumerate(directions):
        shades = _shades(values[:, column], direction)
        for row in range(len(rows)):
            value = float(values[row, column])
            if np.isnan(value):
                continue
            x, y = left + column * cell_width, top + row * row_height
            cell = {"x": x + 1, "y": y + 1, "width": cell_width - 2, "height": row_height - 2}
            parts.append(element("rect", **cell, class_="heat", fill_opacity=f"{shades[row]:.2f}"))
            interval, middle = found[row][column], x + cell_width / 2
            lift = 6.0 if interval else 0.0
            shown = fixed(value, decimals[column])
            parts.append(text(middle, y + row_height / 2 - lift, shown, anchor="middle", class_="cell"))
            if interval:
                low, high = (fixed(end, decimals[column]) for end in interval)
                parts.append(
                    text(middle, y + row_height / 2 + 8, f"{low}–{high}", anchor="middle", class_="cell-interval")
                )
    width = left + len(columns) * cell_width + 0.64 * top + 12
    return Exhibit(
        wide=width > 560,
        title=title,
        caption=f"{caption} In every column the best figure has the strongest colour.",
        svg=picture(
            width=width,
            height=top + len(rows) * row_height + 8,
            title=title,
            description=f"{caption} {len(rows)} rows and {len(columns)} columns; the table below has the figures.",
            parts=parts,
        ),
        table=Table(
            head=(corner, *columns),
            rows=[
                (
                    name,
                    *(
                        with_interval(float(values[row, column]), found[row][column], decimals[column] + 1)
                        for column in range(len(columns))
                    ),
                )
                for row, name in enumerate(rows)
            ],
        ),
    )


def _shades(column: NDArray[np.float64], direction: Direction) -> NDArray[np.float64]:
    """The opacity of every cell: from faint for the worst figure of the column to strongest for the best."""
    known = column[~np.isnan(column)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 0.0)
    share = (column - low) / (high - low) if high > low else np.full(column.shape, 0.5)
    return np.asarray(0.06 + (STRONGEST - 0.06) * (share if direction == "higher" else 1 - share))
