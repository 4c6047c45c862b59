"""The organiser's pages: ratings, what is missing, how the raters voted, and the exports."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from podium.arena.desk import Desk
from podium.arena.ratings.ballots import Ballot
from podium.arena.ratings.result import ArenaResult, result_to_json
from podium.arena.ratings.standing import TITLES
from podium.arena.store.export import votes_csv
from podium.arena.store.records import votes
from podium.arena.web.assets import page
from podium.arena.web.figures import FiguresBeside
from podium.arena.web.security import COOKIE, NO_LINK
from podium.arena.web.threads import DeskReply, DeskThreads

_PLOT_WIDTH = 200.0


class OrganiserPages:
    """Handlers of the organiser's requests."""

    def __init__(self, desk: Desk, threads: DeskThreads) -> None:
        self._desk = desk
        self._threads = threads
        self._figures = FiguresBeside(desk.methods, desk.settings, desk.notes)

    def close(self) -> None:
        self._figures.close()

    async def overview(self, request: Request) -> Response:
        change, ballots = await self._ask(request, self._ballots)
        lines, comments = await self._ask(request, lambda: (self._desk.raters(), self._desk.comments()))
        figures = await self._figures.of(ballots, change=change)
        by_name = {one.rater: one for one in figures.raters}
        return page(
            "organiser",
            settings=self._desk.settings,
            result=figures.result,
            decided_by=TITLES[figures.result.decided_by],
            plots=_plots(figures.result),
            raters=[(line, by_name.get(line.name)) for line in lines],
            comments=comments,
            cases=len(self._desk.cases),
            now=datetime.now(UTC),
            moment=_moment,
        )

    async def votes(self, request: Request) -> Response:
        table = await self._ask(request, lambda: votes_csv(votes(self._desk.store)))
        return _download(table, "votes.csv", "text/csv; charset=utf-8")

    async def result(self, request: Request) -> Response:
        change, ballots = await self._ask(request, self._ballots)
        figures = await self._figures.of(ballots, change=change)
        return _download(result_to_json(figures.result), "arena.json", "application/json")

    def _ballots(self) -> tuple[int, list[Ballot]]:
        """The number of the last change first: what is cast in between is counted, and counted again next time."""
        return self._desk.last_change(), self._desk.ballots()

    async def _ask(self, request: Request, question: Callable[[], DeskReply]) -> DeskReply:
        """Of the organiser alone."""
        cookie = request.cookies.get(COOKIE, "")

        def answer() -> DeskReply:
            visitor = self._desk.visitor(cookie) if cookie else None
            if visitor is None:
                raise HTTPException(401, NO_LINK)
            if not visitor.is_organiser:
                raise HTTPException(403, "This page is for the organiser.")
            return question()

        return await self._threads.ask(answer)


def _download(content: str, name: str, media_type: str) -> Response:
    headers = {"Content-Type": media_type, "Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, headers=headers)


def _plots(result: ArenaResult) -> Mapping[str, tuple[float, float, float]]:
    """Where each interval and its rating lie on a common line; none where the votes cannot tell."""
    known = {team.name: (team.interval, team.bradley_terry) for team in result.teams if team.interval}
    low = min((interval.low for interval, _ in known.values()), default=0.0)
    high = max((interval.high for interval, _ in known.values()), default=0.0)

    def place(points: float) -> float:
        return round(8 + (_PLOT_WIDTH - 16) * (min(max(points, low), high) - low) / ((high - low) or 1), 1)

    return {
        name: (place(interval.low), place(rating), place(interval.high)) for name, (interval, rating) in known.items()
    }


def _moment(seconds: float | None) -> str:
    return "–" if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")
