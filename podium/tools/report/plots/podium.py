"""Podium plot after Eugster et al. (2008): every case's values by the rank they earned, and who stood there."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from podium.metrics.declaration import Metric
from podium.tools.ranking.wording import count, listed
from podium.tools.report.page import SERIES, Exhibit, Table
from podium.tools.report.plots.axes import LONGEST_LABEL, defined, upright_axis
from podium.tools.report.svg import dots, group, label_width, line, picture, polyline, rectangle, scale_for, text

MOST_TEAMS = 12
"""More columns than this cannot be read; the ranking heat map counts the same ranks."""

_MOST_CASES = 120
_LEFT, _TOP, _HEIGHT, _BARS = 64.0, 30.0, 230.0, 70.0
_LEGEND_ROW = 20.0


def podium_plot(metric: Metric, teams: Sequence[str], values: NDArray[np.float64]) -> Exhibit:
    """`values` (teams by cases) without undefined cases; teams in ranking order.

    Each column is a rank, and inside a column each team has its lane, in ranking order. A dot is a case's value of the
    team that had the rank; lines join the dots of a case. Equal values stand in the order of the ranking.
    """
    size, cases = values.shape
    places = places_in_case(values, higher_is_better=metric.direction == "higher")
    lane = max(9.0, 380.0 / size / (size + 1.5))
    column = (size + 1.5) * lane
    bottom = _TOP + _HEIGHT
    right = _LEFT + size * column
    known = defined(values.ravel())
    y = scale_for(known.tolist(), start=bottom, end=_TOP, lowest=metric.lowest, highest=metric.highest)

    def x(place: int, team: int) -> float:
        return float(_LEFT + place * column + (team + 1.25) * lane)

    unit = f" ({metric.unit})" if metric.unit else ""
    parts = upright_axis(y, left=_LEFT, right=right, title=f"{metric.title}{unit}, {metric.direction} is better")
    base = bottom + 14 + _BARS
    parts += [line(_LEFT + place * column, _TOP, _LEFT + place * column, base, "grid") for place in range(size)]
    shown = np.unique(np.rint(np.linspace(0, cases - 1, min(cases, _MOST_CASES))).astype(int)).tolist()
    for case in shown:
        order = np.argsort(places[:, case])
        points = [
            (x(place, int(team)), y(float(values[team, case])))
            for place, team in enumerate(order)
            if np.isfinite(values[team, case])
        ]
        parts.append(polyline(points, "case-link"))
    counts = np.stack([(places == place).sum(axis=1) for place in range(size)], axis=1)
    most = max(1, int(counts.max()))
    for team in range(size):
        kind = f"series-{team + 1}" if team < SERIES else "other"
        marks = [
            (x(int(places[team, case]), team), y(float(values[team, case])))
            for case in shown
            if np.isfinite(values[team, case])
        ]
        bars = [
            rectangle(x(place, team) - 0.4 * lane, base - tall, 0.8 * lane, tall, f"fill-{kind}")
            for place in range(size)
            if (tall := _BARS * float(counts[team, place]) / most)
        ]
        parts.append(group(dots(marks, f"many many-{kind}"), *bars))
    for place in range(size):
        middle = _LEFT + (place + 0.5) * column
        parts.append(
            text(
                middle, base + 14, f"Rank {place + 1}" if size <= 6 else str(place + 1), anchor="middle", class_="tick"
            )
        )
    parts.append(line(_LEFT, base, right, base, "whisker"))
    legend, legend_height = _legend(teams, left=_LEFT, right=right, top=base + 40)
    parts += legend
    first = int(counts[:, 0].argmax())
    thin = f" {len(shown)} of {cases:,} cases are drawn; the bars count all." if len(shown) < cases else ""
    return Exhibit(
        wide=right > 560,
        title=f"Podium plot: {metric.title}",
        caption=(
            "Each column is a rank, with the teams from left to right in the order of the ranking, as in the legend. "
            f"A dot is a case, a line joins its dots, and the bars below count how often a team had the rank.{thin}"
        ),
        svg=picture(
            width=right + 8,
            height=base + 28 + legend_height,
            title=f"Podium plot: {metric.title}",
            description=(
                f"Values of {count(cases, 'case')} by the rank they earned. {teams[first]} has rank 1 most "
                f"often, in {count(int(counts[first, 0]), 'case')}."
            ),
            parts=parts,
        ),
        table=Table(
            head=("Team", *(f"Place {place + 1}" for place in range(size))),
            rows=[(name, *map(str, counts[team].tolist())) for team, name in enumerate(teams)],
            caption="Cases by place; equal values are in the order of the ranking",
        ),
    )


def _legend(teams: Sequence[str], *, left: float, right: float, top: float) -> tuple[list[str], float]:
    """The teams with their colours, in rows as wide as the plot; and the height of all rows."""
    room = label_width(teams, longest=LONGEST_LABEL) + 44
    in_a_row = max(1, int((right - left) // room))
    parts = []
    for team, name in enumerate(teams):
        x, y = left + team % in_a_row * room, top + team // in_a_row * _LEGEND_ROW
        parts.append(rectangle(x, y - 6, 12, 12, f"fill-series-{team + 1}" if team < SERIES else "fill-other"))
        parts.append(text(x + 18, y, f"{team + 1}  {name}", class_="tick", longest=LONGEST_LABEL + 4))
    return parts, _LEGEND_ROW * -(-len(teams) // in_a_row) + 8


def places_in_case(values: NDArray[np.float64], *, higher_is_better: bool) -> NDArray[np.int64]:
    """(teams, cases): 0 for the best, every place taken once; equal values by the order of the teams, NaN last."""
    losses = np.where(np.isnan(values), np.inf, -values if higher_is_better else values)
    order = np.argsort(losses, axis=0, kind="stable")
    return np.asarray(np.argsort(order, axis=0, kind="stable"), dtype=np.int64)


# The podium: who stands on which step.

_STEP_WIDTH = 176.0
_STEP_HEIGHTS = {1: 128.0, 2: 92.0, 3: 62.0}
_MEDALS = {1: "gold", 2: "silver", 3: "bronze"}
_STEPS_TOP = 66.0
_MOST = 5


@dataclass(frozen=True, kw_only=True)
class PodiumPlace:
    """A team, its rank, and its score as it is printed."""

    rank: int
    team: str
    score: str


def podium_steps(places: Sequence[PodiumPlace]) -> Exhibit:
    """The teams ranked first to third, the best in the middle; teams that tie stand on steps of equal height.

    `places` come in ranking order. More than five on the podium (ties) are counted, not drawn.
    """
    winners = [place for place in places if place.rank <= 3]
    drawn = _best_in_the_middle(winners[:_MOST])
    width = max(3, len(drawn)) * _STEP_WIDTH
    bottom = _STEPS_TOP + _STEP_HEIGHTS[1]
    first = (width - len(drawn) * _STEP_WIDTH) / 2
    steps = [
        _step(place, x=first + column * _STEP_WIDTH, bottom=bottom, tied=_is_tied(place, winners))
        for column, place in enumerate(drawn)
    ]
    told = listed([f"{place.team} (rank {place.rank}, {place.score})" for place in winners[:_MOST]])
    left_out = len(winners) - len(drawn)
    more = f" {count(left_out, 'further team')} tied on the podium are in the table." if left_out else ""
    return Exhibit(
        title="Podium",
        caption=f"The teams on the first three ranks; teams of equal rank are on the same level.{more}",
        svg=picture(
            width=width,
            height=bottom + 2,
            title="Podium",
            description=f"On the podium: {told}.",
            parts=steps,
        ),
        table=Table(
            head=("Rank", "Team", "Score"),
            rows=[(str(place.rank), place.team, place.score) for place in winners],
        ),
    )


def _best_in_the_middle(places: Sequence[PodiumPlace]) -> list[PodiumPlace]:
    ordered: list[PodiumPlace] = []
    for index, place in enumerate(places):
        ordered.insert(0 if index % 2 else len(ordered), place)
    return ordered


def _is_tied(place: PodiumPlace, places: Sequence[PodiumPlace]) -> bool:
    return sum(other.rank == place.rank for other in places) > 1


def _step(place: PodiumPlace, *, x: float, bottom: float, tied: bool) -> str:
    height = _STEP_HEIGHTS[place.rank]
    top = bottom - height
    middle = x + _STEP_WIDTH / 2
    rank = f"{place.rank}=" if tied else f"{place.rank}"
    return group(
        rectangle(x + 4, top, _STEP_WIDTH - 8, height, f"fill-{_MEDALS[place.rank]}", rounded=6),
        text(middle, top + height / 2, rank, anchor="middle", class_="medal-number"),
        text(middle, top - 38, place.team, anchor="middle", longest=20, class_="podium-name"),
        text(middle, top - 16, place.score, anchor="middle", longest=26, class_="tick"),
    )
