"""What the organiser meets: where the ratings stand, what is missing, who voted how, and the exports."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from podium.arena.ballots import Ballot
from podium.arena.desk import CommentLine, Desk, RaterLine
from podium.arena.standing import TITLES, Standing
from podium.arena.web.assets import page
from podium.arena.web.figures import Beside, Figures, compute
from podium.arena.web.security import COOKIE, NO_LINK
from podium.arena.web.threads import DeskThreads

_PLOT_WIDTH = 200.0


@dataclass(frozen=True, kw_only=True)
class Records:
    """What the desk has on paper, read in one go."""

    change: int
    ballots: list[Ballot]
    raters: list[RaterLine]
    comments: list[CommentLine]


class OrganiserPages:
    """Handlers of the organiser's requests."""

    def __init__(self, desk: Desk, threads: DeskThreads) -> None:
        self._desk = desk
        self._threads = threads
        self._figures: Beside[Figures] = Beside()

    def close(self) -> None:
        self._figures.close()

    async def overview(self, request: Request) -> Response:
        cookie = request.cookies.get(COOKIE, "")
        records = await self._threads.ask(lambda: self._read(cookie))
        figures = await self._figures.answer(
            records.change, compute, records.ballots, self._desk.methods, self._desk.settings
        )
        by_name = {one.rater: one for one in figures.raters}
        return page(
            "organiser",
            settings=self._desk.settings,
            standing=figures.standing,
            decided_by=TITLES[figures.standing.decided_by],
            stop_rule=figures.stop_rule,
            plots=_plots(figures.standing),
            raters=[(line, by_name.get(line.name)) for line in records.raters],
            comments=records.comments,
            notes=[*self._desk.notes, *figures.standing.notes],
            cases=len(self._desk.cases),
            now=datetime.now(UTC),
            moment=_moment,
        )

    def _check(self, cookie: str) -> None:
        visitor = self._desk.visitor(cookie) if cookie else None
        if visitor is None:
            raise HTTPException(401, NO_LINK)
        if not visitor.is_organiser:
            raise HTTPException(403, "This page is for the organiser.")

    def _read(self, cookie: str) -> Records:
        self._check(cookie)
        return Records(
            change=self._desk.last_change(),
            ballots=self._desk.ballots(),
            raters=self._desk.raters(),
            comments=self._desk.comments(),
        )


def _plots(standing: Standing) -> Mapping[str, tuple[float, float, float]]:
    """Where each interval and its rating lie on a common line; none where the votes cannot tell."""
    known = {team.name: (team.interval, team.bradley_terry) for team in standing.teams if team.interval}
    low = min((interval.low for interval, _ in known.values()), default=0.0)
    high = max((interval.high for interval, _ in known.values()), default=0.0)

    def place(points: float) -> float:
        return round(8 + (_PLOT_WIDTH - 16) * (min(max(points, low), high) - low) / ((high - low) or 1), 1)

    return {
        name: (place(interval.low), place(rating), place(interval.high)) for name, (interval, rating) in known.items()
    }


def _moment(seconds: float | None) -> str:
    return "–" if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")
