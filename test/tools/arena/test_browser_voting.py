"""Votes in a real browser: by mouse, by keys, without JavaScript, and everything that might count twice."""

import json
import re
import socket
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, expect
from tools.arena.arena_folders import MadeArena
from tools.arena.browsing import DESKTOP, PHONE, SETTLED_MS, Site, Visits, button, expect_progress
from tools.arena.organiser import Organiser
from tools.arena.serve_process import ServeProcess

from podium.tools.arena.raters import revoke
from podium.tools.arena.store import Store


def test_vote_by_mouse(site: Site, visits: Visits) -> None:
    rater = site.rater()
    page = visits.open(rater)
    expect_progress(page, 0)
    for done, words in enumerate(("A is better", "Both good", "B is better"), start=1):
        button(page, words).click()
        expect_progress(page, done)
    assert site.answers(rater) == ["left", "both-good", "right"]


def test_vote_by_keys(site: Site, visits: Visits) -> None:
    rater = site.rater()
    page = visits.open(rater)
    for done, key in enumerate(("1", "3", "2"), start=1):
        button(page, "A is better")
        page.keyboard.press(key)
        expect_progress(page, done)
    page.wait_for_timeout(SETTLED_MS)
    for key in ("5", "a", "Control+1", "Alt+2"):
        page.keyboard.press(key)
    button(page, "A is better").click()  # were one of these a vote, this would be the fifth
    expect_progress(page, 4)
    assert site.answers(rater) == ["left", "both-good", "right", "left"]


def test_a_digit_in_a_comment_is_no_vote(site: Site, visits: Visits) -> None:
    rater = site.rater()
    page = visits.open(rater)
    page.get_by_text("Add a comment").click()
    comment = page.get_by_label("Comment for the organiser")
    button(page, "A is better")
    comment.press_sequentially("B says 12 mm, <b>not</b> 10.\n120")
    expect(comment).to_have_value("B says 12 mm, <b>not</b> 10.\n120")
    assert site.answers(rater) == []
    button(page, "B is better").click()
    expect_progress(page, 1)
    expect(page.get_by_label("Comment for the organiser")).to_have_value("")
    assert [(vote.ballot.answer, vote.comment) for vote in site.records(rater)] == [
        ("right", "B says 12 mm, <b>not</b> 10.\n120")
    ]


def test_a_key_held_down_is_one_vote(site: Site, visits: Visits) -> None:
    rater = site.rater()
    page = visits.open(rater)
    button(page, "A is better")
    page.keyboard.down("1")
    expect_progress(page, 1)
    button(page, "A is better")
    for _ in range(5):
        page.keyboard.down("1")  # repeats, as the key was not let go
        page.wait_for_timeout(50)
    page.keyboard.up("1")
    expect_progress(page, 1)
    assert site.answers(rater) == ["left"]
    page.keyboard.press("2")
    expect_progress(page, 2)


def test_with_the_keyboard_alone_from_the_link_to_a_vote(site: Site, visits: Visits) -> None:
    rater = site.rater()
    page = visits.context().new_page()
    page.goto(site.link(rater))
    tab_to(page, "Start")
    page.keyboard.press("Enter")
    expect_progress(page, 0)
    button(page, "A is better")
    tab_to(page, "Skip to your decision")
    page.keyboard.press("Enter")
    tab_to(page, "Both good", most=4)
    page.keyboard.press("Enter")
    expect_progress(page, 1)
    button(page, "A is better")
    tab_to(page, "B is better")  # the whole way, no skip link
    page.keyboard.press("Space")
    expect_progress(page, 2)
    assert site.answers(rater) == ["both-good", "right"]


def tab_to(page: Page, words: str, most: int = 30) -> None:
    """Press Tab until the element of these words has the focus, and can be seen."""
    for _ in range(most):
        page.keyboard.press("Tab")
        focused = page.locator(":focus")
        if focused.count() and words in focused.inner_text():
            expect(focused).to_be_in_viewport(ratio=1)
            return
    raise AssertionError(f"{words} is not reached by {most} times Tab")


def test_without_javascript(site: Site, visits: Visits) -> None:
    rater = site.rater(matchups=8)
    page = visits.open(rater, java_script_enabled=False)
    volumes = 0
    for done in range(8):
        expect_progress(page, done, 8)
        if page.get_by_role("link", name="Next").count():
            volumes += 1
            slices_by_links(page)
        page.get_by_text("Add a comment").click()
        page.get_by_label("Comment for the organiser").fill(f"number {done}")
        page.get_by_role("button", name="B is better").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Thank you, {rater.name}")
    page.get_by_role("button", name="Undo last vote").click()
    expect_progress(page, 7, 8)
    assert volumes
    assert site.answers(rater) == ["right"] * 7
    assert [vote.comment for vote in site.records(rater)] == [f"number {done}" for done in range(8)]


def slices_by_links(page: Page) -> None:
    shown = page.locator("figure image")
    for words, slice_number in {"Next": 7, "Previous": 6, "10 forward": None}.items():
        if slice_number is None:
            expect(page.get_by_role("link", name=words)).to_have_count(0)  # there are 12
            continue
        page.get_by_role("link", name=words).click()
        expect(page.get_by_role("img", name=f"slice {slice_number} of 12")).to_be_visible()
        assert (shown.get_attribute("href") or "").endswith(f"/{slice_number - 1}.png")
    page.get_by_role("spinbutton", name="Slice").fill("12")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("img", name="slice 12 of 12")).to_be_visible()


def test_to_the_end_and_back_by_undo(site: Site, visits: Visits) -> None:
    rater = site.rater(matchups=3)
    page = visits.open(rater)
    for done in range(3):
        expect_progress(page, done, 3)
        button(page, "A is better").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Thank you, {rater.name}")
    expect(page.get_by_text("All 3 comparisons are done, and every answer is saved.")).to_be_visible()
    expect(page.get_by_role("button", name="better")).to_have_count(0)
    for left in (2, 1, 0):  # several steps
        page.get_by_role("button", name="Undo last vote").click()
        expect(page.locator(".notices")).to_have_text("Your last vote was undone. Here is the comparison again.")
        expect_progress(page, left, 3)
        expect(page.get_by_role("button", name="A is better", pressed=True)).to_be_visible()
    expect(page.get_by_role("button", name="Undo last vote")).to_have_count(0)
    for done in range(3):
        expect_progress(page, done, 3)
        button(page, "Both good").click()
    expect_progress(page, 3, 3)
    assert site.answers(rater) == ["both-good"] * 3
    assert [vote.is_undone for vote in site.records(rater)] == [True] * 3 + [False] * 3


@pytest.mark.parametrize("look", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_skip_and_instructions_beside_every_matchup(site: Site, visits: Visits, look: dict[str, Any]) -> None:
    rater = site.rater(matchups=2)
    page = visits.open(rater, **look)
    first = page.locator(".report").first.inner_text()
    page.get_by_text("Instructions").click()
    expect(page.get_by_text("Choose the report that describes the case better")).to_be_in_viewport()
    page.get_by_text("Instructions").click()
    page.get_by_role("button", name="Skip for later").click()
    expect(page.locator(".notices")).to_have_text(
        "This comparison was moved to the end of your list; it has no answer yet."
    )
    expect_progress(page, 0, 2)
    button(page, "A is better").click()
    expect_progress(page, 1, 2)
    assert page.locator(".report").first.inner_text() == first
    expect(page.get_by_role("button", name="Skip for later")).to_have_count(0)


def test_a_double_click_is_one_vote(site: Site, visits: Visits) -> None:
    rater = site.rater()
    page = visits.open(rater)
    button(page, "A is better").dblclick()
    expect_progress(page, 1)
    button(page, "A is better")
    assert site.answers(rater) == ["left"]


def test_the_second_half_of_a_double_click_does_not_vote_on_the_next_page(site: Site, visits: Visits) -> None:
    rater = site.rater()
    context = visits.context()
    page = visits.open(rater, context)
    button(page, "A is better").click()
    expect_progress(page, 1)
    context.clock.install()
    context.clock.pause_at(10**10)  # the next page stays as young as it was when it came
    page.reload()
    place = page.get_by_role("button", name="A is better").bounding_box()
    assert place
    page.mouse.click(place["x"] + 20, place["y"] + 20)
    page.keyboard.press("1")
    context.clock.run_for(SETTLED_MS)
    page.keyboard.press("2")
    expect_progress(page, 2)
    assert site.answers(rater) == ["left", "right"]


def test_two_tabs_are_one_vote_and_the_first_answer_counts(site: Site, visits: Visits) -> None:
    rater = site.rater()
    context = visits.context()
    first, second = visits.open(rater, context), context.new_page()
    second.goto(site.address)
    button(first, "A is better").click()
    expect_progress(first, 1)
    button(second, "B is better").click()
    expect(second.locator(".notices")).to_have_text("You have already answered this one; your first answer counts.")
    expect_progress(second, 1)
    assert site.answers(rater) == ["left"]


def test_back_and_vote_again_is_one_vote(site: Site, visits: Visits) -> None:
    rater = site.rater()
    page = visits.open(rater)
    first = page.locator("#vote [name=matchup]").get_attribute("value")
    button(page, "A is better").click()
    expect_progress(page, 1)
    second = page.locator("#vote [name=matchup]").get_attribute("value")
    page.go_back()
    expect_progress(page, 1)  # not the old form: the page may not be stored
    assert page.locator("#vote [name=matchup]").get_attribute("value") == second != first
    button(page, "B is better").click()
    expect_progress(page, 2)
    assert site.answers(rater) == ["left", "right"]


def test_resume_on_another_device_with_the_same_link(site: Site, visits: Visits) -> None:
    rater = site.rater()
    desktop = visits.open(rater)
    button(desktop, "A is better").click()
    expect_progress(desktop, 1)
    tablet = visits.context().new_page()
    tablet.goto(site.link(rater))
    expect(tablet.get_by_text("1 of 6 comparisons are done.")).to_be_visible()
    tablet.get_by_role("link", name="Continue").click()
    expect_progress(tablet, 1)
    button(tablet, "B is better").click()
    expect_progress(tablet, 2)
    desktop.reload()
    expect_progress(desktop, 2)
    assert site.answers(rater) == ["left", "right"]


def test_a_link_that_ends_while_the_page_is_open(site: Site, visits: Visits) -> None:
    rater = site.rater()
    page = visits.open(rater)
    visits.expected = ["status of 401"]
    store = Store(site.made.folder)
    revoke(store, rater.name)
    store.close()
    with page.expect_navigation() as navigation:
        button(page, "A is better").click()
    assert navigation.value is not None
    assert navigation.value.status == 401
    expect(page.get_by_role("heading", level=1)).to_have_text("A personal link is required")
    expect(page.get_by_text("If it no longer works, ask the organiser for a new one.")).to_be_visible()
    response = page.goto(site.link(rater))
    assert response is not None
    assert response.status == 401
    assert site.records(rater) == []


# From a ranking to the final order, each step as an organiser and a rater take it: commands, links and a browser.

MATCHUPS = 6  # of three teams on two cases
TIFF, PNG = (40, 120, 200), (77,)  # the shades of the pages

CORNERS = """images => images.map((image) => {
  const context = new OffscreenCanvas(1, 1).getContext("2d");
  context.drawImage(image, 0, 0);
  return context.getImageData(0, 0, 1, 1).data[0];
})"""


def test_from_a_ranking_to_the_final_order(
    browser: Browser, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    organiser = Organiser(tmp_path)
    first, *others = (Image.fromarray(np.full((48, 64), shade, np.uint8)) for shade in TIFF)
    (organiser.images / "B000.png").unlink()
    first.save(organiser.images / "B000.tif", save_all=True, append_images=others)
    Image.fromarray(np.full((48, 64), PNG[0], np.uint8)).save(organiser.images / "B001.png")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = int(listener.getsockname()[1])
    address = f"http://127.0.0.1:{port}"

    def link(verb: str, *words: str) -> str:
        """The one line that a command prints."""
        capsys.readouterr()
        assert (organiser.init if verb == "init" else lambda *more: organiser.run(verb, *more))(*words) == 0
        return capsys.readouterr().out.strip()

    organisers_link = link("init", "--url", address)
    raters_link = link("invite", "Anna Rossi", "--matchups", str(MATCHUPS))
    server = ServeProcess(organiser.arena, port=port)
    visits = Visits(browser, Site(MadeArena(folder=organiser.arena, tokens={}, organiser=""), address))
    try:
        page = visits.context().new_page()
        page.goto(raters_link)
        page.get_by_role("link", name="Start").click()
        assert Counter(vote_for_the_higher_number(page)) == {TIFF: 3, PNG: 3}
        expect(page.get_by_role("heading", level=1)).to_have_text("Thank you, Anna Rossi")

        page = visits.context().new_page()
        page.goto(organisers_link)
        page.get_by_role("link", name="Open the organiser's page").click()
        ratings = page.locator("section", has=page.locator("#ratings"))
        expect(ratings.locator("tbody th")).to_have_text(["team3", "team2", "team1"])
        with page.expect_download() as download:
            page.get_by_role("link", name="Votes (CSV)").click()
        assert len(download.value.path().read_text().splitlines()) == 1 + MATCHUPS
    finally:
        visits.close()
        complaints = server.stop()
    assert complaints == "Stopped.\n"

    result = tmp_path / "arena.json"
    assert organiser.run("close") == 0
    assert organiser.run("result", "--output", str(result)) == 0
    assert organiser.rank("--arena", str(result)) == 0
    ranked = json.loads(organiser.ranking.read_text())["teams"]
    assert [team["name"] for team in sorted(ranked, key=lambda team: team["rank"])] == ["team3", "team2", "team1"]


def vote_for_the_higher_number(page: Page) -> list[tuple[int, ...]]:
    """To the end; the shades of the pictures that each matchup showed."""
    shown = []
    for done in range(MATCHUPS):
        expect_progress(page, done, MATCHUPS)
        images = page.locator("figure img")
        page.wait_for_load_state("load")
        shown.append(tuple(images.evaluate_all(CORNERS)))
        left, right = (re.findall(r"Finding (\d)", text) for text in page.locator(".report").all_inner_texts())
        button(page, "A is better" if left > right else "B is better").click()
    return shown
