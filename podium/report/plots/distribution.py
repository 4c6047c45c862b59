"""Distribution: how one submission's cases spread in one metric."""

from collections.abc import Sequence

import numpy as np

from podium.metrics.declaration import Metric
from podium.report.exhibit import Exhibit, Table
from podium.report.plots.axes import AXIS_HEIGHT, value_axis
from podium.report.plots.box_dots import WIDTH
from podium.report.plots.summary import defined, spread, summarise, thinned
from podium.report.scale import scale_for
from podium.report.svg import dots, line, marker, picture, rectangle, text
from podium.report.words import count, figure

_BINS = 20
_TOP = 26.0
_HEIGHT = 110.0
_STRIP = 40.0
_MOST_DOTS = 400


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
        shown = thinned(ordered, _MOST_DOTS)
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
