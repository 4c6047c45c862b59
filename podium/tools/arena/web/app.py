"""The web server: the handler of every address, the pages for refused and failed requests, and `podium arena serve`."""

import asyncio
import logging
import resource
import socket
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from ipaddress import ip_address
from pathlib import Path
from typing import Any, cast

import hypercorn.asyncio
from hypercorn.config import Config
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from podium.errors import PodiumError, UsageError
from podium.tools.arena import raters
from podium.tools.arena.store import OpenArena
from podium.tools.arena.web.pages import OrganiserPages, RaterPages
from podium.tools.arena.web.site import (
    SECONDS_TO_SEND,
    LimitedRequests,
    SecureHeaders,
    Site,
    StoreThreads,
    WithoutPrefix,
    static,
)

_TITLED_AS = {405: 404, 415: 400, 429: 503}
_GRACE_SECONDS = 5  # for answers in progress when the server is stopped
_MOST_DESCRIPTORS = 4096
_BACKLOG = 2048  # connections that wait for a busy server: the kernel drops further ones, which try again for minutes


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
        if request.method == "POST":
            response.headers["Connection"] = "close"  # the server closes it where the form was not read to its end
        return response

    async def failed(request: Request, error: Exception) -> Response:
        """The store failed, for example on a full disk: no vote was confirmed."""
        detail = error.detail if isinstance(error, PodiumError) else None
        print(f"A request failed: {error}", *filter(None, [detail]), file=sys.stderr, flush=True)
        sentence = "unavailable_unsaved" if request.method == "POST" else "unavailable"
        return site.page("refusal", request, visitor=None, status=503, title="title_503", sentence=sentence, home="/")

    async def crashed(request: Request, _error: Exception) -> Response:
        """The server logs the error."""
        return site.page("refusal", request, visitor=None, status=500, title="title_500", sentence="crash", home="/")

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
        exception_handlers={HTTPException: refused, PodiumError: failed, ClientDisconnect: gone, Exception: crashed},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False  # it would redirect to whatever Host header was sent
    return SecureHeaders(LimitedRequests(WithoutPrefix(app, site.prefix)))


# `podium arena serve`: one process for raters and the organiser, until it is stopped.


def serve(folder: Path, *, host: str, port: int, certificate: Path | None = None, key: Path | None = None) -> None:
    """Serve the arena in `folder` until Ctrl-C or SIGTERM."""
    _check_certificate(certificate, key)
    with closing(OpenArena(folder)) as arena, listen(host, port) as listener:
        if missing := arena.missing_pictures():
            raise UsageError(f"{folder} is missing {len(missing)} picture files, the first being {missing[0]}.")
        scheme = "https" if certificate else "http"
        place = f"{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"
        print(f"The arena listens on {scheme}://{place} (links point to {arena.settings.url}).")
        if not certificate and not _is_loopback(host):
            print("Links and votes are sent unencrypted: use --certificate and --key, or an HTTPS reverse proxy.")
        print("Press Ctrl-C to stop it; every confirmed vote is on disk.", flush=True)
        _allow_many_connections()
        logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # strangers could fill the log with broken connections
        asyncio.run(hypercorn.asyncio.serve(cast(Any, make_app(arena)), server_config(listener, certificate, key)))
        print("Stopped.", file=sys.stderr, flush=True)


def server_config(listener: socket.socket, certificate: Path | None = None, key: Path | None = None) -> Config:
    """The limits against slow clients, who need no link: each would hold a descriptor, and memory.

    Headers must arrive within 10 seconds after a connection is idle; `site.checked_form` limits the time for the body,
    and `listen` the time for reading the answer.
    """
    config = Config()
    config.bind = [f"fd://{listener.detach()}"]  # the server owns it from here on
    config.keep_alive_timeout = config.ssl_handshake_timeout = SECONDS_TO_SEND
    config.graceful_timeout = _GRACE_SECONDS
    config.backlog = _BACKLOG
    config.alpn_protocols = ["http/1.1"]
    config.include_server_header = False
    config.loglevel = "WARNING"
    if certificate and key:
        config.certfile, config.keyfile = str(certificate), str(key)
    return config


def listen(host: str, port: int) -> socket.socket:
    """Bind before anything else starts, so that a problem is reported clearly."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
    except (OSError, OverflowError) as error:
        raise UsageError(f"{host} is not an address of this machine: {error}.") from None
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if sys.platform == "linux":  # inherited by the connections: a client that does not read its answer is dropped
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(1000 * SECONDS_TO_SEND))
        listener.bind(address)
        listener.listen(_BACKLOG)  # not in the server, so that a port in use is noticed here
    except OSError as error:
        listener.close()
        raise UsageError(f"The arena cannot listen on {host}, port {port}: {error.strerror}. Is --port free?") from None
    return listener


def _allow_many_connections() -> None:
    """Slow clients hold their descriptors for seconds: many more must fit than the usual limit of 1,024 allows."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (_MOST_DESCRIPTORS if hard < 0 else min(hard, _MOST_DESCRIPTORS), hard))


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
