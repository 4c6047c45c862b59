"""Heat map of figures: many means at once, where a panel for each would fill pages."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from podium.metrics.declaration import Direction
from podium.ranking.decimals import even_decimals
from podium.ranking.result import Interval
from podium.report.exhibit import Exhibit, Table
from podium.report.plots.axes import column_labels, row_label_room, row_labels, slanted_room
from podium.report.plots.rank_heatmap import STRONGEST
from podium.report.svg import element, picture, text
from podium.report.words import fixed, with_interval

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
