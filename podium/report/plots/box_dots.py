"""Box and dots: what each team's cases scored in one metric."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from podium.metrics.declaration import Metric
from podium.ranking.decimals import even_decimals
from podium.ranking.result import Interval, Intervals
from podium.report.exhibit import Exhibit, Table
from podium.report.plots.axes import AXIS_HEIGHT, TOP, row_label_room, row_labels, value_axis
from podium.report.plots.summary import Summary, defined, spread, summarise, thinned
from podium.report.scale import AnyScale, BrokenScale, scale_with_break
from podium.report.svg import dots, group, line, marker, picture, rectangle
from podium.report.words import NOTHING, count, figure, fixed, interval_words

WIDTH = 470.0
_MOST_DOTS = 3_000  # in one plot: beyond that a reader sees a bar and a browser slows down
_FEWEST_DOTS = 40  # a team
_AT_THE_CUT = "; a mean or an end of an interval that lies between stands at the cut"


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
