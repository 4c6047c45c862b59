"""Blob plot: how often each team came out at each rank when the cases were resampled."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from podium.report.exhibit import Exhibit, Table
from podium.report.plots.axes import column_labels, row_label_room, row_labels
from podium.report.svg import circle, line, marker, picture, text
from podium.report.words import count, figure, percent

_TOP = 58.0


def blob_plot(  # noqa: PLR0913  (one table and what is told of its rows)
    teams: Sequence[str],
    *,
    frequency: NDArray[np.float64],
    intervals: Sequence[tuple[float, float]],
    ranks: Sequence[int | None],
    replicates: int,
    confidence: float,
) -> Exhibit:
    """One row per team in ranking order, one column per rank; a blob's area is the share of replicates (`frequency`,
    teams by ranks). The line spans the interval, the diamond is the rank on all cases."""
    size = len(teams)
    cell = 34.0 if size <= 15 else 20.0
    left = row_label_room(teams)
    parts = column_labels(
        [str(rank) for rank in range(1, size + 1)], left=left, top=_TOP, column_width=cell, slanted=False
    )
    parts.append(text(left + size * cell / 2, 14, "Rank", anchor="middle", class_="tick"))
    parts += row_labels(teams, right=left, row_height=cell, top=_TOP)

    def place(rank: float) -> float:
        return left + (rank - 0.5) * cell

    for row, team in enumerate(teams):
        middle = _TOP + (row + 0.5) * cell
        parts.append(line(left, middle, left + size * cell, middle, "grid"))
        low, high = intervals[row]
        parts.append(line(place(low), middle, place(high), middle, "interval"))
        for column in np.flatnonzero(frequency[row]):
            share = float(frequency[row, column])
            radius = max(1.2, 0.46 * cell * share**0.5)
            hint = f"{team}: rank {column + 1} in {percent(share)} of the replicates"
            parts.append(circle(place(int(column) + 1), middle, radius, "blob", hint=hint))
        rank = ranks[row]
        if rank is not None:
            parts.append(marker(3, place(rank), middle, 3.0, "official"))
    surest = int(np.argmax(frequency[:, 0]))
    return Exhibit(
        wide=size > 12,
        title="Blob plot of bootstrap ranks",
        caption=(
            f"{count(replicates, 'bootstrap replicate')} of the cases. The area of a blob is the share of replicates "
            f"that gave the team that rank; the line is the {percent(confidence)} interval, the diamond the rank on "
            "all cases."
        ),
        svg=picture(
            width=left + size * cell + 12,
            height=_TOP + size * cell + 8,
            title="Blob plot of bootstrap ranks",
            description=(
                f"Share of {count(replicates, 'bootstrap replicate')} at each rank, by team. "
                f"{teams[surest]} ranks first most often, in {percent(float(frequency[surest, 0]))} of them."
            ),
            parts=parts,
        ),
        table=Table(
            head=("Team", "Rank", f"{percent(confidence)} interval", *(f"Rank {rank}" for rank in range(1, size + 1))),
            rows=[
                (
                    team,
                    figure(ranks[row]),
                    f"{figure(intervals[row][0])} to {figure(intervals[row][1])}",
                    *(percent(float(share)) for share in frequency[row]),
                )
                for row, team in enumerate(teams)
            ],
        ),
    )
