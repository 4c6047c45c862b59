"""The application: the handler of every address, and the page for a refused request."""

import sys
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from podium.arena.desk import Desk
from podium.arena.web.assets import static
from podium.arena.web.organiser_pages import OrganiserPages
from podium.arena.web.rater_pages import RaterPages
from podium.arena.web.security import SecureHeaders
from podium.arena.web.site import Site, WithoutPrefix
from podium.arena.web.threads import DeskThreads
from podium.errors import PodiumError

_TITLED_AS = {405: 404, 415: 400}


class Crashes:
    """Unexpected errors are logged and answered here; otherwise they would close the connection of the next vote."""

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


def make_app(desk: Desk) -> ASGIApp:
    """The server's pages for one arena. The caller closes the desk."""
    threads, site = DeskThreads(), Site(desk)
    rater, organiser = RaterPages(desk, site, threads), OrganiserPages(desk, site, threads)

    async def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        status, sentence = error.status_code, error.detail
        cookie = site.cookie(request)
        visitor = await threads.ask(lambda: desk.visitor(cookie)) if cookie else None
        if visitor is None and status in (404, 405):
            status, sentence = 401, "no_link"  # who has no link learns not even which addresses exist
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
        """The store could not do it, on a full disk for example: no vote was answered with success."""
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
            Route("/language", rater.language, methods=["POST"]),
            Route("/picture/{key}/{name}", rater.picture),
            Route("/organiser", organiser.overview),
            Route("/organiser/invite", organiser.invite, methods=["POST"]),
            Route("/organiser/revoke", organiser.revoke, methods=["POST"]),
            Route("/organiser/close", organiser.close_arena, methods=["POST"]),
            Route("/organiser/votes.csv", organiser.votes),
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
