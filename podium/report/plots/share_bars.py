"""Share of cases: a metric that is either right or wrong, as one bar per team. A box of zeros and ones says nothing."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from podium.metrics.declaration import Metric
from podium.ranking.result import Intervals
from podium.report.exhibit import Exhibit, Table
from podium.report.plots.axes import AXIS_HEIGHT, TOP, row_label_room, row_labels, value_axis
from podium.report.plots.box_dots import WIDTH
from podium.report.plots.summary import defined
from podium.report.scale import Scale
from podium.report.svg import line, picture, rectangle, text
from podium.report.words import NOTHING, percent

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
