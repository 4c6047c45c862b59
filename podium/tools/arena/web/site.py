"""What all pages of an arena share: templates and static files, the visitor's language, the arena's address and cookie,
worker threads, and the protection against other sites and oversized requests."""

import asyncio
import gzip
import hashlib
import hmac
import json
import math
import re
import time
from collections import Counter, defaultdict, deque
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

from jinja2 import Environment
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from podium.tools.arena.raters import Visitor
from podium.tools.arena.store import OpenArena
from podium.tools.arena.web.viewer import LIBRARY
from podium.tools.report.page import template_environment

ENGLISH = "en"
LANGUAGES = ("en", "it", "de", "fr", "es", "zh")
Reply = TypeVar("Reply")

_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
SECONDS_TO_SEND = 10.0  # for the headers of a request and for its body
_COOKIE_SECONDS = 60 * 24 * 3600  # an arena lasts weeks, and a tablet closes its browser every night
_LONGEST_BODY = 32 * 1024  # a comment of 2,000 Chinese characters takes 18,000 bytes
_MOST_FIELDS = 16
_PIECE = 1 << 14  # bytes of a static file at once; a client that does not read keeps a few of them in memory
_MOST_PER_ADDRESS = 200  # requests in progress
_MOST_IN_PROGRESS = 800
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

# Templates and static files, read from the package once.


def render(template: str, **content: Any) -> str:
    """A page's source; whatever is put into it is escaped."""
    return _environment().get_template(f"{template}.html.jinja").render(**content)


async def static(request: Request) -> Response:
    """A file of the package. These are public, so that the page that asks for a link can be styled too. Their addresses
    change with their content."""
    name = request.path_params["name"]
    if name not in _static():
        raise HTTPException(404)
    headers = {"Cache-Control": "public, max-age=31536000, immutable", "Vary": "Accept-Encoding"}
    content = _static()[name]
    if "gzip" in request.headers.get("accept-encoding", ""):
        content, headers["Content-Encoding"] = await asyncio.to_thread(_packed, name), "gzip"
    headers["Content-Length"] = str(len(content))
    return StreamingResponse(_pieces(content), media_type=_TYPES[name.rpartition(".")[2]], headers=headers)


async def _pieces(content: bytes) -> AsyncIterator[bytes]:
    """A whole answer would be copied for every client that does not read it."""
    for start in range(0, len(content), _PIECE):
        yield content[start : start + _PIECE]


@cache
def _packed(name: str) -> bytes:
    """NiiVue has 3.1 MB, and 0.9 MB packed."""
    return gzip.compress(_static()[name], 9, mtime=0)


@cache
def _static() -> dict[str, bytes]:
    folder = files("podium.tools.arena.web").joinpath("static")
    found = {file.name: file.read_bytes() for file in folder.iterdir() if file.name.rpartition(".")[2] in _TYPES}
    if LIBRARY.is_file():
        found[LIBRARY.name] = LIBRARY.read_bytes()
    return found


@cache
def _environment() -> Environment:
    environment = template_environment("podium.tools.arena.web")
    environment.globals["static"] = cache(
        lambda name: f"static/{name}?{hashlib.sha256(_static()[name]).hexdigest()[:12]}"
    )
    environment.globals["library"] = LIBRARY.name if LIBRARY.name in _static() else None
    return environment


# The texts of the rater's pages, one JSON file per language with the same keys.


class Words:
    """The texts of one language. In a template: `words("progress", done=3, total=6)`."""

    def __init__(self, code: str) -> None:
        self.code = code
        self._texts: dict[str, str] = json.loads(
            files("podium.tools.arena.web").joinpath(f"languages/{code}.json").read_text("utf-8")
        )

    def __call__(self, key: str, **values: object) -> str:
        return self._texts[key].format(**values)

    def or_same(self, text: str) -> str:
        """The translation of `text`, or `text` itself, which may be the organiser's own wording."""
        return self._texts.get(text, text)


words_of = cache(Words)


def choose(wanted: str, accepted: str) -> Words:
    """The rater's own language, else the first supported one of the header Accept-Language, else English."""
    if wanted in LANGUAGES:
        return words_of(wanted)
    weighted = []
    for place, item in enumerate(accepted.split(",")[:20]):
        found = re.fullmatch(r"\s*([A-Za-z]{2,3})(?:-[\w-]*)?\s*(?:;\s*q\s*=\s*([01](?:\.[0-9]{0,3})?))?\s*", item)
        if found and found[1].lower() in LANGUAGES:
            weighted.append((-float(found[2] or 1), place, found[1].lower()))
    return words_of(min(weighted)[2] if weighted else ENGLISH)


# The arena's address, its cookie and its pages.


class Site:
    """One arena as a web site."""

    def __init__(self, arena: OpenArena) -> None:
        self.url = arena.settings.url
        self.prefix = urlsplit(self.url).path.rstrip("/")  # "/odin" for https://host/odin/, "" for https://host
        self._cookie_name = f"arena_{arena.id}"  # two arenas on one host keep their own sessions

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
        """To an address without a host, since the sender chooses the Host header."""
        return RedirectResponse(f"{self.prefix}{path}", 303)


class WithoutPrefix:
    """Accepts addresses with and without the prefix, which only some reverse proxies remove."""

    def __init__(self, app: ASGIApp, prefix: str) -> None:
        self._app, self._prefix = app, prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and self._prefix and f"{scope['path']}/".startswith(f"{self._prefix}/"):
            scope = {**scope, "path": scope["path"][len(self._prefix) :] or "/"}
        await self._app(scope, receive, send)


class StoreThreads:
    """Calls to the store block, so they are made in a few threads that live as long as the server. The store keeps one
    connection per thread: short-lived threads would leave more and more connections open."""

    def __init__(self, threads: int = 16) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="store")

    async def ask(self, question: Callable[[], Reply]) -> Reply:
        return await asyncio.get_running_loop().run_in_executor(self._threads, question)

    def close(self) -> None:
        """Wait for calls in progress: a vote is either on disk or was not answered."""
        self._threads.shutdown(wait=True)


# Protection of the web server: headers, rates, forged forms, limits on request bodies. Errors are keys of languages/.


class PerMinute:
    """Refuses with 429 what a person of the arena does more than `most` times within 60 seconds."""

    def __init__(self, most: int, sentence: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._sentence, self._clock = sentence, clock
        self._moments: defaultdict[int, deque[float]] = defaultdict(lambda: deque([-math.inf] * most, most))

    def count(self, person: int) -> None:
        moments, now = self._moments[person], self._clock()
        if now < moments[0] + 60:
            raise HTTPException(429, self._sentence, {"Retry-After": str(math.ceil(moments[0] + 60 - now))})
        moments.append(now)


class LimitedRequests:
    """Answers 503 beyond 200 requests in progress from one address, or 800 in all: slow clients need no link.

    A request counts until its answer begins: a client that does not read it would keep others out. Behind a reverse
    proxy, all requests come from its address.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._in_progress: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        address = scope["client"][0] if scope["client"] else ""
        if self._in_progress[address] >= _MOST_PER_ADDRESS or self._in_progress.total() >= _MOST_IN_PROGRESS:
            busy = PlainTextResponse("The server is busy.", 503, {"Connection": "close", "Retry-After": "10"})
            return await busy(scope, receive, send)
        self._in_progress[address] += 1
        with ExitStack() as counted:
            counted.callback(self._release, address)

            async def send_uncounted(message: Message) -> None:
                counted.close()
                await send(message)

            return await self._app(scope, receive, send_uncounted)

    def _release(self, address: str) -> None:
        self._in_progress[address] -= 1
        self._in_progress += Counter()  # forgets addresses without requests


class SecureHeaders:
    """The outermost layer: every response has the headers, including error pages."""

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
    """What a visitor's forms include. It depends on the link and not on the session, so forms in older tabs stay valid,
    with what was written into them, when the link is opened again or the server restarts."""
    return hmac.new(visitor.link.encode(), b"podium arena form", hashlib.sha256).hexdigest()


async def checked_form(request: Request, visitor: Visitor, *, url: str) -> dict[str, str]:
    """The fields of a form that the visitor sent from this site; every error is raised before anything changes."""
    # A browser says what another site has sent. Our own forms send `Origin: null`, because of no-referrer.
    site, origin = request.headers.get("sec-fetch-site", "none"), request.headers.get("origin", "null")
    ours = {urlsplit(url).netloc.lower(), request.headers.get("host", "").lower()}
    if site not in ("same-origin", "none") or (origin != "null" and urlsplit(origin).netloc.lower() not in ours):
        raise HTTPException(403, "other_site")
    fields = await _form_fields(request)
    if not hmac.compare_digest(csrf_token(visitor).encode(), fields.get("csrf", "").encode()):
        raise HTTPException(403, "old_form")
    return fields


async def _form_fields(request: Request) -> dict[str, str]:
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
    """Read no further than the limit, whatever length the header declares, and no longer than 10 seconds."""
    body = b""
    declared = request.headers.get("content-length", "0")
    if declared.isdecimal() and int(declared) <= _LONGEST_BODY:
        try:
            async with asyncio.timeout(SECONDS_TO_SEND):
                async for chunk in request.stream():
                    body += chunk
                    if len(body) > _LONGEST_BODY:
                        break
                else:
                    return body
        except TimeoutError:
            raise ClientDisconnect from None
    raise HTTPException(413, "too_long")
