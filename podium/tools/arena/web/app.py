"""The web server: the handler of every address, the pages for refused and failed requests, and `podium arena serve`."""

import asyncio
import logging
import resource
import socket
import ssl
import sys
import traceback
from asyncio import TimerHandle, Transport
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import h11
import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from podium.errors import PodiumError, UsageError
from podium.tools.arena import raters
from podium.tools.arena.store import OpenArena
from podium.tools.arena.web.pages import OrganiserPages, RaterPages
from podium.tools.arena.web.site import SecureHeaders, Site, StoreThreads, WithoutPrefix, static

_TITLED_AS = {405: 404, 415: 400, 429: 503}
_GRACE_SECONDS = 5  # for answers in progress when the server is stopped
_SECONDS_TO_SEND = 10.0
_MOST_CONNECTIONS = 800
_MOST_OF_ONE_ADDRESS = 200  # a proxy has one address for all raters
_LINES_PER_MINUTE = 30


class Crashes:
    """Logs and answers unexpected errors, which would otherwise close the connection that the next vote uses."""

    def __init__(self, app: ASGIApp, site: Site) -> None:
        self._app, self._site = app, site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        except Exception:
            traceback.print_exc()
            answer = self._site.page(
                "refusal", Request(scope), visitor=None, status=500, title="title_500", sentence="crash", home="/"
            )
            await answer(scope, receive, send)


def make_app(arena: OpenArena) -> ASGIApp:
    """The server's pages for one arena, which the caller closes."""
    threads, site = StoreThreads(), Site(arena)
    rater, organiser = RaterPages(arena, site, threads), OrganiserPages(arena, site, threads)

    async def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        status, sentence = error.status_code, error.detail
        cookie = site.cookie(request)
        visitor = await threads.ask(lambda: raters.find_visitor(arena.store, cookie)) if cookie else None
        if visitor is None and status in (404, 405):
            status, sentence = 401, "no_link"  # without a link, not even the existing addresses become known
        elif status in (404, 405) and sentence in ("Not Found", "Method Not Allowed"):
            sentence = "nothing_here"
        home = "/organiser" if visitor and visitor.is_organiser else "/"
        title = f"title_{_TITLED_AS.get(status, status)}"
        response = site.page(
            "refusal", request, visitor=visitor, status=status, title=title, sentence=sentence, home=home
        )
        response.headers.update(error.headers or {} if status == error.status_code else {})
        return response

    async def failed(request: Request, error: Exception) -> Response:
        """The store failed, for example on a full disk: no vote was confirmed."""
        detail = error.detail if isinstance(error, PodiumError) else None
        print(f"A request failed: {error}", *filter(None, [detail]), file=sys.stderr, flush=True)
        sentence = "unavailable_unsaved" if request.method == "POST" else "unavailable"
        return site.page("refusal", request, visitor=None, status=503, title="title_503", sentence=sentence, home="/")

    async def gone(_request: Request, _error: Exception) -> Response:
        return Response(status_code=400)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        organiser.start()
        yield
        organiser.close()
        threads.close()

    app = Starlette(
        routes=[
            Route("/", rater.current),
            Route("/enter/{token}", rater.enter),
            Route("/vote", rater.vote, methods=["POST"]),
            Route("/undo", rater.undo, methods=["POST"]),
            Route("/skip", rater.skip, methods=["POST"]),
            Route("/language", rater.language, methods=["POST"]),
            Route("/picture/{key}/{name}", rater.picture),
            Route("/organiser", organiser.overview),
            Route("/organiser/invite", organiser.invite, methods=["POST"]),
            Route("/organiser/revoke", organiser.revoke, methods=["POST"]),
            Route("/organiser/close", organiser.close_arena, methods=["POST"]),
            Route("/organiser/votes", organiser.votes),
            Route("/organiser/votes.csv", organiser.votes_csv),
            Route("/organiser/arena.json", organiser.result),
            Route("/static/{name}", static),
        ],
        exception_handlers={
            HTTPException: refused,
            PodiumError: failed,
            ClientDisconnect: gone,
        },
        middleware=[Middleware(Crashes, site=site)],
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False  # it would redirect to whatever Host header was sent
    return SecureHeaders(WithoutPrefix(app, site.prefix))


# Slow requests, as of an attacker without a link: each would hold a descriptor, and without any left nobody could vote.


class GuardedConnection(H11Protocol):
    """A connection whose requests must arrive within 10 seconds."""

    _timer: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect_more()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state in (h11.IDLE, h11.SEND_BODY):
            self._expect_more()
        else:
            self._expect_nothing()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._expect_nothing()

    def _expect_more(self) -> None:
        """From the first byte of a request on; more bytes give no more time."""
        if self._timer is None:
            self._timer = self.loop.call_later(_SECONDS_TO_SEND, self.transport.abort)

    def _expect_nothing(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class GuardedLoop(asyncio.SelectorEventLoop):
    """An event loop whose servers wait 10 seconds for a TLS handshake, not 60."""

    async def create_server(self, *given: Any, **options: Any) -> asyncio.Server:
        timeout = _SECONDS_TO_SEND if options.get("ssl") else None
        return await super().create_server(*given, **options, ssl_handshake_timeout=timeout)


class GuardedListener(socket.socket):
    """Limits the connections, in all and per address. They are counted here since a TLS handshake comes before
    `GuardedConnection` is made."""

    def __init__(self, *given: int) -> None:
        super().__init__(*given)
        self._accepted: list[tuple[str, socket.socket]] = []

    def accept(self) -> tuple[socket.socket, Any]:
        connection, address = super().accept()
        still_open = [(host, each) for host, each in self._accepted if each.fileno() != -1]
        self._accepted = [*still_open, (address[0], connection)]
        of_address = sum(host == address[0] for host, _ in self._accepted)
        if of_address > _MOST_OF_ONE_ADDRESS or len(self._accepted) > _most_connections():
            connection.close()
            raise ConnectionAbortedError  # the event loop then waits for the next one
        return connection, address


def _most_connections() -> int:
    """Some descriptors are left for pictures and the database."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST_CONNECTIONS if limit == resource.RLIM_INFINITY else min(_MOST_CONNECTIONS, max(8, limit - 128))


class FewLines(logging.Filter):
    """Limits the lines that strangers can add to a log per minute; further ones are left out."""

    def __init__(self) -> None:
        super().__init__()
        self._minute, self._lines = -1, 0

    def filter(self, record: logging.LogRecord) -> bool:
        minute = int(record.created // 60)
        self._lines = self._lines + 1 if minute == self._minute else 1
        self._minute = minute
        return self._lines <= _LINES_PER_MINUTE


# `podium arena serve`: one process for raters and the organiser, until it is stopped.


def serve(folder: Path, *, host: str, port: int, certificate: Path | None = None, key: Path | None = None) -> None:
    """Serve the arena in `folder` until Ctrl-C or SIGTERM."""
    _check_certificate(certificate, key)
    with closing(OpenArena(folder)) as arena, _listen(host, port) as listener:
        if missing := arena.missing_pictures():
            raise UsageError(f"{folder} is missing {len(missing)} picture files, the first being {missing[0]}.")
        scheme = "https" if certificate else "http"
        place = f"{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"
        print(f"The arena listens on {scheme}://{place} (links point to {arena.settings.url}).")
        if not certificate and not _is_loopback(host):
            print("Links and votes are sent unencrypted: use --certificate and --key, or an HTTPS reverse proxy.")
        print("Press Ctrl-C to stop it; every confirmed vote is on disk.", flush=True)
        config = uvicorn.Config(
            make_app(arena),
            access_log=False,  # links carry tokens
            log_level="warning",
            server_header=False,
            proxy_headers=False,  # the client's address is not used
            http=GuardedConnection,
            loop=f"{__name__}:{GuardedLoop.__name__}",
            ws="none",
            lifespan="on",
            timeout_keep_alive=30,
            timeout_graceful_shutdown=_GRACE_SECONDS,
            ssl_certfile=certificate,
            ssl_keyfile=key,
        )
        few_lines = FewLines()
        for name in ("uvicorn.error", "asyncio"):
            logging.getLogger(name).addFilter(few_lines)
        # uvicorn raises the signal again after it has shut down.
        with suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listener])
        print("Stopped.", file=sys.stderr, flush=True)


def _listen(host: str, port: int) -> socket.socket:
    """Bind before anything else starts, so that a problem is reported clearly."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = GuardedListener(family, kind, protocol)
    except (OSError, OverflowError) as error:
        raise UsageError(f"{host} is not an address of this machine: {error}.") from None
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(2048)  # not in uvicorn, so that a port in use is noticed here
    except OSError as error:
        listener.close()
        raise UsageError(f"The arena cannot listen on {host}, port {port}: {error.strerror}. Is --port free?") from None
    return listener


def _check_certificate(certificate: Path | None, key: Path | None) -> None:
    if (certificate is None) != (key is None):
        raise UsageError("--certificate and --key must be given together.")
    if certificate is not None:
        try:
            ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(certificate, key)
        except OSError as error:  # ssl.SSLError is one
            reason = error.strerror or error
            raise UsageError(f"The certificate {certificate} with the key {key} cannot be used: {reason}.") from None


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
