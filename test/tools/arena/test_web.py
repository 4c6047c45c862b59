"""A rater's way through the pages, with all that goes wrong on the way."""

import json
import re
from contextlib import closing
from pathlib import Path

import pytest
from tools.arena.arena_folders import MadeArena, cast_answers, make_arena
from tools.arena.arena_server import Guest, Running, running, visited

from podium.tools.arena.ratings import bradley_terry
from podium.tools.arena.settings import ArenaSettings
from podium.tools.arena.store import OpenArena, Picture, read_ballots, read_raters

pytestmark = pytest.mark.slow


def test_a_rater_votes_from_the_link_to_the_end(server: Running) -> None:
    answers = ["left", "right", "both-good", "left", "left", "right", "both-good", "both-good", "left", "right"]
    guest = server.guest()
    response = guest.client.get(f"/enter/{server.made.tokens['Anna']}")
    assert response.status_code == 200  # no redirect: a Strict cookie would not travel along it from webmail
    assert "Welcome, Anna" in response.text
    assert "<strong>10 comparisons are waiting for you.</strong>" in response.text
    assert '<a class="button" href="/">Start</a>' in response.text
    for done, answer in enumerate(answers):
        page = guest.page()
        assert "Which report describes this case better?" in page
        assert f"<span>{done} of 10</span>" in page
        assert f'<progress value="{done}" max="10">' in page
        response = guest.vote(answer, page=page)
        assert (response.status_code, response.headers["location"]) == (303, "/")
    page = guest.page()
    assert "Thank you, Anna" in page
    assert "All 10 comparisons are done" in page
    assert 'action="/vote"' not in page
    assert guest.undo(page).headers["location"] == "/?notice=undone"
    assert "<span>9 of 10</span>" in guest.page()
    guest.vote("both-good")
    assert cast_answers(server.made.folder) == [*answers[:-1], "both-good"]


def test_two_tabs_a_double_click_and_the_back_button_make_one_vote(tmp_path: Path) -> None:
    with visited(tmp_path) as guest:
        page = guest.page()
        assert guest.vote("left", page=page).headers["location"] == "/"
        again = guest.vote("right", page=page)
        assert (again.status_code, again.headers["location"]) == (303, "/?notice=answered")
        shown = guest.page("/?notice=answered")
        assert "You have already answered this one; your first answer counts." in shown
        assert "<span>1 of 10</span>" in shown
        assert cast_answers(tmp_path) == ["left"]


def test_undo_gives_the_matchup_back_until_the_next_vote(tmp_path: Path) -> None:
    with visited(tmp_path) as guest:
        first = guest.page()
        assert "Undo last vote" not in first
        guest.vote("left", page=first)
        second = guest.page()
        undone = guest.undo(second)
        assert (undone.status_code, undone.headers["location"]) == (303, "/?notice=undone")
        page = guest.page("/?notice=undone")
        assert "Your last vote was undone. Here is the comparison again." in page
        assert "Undo last vote" not in page  # the vote before it, had there been one, is settled
        assert reports(page) == reports(first)
        assert cast_answers(tmp_path) == []

        stale = guest.vote("right", page=first)  # a tab left open, from before the undo
        assert stale.headers["location"] == "/?notice=answered"
        assert guest.undo(second).headers["location"] == "/?notice=kept"
        assert "This vote can no longer be undone." in guest.page("/?notice=kept")
        guest.vote("right")
        assert cast_answers(tmp_path) == ["right"]


def reports(page: str) -> list[str]:
    return re.findall(r'<div class="text" dir="auto">(.*?)</div>', page, re.DOTALL)


def test_pause_and_resume_on_another_device(made: MadeArena) -> None:
    with running(made) as server:
        desktop = server.rater()
        desktop.vote("left")
        tablet = server.rater()
        assert "<strong>1 of 10 comparisons are done.</strong>" in tablet.page(f"/enter/{made.tokens['Anna']}")
        assert reports(tablet.page()) == reports(desktop.page())
        tablet.vote("right")
        assert "<span>2 of 10</span>" in desktop.page()
        session = tablet.client.cookies
    with running(made) as server:  # stopped in between
        tablet = server.guest()
        tablet.client.cookies.update(session)
        tablet.vote("both-good")
    assert cast_answers(made.folder) == ["left", "right", "both-good"]


def test_a_comment_is_kept_as_it_was_written(server: Running) -> None:
    guest = server.rater()
    guest.vote("left", comment="B misses 38.\r\n<b>Größe</b> 12 mm & more")
    guest.vote("left", comment="é" * 2000)
    organiser = server.organiser().page("/organiser/votes")
    assert "B misses 38.\n&lt;b&gt;Größe&lt;/b&gt; 12 mm &amp; more" in organiser
    assert "é" * 2000 in organiser


def test_reports_are_text_and_an_empty_one_is_said_to_be_empty(tmp_path: Path) -> None:
    script = "<script>alert('x')</script>\n  <img src=x onerror=alert(1)> & \"quoted\""
    texts = {"alpha": {"A1": script}, "beta": {"A1": ""}}
    with visited(tmp_path, methods=("alpha", "beta"), cases=("A1",), reports=texts) as guest:
        page = guest.page()
    assert (
        "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;\n  &lt;img src=x onerror=alert(1)&gt; &amp; &#34;quoted&#34;"
        in page
    )
    assert "<script>" not in page
    assert "<img src=x" not in page
    assert page.count("This report is empty.") == 1


def test_no_method_and_no_case_is_named_in_anything_a_rater_gets(tmp_path: Path) -> None:
    methods, cases = ("zirconium", "palladium", "osmium"), ("patient-17", "patient-18")
    texts = {method: dict.fromkeys(cases, f"Findings {number}.") for number, method in enumerate(methods)}
    settings = ArenaSettings(matchups_per_rater=6)
    made = make_arena(tmp_path, methods=methods, cases=cases, volumes=cases[:1], reports=texts, settings=settings)
    with running(made) as server:
        guest = server.guest()
        got = [guest.client.get(f"/enter/{made.tokens['Anna']}")]
        keys = set()
        while True:
            response = guest.client.get("/")
            got.append(response)
            if 'action="/vote"' not in response.text:
                break
            keys.add(guest.form("/vote", response.text)["matchup"])
            for path in re.findall(r'(?:href|src)="(/(?:static|picture)/[^"]+)"', response.text):
                got.append(guest.client.get(path))
                if path.startswith("/picture/") and "data-viewer" in response.text:
                    got.append(guest.client.get(re.sub(r"\d+\.png$", "volume.u16.gz", path)))
            got.append(guest.vote("left", page=response.text))
    assert {len(key) for key in keys} == {32}
    assert len(keys) == 6
    assert sum(response.headers.get("content-encoding") == "gzip" for response in got) >= 2
    for response in got:
        everything = f"{response.url} {response.headers} ".encode() + response.content
        assert response.status_code in (200, 303)
        assert not [name for name in (*methods, *cases) if name.encode() in everything]


def test_every_page_of_a_scanned_letter_is_shown(tmp_path: Path) -> None:
    letter = Picture(key="0" * 32, is_volume=False, slices=3, width=64, height=48)
    with visited(tmp_path, cases=("A1",), pictures={"A1": [letter]}) as guest:
        page = guest.page()
    assert re.findall(r'src="/picture/0{32}/(\d+)\.png"', page) == ["0", "1", "2"]


def test_slices_can_be_reached_without_javascript(tmp_path: Path) -> None:
    with visited(tmp_path, cases=("A1",), volumes=("A1",)) as guest:
        page = guest.page()
        assert 'aria-label="Image 1 of 1 of the case, Slice 6 of 12"' in page
        assert 'viewBox="0 0 48 48.0"' in page  # 32 rows, each 1.5 as high as it is wide
        assert '<a href="/?slice=7">Next</a>' in page
        page = guest.page("/?slice=12")
        assert 'Slice 12 of 12"' in page
        assert "/11.png" in page
        assert ">Next<" not in page
        for nonsense, slice_number in {"99": 12, "0": 1, "-3": 6, "x": 6, "9" * 30: 6, "": 6}.items():
            assert f'Slice {slice_number} of 12"' in guest.page(f"/?slice={nonsense}")


def test_the_organiser_sees_ratings_raters_votes_over_time_and_what_is_missing(server: Running) -> None:
    anna, organiser = server.rater(), server.organiser()
    before = organiser.page("/organiser")
    for _ in range(10):
        anna.vote("left")
    page = organiser.page("/organiser")
    table = organiser.client.get("/organiser/votes.csv")
    result = organiser.client.get("/organiser/arena.json")
    assert "There is no vote yet" in before
    assert "Votes over time" not in before
    for method in ("alpha", "beta", "gamma"):
        assert f'<th scope="row">{method}</th>' in page
    assert "always chose the left report (10 of 10)" in page
    assert "Stop rule: not yet" in page
    assert "✗ not yet" in page
    assert re.search(r'scope="row">Bo</th>\s*<td>0 of 10</td>', page)
    assert table.headers["content-type"] == "text/csv; charset=utf-8"
    assert table.headers["content-disposition"] == 'attachment; filename="votes.csv"'
    assert len(table.text.splitlines()) == 11
    assert result.headers["content-type"] == "application/json"
    assert set(json.loads(result.text)["ratings"]) == {"alpha", "beta", "gamma"}
    bars = re.findall(r'<meter max="(\d+)" value="(\d+)">', page)
    assert sum(int(value) for _, value in bars) == 10
    course = page.partition('id="course"')[2].partition("</table>")[0]
    assert re.findall(r'<th scope="row">(\d+)</th>', course) == [str(votes) for votes in range(1, 11)]
    shown = re.findall(r"<td>([^<]*)</td>", course.rpartition("<tr>")[2])
    with closing(OpenArena(server.made.folder)) as opened:
        ratings = bradley_terry(read_ballots(opened.store), opened.methods).ratings
    assert sorted(shown[:3]) == sorted(f"{rating:.0f}" for rating in ratings.values())


def test_the_organiser_browses_cases_and_votes(tmp_path: Path) -> None:
    made = make_arena(tmp_path, raters=("Anna", "Bo"), volumes=("A2",), practice=1)
    with running(made) as server:
        anna, bo, organiser = server.rater("Anna"), server.rater("Bo"), server.organiser()
        for guest in (anna, bo):
            for number in range(5):
                guest.vote("left", comment=f"<{number}>" if guest is anna and number in (1, 3) else "")
        anna.undo()

        def shown(query: str) -> list[list[str]]:
            page = organiser.page(f"/organiser/votes{query}")
            rows = re.findall(r'<tr><td class="moment">.*?</tr>', page, re.DOTALL)
            return [[re.sub("<.*?>", "", cell) for cell in re.findall(r"<td.*?</td>", row, re.DOTALL)] for row in rows]

        every = shown("")
        assert len(every) == 10
        assert [row[5] for row in every].count("left (practice)") == 2
        assert [row[5] for row in every].count("left (undone)") == 1
        assert {row[1] for row in shown("?rater=Bo")} == {"Bo"}
        assert all("alpha" in row[3:5] for row in shown("?method=alpha"))
        assert [row[7] for row in shown("?with=comment")] == ["&lt;3&gt;", "&lt;1&gt;"]
        assert {row[2] for row in shown("?case=A2")} <= {"A2"}
        assert shown("?case=nothing") == []
        page = organiser.page("/organiser/votes?case=A2")
        assert "A2: findings number 2." in page
        pictures = re.findall(r'src="(/picture/[^"]+)"', page)
        assert [organiser.client.get(path).status_code for path in pictures] == [200]
        assert "There are none." in organiser.page("/organiser/votes?case=nothing")
        assert anna.client.get("/organiser/votes").status_code == 403
        assert '<a href="/organiser/votes">' in organiser.page("/organiser")


# What the organiser can do in the page: invite, revoke, close.


@pytest.fixture
def organiser(server: Running) -> Guest:
    return server.organiser()


def send(organiser: Guest, action: str, **fields: str) -> tuple[int, str]:
    form = organiser.form(f"/organiser/{action}", organiser.page("/organiser"))
    response = organiser.client.post(f"/organiser/{action}", data={**form, **fields})
    return response.status_code, response.text


def test_the_organisers_pages_are_english_and_say_so(server: Running, organiser: Guest) -> None:
    organiser.client.headers["Accept-Language"] = "it"
    for path in (f"/enter/{server.made.organiser}", "/organiser"):
        page = organiser.page(path)
        assert '<html lang="en"' in page
        assert "Buongiorno" not in page


def test_a_link_made_in_the_page_opens(server: Running, organiser: Guest) -> None:
    status, page = send(organiser, "invite", name="Dr <Rossi>", email="r@x.example", language="it")
    assert status == 200
    assert "The link of Dr &lt;Rossi&gt;" in page
    found = re.search(r"/enter/([\w-]{43})</code>", page)
    assert found
    assert found[1] not in organiser.page("/organiser")  # shown only once
    assert "Buongiorno" in server.guest().page(f"/enter/{found[1]}")
    assert send(organiser, "invite", name=" ", email="", language="")[0] == 400
    assert send(organiser, "invite", name="x", email="", language="xx")[0] == 400


def test_revoking(server: Running, organiser: Guest) -> None:
    guest = server.rater()
    assert send(organiser, "revoke", name="Anna")[0] == 303
    assert guest.client.get("/").status_code == 401
    status, page = send(organiser, "revoke", name="Anna")
    assert status == 400
    assert "The link of &#39;Anna&#39; is already revoked." in page


def test_closing_asks_twice(made: MadeArena, organiser: Guest) -> None:
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
def test_only_the_organiser_with_his_own_form(server: Running, organiser: Guest, action: str) -> None:
    fields = {"name": "Anna", "sure": "yes", "language": ""}
    assert organiser.client.post(f"/organiser/{action}", data=fields).status_code == 403
    form = organiser.form(f"/organiser/{action}", organiser.page("/organiser"))
    foreign = {"Origin": "https://evil.example"}
    sent = organiser.client.post(f"/organiser/{action}", data={**form, **fields}, headers=foreign)
    assert sent.status_code == 403
    rater = server.rater()
    assert rater.client.post(f"/organiser/{action}", data={**form, **fields}).status_code == 403
    with closing(OpenArena(server.made.folder)) as opened:
        assert not opened.is_closed()
        assert [line.revoked for line in read_raters(opened.store)] == [False, False]
