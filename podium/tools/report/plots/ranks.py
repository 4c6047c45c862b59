"""Blob plot: how often each team came out at each rank when the cases were resampled."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from podium.tools.ranking.wording import NOTHING, count, figure, fixed, percent
from podium.tools.report.page import SERIES, Exhibit, Table
from podium.tools.report.plots.axes import (
    AXIS_HEIGHT,
    LONGEST_LABEL,
    TOP,
    Summary,
    column_labels,
    defined,
    row_label_room,
    row_labels,
    summarise,
    value_axis,
)
from podium.tools.report.svg import (
    Scale,
    circle,
    element,
    group,
    label_width,
    line,
    marker,
    picture,
    polyline,
    rectangle,
    scale_for,
    text,
)

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


# Ranking heat map: at which rank each team stood in how many cases.

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


# A rank's interval as a small bar inside a table cell; the words beside it say the same.

_INTERVAL_WIDTH, _INTERVAL_HEIGHT = 74.0, 16.0


def rank_interval(*, low: int, high: int, rank: int | None, teams: int) -> str:
    """The interval on a line from rank 1 (left) to the last rank, hidden from screen readers."""

    def place(at: int) -> float:
        return 6 + (_INTERVAL_WIDTH - 12) * (at - 1) / max(1, teams - 1)

    middle = _INTERVAL_HEIGHT / 2
    return element(
        "svg",
        line(place(1), middle, place(teams), middle, "grid"),
        line(place(low), middle, place(high), middle, "interval"),
        marker(3, place(rank), middle, 3.2, "official") if rank is not None else "",
        viewBox=f"0 0 {_INTERVAL_WIDTH:g} {_INTERVAL_HEIGHT:g}",
        width=_INTERVAL_WIDTH,
        height=_INTERVAL_HEIGHT,
        aria_hidden="true",
    )


# Lines across schemes: how much a team's rank depends on the scheme.

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


# Violin plot of Kendall's tau: how like the whole ranking the rankings of the bootstrap replicates are.

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
