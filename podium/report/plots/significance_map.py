"""Significance map: which team is better than which, beyond chance."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from podium.report.exhibit import Exhibit, Table
from podium.report.plots.axes import column_labels, row_label_room, row_labels, slanted_room
from podium.report.svg import circle, picture, rectangle, text
from podium.report.words import NOTHING, count, probability


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
        caption=(f"Is the row's team better than the column's? One-sided paired Wilcoxon tests in {title}. {told}"),
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
