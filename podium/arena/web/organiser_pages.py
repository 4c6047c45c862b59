"""The organiser's pages: ratings, what is missing, how the raters voted, and the exports."""

import asyncio
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from podium.arena.desk import Desk, Visitor
from podium.arena.raters.invitations import Guest, Invitation, invite, revoke
from podium.arena.ratings.result import ArenaResult, result_to_json
from podium.arena.ratings.standing import TITLES
from podium.arena.store.cleaning import clean_name
from podium.arena.store.closing import close_arena
from podium.arena.store.export import votes_csv
from podium.arena.store.records import VoteRecord, remarks, standing_ballots, votes
from podium.arena.web.figures import FiguresBeside, OrganiserFigures
from podium.arena.web.languages import LANGUAGES, words_of
from podium.arena.web.security import check_csrf, check_origin, csrf_token, form_fields
from podium.arena.web.site import Site
from podium.arena.web.threads import DeskReply, DeskThreads
from podium.errors import UsageError

_PLOT_WIDTH = 200.0
START_SECONDS = 3.0
MOST_COMMENTS = 200  # the newest; all of them are in the exports


class OrganiserPages:
    """Handlers of the organiser's requests."""

    def __init__(self, desk: Desk, site: Site, threads: DeskThreads) -> None:
        self._desk, self._site = desk, site
        self._threads = threads
        self._timer: asyncio.TimerHandle | None = None
        self._known: tuple[int, list[VoteRecord]] = -1, []
        self._figures = FiguresBeside(desk.methods, desk.settings, desk.notes)

    def start(self) -> None:
        """Compute the figures soon, before anybody asks: the first page after a restart must not take long. Raters who
        wait for the server come first."""
        self._figures.start()
        self._timer = asyncio.get_running_loop().call_later(START_SECONDS, self._prepare)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._figures.close()

    def _prepare(self) -> None:
        self._preparing = asyncio.create_task(self._compute())

    async def _compute(self) -> tuple[OrganiserFigures, list[VoteRecord], bool]:
        change, cast = await self._threads.ask(self._cast)
        is_closed = await self._threads.ask(self._desk.is_closed)
        return await self._figures.of(standing_ballots(cast), change=change, closed=is_closed), cast, is_closed

    async def overview(self, request: Request) -> Response:
        return await self._overview(request, await self._ask(request, lambda visitor: visitor))

    async def _overview(
        self, request: Request, organiser: Visitor, *, invitation: Invitation | None = None, refusal: str = ""
    ) -> Response:
        """`invitation` shows its link, this once."""
        computed, lines = await asyncio.gather(self._compute(), self._threads.ask(self._desk.raters))
        figures, cast, is_closed = computed
        comments = remarks(cast)
        by_name = {one.rater: one for one in figures.raters}
        return self._site.page(
            "organiser",
            request,
            visitor=organiser,
            status=400 if refusal else 200,
            csrf=csrf_token(organiser),
            invitation=invitation,
            refusal=refusal,
            is_closed=is_closed,
            languages={code: words_of(code)("name") for code in LANGUAGES},
            settings=self._desk.settings,
            result=figures.result,
            decided_by=TITLES[figures.result.decided_by],
            plots=_plots(figures.result),
            raters=[(line, by_name.get(line.name)) for line in lines],
            comments=comments[-MOST_COMMENTS:],
            comments_left_out=max(0, len(comments) - MOST_COMMENTS),
            cases=len(self._desk.cases),
            now=datetime.now(UTC),
            moment=_moment,
        )

    async def invite(self, request: Request) -> Response:
        organiser, fields = await self._posted(request)
        language = fields.get("language", "")
        if language and language not in LANGUAGES:
            raise HTTPException(400, "unreadable_form")
        guest = Guest(name=fields.get("name", ""), email=clean_name(fields.get("email", "")), language=language)
        return await self._changed(request, organiser, lambda: invite(self._desk.store, self._desk.settings, guest))

    async def revoke(self, request: Request) -> Response:
        organiser, fields = await self._posted(request)
        return await self._changed(request, organiser, lambda: revoke(self._desk.store, fields.get("name", "")))

    async def close_arena(self, request: Request) -> Response:
        """For good, so the form asks for a tick beside the button."""
        organiser, fields = await self._posted(request)
        if fields.get("sure") != "yes":
            return await self._overview(request, organiser, refusal="Tick the box to close the arena.")
        return await self._changed(request, organiser, lambda: close_arena(self._desk.store))

    async def _changed(
        self, request: Request, organiser: Visitor, change: Callable[[], Invitation | str | None]
    ) -> Response:
        """The page after a change, with the sentence of one that was refused. Only a link must not be lost by a
        redirect: everything else is shown by a new request, which reloading does not send again."""
        try:
            done = await self._threads.ask(change)
        except UsageError as error:
            return await self._overview(request, organiser, refusal=str(error))
        if isinstance(done, Invitation):
            return await self._overview(request, organiser, invitation=done)
        return self._site.redirect("/organiser")

    async def votes(self, request: Request) -> Response:
        table = await self._ask(request, lambda _: votes_csv(votes(self._desk.store)))
        return _download(table, "votes.csv", "text/csv; charset=utf-8")

    async def result(self, request: Request) -> Response:
        await self._ask(request, lambda visitor: visitor)
        figures, _, _ = await self._compute()
        return _download(result_to_json(figures.result), "arena.json", "application/json")

    def _cast(self) -> tuple[int, list[VoteRecord]]:
        """Every vote, read again only after a change. The number of the last change comes first: what is cast in
        between is counted, and counted again next time."""
        change = self._desk.last_change()
        if self._known[0] != change:
            self._known = change, votes(self._desk.store)
        return self._known

    async def _posted(self, request: Request) -> tuple[Visitor, dict[str, str]]:
        """The organiser and the fields of a form; every error is reported before anything changes."""
        organiser = await self._ask(request, lambda visitor: visitor)
        check_origin(request, url=self._site.url)
        fields = await form_fields(request)
        check_csrf(organiser, fields.get("csrf", ""))
        return organiser, fields

    async def _ask(self, request: Request, question: Callable[[Visitor], DeskReply]) -> DeskReply:
        """Of the organiser alone."""
        cookie = self._site.cookie(request)

        def answer() -> DeskReply:
            visitor = self._desk.visitor(cookie) if cookie else None
            if visitor is None:
                raise HTTPException(401, "no_link")
            if not visitor.is_organiser:
                raise HTTPException(403, "for_organiser")
            return question(visitor)

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
    return "–" if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d\n%H:%M")
