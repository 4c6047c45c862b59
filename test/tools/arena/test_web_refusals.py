"""What the server refuses, in which words, and that nothing changes by it."""

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from starlette.exceptions import HTTPException
from tools.arena.arena_folders import MadeArena, cast_answers, make_arena
from tools.arena.arena_server import NO_TLS, Running, running, visited

from podium.tools.arena.settings import ArenaSettings
from podium.tools.arena.store import OpenArena, Store
from podium.tools.arena.web.site import PerMinute

pytestmark = pytest.mark.slow

CSP = (
    "default-src 'none'; img-src 'self' data:; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": CSP,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
NO_LINK = "Please open the personal link from your invitation."
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def assert_refused(response: httpx.Response, status: int, sentence: str) -> None:
    assert response.status_code == status
    assert sentence in response.text


@pytest.fixture(scope="module")
def still(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """An arena in which nothing ever changes, since all that is asked of it is refused."""
    made = make_arena(tmp_path_factory.mktemp("still"), raters=("Anna", "Bo"))
    with running(made) as server:
        yield server
    assert cast_answers(made.folder) == []


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/vote",
        "/undo",
        "/organiser",
        "/organiser/votes.csv",
        "/organiser/arena.json",
        "/picture/00000000000000000000000000000000/0.png",
        "/nothing",
        "/static/nothing.css",
    ],
)
@pytest.mark.parametrize("cookie", [None, "wrong", "\xff"])
def test_without_a_session_everything_is_401(still: Running, path: str, cookie: str | None) -> None:
    with closing(OpenArena(still.made.folder)) as opened:
        name = f"arena_{opened.id}"
    headers = {"Cookie": f"{name}={cookie}".encode("latin-1")} if cookie else {}
    for method in ("GET", "POST"):
        response = httpx.request(method, still.address + path, headers=headers, verify=NO_TLS)
        assert response.status_code == 401
        assert NO_LINK in response.text


@pytest.mark.parametrize("token", ["wrong", "x" * 5000, "%00", "%F0%9F%98%80", "a%27%20OR%201=1"])
def test_a_wrong_link_is_401(still: Running, token: str) -> None:
    response = httpx.get(f"{still.address}/enter/{token}", verify=NO_TLS)
    assert_refused(response, 401, "This link is not valid or has been revoked. Please ask the organiser for a new one.")
    assert "set-cookie" not in response.headers


def test_raters_and_organiser_keep_to_their_own_pages(server: Running) -> None:
    anna, organiser = server.rater(), server.organiser()
    for path in ("/organiser", "/organiser/votes.csv", "/organiser/arena.json"):
        response = anna.client.get(path)
        assert_refused(response, 403, "This page is for the organiser.")
        assert "alpha" not in response.text
    page = anna.page()
    for response in (
        organiser.client.get("/"),
        organiser.vote("left", page=page),
        organiser.client.post("/undo", data={}),
    ):
        assert_refused(response, 403, "This page is for raters.")
        assert 'href="/organiser"' in response.text
    assert cast_answers(server.made.folder) == []


@pytest.mark.parametrize(
    ("change", "status", "sentence"),
    [
        ({"csrf": ""}, 403, "This form is from an earlier visit. Nothing was saved"),
        ({"csrf": "0" * 64}, 403, "This form is from an earlier visit. Nothing was saved"),
        ({"csrf": "é"}, 403, "This form is from an earlier visit. Nothing was saved"),
        ({"answer": "A"}, 400, "An answer must be one of the five buttons. Nothing was saved."),
        ({"answer": ""}, 400, "An answer must be one of the five buttons. Nothing was saved."),
        ({"answer": ["left", "right"]}, 400, "This form contains a field twice. Nothing was saved."),
        ({"matchup": "0" * 32}, 404, "This matchup is not in your list. Nothing was saved."),
        ({"matchup": ""}, 404, "This matchup is not in your list. Nothing was saved."),
        ({"comment": "x" * 2001}, 400, "A comment may have at most 2000 characters. Nothing was saved."),
        ({"comment": "x" * 40000}, 413, "This is too long. Nothing was saved: please shorten your comment."),
        ({str(n): "" for n in range(20)}, 400, "This form cannot be read. Nothing was saved."),
    ],
)
def test_a_wrong_vote_is_refused(still: Running, change: dict[str, str], status: int, sentence: str) -> None:
    guest = still.rater()
    response = guest.client.post("/vote", data={**guest.form("/vote"), "answer": "left", **change})
    assert_refused(response, status, sentence)
    assert cast_answers(still.made.folder) == []


UNREADABLE = (400, "This form cannot be read. Nothing was saved.")
NO_FORM = (415, "Only the forms of this site are accepted. Nothing was saved.")


@pytest.mark.parametrize(
    ("kind", "body", "refusal"),
    [
        *((FORM["Content-Type"], body, UNREADABLE) for body in (b"\xff=1", b"csrf=%ff", b"csrf", b"&&=&")),
        *(
            (kind, b"answer=left", NO_FORM)
            for kind in ("application/json", "multipart/form-data; boundary=x", "text/plain", "")
        ),
    ],
)
def test_what_is_no_readable_form_is_refused(still: Running, kind: str, body: bytes, refusal: tuple[int, str]) -> None:
    response = still.rater().client.post("/vote", content=body, headers={"Content-Type": kind})
    assert_refused(response, *refusal)


def test_a_body_without_a_length_is_read_no_further_than_allowed(server: Running) -> None:
    guest = server.rater()
    response = guest.client.post("/vote", content=(b"x" * 1000 for _ in range(40)), headers=FORM)
    assert response.status_code == 413
    fields = {**guest.form("/vote"), "answer": "both-good"}
    body = "&".join(f"{name}={value}" for name, value in fields.items()).encode()
    short = guest.client.post("/vote", content=iter([body[:20], body[20:]]), headers=FORM)
    assert short.status_code == 303


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
    ],
)
def test_what_another_site_sends_is_refused(server: Running, headers: dict[str, str]) -> None:
    guest = server.rater()
    response = guest.client.post("/vote", data={**guest.form("/vote"), "answer": "left"}, headers=headers)
    assert_refused(response, 403, "This was sent from another site. Nothing was saved.")
    assert cast_answers(server.made.folder) == []
    ours = [{"Origin": server.address}, {"Origin": "http://localhost:8000"}, {"Sec-Fetch-Site": "same-origin"}]
    for one in [*ours, {"Origin": "null", "Sec-Fetch-Site": "same-origin"}]:
        sent = guest.client.post("/vote", data={**guest.form("/vote"), "answer": "left"}, headers=one)
        assert sent.status_code == 303


def test_the_form_of_another_session_is_refused(server: Running) -> None:
    anna, bo = server.rater(), server.rater("Bo")
    page_of_bo = bo.page()
    assert anna.vote("left", page=page_of_bo).status_code == 403
    fields = {**bo.form("/vote", page_of_bo), "csrf": anna.form("/vote")["csrf"], "answer": "left"}
    stolen = anna.client.post("/vote", data=fields)
    assert_refused(stolen, 404, "This matchup is not in your list. Nothing was saved.")
    bo.vote("left", page=page_of_bo)
    undone = {**bo.form("/undo"), "csrf": anna.form("/vote")["csrf"]}
    assert anna.client.post("/undo", data=undone).headers["location"] == "/?notice=kept"
    assert len(cast_answers(server.made.folder)) == 1


def test_pictures_are_for_those_whose_cases_they_show(tmp_path: Path) -> None:
    made = make_arena(tmp_path, methods=("alpha", "beta"), settings=ArenaSettings(matchups_per_rater=1))
    keys = sorted(path.name for path in (tmp_path / "pictures").iterdir())
    with running(made) as server:
        guest, organiser = server.rater(), server.organiser()
        answers = {key: guest.client.get(f"/picture/{key}/0.png") for key in keys}
        assert sorted(response.status_code for response in answers.values()) == [200, 404, 404, 404]
        (mine,) = (key for key, response in answers.items() if response.status_code == 200)
        assert answers[mine].headers["content-type"] == "image/png"
        assert answers[mine].headers["cache-control"] == "private, max-age=31536000, immutable"
        assert answers[mine].content == (tmp_path / "pictures" / mine / "0.png").read_bytes()
        others = ("1.png", "..%2f..%2farena.sqlite", "0.png/", "", "0.png%00")
        for path in (*(f"{mine}/{other}" for other in others), "..%2farena.sqlite/0.png", "..%2f../arena.sqlite"):
            assert guest.client.get(f"/picture/{path}").status_code == 404, path
        assert {organiser.client.get(f"/picture/{key}/0.png").status_code for key in keys} == {200}  # who browses all
        assert httpx.get(f"{server.address}/picture/{mine}/0.png", verify=NO_TLS).status_code == 401


def test_a_volume_is_sent_compressed_as_it_lies_on_disk(tmp_path: Path) -> None:
    with visited(tmp_path, cases=("A1",), volumes=("A1",)) as guest:
        (key,) = (path.name for path in (tmp_path / "pictures").iterdir())
        response = guest.client.get(f"/picture/{key}/volume.u16.gz")
    assert response.headers["content-encoding"] == "gzip"
    assert response.headers["content-type"] == "application/octet-stream"
    assert len(response.content) == 12 * 48 * 32 * 2  # all slices, unpacked by the client


def test_the_scripts_are_sent_compressed(server: Running) -> None:
    packed, plain = (
        httpx.get(f"{server.address}/static/viewer.js", headers={"Accept-Encoding": each}, verify=NO_TLS)
        for each in ("gzip, br", "identity")
    )
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.headers["vary"] == "Accept-Encoding"
    assert int(packed.headers["content-length"]) < len(packed.content) / 2
    assert "content-encoding" not in plain.headers
    assert packed.content == plain.content


def test_every_answer_has_the_headers(server: Running) -> None:
    anna, organiser = server.rater(), server.organiser()
    pages = [
        anna.client.get(f"/enter/{server.made.tokens['Anna']}"),
        anna.client.get("/"),
        anna.vote("left"),
        anna.vote("up"),
        anna.client.get("/nothing"),
        anna.client.get("/vote"),
        anna.client.delete("/"),
        anna.client.head("/"),
        httpx.get(server.address),
        organiser.client.get("/organiser"),
        organiser.client.get("/organiser/votes.csv"),
    ]
    files = [anna.client.get(f"/static/{name}") for name in ("arena.css", "keys.js", "viewer.js", "icon.svg")]
    for response in pages + files:
        assert HEADERS.items() <= dict(response.headers).items()
        assert "server" not in response.headers
    assert {response.headers["cache-control"] for response in pages} == {"no-store"}
    assert {response.headers["cache-control"] for response in files} == {"public, max-age=31536000, immutable"}
    assert not [page for page in pages if re.search("style=|<style|onclick", page.text)]


def test_other_methods_and_addresses(server: Running) -> None:
    client = server.rater().client
    head, got = client.head("/"), client.get("/")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == got.headers["content-length"]
    assert client.get("/vote").status_code == 405
    assert client.get("/vote").headers["allow"] == "POST"
    assert client.request("BREW", "/").status_code == 405
    for path in ("/vote/", "/organiser/", "/static/", "/static/../app.py", "/static/%2e%2e%2fapp.py"):
        response = client.get(path, headers={"Host": "evil.example"})
        assert response.status_code == 404, path
        assert "There is nothing at this address." in response.text
        assert "location" not in response.headers
    redirect = client.post("/vote", data={}, headers={"Host": "evil.example"})
    assert "evil.example" not in f"{redirect.headers}{redirect.text}"


@pytest.mark.parametrize(("url", "is_secure"), [("http://localhost:8000", False), ("https://arena.example", True)])
def test_the_cookie(tmp_path: Path, url: str, is_secure: bool) -> None:
    made = make_arena(tmp_path, settings=ArenaSettings(matchups_per_rater=5, url=url))
    with running(made) as server:
        response = httpx.get(f"{server.address}/enter/{made.tokens['Anna']}")
    value, *attributes = response.headers["set-cookie"].split("; ")
    assert re.fullmatch("arena_[0-9a-f]{16}=.*", value)
    assert made.tokens["Anna"] not in value
    secure = {"Secure"} if is_secure else set()
    assert set(attributes) == {"HttpOnly", "Path=/", "SameSite=strict", "Max-Age=5184000"} | secure


def test_an_error_of_ours_is_said_and_no_vote_is_claimed(server: Running) -> None:
    guest = server.rater()
    page = guest.page()
    with closing(Store(server.made.folder)) as store, store.writing() as connection:
        connection.execute("CREATE TRIGGER stuck BEFORE INSERT ON votes BEGIN SELECT RAISE(FAIL, 'stuck'); END")
    response = guest.vote("left", page=page)
    assert_refused(response, 500, "Something went wrong on the server.")
    assert response.headers["content-security-policy"] == CSP
    assert "stuck" not in response.text
    assert cast_answers(server.made.folder) == []
    with closing(Store(server.made.folder)) as store, store.writing() as connection:
        connection.execute("DROP TRIGGER stuck")
    assert guest.vote("left", page=page).status_code == 303


def test_votes_skips_and_undos_per_minute_are_limited(tmp_path: Path) -> None:
    made = make_arena(tmp_path, raters=("Anna", "Bo"), settings=ArenaSettings(votes_per_minute=4))
    with running(made) as server:
        anna, bo = server.rater(), server.rater("Bo")
        sent = [anna.vote("left"), anna.vote("left"), anna.undo(), anna.skip()]
        assert {response.status_code for response in sent} == {303}
        for response in (anna.vote("right"), anna.undo(), anna.skip()):
            assert response.status_code == 429
            assert 1 <= int(response.headers["retry-after"]) <= 60
            assert "Too many answers within a minute. Nothing was saved: please wait a moment" in response.text
        assert bo.vote("left").status_code == 303  # each rater alone
    assert len(cast_answers(tmp_path)) == 2


def test_a_link_is_opened_twenty_times_a_minute_at_most_and_keeps_twenty_sessions(made: MadeArena) -> None:
    with running(made) as server:
        guests = [server.rater() for _ in range(20)]
        refused = httpx.get(f"{server.address}/enter/{made.tokens['Anna']}", verify=NO_TLS)
        assert_refused(refused, 429, "This link was opened too often within a minute. Please wait a minute")
        assert "set-cookie" not in refused.headers
        assert all(guest.client.get("/").status_code == 200 for guest in guests)
        server.rater("Bo")
    with running(made) as server:  # which has forgotten the minute
        server.rater()
        cookies = ["; ".join(f"{name}={value}" for name, value in guest.client.cookies.items()) for guest in guests]
        statuses = [httpx.get(server.address, headers={"Cookie": each}, verify=NO_TLS).status_code for each in cookies]
        assert statuses == [401] + [200] * 19


def test_a_minute_later_it_goes_on() -> None:
    now = [1000.0]
    rate = PerMinute(2, "too_many_votes", lambda: now[0])
    rate.count(1)
    now[0] += 59
    rate.count(1)
    with pytest.raises(HTTPException):
        rate.count(1)
    rate.count(2)
    now[0] += 1
    rate.count(1)
    with pytest.raises(HTTPException):
        rate.count(1)
