"""The podium: who stands on which step."""

from collections.abc import Sequence
from dataclasses import dataclass

from podium.report.exhibit import Exhibit, Table
from podium.report.svg import group, picture, rectangle, text
from podium.report.words import count, listed

_STEP_WIDTH = 176.0
_STEP_HEIGHTS = {1: 128.0, 2: 92.0, 3: 62.0}
_MEDALS = {1: "gold", 2: "silver", 3: "bronze"}
_TOP = 66.0
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
    bottom = _TOP + _STEP_HEIGHTS[1]
    first = (width - len(drawn) * _STEP_WIDTH) / 2
    steps = [
        _step(place, x=first + column * _STEP_WIDTH, bottom=bottom, tied=_is_tied(place, winners))
        for column, place in enumerate(drawn)
    ]
    told = listed([f"{place.team} (rank {place.rank}, {place.score})" for place in winners[:_MOST]])
    left_out = len(winners) - len(drawn)
    more = f" {count(left_out, 'further team')} tied on the podium stand in the table." if left_out else ""
    return Exhibit(
        title="Podium",
        caption=f"The teams on the first three ranks; teams of equal rank stand equally high.{more}",
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
