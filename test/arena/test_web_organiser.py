"""What the organiser can do in the page: invite, revoke, close."""

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from arena.arena_folders import MadeArena, make_arena
from arena.arena_server import Guest, Running, running

from podium.tools.arena.store import OpenArena, read_raters


@pytest.fixture
def open_arena(tmp_path: Path) -> Iterator[tuple[MadeArena, Running, Guest]]:
    made = make_arena(tmp_path)
    with running(tmp_path) as server:
        yield made, server, server.guest(made.organiser)


def send(organiser: Guest, action: str, **fields: str) -> tuple[int, str]:
    form = organiser.form(f"/organiser/{action}", organiser.page("/organiser"))
    response = organiser.client.post(f"/organiser/{action}", data={**form, **fields})
    return response.status_code, response.text


def test_the_organisers_pages_are_english_and_say_so(open_arena: tuple[MadeArena, Running, Guest]) -> None:
    made, _, organiser = open_arena
    organiser.client.headers["Accept-Language"] = "it"
    for path in (f"/enter/{made.organiser}", "/organiser"):
        page = organiser.page(path)
        assert '<html lang="en"' in page
        assert "Buongiorno" not in page


def test_a_link_made_in_the_page_opens(open_arena: tuple[MadeArena, Running, Guest]) -> None:
    _, server, organiser = open_arena
    status, page = send(organiser, "invite", name="Dr <Rossi>", email="r@x.example", language="it")
    assert status == 200
    assert "The link of Dr &lt;Rossi&gt;" in page
    found = re.search(r"/enter/([\w-]{43})</code>", page)
    assert found
    assert found[1] not in organiser.page("/organiser")  # shown only once
    assert "Buongiorno" in server.guest().page(f"/enter/{found[1]}")
    assert send(organiser, "invite", name=" ", email="", language="")[0] == 400
    assert send(organiser, "invite", name="x", email="", language="xx")[0] == 400


def test_revoking(open_arena: tuple[MadeArena, Running, Guest]) -> None:
    made, server, organiser = open_arena
    guest = server.guest(made.tokens["Anna"])
    assert send(organiser, "revoke", name="Anna")[0] == 303
    assert guest.client.get("/").status_code == 401
    status, page = send(organiser, "revoke", name="Anna")
    assert status == 400
    assert "The link of &#39;Anna&#39; is already revoked." in page


def test_closing_asks_twice(open_arena: tuple[MadeArena, Running, Guest]) -> None:
    made, _, organiser = open_arena
    status, page = send(organiser, "close")
    assert status == 400
    assert "Tick the box to close the arena." in page
    with closing(OpenArena(made.folder)) as opened:
        assert not opened.is_closed()
        assert send(organiser, "close", sure="yes")[0] == 303
        assert opened.is_closed()
    page = organiser.page("/organiser")
    assert "The arena is closed: no further vote counts." in page
    assert "<form" not in page


@pytest.mark.parametrize("action", ["invite", "revoke", "close"])
def test_only_the_organiser_with_his_own_form(open_arena: tuple[MadeArena, Running, Guest], action: str) -> None:
    made, server, organiser = open_arena
    fields = {"name": "Anna", "sure": "yes", "language": ""}
    assert organiser.client.post(f"/organiser/{action}", data=fields).status_code == 403
    form = organiser.form(f"/organiser/{action}", organiser.page("/organiser"))
    foreign = {"Origin": "https://evil.example"}
    sent = organiser.client.post(f"/organiser/{action}", data={**form, **fields}, headers=foreign)
    assert sent.status_code == 403
    rater = server.guest(made.tokens["Anna"])
    assert rater.client.post(f"/organiser/{action}", data={**form, **fields}).status_code == 403
    with closing(OpenArena(made.folder)) as opened:
        assert not opened.is_closed()
        assert [line.revoked for line in read_raters(opened.store)] == [False]
