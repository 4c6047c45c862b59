"""The pages: the rater's, which never name a method, and the organiser's with their figures."""

import asyncio
import os
import re
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import get_args
from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from podium.errors import UsageError
from podium.tools.arena import raters, voting
from podium.tools.arena.agreement import RaterFigures, rater_figures
from podium.tools.arena.archive import votes_csv
from podium.tools.arena.raters import Guest, Invitation, Visitor
from podium.tools.arena.settings import ArenaSettings
from podium.tools.arena.standing import TITLES, ArenaResult, RatingPoint, arena_result, rating_course
from podium.tools.arena.store import (
    LONGEST_COMMENT,
    Ballot,
    OpenArena,
    Picture,
    Store,
    VoteAnswer,
    VoteRecord,
    clean_name,
    close_arena,
    last_change,
    read_raters,
    read_reports,
    read_votes,
    standing_ballots,
)
from podium.tools.arena.voting import Matchup, RaterProgress
from podium.tools.arena.web.site import LANGUAGES, PerMinute, Site, StoreThreads, checked_form, csrf_token, words_of
from podium.tools.ranking.result import json_text

_NOTICES = ("answered", "undone", "kept", "skipped", "stays")
_KEYS = {"left": 1, "right": 2, "both-good": 3, "both-bad": 4, "cannot-judge": 0}
_PLOT_WIDTH = 200.0
START_SECONDS = 3.0
MOST_VOTES = 200  # shown at once; all of them are in the exports


def _admitted(arena: OpenArena, cookie: str, *, organiser: bool | None = None) -> Visitor:
    """The owner of a session, who must be the organiser or a rater; None admits both."""
    visitor = raters.find_visitor(arena.store, cookie) if cookie else None
    if visitor is None:
        raise HTTPException(401, "no_link")
    if organiser is not None and visitor.is_organiser != organiser:
        raise HTTPException(403, "for_organiser" if organiser else "for_raters")
    return visitor


# The rater's pages: welcome, one matchup after another, the end.


class RaterPages:
    """Handlers of a rater's requests. The store blocks, so each request asks it in one go in a worker thread."""

    def __init__(self, arena: OpenArena, site: Site, threads: StoreThreads) -> None:
        self._arena, self._site = arena, site
        self._ask = threads.ask
        self._votes = PerMinute(arena.settings.votes_per_minute, "too_many_votes")
        self._openings = PerMinute(raters.MOST_SESSIONS, "too_many_openings")

    async def enter(self, request: Request) -> Response:
        """Exchange a link's token for a cookie. The response is a page, not a redirect: after a click in webmail (a
        cross-site navigation), a browser would not send a Strict cookie along with a redirect."""

        def open_session(token: str) -> tuple[str, Visitor, RaterProgress, bool] | None:
            cookie = raters.open_session(self._arena.store, token, self._openings.count)
            visitor = cookie and raters.find_visitor(self._arena.store, cookie)
            if not cookie or not visitor:
                return None
            progress = voting.progress(self._arena.store, visitor.id)
            return cookie, visitor, progress, self._arena.is_closed()

        entered = await self._ask(lambda: open_session(request.path_params["token"]))
        if entered is None:
            raise HTTPException(401, "unknown_link")
        cookie, visitor, progress, is_closed = entered
        if is_closed and not visitor.is_organiser:
            response: Response = self._site.page(
                "thanks", request, visitor=visitor, progress=progress, is_closed=True, notice=None
            )
        else:
            response = self._welcome(request, visitor, progress)
        self._site.set_cookie(response, cookie, request)
        return response

    def _welcome(self, request: Request, visitor: Visitor, progress: RaterProgress) -> Response:
        return self._site.page(
            "welcome",
            request,
            visitor=visitor,
            progress=progress,
            instructions=paragraphs(self._arena.settings.instructions),
            languages={code: words_of(code)("name") for code in LANGUAGES},
            csrf=csrf_token(visitor),
        )

    async def language(self, request: Request) -> Response:
        """The rater's choice, and the welcome page in it."""
        visitor, fields = await self._posted(request)
        if fields.get("language") not in LANGUAGES:
            raise HTTPException(400, "unreadable_form")

        def keep() -> tuple[Visitor, RaterProgress]:
            raters.set_language(self._arena.store, visitor.id, fields["language"])
            progress = voting.progress(self._arena.store, visitor.id)
            return replace(visitor, language=fields["language"]), progress

        return self._welcome(request, *await self._ask(keep))

    async def current(self, request: Request) -> Response:
        cookie, notice = self._site.cookie(request), request.query_params.get("notice", "")

        def look() -> tuple[Visitor, bool, Matchup | None, RaterProgress]:
            rater = _admitted(self._arena, cookie, organiser=False)
            progress = voting.progress(self._arena.store, rater.id)
            return rater, self._arena.is_closed(), voting.next_matchup(self._arena, rater.id), progress

        visitor, is_closed, matchup, progress = await self._ask(look)
        return self._site.page(
            "matchup" if matchup and not is_closed else "thanks",
            request,
            visitor=visitor,
            is_closed=is_closed,
            matchup=matchup,
            pictures=_shown(matchup.pictures, request.query_params, self._site.prefix) if matchup else [],
            upcoming=[
                f"{self._site.prefix}/picture/{picture.key}/{name}"
                for picture in (matchup.following if matchup else None) or ()
                for name in picture.files_shown()
            ],
            progress=progress,
            csrf=csrf_token(visitor),
            notice=f"notice_{notice}" if notice in _NOTICES else None,
            longest_comment=LONGEST_COMMENT,
            instructions=paragraphs(self._arena.settings.instructions),
            reasons=self._arena.settings.reasons,
            presets=self._arena.settings.window_presets,
            keys=_KEYS,
        )

    async def vote(self, request: Request) -> Response:
        visitor, fields = await self._posted(request)
        answer = next((each for each in get_args(VoteAnswer) if each == fields.get("answer")), None)
        if answer is None:
            raise HTTPException(400, "bad_answer")
        ticked = {value for name, value in fields.items() if name.startswith("reason")}  # numbered: each may come once
        reasons = [reason for reason in self._arena.settings.reasons if reason in ticked]
        if not ticked <= set(reasons):
            raise HTTPException(400, "bad_reason")
        comment = fields.get("comment", "").replace("\r\n", "\n").strip()
        if len(comment) > LONGEST_COMMENT:
            raise HTTPException(400, "long_comment")

        matchup = fields.get("matchup", "")
        outcome = await self._ask(
            lambda: voting.cast(
                self._arena.store, visitor.id, matchup=matchup, answer=answer, comment=comment, reasons=reasons
            )
        )
        if outcome == "refused":
            raise HTTPException(404, "not_yours")
        return self._back({"already": "answered", "skipped": "skipped"}.get(outcome))

    async def undo(self, request: Request) -> Response:
        return self._back("undone" if await self._replaced(request, voting.undo) else "kept")

    async def skip(self, request: Request) -> Response:
        return self._back("skipped" if await self._replaced(request, voting.skip) else "stays")

    async def _replaced(self, request: Request, replace_matchup: Callable[[Store, int, str], bool]) -> bool:
        visitor, fields = await self._posted(request)
        return await self._ask(lambda: replace_matchup(self._arena.store, visitor.id, fields.get("matchup", "")))

    def _back(self, notice: str | None) -> Response:
        """To the next matchup."""
        return self._site.redirect(f"/?notice={notice}" if notice else "/")

    async def picture(self, request: Request) -> Response:
        key, name = request.path_params["key"], request.path_params["name"]
        cookie = self._site.cookie(request)

        def look() -> Path:
            visitor = _admitted(self._arena, cookie)
            may_see = visitor.is_organiser or self._arena.may_see(visitor.id, key)
            path = self._arena.picture_file(key, name) if may_see else None
            if path is None:
                raise HTTPException(404)
            return path

        path = await self._ask(look)
        headers = {"Cache-Control": "private, max-age=31536000, immutable"}
        if name.endswith(".gz"):
            headers |= {"Content-Type": "application/octet-stream", "Content-Encoding": "gzip"}
        else:
            headers["Content-Type"] = "image/png"
        return FileResponse(path, headers=headers)

    async def _posted(self, request: Request) -> tuple[Visitor, dict[str, str]]:
        """The sender of a form, and its fields."""
        cookie = self._site.cookie(request)
        visitor = await self._ask(lambda: _admitted(self._arena, cookie, organiser=False))
        self._votes.count(visitor.id)
        return visitor, await checked_form(request, visitor, url=self._site.url)


def paragraphs(text: str) -> list[str]:
    """The paragraphs of plain text, which blank lines separate."""
    return [part.strip() for part in re.split(r"\n\s*\n", text) if part.strip()]


def _shown(pictures: tuple[Picture, ...], query: Mapping[str, str], prefix: str) -> list[dict[str, object]]:
    """Each volume with the slice, and each mesh with the view, that `?slice=`, `?slice2=` ... ask for, counted from 1;
    else the one in the middle. `steps` are links to its neighbours, for browsers without JavaScript."""
    fields: dict[int, str] = {}
    for place, picture in enumerate(pictures):
        if picture.is_volume or picture.is_mesh:
            fields[place] = f"slice{len(fields) + 1}" if fields else "slice"
    slices = {place: _wanted(query.get(field, ""), pictures[place]) for place, field in fields.items()}
    chosen = {fields[place]: slices[place] for place in fields if fields[place] in query}

    def show(place: int, picture: Picture) -> dict[str, object]:
        field, now = fields.get(place, ""), slices.get(place, 1)
        targets = {"back_10": now - 10, "previous": now - 1, "next": now + 1, "on_10": now + 10}
        steps = {
            words: f"{prefix}/?" + urlencode({**chosen, field: target})
            for words, target in targets.items()
            if 1 <= target <= picture.slices
        }
        others = {name: value for name, value in chosen.items() if name != field}
        return {"picture": picture, "number": place + 1, "field": field, "slice": now, "steps": steps, "others": others}

    return [show(place, picture) for place, picture in enumerate(pictures)]


def _wanted(text: str, picture: Picture) -> int:
    """A mesh opens from the front, which is half a turn from its first view."""
    middle = picture.slices // 2 + 1 if picture.is_mesh else (picture.slices + 1) // 2
    asked = int(text) if text.isdecimal() and len(text) < 6 else middle
    return min(max(asked, 1), picture.slices)


# The organiser's figures, computed in a separate process: thousands of replicates must not keep a rater waiting.


@dataclass(frozen=True, kw_only=True)
class OrganiserFigures:
    """`result` is what arena.json would say now; `course` is how its ratings got there."""

    result: ArenaResult
    raters: tuple[RaterFigures, ...]
    course: list[RatingPoint]


def compute(
    ballots: Sequence[Ballot], closed: bool, methods: Sequence[str], settings: ArenaSettings, notes: Sequence[str]
) -> OrganiserFigures:
    return OrganiserFigures(
        result=arena_result(ballots, methods, settings, notes=notes, by="elo-averaged", closed=closed),
        raters=rater_figures(ballots, methods),
        course=rating_course(ballots, methods),
    )


class FiguresProcess:
    """A process that computes the figures, one request at a time; they are kept until something changes."""

    def __init__(self, methods: Sequence[str], settings: ArenaSettings, notes: Sequence[str]) -> None:
        self._given = methods, settings, notes
        self._process: ProcessPoolExecutor | None = None
        self._turn = asyncio.Lock()
        self._known: tuple[int, OrganiserFigures] | None = None

    async def of(self, ballots: Sequence[Ballot], *, change: int, closed: bool) -> OrganiserFigures:
        """`change` is the number of the last change of the arena when the ballots were read, or before."""
        async with self._turn:
            if self._known is None or self._known[0] != change:
                try:
                    figures = await asyncio.get_running_loop().run_in_executor(
                        self.start(), compute, ballots, closed, *self._given
                    )
                except BrokenProcessPool:
                    self._process = None  # it was killed; the next request starts another
                    raise
                self._known = change, figures
            return self._known[1]

    def start(self) -> ProcessPoolExecutor:
        """Start the process unless it runs: starting takes longer than computing."""
        if self._process is None:
            self._process = ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=_lower_priority)
            self._process.submit(int)  # the first work starts the process
        return self._process

    def close(self) -> None:
        if self._process is not None:
            self._process.shutdown(cancel_futures=True)


def _end_with_the_server() -> None:
    """End this process when the server has ended, which may be killed without notice."""
    server = parent_process()
    assert server is not None
    server.join()
    os._exit(1)


def _lower_priority() -> None:
    """Give raters priority; the server handles Ctrl-C and ends this process."""
    os.nice(10)
    threading.Thread(target=_end_with_the_server, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)


# The organiser's pages: ratings, the stop rule, how the raters voted, and the exports.


class OrganiserPages:
    """Handlers of the organiser's requests."""

    def __init__(self, arena: OpenArena, site: Site, threads: StoreThreads) -> None:
        self._arena, self._site = arena, site
        self._threads = threads
        self._timer: asyncio.TimerHandle | None = None
        self._known: tuple[int, list[VoteRecord]] = -1, []
        self._figures = FiguresProcess(arena.methods, arena.settings, arena.notes)

    def start(self) -> None:
        """Compute the figures before the first request, so that the page is fast after a restart. Raters who wait for
        the server come first."""
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
        is_closed = await self._threads.ask(self._arena.is_closed)
        return await self._figures.of(standing_ballots(cast), change=change, closed=is_closed), cast, is_closed

    async def overview(self, request: Request) -> Response:
        return await self._overview(request, await self._organiser(request))

    async def _overview(
        self, request: Request, organiser: Visitor, *, invitation: Invitation | None = None, refusal: str = ""
    ) -> Response:
        """`invitation` is a new one, whose link is shown only here."""
        invited = self._threads.ask(lambda: read_raters(self._arena.store))
        (figures, cast, is_closed), lines = await asyncio.gather(self._compute(), invited)
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
            settings=self._arena.settings,
            result=figures.result,
            decided_by=TITLES[figures.result.decided_by],
            plots=_plots(figures.result),
            raters=[(line, by_name.get(line.name)) for line in lines],
            course=figures.course,
            days=sorted(_by_day(standing_ballots(cast)).items()),
            cases=len(self._arena.cases),
            now=datetime.now(UTC),
            moment=_moment,
        )

    async def votes(self, request: Request) -> Response:
        """Every vote, newest first, and the pictures and reports of a case; the query names what to show."""
        organiser = await self._organiser(request)
        _, cast = await self._threads.ask(self._cast)
        wanted = {name: request.query_params.get(name, "") for name in ("case", "method", "rater", "with")}
        found = [
            vote
            for vote in reversed(cast)
            if wanted["case"] in ("", vote.ballot.case)
            and wanted["method"] in ("", vote.ballot.left, vote.ballot.right)
            and wanted["rater"] in ("", vote.ballot.rater)
            and (not wanted["with"] or vote.comment or vote.reasons)
        ]
        number = self._arena.cases.index(wanted["case"]) if wanted["case"] in self._arena.cases else None
        reports = await self._threads.ask(lambda: read_reports(self._arena.store)) if number is not None else {}
        return self._site.page(
            "votes",
            request,
            visitor=organiser,
            wanted=wanted,
            votes=found[:MOST_VOTES],
            total=len(found),
            counts=Counter(ballot.case for ballot in standing_ballots(cast)),
            cases=self._arena.cases,
            methods=self._arena.methods,
            raters=[line.name for line in await self._threads.ask(lambda: read_raters(self._arena.store))],
            pictures=self._arena.pictures[number] if number is not None else (),
            reports={method: text for (method, case), text in reports.items() if case == wanted["case"]},
            moment=_moment,
        )

    async def invite(self, request: Request) -> Response:
        organiser, fields = await self._posted(request)
        language = fields.get("language", "")
        if language and language not in LANGUAGES:
            raise HTTPException(400, "unreadable_form")
        guest = Guest(name=fields.get("name", ""), email=clean_name(fields.get("email", "")), language=language)
        return await self._changed(
            request, organiser, lambda: raters.invite(self._arena.store, self._arena.settings, guest)
        )

    async def revoke(self, request: Request) -> Response:
        organiser, fields = await self._posted(request)
        return await self._changed(request, organiser, lambda: raters.revoke(self._arena.store, fields.get("name", "")))

    async def close_arena(self, request: Request) -> Response:
        """This cannot be undone, so the form also asks for a tick."""
        organiser, fields = await self._posted(request)
        if fields.get("sure") != "yes":
            return await self._overview(request, organiser, refusal="Tick the box to close the arena.")
        return await self._changed(request, organiser, lambda: close_arena(self._arena.store))

    async def _changed(
        self, request: Request, organiser: Visitor, change: Callable[[], Invitation | str | None]
    ) -> Response:
        """The page after a change, or with the reason why it was refused. A new link is shown at once, since a redirect
        would lose it; after all other changes the page is redirected to, so that reloading does not repeat them."""
        try:
            done = await self._threads.ask(change)
        except UsageError as error:
            return await self._overview(request, organiser, refusal=str(error))
        if isinstance(done, Invitation):
            return await self._overview(request, organiser, invitation=done)
        return self._site.redirect("/organiser")

    async def votes_csv(self, request: Request) -> Response:
        await self._organiser(request)
        table = await self._threads.ask(lambda: votes_csv(read_votes(self._arena.store)))
        return _download(table, "votes.csv", "text/csv; charset=utf-8")

    async def result(self, request: Request) -> Response:
        await self._organiser(request)
        figures, _, _ = await self._compute()
        return _download(json_text(figures.result, indent=2), "arena.json", "application/json")

    def _cast(self) -> tuple[int, list[VoteRecord]]:
        """The number of the last change and every vote, read again only after a change. The number is read first: votes
        that are cast in between are included, and read again next time."""
        change = last_change(self._arena.store)
        if self._known[0] != change:
            self._known = change, read_votes(self._arena.store)
        return self._known

    async def _posted(self, request: Request) -> tuple[Visitor, dict[str, str]]:
        """The organiser, and the fields of a form."""
        organiser = await self._organiser(request)
        return organiser, await checked_form(request, organiser, url=self._site.url)

    async def _organiser(self, request: Request) -> Visitor:
        """The organiser, who alone may send the request."""
        cookie = self._site.cookie(request)
        return await self._threads.ask(lambda: _admitted(self._arena, cookie, organiser=True))


def _by_day(ballots: Iterable[Ballot]) -> Counter[str]:
    """Votes per day; per hour where there is only one day."""
    moments = [datetime.fromtimestamp(ballot.cast_at, UTC).strftime("%Y-%m-%d %H:00") for ballot in ballots]
    days = Counter(moment[:10] for moment in moments)
    return days if len(days) > 1 else Counter(moments)


def _download(content: str, name: str, media_type: str) -> Response:
    headers = {"Content-Type": media_type, "Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, headers=headers)


def _plots(result: ArenaResult) -> Mapping[str, tuple[float, float, float]]:
    """The positions of each interval and its rating on a common axis; none for an unknown interval."""
    known = {team.name: (team.interval, team.bradley_terry) for team in result.teams if team.interval}
    low = min((interval[0] for interval, _ in known.values()), default=0.0)
    high = max((interval[1] for interval, _ in known.values()), default=0.0)

    def place(points: float) -> float:
        return round(8 + (_PLOT_WIDTH - 16) * (min(max(points, low), high) - low) / ((high - low) or 1), 1)

    return {name: (place(begin), place(rating), place(end)) for name, ((begin, end), rating) in known.items()}


def _moment(seconds: float | None) -> str:
    return "–" if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d\n%H:%M")
