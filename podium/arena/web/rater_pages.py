"""The rater's pages: welcome, one matchup after another, the end. Nothing here knows a method's name."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import get_args
from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from podium.arena.desk import Desk, Matchup, Picture, RaterProgress, Visitor
from podium.arena.raters.invitations import speak
from podium.arena.ratings.ballots import Answer
from podium.arena.store.cleaning import LONGEST_COMMENT
from podium.arena.web.languages import LANGUAGES, words_of
from podium.arena.web.security import check_csrf, check_origin, csrf_token, form_fields
from podium.arena.web.site import Site
from podium.arena.web.threads import DeskThreads

_NOTICES = ("answered", "undone", "kept")
_KEYS = {"left": 1, "right": 2, "both-good": 3, "both-bad": 4, "cannot-judge": 0}


@dataclass(frozen=True, kw_only=True)
class ShownPicture:
    """A picture, and for volumes the slice on show and the links that show its neighbours without JavaScript."""

    picture: Picture
    number: int
    field: str
    slice: int
    steps: Mapping[str, str]
    others: Mapping[str, int]


@dataclass(frozen=True)
class Situation:
    """Where a rater stands."""

    visitor: Visitor
    matchup: Matchup | None
    progress: RaterProgress
    is_closed: bool


class RaterPages:
    """Handlers of a rater's requests. The desk blocks, so each request asks it in one go in a worker thread."""

    def __init__(self, desk: Desk, site: Site, threads: DeskThreads) -> None:
        self._desk, self._site = desk, site
        self._ask = threads.ask

    async def enter(self, request: Request) -> Response:
        """Exchange a link's token for a cookie. A page, no redirect: after a click in webmail, a cross-site
        navigation, a Strict cookie would not travel along a redirect."""

        def knock(token: str) -> tuple[str, Visitor, RaterProgress, bool] | None:
            cookie = self._desk.enter(token)
            visitor = cookie and self._desk.visitor(cookie)
            if not cookie or not visitor:
                return None
            return cookie, visitor, self._desk.progress(visitor.id), self._desk.is_closed()

        entered = await self._ask(lambda: knock(request.path_params["token"]))
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
            instructions=paragraphs(self._desk.settings.instructions),
            languages={code: words_of(code)("name") for code in LANGUAGES},
            csrf=csrf_token(visitor),
        )

    async def language(self, request: Request) -> Response:
        """The rater's choice, and the welcome page in it."""
        visitor, fields = await self._posted(request)
        if fields.get("language") not in LANGUAGES:
            raise HTTPException(400, "unreadable_form")

        def keep() -> tuple[Visitor, RaterProgress]:
            speak(self._desk.store, visitor.id, fields["language"])
            return replace(visitor, language=fields["language"]), self._desk.progress(visitor.id)

        return self._welcome(request, *await self._ask(keep))

    async def current(self, request: Request) -> Response:
        cookie = self._site.cookie(request)
        situation = await self._ask(lambda: self._situation(cookie))
        matchup, notice = situation.matchup, request.query_params.get("notice", "")
        return self._site.page(
            "matchup" if matchup and not situation.is_closed else "thanks",
            request,
            visitor=situation.visitor,
            is_closed=situation.is_closed,
            matchup=matchup,
            pictures=_shown(matchup.pictures, request.query_params, self._site.prefix) if matchup else [],
            progress=situation.progress,
            csrf=csrf_token(situation.visitor),
            notice=f"notice_{notice}" if notice in _NOTICES else None,
            longest_comment=LONGEST_COMMENT,
            reasons=self._desk.settings.reasons,
            presets=self._desk.settings.window_presets,
            keys=_KEYS,
        )

    async def vote(self, request: Request) -> Response:
        visitor, fields = await self._posted(request)
        answer = _answer(fields.get("answer", ""))
        reasons = _reasons(fields, self._desk.settings.reasons)
        comment = fields.get("comment", "").replace("\r\n", "\n").strip()
        if len(comment) > LONGEST_COMMENT:
            raise HTTPException(400, "long_comment")

        def cast() -> str:
            return self._desk.cast(
                visitor.id, matchup=fields.get("matchup", ""), answer=answer, comment=comment, reasons=reasons
            )

        outcome = await self._ask(cast)
        if outcome == "refused":
            raise HTTPException(404, "not_yours")
        return self._back("answered" if outcome == "already" else None)

    async def undo(self, request: Request) -> Response:
        visitor, fields = await self._posted(request)
        undone = await self._ask(lambda: self._desk.undo(visitor.id, matchup=fields.get("matchup", "")))
        return self._back("undone" if undone else "kept")

    def _back(self, notice: str | None) -> Response:
        """To the matchup that is next."""
        return self._site.redirect(f"/?notice={notice}" if notice else "/")

    async def picture(self, request: Request) -> Response:
        key, name = request.path_params["key"], request.path_params["name"]
        cookie = self._site.cookie(request)

        def look() -> bytes:
            rater = self._rater(cookie)
            path = self._desk.picture_file(key, name) if self._desk.may_see(rater.id, key) else None
            if path is None:
                raise HTTPException(404)
            return path.read_bytes()

        content = await self._ask(look)
        headers = {"Cache-Control": "private, max-age=31536000, immutable"}
        if name.endswith(".gz"):
            headers |= {"Content-Type": "application/octet-stream", "Content-Encoding": "gzip"}
        else:
            headers["Content-Type"] = "image/png"
        return Response(content, headers=headers)

    def _rater(self, cookie: str) -> Visitor:
        visitor = self._desk.visitor(cookie) if cookie else None
        if visitor is None:
            raise HTTPException(401, "no_link")
        if visitor.is_organiser:
            raise HTTPException(403, "for_raters")
        return visitor

    def _situation(self, cookie: str) -> Situation:
        rater = self._rater(cookie)
        closed = self._desk.is_closed()
        return Situation(rater, self._desk.current(rater.id), self._desk.progress(rater.id), closed)

    async def _posted(self, request: Request) -> tuple[Visitor, dict[str, str]]:
        """The sender of a form and its fields; every error is reported before anything changes."""
        cookie = self._site.cookie(request)
        visitor = await self._ask(lambda: self._rater(cookie))
        check_origin(request, url=self._site.url)
        fields = await form_fields(request)
        check_csrf(visitor, fields.get("csrf", ""))
        return visitor, fields


def paragraphs(text: str) -> list[str]:
    """Of plain text: blank lines lie between them."""
    return [part.strip() for part in re.split(r"\n\s*\n", text) if part.strip()]


def _answer(text: str) -> Answer:
    for answer in get_args(Answer):
        if text == answer:
            return answer  # type: ignore[no-any-return]  # get_args has forgotten the literals
    raise HTTPException(400, "bad_answer")


def _reasons(fields: Mapping[str, str], known: Sequence[str]) -> list[str]:
    """The tags that are ticked, in the organiser's order. Fields are numbered, so that each may come once only."""
    ticked = {value for name, value in fields.items() if name.startswith("reason")}
    if not ticked <= set(known):
        raise HTTPException(400, "bad_reason")
    return [reason for reason in known if reason in ticked]


def _shown(pictures: tuple[Picture, ...], query: Mapping[str, str], prefix: str) -> list[ShownPicture]:
    """Each volume with the slice, and each mesh with the view, that `?slice=`, `?slice2=` ... ask for, counted from 1;
    else the one in the middle."""
    fields: dict[int, str] = {}
    for place, picture in enumerate(pictures):
        if picture.is_volume or picture.is_mesh:
            fields[place] = f"slice{len(fields) + 1}" if fields else "slice"
    slices = {place: _wanted(query.get(field, ""), pictures[place].slices) for place, field in fields.items()}
    chosen = {fields[place]: slices[place] for place in fields if fields[place] in query}

    def show(place: int, picture: Picture) -> ShownPicture:
        field, now = fields.get(place, ""), slices.get(place, 1)
        targets = {"back_10": now - 10, "previous": now - 1, "next": now + 1, "on_10": now + 10}
        steps = {
            words: f"{prefix}/?" + urlencode({**chosen, field: target})
            for words, target in targets.items()
            if 1 <= target <= picture.slices
        }
        others = {name: value for name, value in chosen.items() if name != field}
        return ShownPicture(picture=picture, number=place + 1, field=field, slice=now, steps=steps, others=others)

    return [show(place, picture) for place, picture in enumerate(pictures)]


def _wanted(text: str, slices: int) -> int:
    asked = int(text) if text.isdecimal() and len(text) < 6 else (slices + 1) // 2
    return min(max(asked, 1), slices)
