"""Phones and tablets: nothing to scroll sideways, and the buttons always in reach of a finger."""

from contextlib import closing
from typing import Any

import pytest
from arena.browsing import DESKTOP, PHONE, TABLET, Rater, Site, Visits, button, expect_progress
from playwright.sync_api import Page, expect

from podium.tools.arena.raters import invite
from podium.tools.arena.settings import read_settings
from podium.tools.arena.store import Store

SMALL_PHONE = {**PHONE, "viewport": {"width": 320, "height": 568}}
PHONE_ON_ITS_SIDE = {**PHONE, "viewport": {"width": 844, "height": 390}}
SCREENS = {
    "phone": PHONE,
    "small phone": SMALL_PHONE,
    "phone on its side": PHONE_ON_ITS_SIDE,
    "tablet": TABLET,
    "desktop": DESKTOP,
}
CHOICES = ("A is better", "Both good", "B is better")
FINGER_PX = 44


@pytest.mark.parametrize("screen", SCREENS)
def test_a_whole_session_fits_the_screen(site: Site, visits: Visits, screen: str) -> None:
    rater = site.rater()
    options = SCREENS[screen]
    page = visits.context(**options).new_page()
    page.goto(site.link(rater))
    assert_fits(page)
    page.get_by_role("link", name="Start").click()
    seen = set()
    for done in range(6):
        expect_progress(page, done)
        assert_nothing_lies_over_the_image(page)
        seen.add(page.locator("figure img, figure svg").evaluate("image => image.tagName"))
        if done == 1:  # with the button that takes the vote back
            assert_large_enough_for_a_finger(page)
        assert_fits(page)
        for place in (0, 0.5, 1):
            page.evaluate("place => window.scrollTo(0, place * document.documentElement.scrollHeight)", place)
            assert_in_reach(page, options)
        page.get_by_text("Add a comment").click()
        assert_fits(page)
        assert_in_reach(page, options)
        chosen = button(page, CHOICES[done % 3])
        chosen.tap() if options.get("has_touch") else chosen.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Thank you, {rater.name}")
    assert_fits(page)
    assert site.answers(rater) == ["left", "both-good", "right"] * 2
    assert seen == {"IMG", "svg"}


def assert_fits(page: Page) -> None:
    wide, room = page.evaluate("[document.scrollingElement.scrollWidth, document.documentElement.clientWidth]")
    assert wide <= room


def assert_in_reach(page: Page, options: dict[str, Any]) -> None:
    """Each of the three wholly on the screen, large enough, on top of everything else, and of one size."""
    boxes = []
    for words in CHOICES:
        choice = button(page, words)
        expect(choice).to_be_in_viewport(ratio=1)
        box = choice.bounding_box()
        assert box
        assert min(box["width"], box["height"]) >= FINGER_PX
        middle = [box["x"] + box["width"] / 2, box["y"] + box["height"] / 2]
        assert page.evaluate("([x, y]) => document.elementFromPoint(x, y).closest('button')?.value", middle)
        boxes.append(box)
    assert max(box["x"] + box["width"] for box in boxes) <= options["viewport"]["width"]
    assert boxes[0]["width"] == pytest.approx(boxes[2]["width"], abs=1)  # neither side is favoured
    assert boxes[0]["height"] == pytest.approx(boxes[2]["height"], abs=1)


def assert_large_enough_for_a_finger(page: Page) -> None:
    found = page.locator("button:visible, summary:visible, a:visible:not(.skip), input:visible")
    small = [
        one.evaluate("element => element.outerHTML")
        for one in found.all()
        if (box := one.bounding_box()) and min(box["width"], box["height"]) < FINGER_PX - 0.5
    ]
    assert found.count() >= 5
    assert small == []


def assert_nothing_lies_over_the_image(page: Page) -> None:
    """Whatever it hid could be the finding. What is below the screen's edge can be scrolled to."""
    image = page.locator("figure img, figure svg")
    expect(image).to_have_count(1)
    image.scroll_into_view_if_needed()
    covered = image.evaluate(
        """image => {
          const { left, top, width, height } = image.getBoundingClientRect();
          const places = [0.01, 0.25, 0.5, 0.75, 0.99].flatMap((x) => [0.01, 0.25, 0.5].map((y) => [x, y]));
          return places
            .map(([x, y]) => document.elementFromPoint(left + x * width, top + y * height))
            .filter((found) => !image.contains(found) && !found?.closest(".decision"))
            .map((found) => found?.outerHTML ?? "nothing");
        }"""
    )
    assert covered == []


def test_every_line_of_a_report_has_its_own_direction(site: Site, visits: Visits) -> None:
    page = visits.open(site.rater())
    while not (report := page.locator(".text", has_text="مينا")).count():
        done = int(page.locator("progress").get_attribute("value") or 0)
        button(page, "Both good").click()
        expect_progress(page, done + 1)
    left, right = report.first.evaluate(
        """report => {
          const [text] = report.childNodes;
          const { left, right } = report.getBoundingClientRect();
          const place = (words) => {
            const range = document.createRange();
            const start = text.data.indexOf(words);
            range.setStart(text, start);
            range.setEnd(text, start + words.length);
            return range.getBoundingClientRect();
          };
          return [place("No-break").left - left, right - place("مينا").right];
        }"""
    )
    assert left == pytest.approx(0, abs=1)
    assert right == pytest.approx(0, abs=1)


def test_the_organisers_page_fits_a_phone(site: Site, visits: Visits) -> None:
    with closing(Store(site.made.folder)) as store:
        invite(store, read_settings(site.made.folder), "Professor Maximilian von Oberhausen-Schmidt-Lichtenfels zu Hof")
    page = visits.context(**SMALL_PHONE).new_page()
    page.goto(site.link(Rater("Organiser", site.made.organiser)))
    assert_fits(page)
    page.get_by_role("link", name="Open the organiser's page").click()
    expect(page.get_by_role("heading", name="Votes per pair")).to_be_visible()
    assert_fits(page)
    inside = "select => select.getBoundingClientRect().right < document.documentElement.clientWidth"
    assert page.locator("select").evaluate_all(f"all => all.every({inside})")


def test_reports_stand_side_by_side_and_on_a_phone_one_above_the_other(site: Site, visits: Visits) -> None:
    rater = site.rater()
    for options in (PHONE, TABLET, DESKTOP):
        page = visits.open(rater, **options)
        left, right = (page.locator(".report").nth(number).bounding_box() for number in (0, 1))
        assert left
        assert right
        assert left["width"] == pytest.approx(right["width"], abs=1)
        if options is PHONE:
            assert left["y"] + left["height"] <= right["y"]
        else:
            assert left["y"] == right["y"]
            assert left["x"] + left["width"] <= right["x"]
