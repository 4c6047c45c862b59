"""Lines across schemes: how much a team's rank depends on the scheme."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from podium.report.exhibit import Exhibit, Table
from podium.report.palette import SERIES
from podium.report.plots.axes import LONGEST_LABEL
from podium.report.svg import group, label_width, line, marker, picture, polyline, text
from podium.report.words import NOTHING, count

_COLUMN = 118.0
_LINE_HEIGHT = 15.0
_LONGEST_WORD = 15


def scheme_lines(
    teams: Sequence[str], schemes: Sequence[str], *, ranks: NDArray[np.float64], what: str = "scheme"
) -> Exhibit:
    """One line per team, one column per scheme, or per another `what` of ranking (`ranks`, teams by columns, NaN where
    unranked); rank 1 at the top.

    The first seven teams have a colour, a marker and a dash each; the others are grey. Labels of teams that tie stand
    in the free slots below their rank, which competition ranking always leaves.
    """
    size = len(teams)
    row = 30.0 if size <= 15 else 18.0
    heads = [_wrapped(scheme) for scheme in schemes]
    top = 16 + max(map(len, heads)) * _LINE_HEIGHT + row / 2
    room = label_width(teams, longest=LONGEST_LABEL) + 34
    left = room + 14

    def x(column: int) -> float:
        return left + column * _COLUMN

    def y(rank: float) -> float:
        return top + (rank - 1) * row

    right = x(len(schemes) - 1)
    parts = []
    for column, words in enumerate(heads):
        for number, words_of_line in enumerate(words):
            parts.append(text(x(column), 10 + number * _LINE_HEIGHT, words_of_line, anchor="middle", class_="tick"))
        parts.append(line(x(column), top - row / 2, x(column), y(size) + row / 2, "grid"))
    for team in reversed(range(size)):
        kind = _class_of(team)
        points = [(x(column), y(rank)) for column, rank in enumerate(ranks[team]) if not np.isnan(rank)]
        shapes = [
            marker(team if team < SERIES else 0, *point, 4.6 if team < SERIES else 3, f"fill-{kind}")
            for point in points
        ]
        parts.append(group(polyline(points, f"line line-{kind}"), *shapes))
    for column, anchor, edge in ((0, "end", left - 12), (len(schemes) - 1, "start", right + 12)):
        for team, slot in _slots(ranks[:, column]):
            rank = _rank(ranks[team, column])
            label = f"{teams[team]}  {rank}" if anchor == "end" else f"{rank}  {teams[team]}"
            parts.append(text(edge, y(slot), label, anchor=anchor, longest=LONGEST_LABEL + 4, class_="label"))
    best, worst = np.fmin.reduce(ranks, axis=1), np.fmax.reduce(ranks, axis=1)
    moves = np.nan_to_num(worst - best)
    farthest = int(np.argmax(moves))
    steady = int((moves == 0).sum())
    told = (
        f"No team's rank depends on the {what}."
        if steady == size
        else f"{teams[farthest]} moves most, from rank {_rank(best[farthest])} to {_rank(worst[farthest])}."
    )
    return Exhibit(
        wide=True,
        title=f"Ranks under every {what}",
        caption=f"{told} {count(steady, 'team')} of {size} keep the same rank in all {len(schemes)} columns.",
        svg=picture(
            width=right + room + 14,
            height=y(size) + row / 2 + 8,
            title=f"Ranks of every team under every {what}",
            description=f"One line per team over {count(len(schemes), 'column')}. {told}",
            parts=parts,
        ),
        table=Table(
            head=("Team", *schemes),
            rows=[(name, *map(_rank, ranks[team])) for team, name in enumerate(teams)],
        ),
    )


def _class_of(team: int) -> str:
    return f"series-{team + 1}" if team < SERIES else "other"


def _rank(rank: float) -> str:
    return NOTHING if np.isnan(rank) else str(int(rank))


def _slots(ranks: NDArray[np.float64]) -> list[tuple[int, int]]:
    """(team, slot): teams in order of rank, unranked ones last, each on a line of its own."""
    order = sorted(range(len(ranks)), key=lambda team: (float(np.nan_to_num(ranks[team], nan=np.inf)), team))
    return [(team, slot) for slot, team in enumerate(order, start=1)]


def _wrapped(words: str) -> list[str]:
    """The words on lines of at most fifteen characters, so that columns may stand close."""
    lines: list[str] = []
    for word in words.split():
        if lines and len(lines[-1]) + 1 + len(word) <= _LONGEST_WORD:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines or [""]
