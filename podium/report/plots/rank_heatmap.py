"""Ranking heat map: at which rank each team stood in how many cases."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from podium.report.exhibit import Exhibit, Table
from podium.report.plots.axes import column_labels, row_label_room, row_labels
from podium.report.svg import element, picture, text
from podium.report.words import count

_TOP = 58.0
STRONGEST = 0.5
"""The opacity of the fullest cell: more, and the figure printed on it would be hard to read."""


def rank_heatmap(title: str, teams: Sequence[str], *, counts: NDArray[np.int64]) -> Exhibit:
    """`counts[team, rank - 1]` cases gave the team that rank; rows in ranking order, figures in the cells."""
    size = len(teams)
    cell = 34.0 if size <= 15 else 22.0
    left = row_label_room(teams)
    most = max(1, int(counts.max()))
    parts = [text(left + size * cell / 2, 14, "Rank in a case", anchor="middle", class_="tick")]
    parts += column_labels(
        [str(rank) for rank in range(1, size + 1)], left=left, top=_TOP, column_width=cell, slanted=False
    )
    parts += row_labels(teams, right=left, row_height=cell, top=_TOP)
    for row in range(size):
        for column in np.flatnonzero(counts[row]):
            x, y = left + int(column) * cell, _TOP + row * cell
            number = int(counts[row, column])
            opacity = f"{0.06 + (STRONGEST - 0.06) * number / most:.2f}"
            parts.append(
                element(
                    "rect",
                    x=x + 1,
                    y=y + 1,
                    width=cell - 2,
                    height=cell - 2,
                    class_="heat",
                    fill_opacity=opacity,
                )
            )
            parts.append(text(x + cell / 2, y + cell / 2, str(number), anchor="middle", class_="cell"))
    firsts = int(np.argmax(counts[:, 0]))
    return Exhibit(
        wide=size > 12,
        title=f"Ranking heat map: {title}",
        caption=(
            "Each cell counts the cases that gave the team that rank by this metric alone; ties share the better rank."
        ),
        svg=picture(
            width=left + size * cell + 12,
            height=_TOP + size * cell + 8,
            title=f"Ranking heat map: {title}",
            description=(
                f"Number of cases by team and rank in {title}. "
                f"{teams[firsts]} is first most often, in {count(int(counts[firsts, 0]), 'case')}."
            ),
            parts=parts,
        ),
        table=Table(
            head=("Team", *(f"Rank {rank}" for rank in range(1, size + 1))),
            rows=[(team, *(str(int(number)) for number in counts[row])) for row, team in enumerate(teams)],
        ),
    )


def rank_counts(ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    """(teams, ranks): how many cases gave each team each rank."""
    size = len(ranks)
    return np.stack([np.bincount(row - 1, minlength=size)[:size] for row in ranks]).astype(np.int64)
