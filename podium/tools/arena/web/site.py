"""What all pages of one arena share: the path below which it is shown, its cookie, and the visitor's language."""

import asyncio
import hashlib
import hmac
import json
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

from jinja2 import Environment
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from podium.tools.arena.desk import Desk
from podium.tools.arena.raters import Visitor
from podium.tools.arena.settings import url_prefix
from podium.tools.arena.web.viewer import LIBRARY
from podium.tools.report.page import template_environment

# Templates and static files, read from the package once.

_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


def render(template: str, **content: Any) -> str:
    """A page's source; whatever is put into it is escaped."""
    return _environment().get_template(f"{template}.html.jinja").render(**content)


async def static(request: Request) -> Response:
    """A file of the package. These are public, so that the page that asks for a link can be styled too."""
    name = request.path_params["name"]
    content = _static().get(name)
    if content is None:
        raise HTTPException(404)
    return Response(
        content,
        media_type=_TYPES[name.rpartition(".")[2]],
        headers={"Cache-Control": "public, max-age=31536000, immutable"},  # their addresses change with their content
    )


@cache
def _static() -> dict[str, bytes]:
    folder = files("podium.tools.arena.web").joinpath("static")
    found = {file.name: file.read_bytes() for file in folder.iterdir() if file.name.rpartition(".")[2] in _TYPES}
    if LIBRARY.is_file():
        found[LIBRARY.name] = LIBRARY.read_bytes()
    return found


@cache
def _static_address(name: str) -> str:
    return f"static/{name}?{hashlib.sha256(_static()[name]).hexdigest()[:12]}"


@cache
def _environment() -> Environment:
    environment = template_environment("podium.tools.arena.web")
    environment.globals["static"] = _static_address
    environment.globals["library"] = LIBRARY.name if LIBRARY.name in _static() else None
    return environment


# The words of the rater's pages, one JSON file per language with the same keys.

ENGLISH = "en"
LANGUAGES = ("en", "it", "de", "fr", "es", "zh")


class Words:
    """The words of one language. In a template: `words("progress", done=3, total=6)`."""

    def __init__(self, code: str) -> None:
        self.code = code
        self._texts: dict[str, str] = json.loads(
            files("podium.tools.arena.web").joinpath(f"languages/{code}.json").read_text("utf-8")
        )

    def __call__(self, key: str, **values: object) -> str:
        return self._texts[key].format(**values)

    def __contains__(self, key: str) -> bool:
        return key in self._texts

    def or_same(self, text: str) -> str:
        """The translation of what may be the organiser's own wording, which is shown as it is."""
        return self._texts.get(text, text)


@cache
def words_of(code: str) -> Words:
    return Words(code)


def choose(wanted: str, accepted: str) -> Words:
    """The rater's own language, else the first of the header Accept-Language that there is, else English."""
    if wanted in LANGUAGES:
        return words_of(wanted)
    weighted = []
    for place, item in enumerate(accepted.split(",")[:20]):
        found = re.fullmatch(r"\s*([A-Za-z]{2,3})(?:-[\w-]*)?\s*(?:;\s*q\s*=\s*([01](?:\.[0-9]{0,3})?))?\s*", item)
        if found and found[1].lower() in LANGUAGES:
            weighted.append((-float(found[2] or 1), place, found[1].lower()))
    return words_of(min(weighted)[2] if weighted else ENGLISH)


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


# The desk's calls block; they are made in a few threads that live as long as the server.

DeskReply = TypeVar("DeskReply")


class DeskThreads:
    """The store keeps one connection per thread, so short-lived threads would leave more and more connections open."""

    def __init__(self, threads: int = 16) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="desk")

    async def ask(self, question: Callable[[], DeskReply]) -> DeskReply:
        return await asyncio.get_running_loop().run_in_executor(self._threads, question)

    def close(self) -> None:
        """Wait for what was begun: a vote is either on disk or was not answered."""
        self._threads.shutdown(wait=True)


# Protection of the web server: headers, forged forms, limits on request bodies. Errors are keys of languages/.

_LONGEST_BODY = 32 * 1024  # a comment of 2,000 Chinese characters takes 18,000 bytes
_MOST_FIELDS = 16

_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; img-src 'self' data:; style-src 'self'; script-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",  # an invitation's address is its key
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class SecureHeaders:
    """The outermost layer: every response has the headers, pages of failures too."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(_HEADERS)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        await self._app(scope, receive, send_with_headers if scope["type"] == "http" else send)


def csrf_token(visitor: Visitor) -> str:
    """What a visitor's forms carry. Bound to the link and not to the session: a link that is opened again leaves forms
    in older tabs good, with what was written into them; and a restart changes nothing."""
    return hmac.new(visitor.link.encode(), b"podium arena form", hashlib.sha256).hexdigest()


def check_origin(request: Request, *, url: str) -> None:
    """Refuse what a browser says another site has sent. `Origin: null` is what our own forms send, by no-referrer."""
    site = request.headers.get("sec-fetch-site", "none")
    origin = request.headers.get("origin", "null")
    ours = {urlsplit(url).netloc.lower(), request.headers.get("host", "").lower()}
    if site not in ("same-origin", "none") or (origin != "null" and urlsplit(origin).netloc.lower() not in ours):
        raise HTTPException(403, "other_site")


def check_csrf(visitor: Visitor, token: str) -> None:
    if not hmac.compare_digest(csrf_token(visitor).encode(), token.encode()):
        raise HTTPException(403, "old_form")


async def form_fields(request: Request) -> dict[str, str]:
    """The fields of a urlencoded form of at most 32 KiB, each at most once."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/x-www-form-urlencoded":
        raise HTTPException(415, "only_forms")
    body = await _bounded_body(request)
    try:
        fields = parse_qs(
            body.decode("ascii"), keep_blank_values=True, strict_parsing=bool(body), errors="strict",
            max_num_fields=_MOST_FIELDS,
        )  # fmt: skip
    except ValueError:
        raise HTTPException(400, "unreadable_form") from None
    if any(len(values) > 1 for values in fields.values()):
        raise HTTPException(400, "field_twice")
    return {name: values[0] for name, values in fields.items()}


async def _bounded_body(request: Request) -> bytes:
    """Read no further than the bound, whatever length was announced."""
    body = b""
    announced = request.headers.get("content-length", "0")
    if announced.isdecimal() and int(announced) <= _LONGEST_BODY:
        async for chunk in request.stream():
            body += chunk
            if len(body) > _LONGEST_BODY:
                break
        else:
            return body
    raise HTTPException(413, "too_long")
