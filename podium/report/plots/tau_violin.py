"""Violin plot of Kendall's tau: how like the whole ranking the rankings of the bootstrap replicates are."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from podium.report.exhibit import Exhibit, Table
from podium.report.plots.axes import AXIS_HEIGHT, TOP, row_label_room, row_labels, value_axis
from podium.report.plots.summary import Summary, defined, summarise
from podium.report.scale import Scale, scale_for
from podium.report.svg import group, line, marker, picture, polyline, rectangle
from podium.report.words import fixed

_WIDTH = 500.0
_ROW = 58.0
_POINTS = 80


def tau_violin(schemes: Sequence[str], taus: Sequence[NDArray[np.float64]], *, replicates: int) -> Exhibit:
    """One violin per scheme; `taus` are its replicates' tau-b to the ranking on all cases, NaN where all teams tie."""
    ordered = [defined(each) for each in taus]
    summaries = [summarise(each) for each in ordered]
    left = row_label_room(schemes)
    bottom = TOP + len(schemes) * _ROW
    ends = (float(value) for each in ordered for value in each[:1])
    scale = scale_for([*ends, 1.0], start=left + 6, end=_WIDTH - 14, lowest=-1.0, highest=1.0)
    rows = [
        _violin(each, summary, scale, middle=TOP + (row + 0.5) * _ROW)
        for row, (each, summary) in enumerate(zip(ordered, summaries, strict=True))
    ]
    known = [(summary.median, scheme) for summary, scheme in zip(summaries, schemes, strict=True) if summary]
    told = ""
    if known:
        best = max(known)
        told = f" The steadiest is {best[1]} with a median of {fixed(best[0], 2)}."
    return Exhibit(
        title="Violin plot of Kendall's τ",
        caption=(
            "Kendall's τ-b between the ranking on all cases and the ranking of each bootstrap replicate, by scheme: 1 "
            "is the same order, 0 none in common. The bar spans the quartiles, the diamond is the mean; where all "
            "replicates have the same τ, there is no violin."
        ),
        svg=picture(
            width=_WIDTH,
            height=bottom + AXIS_HEIGHT,
            title="Violin plot of Kendall's tau by scheme",
            description=f"Kendall's tau-b over {replicates:,} bootstrap replicates.{told}",
            parts=[
                *value_axis(scale, top=TOP, bottom=bottom, title="Kendall's τ-b, higher is steadier"),
                *row_labels(schemes, right=left, row_height=_ROW),
                *rows,
            ],
        ),
        table=Table(
            head=("Scheme", "Replicates", "Mean", "Lower quartile", "Median", "Upper quartile", "Minimum"),
            rows=[
                (scheme, "0", *[fixed(None, 3)] * 5)
                if summary is None
                else (
                    scheme,
                    str(summary.n),
                    *(
                        fixed(value, 3)
                        for value in (
                            summary.mean,
                            summary.first_quartile,
                            summary.median,
                            summary.third_quartile,
                            summary.minimum,
                        )
                    ),
                )
                for scheme, summary in zip(schemes, summaries, strict=True)
            ],
        ),
    )


def density(ordered: NDArray[np.float64], places: NDArray[np.float64]) -> NDArray[np.float64]:
    """A Gaussian kernel density by Silverman's rule, scaled to a greatest value of 1; never narrower than 0.01."""
    spread = min(float(ordered.std()), float(np.subtract(*np.quantile(ordered, (0.75, 0.25)))) / 1.34 or np.inf)
    width = max(0.9 * spread * len(ordered) ** -0.2, 0.01)
    levels, weights = np.unique(ordered, return_counts=True)
    heights = (weights * np.exp(-0.5 * ((places[:, None] - levels) / width) ** 2)).sum(axis=1)
    return np.asarray(heights / heights.max())


def _violin(ordered: NDArray[np.float64], summary: Summary | None, scale: Scale, *, middle: float) -> str:
    if summary is None:
        return ""
    places = np.linspace(max(-1.0, summary.minimum - 0.02), min(1.0, summary.maximum + 0.02), _POINTS)
    half = 0.42 * _ROW * density(ordered, places)
    over = [(scale(x), middle - h) for x, h in zip(places, half, strict=True)]
    under = [(scale(x), middle + h) for x, h in zip(places[::-1], half[::-1], strict=True)]
    first, third, median = scale(summary.first_quartile), scale(summary.third_quartile), scale(summary.median)
    if summary.minimum == summary.maximum:  # a shape around one value would show a spread that is not there
        return group(
            line(median, middle - 9, median, middle + 9, "median"),
            marker(3, scale(summary.mean), middle, 3.4, "mean"),
        )
    return group(
        polyline([*over, *under], "violin", closed=True),
        rectangle(first, middle - 4, max(third - first, 1.0), 8, "box"),
        line(median, middle - 9, median, middle + 9, "median"),
        marker(3, scale(summary.mean), middle, 3.4, "mean"),
    )
