"""What all pages of one arena share: the path below which it is shown, its cookie, and the visitor's language."""

from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from podium.arena.desk import Desk, Visitor
from podium.arena.settings import url_prefix
from podium.arena.web.assets import render
from podium.arena.web.languages import ENGLISH, choose

_COOKIE_SECONDS = 60 * 24 * 3600  # an arena lasts weeks, and a tablet closes its browser every night


class Site:
    """One arena as a place on the web."""

    def __init__(self, desk: Desk) -> None:
        self.url = desk.settings.url
        self.prefix = url_prefix(desk.settings)
        self._cookie_name = f"arena_{desk.id}"  # two arenas on one host keep their own sessions

    def cookie(self, request: Request) -> str:
        return request.cookies.get(self._cookie_name, "")

    def set_cookie(self, response: Response, cookie: str, request: Request) -> None:
        response.set_cookie(
            self._cookie_name,
            cookie,
            max_age=_COOKIE_SECONDS,
            path=self.prefix or "/",
            secure=request.url.scheme == "https" or self.url.startswith("https:"),
            httponly=True,
            samesite="strict",
        )

    def page(
        self, template: str, request: Request, *, visitor: Visitor | None, status: int = 200, **content: Any
    ) -> HTMLResponse:
        """A page in the visitor's language, the organiser's in English; whatever is put into it is escaped."""
        wanted = "" if visitor is None else ENGLISH if visitor.is_organiser else visitor.language
        words = choose(wanted, request.headers.get("accept-language", ""))
        html = render(template, base=self.prefix, words=words, visitor=visitor, status=status, **content)
        return HTMLResponse(html, status)

    def redirect(self, path: str) -> Response:
        """By an address without a host: the Host header is whatever the sender wrote."""
        return RedirectResponse(f"{self.prefix}{path}", 303)


class WithoutPrefix:
    """Accepts addresses with the prefix and without: some reverse proxies take it away, some leave it."""

    def __init__(self, app: ASGIApp, prefix: str) -> None:
        self._app, self._prefix = app, prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and self._prefix and f"{scope['path']}/".startswith(f"{self._prefix}/"):
            scope = {**scope, "path": scope["path"][len(self._prefix) :] or "/"}
        await self._app(scope, receive, send)
