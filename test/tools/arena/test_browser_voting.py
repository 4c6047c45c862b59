"""Votes in a real browser: by mouse, by keys, without JavaScript, and everything that might count twice."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tools.arena.browsing import DESKTOP, PHONE, SETTLED_MS, Site, Visits, button, expect_progress

pytestmark = pytest.mark.browser


def test_vote_by_keys(site: Site, visits: Visits) -> None:
    rater, page = visits.newcomer()
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
    rater, page = visits.newcomer()
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
    rater, page = visits.newcomer()
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
    rater, page = visits.newcomer(matchups=8, java_script_enabled=False)
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
    for words, slice_number in {"Next": 7, "Previous": 6}.items():
        page.get_by_role("link", name=words).click()
        expect(page.get_by_role("img", name=f"slice {slice_number} of 12")).to_be_visible()
        assert (shown.get_attribute("href") or "").endswith(f"/{slice_number - 1}.png")
    expect(page.get_by_role("link", name="10 forward")).to_have_count(0)  # there are 12
    page.get_by_role("spinbutton", name="Slice").fill("12")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("img", name="slice 12 of 12")).to_be_visible()


@pytest.mark.parametrize("look", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_skip_and_instructions_beside_every_matchup(site: Site, visits: Visits, look: dict[str, Any]) -> None:
    page = visits.open(site.rater(matchups=2), **look)
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
    rater, page = visits.newcomer()
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
