"""axe-core on every page, by day and by night, on a desktop and on a phone."""

from collections.abc import Sequence
from typing import Any

import pytest
from arena.browsing import DESKTOP, PHONE, Rater, Site, Visits, button, expect_progress
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

LOOKS: dict[str, dict[str, Any]] = {
    "desktop, light": {**DESKTOP, "color_scheme": "light"},
    "desktop, dark": {**DESKTOP, "color_scheme": "dark"},
    "phone, light": {**PHONE, "color_scheme": "light"},
    "phone, dark": {**PHONE, "color_scheme": "dark"},
}


def faults(page: Page) -> Sequence[str]:
    """What axe-core finds, of any impact, with the element it is found on."""
    found = Axe().run(page).response["violations"]
    return [
        f"{one['impact']} {one['id']}: {one['help']} {node['html'][:200]}" for one in found for node in one["nodes"]
    ]


def changing_slowly(page: Page) -> Sequence[str]:
    """Elements whose colours fade: between two colour schemes their text would have next to no contrast."""
    slow = "element => getComputedStyle(element).transitionDuration !== '0s'"
    found: Sequence[str] = page.evaluate(
        f"[...document.querySelectorAll('*')].filter({slow}).map(one => one.outerHTML)"
    )
    return found


@pytest.mark.parametrize("look", LOOKS)
def test_a_raters_pages(site: Site, visits: Visits, look: str) -> None:
    rater = site.rater(matchups=4)
    page = visits.context(**LOOKS[look]).new_page()
    page.goto(site.link(rater))
    assert faults(page) == []
    page.get_by_role("link", name="Start").click()
    kinds = set()
    for done in range(4):
        expect_progress(page, done, 4)
        kind = "volume" if page.locator("canvas, figure svg").count() else "picture"
        button(page, "A is better")
        if kind not in kinds:
            for summary in page.locator("summary:visible").all():
                summary.click()
            assert faults(page) == []
            assert changing_slowly(page) == []
        if kind == "volume" and kind not in kinds:
            page.get_by_role("button", name="Enlarge").click()
            assert faults(page) == []
            page.get_by_role("button", name="Close").click()
        if kind == "picture" and kind not in kinds:
            page.get_by_role("link", name="Enlarge").click()
            expect(page.get_by_role("dialog", name="Image of the case")).to_be_visible()
            assert faults(page) == []
            page.get_by_role("button", name="Close").click()
        kinds.add(kind)
        button(page, "A is better").click()
    assert kinds == {"volume", "picture"}
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Thank you, {rater.name}")
    assert faults(page) == []


@pytest.mark.parametrize("look", LOOKS)
def test_a_notice_a_refusal_and_the_organisers_pages(site: Site, visits: Visits, look: str) -> None:
    visits.expected = ["status of 401"]
    page = visits.open(site.rater(), **LOOKS[look])
    button(page, "A is better").click()
    page.get_by_role("button", name="Undo last vote").click()
    expect(page.locator(".notice")).to_be_visible()
    assert faults(page) == []
    button(page, "Both good").click()
    expect_progress(page, 1)

    page.goto(f"{site.address}/enter/nobody")
    expect(page.get_by_role("heading", level=1)).to_have_text("A personal link is required")
    assert faults(page) == []

    page.goto(site.link(Rater("Organiser", site.made.organiser)))
    assert faults(page) == []
    page.get_by_role("link", name="Open the organiser's page").click()
    expect(page.get_by_role("heading", name="Votes per pair")).to_be_visible()
    assert faults(page) == []
    wide, room = page.evaluate("[document.scrollingElement.scrollWidth, document.documentElement.clientWidth]")
    assert wide <= room
