"""The rater's pages: welcome, one matchup after another, the end. Nothing here knows a method's name."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args
from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from podium.arena.desk import Desk, Matchup, Picture, RaterProgress, Visitor
from podium.arena.ratings.ballots import Winner
from podium.arena.store.cleaning import LONGEST_COMMENT
from podium.arena.web.assets import page
from podium.arena.web.security import COOKIE, NO_LINK, check_csrf, check_origin, csrf_token, form_fields, set_session
from podium.arena.web.threads import DeskThreads

_UNKNOWN_LINK = "This link is not valid or has been revoked. Please ask the organiser for a new one."
_NOTICES = {
    "answered": "You have already answered this one; your first answer counts.",
    "undone": "Your last vote was undone. Here is the comparison again.",
    "kept": "This vote can no longer be undone.",
}


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


class RaterPages:
    """Handlers of a rater's requests. The desk blocks, so each request asks it in one go in a worker thread."""

    def __init__(self, desk: Desk, threads: DeskThreads) -> None:
        self._desk = desk
        self._ask = threads.ask

    async def enter(self, request: Request) -> Response:
        """Exchange a link's token for a cookie. A page, no redirect: after a click in webmail, a cross-site
        navigation, a Strict cookie would not travel along a redirect."""

        def knock(token: str) -> tuple[str, Visitor, RaterProgress] | None:
            cookie = self._desk.enter(token)
            visitor = cookie and self._desk.visitor(cookie)
            return (cookie, visitor, self._desk.progress(visitor.id)) if cookie and visitor else None

        entered = await self._ask(lambda: knock(request.path_params["token"]))
        if entered is None:
            raise HTTPException(401, _UNKNOWN_LINK)
        cookie, visitor, progress = entered
        response = page("welcome", visitor=visitor, progress=progress)
        secure = request.url.scheme == "https" or self._desk.settings.url.startswith("https:")
        set_session(response, cookie, secure=secure)
        return response

    async def current(self, request: Request) -> Response:
        cookie = request.cookies.get(COOKIE, "")
        situation = await self._ask(lambda: self._situation(cookie))
        matchup = situation.matchup
        return page(
            "matchup" if matchup else "thanks",
            visitor=situation.visitor,
            matchup=matchup,
            pictures=_shown(matchup.pictures, request.query_params) if matchup else [],
            progress=situation.progress,
            csrf=csrf_token(situation.visitor),
            notice=_NOTICES.get(request.query_params.get("notice", "")),
            longest_comment=LONGEST_COMMENT,
        )

    async def vote(self, request: Request) -> Response:
        visitor, fields = await self._posted(request)
        winner = _winner(fields.get("winner", ""))
        comment = fields.get("comment", "").replace("\r\n", "\n").strip()
        if len(comment) > LONGEST_COMMENT:
            raise HTTPException(400, f"A comment has at most {LONGEST_COMMENT} characters. Nothing was saved.")

        def cast() -> str:
            return self._desk.cast(visitor.id, matchup=fields.get("matchup", ""), winner=winner, comment=comment)

        outcome = await self._ask(cast)
        if outcome == "refused":
            raise HTTPException(404, "This matchup is not in your list. Nothing was saved.")
        return _back("answered" if outcome == "already" else None)

    async def undo(self, request: Request) -> Response:
        visitor, fields = await self._posted(request)
        undone = await self._ask(lambda: self._desk.undo(visitor.id, matchup=fields.get("matchup", "")))
        return _back("undone" if undone else "kept")

    async def picture(self, request: Request) -> Response:
        key, name = request.path_params["key"], request.path_params["name"]
        cookie = request.cookies.get(COOKIE, "")

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
            raise HTTPException(401, NO_LINK)
        if visitor.is_organiser:
            raise HTTPException(403, "This page is for raters. Yours is the organiser's page.")
        return visitor

    def _situation(self, cookie: str) -> Situation:
        rater = self._rater(cookie)
        return Situation(rater, self._desk.current(rater.id), self._desk.progress(rater.id))

    async def _posted(self, request: Request) -> tuple[Visitor, dict[str, str]]:
        """The sender of a form and its fields; every error is reported before anything changes."""
        cookie = request.cookies.get(COOKIE, "")
        visitor = await self._ask(lambda: self._rater(cookie))
        check_origin(request, url=self._desk.settings.url)
        fields = await form_fields(request)
        check_csrf(visitor, fields.get("csrf", ""))
        return visitor, fields


def _winner(text: str) -> Winner:
    for winner in get_args(Winner):
        if text == winner:
            return winner  # type: ignore[no-any-return]  # get_args has forgotten the literals
    raise HTTPException(400, "A vote is for A, for B, or a tie. Nothing was saved.")


def _back(notice: str | None) -> Response:
    """To the matchup that is next, by an address without a host: the Host header is whatever the sender wrote."""
    return RedirectResponse(f"/?notice={notice}" if notice else "/", 303)


def _shown(pictures: tuple[Picture, ...], query: Mapping[str, str]) -> list[ShownPicture]:
    """Each volume with the slice that `?slice=`, `?slice2=` ... ask for, counted from 1; else the one in the middle."""
    fields: dict[int, str] = {}
    for place, picture in enumerate(pictures):
        if picture.is_volume:
            fields[place] = f"slice{len(fields) + 1}" if fields else "slice"
    slices = {place: _wanted(query.get(field, ""), pictures[place].slices) for place, field in fields.items()}
    chosen = {fields[place]: slices[place] for place in fields if fields[place] in query}

    def show(place: int, picture: Picture) -> ShownPicture:
        field, now = fields.get(place, ""), slices.get(place, 1)
        targets = {"10 back": now - 10, "Previous": now - 1, "Next": now + 1, "10 on": now + 10}
        steps = {
            words: "/?" + urlencode({**chosen, field: target})
            for words, target in targets.items()
            if 1 <= target <= picture.slices
        }
        others = {name: value for name, value in chosen.items() if name != field}
        return ShownPicture(picture=picture, number=place + 1, field=field, slice=now, steps=steps, others=others)

    return [show(place, picture) for place, picture in enumerate(pictures)]


def _wanted(text: str, slices: int) -> int:
    asked = int(text) if text.isdecimal() and len(text) < 6 else (slices + 1) // 2
    return min(max(asked, 1), slices)
