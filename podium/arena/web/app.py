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
from podium.arena.web.assets import page, static
from podium.arena.web.organiser_pages import OrganiserPages
from podium.arena.web.rater_pages import RaterPages
from podium.arena.web.security import COOKIE, NO_LINK, SecureHeaders
from podium.arena.web.threads import DeskThreads
from podium.errors import PodiumError

_TITLES = {
    400: "This did not work",
    401: "A personal link is required",
    403: "Not allowed",
    404: "Not found",
    405: "Not found",
    413: "Too long",
    415: "This did not work",
}


class Crashes:
    """Unexpected errors are logged and answered here; otherwise they would close the connection of the next vote."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        except Exception:
            traceback.print_exc()
            sentence = "Something went wrong on the server. Please continue; if it happens again, tell the organiser."
            answer = page("refusal", status=500, title="Server error", sentence=sentence, home="/")
            await answer(scope, receive, send)


def make_app(desk: Desk) -> ASGIApp:
    """The server's pages for one arena. The caller closes the desk."""
    threads = DeskThreads()
    rater, organiser = RaterPages(desk, threads), OrganiserPages(desk, threads)

    async def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        status, sentence = error.status_code, error.detail
        cookie = request.cookies.get(COOKIE, "")
        visitor = await threads.ask(lambda: desk.visitor(cookie)) if cookie else None
        if visitor is None and status in (404, 405):
            status, sentence = 401, NO_LINK  # who has no link learns not even which addresses exist
        elif status in (404, 405) and sentence in ("Not Found", "Method Not Allowed"):
            sentence = "There is nothing at this address."
        home = "/organiser" if visitor and visitor.is_organiser else "/"
        title = _TITLES.get(status, "This did not work")
        response = page("refusal", status=status, title=title, sentence=sentence, home=home)
        response.headers.update(error.headers or {} if status == error.status_code else {})
        return response

    async def failed(request: Request, error: Exception) -> Response:
        """The store could not do it, on a full disk for example: no vote was answered with success."""
        detail = error.detail if isinstance(error, PodiumError) else None
        print(f"A request failed: {error}", *filter(None, [detail]), file=sys.stderr, flush=True)
        saved = "Your last answer was not saved: please" if request.method == "POST" else "Please"
        sentence = f"The server cannot access its database at the moment. {saved} try again shortly."
        return page("refusal", status=503, title="Please try again", sentence=sentence, home="/")

    async def gone(_request: Request, _error: Exception) -> Response:
        return Response(status_code=400)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        yield
        organiser.close()
        threads.close()

    app = Starlette(
        routes=[
            Route("/", rater.current),
            Route("/enter/{token}", rater.enter),
            Route("/vote", rater.vote, methods=["POST"]),
            Route("/undo", rater.undo, methods=["POST"]),
            Route("/picture/{key}/{name}", rater.picture),
            Route("/organiser", organiser.overview),
            Route("/organiser/votes.csv", organiser.votes),
            Route("/organiser/arena.json", organiser.result),
            Route("/static/{name}", static),
        ],
        exception_handlers={
            HTTPException: refused,
            PodiumError: failed,
            ClientDisconnect: gone,
        },
        middleware=[Middleware(Crashes)],
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False  # it would redirect to whatever Host header was sent
    return SecureHeaders(app)
