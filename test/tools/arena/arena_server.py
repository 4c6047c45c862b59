"""A real server on a loopback port, and visitors who do what the pages offer."""

import asyncio
import re
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import hypercorn.asyncio
from tools.arena.arena_folders import MadeArena, make_arena

from podium.tools.arena.store import OpenArena
from podium.tools.arena.web.app import listen, make_app, server_config

# Reading the trusted certificates for each client takes longer than a test.
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


@contextmanager
def running(made: MadeArena) -> Iterator["Running"]:
    """A server for the arena."""
    opened, listener, stop = OpenArena(made.folder), listen("127.0.0.1", 0), threading.Event()

    async def stopped() -> None:
        while not stop.is_set():
            await asyncio.sleep(0.005)

    visited = Running(made, f"http://127.0.0.1:{listener.getsockname()[1]}")
    server = hypercorn.asyncio.serve(make_app(opened), server_config(listener), shutdown_trigger=stopped)
    thread = threading.Thread(target=asyncio.run, args=(server,))
    thread.start()
    try:
        yield visited
    finally:
        for guest in visited.guests:
            guest.client.close()
        stop.set()
        thread.join()
        opened.close()


@contextmanager
def visited(folder: Path, **options: Any) -> Iterator["Guest"]:
    """The rater Anna at the server of a new arena."""
    with running(make_arena(folder, **options)) as server:
        yield server.rater()


def hidden_fields(page: str, action: str) -> dict[str, str]:
    """Those of a form on a page."""
    found = re.search(f'action="{action}">(.*?)</form>', page, re.DOTALL)
    assert found, f"no form for {action}"
    fields = re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', found[1])
    return {name: unescape(value) for name, value in fields}


class Guest:
    """A browser without JavaScript: it keeps cookies, follows no redirect, and sends the forms it is shown."""

    def __init__(self, address: str) -> None:
        self.client = httpx.Client(base_url=address, timeout=180, verify=NO_TLS)

    def page(self, path: str = "/") -> str:
        response = self.client.get(path)
        assert response.status_code == 200, response.text
        return response.text

    def form(self, action: str, page: str | None = None) -> dict[str, str]:
        """The hidden fields of the form on a page (the current one unless given)."""
        return hidden_fields(page or self.page(), action)

    def vote(self, answer: str = "left", comment: str = "", page: str | None = None) -> httpx.Response:
        return self.client.post("/vote", data={**self.form("/vote", page), "answer": answer, "comment": comment})

    def undo(self, page: str | None = None) -> httpx.Response:
        return self.client.post("/undo", data=self.form("/undo", page))

    def skip(self, page: str | None = None) -> httpx.Response:
        return self.client.post("/skip", data=self.form("/skip", page))


class Running:
    """Where the server of an arena is, and who visits it."""

    def __init__(self, made: MadeArena, address: str) -> None:
        self.made, self.address = made, address
        self.guests: list[Guest] = []

    def rater(self, name: str = "Anna") -> Guest:
        return self.guest(self.made.tokens[name])

    def organiser(self) -> Guest:
        return self.guest(self.made.organiser)

    def guest(self, token: str | None = None) -> Guest:
        """Somebody who has opened the link with `token`; a stranger without."""
        guest = Guest(self.address)
        self.guests.append(guest)
        if token is not None:
            assert guest.client.get(f"/enter/{token}").status_code == 200
        return guest
