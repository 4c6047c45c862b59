"""The page of a ranking in a real browser: nothing is clipped, what is wider than its place says so, and axe-core is
content, on a desktop, on a phone and in the dark.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser
from tools.arena.browsing import PHONE, open_browser, why_no_browser
from tools.report.made_rankings import golden_ranking, large_ranking

from podium.tools.report.files import write_report
from podium.tools.report.ranking_report import ranking_report

DESKTOP = {"viewport": {"width": 1280, "height": 900}}
LOOKS: dict[str, dict[str, Any]] = {
    "desktop": DESKTOP,
    "dark": {**DESKTOP, "color_scheme": "dark"},
    "phone": PHONE,
}
# The frames that scroll sideways and those that say so, of all that are visible.
FRAMES = """[...document.querySelectorAll('.scroll')].filter(one => one.checkVisibility()).map(one => ({
    label: one.getAttribute('aria-label'),
    scrolls: one.scrollWidth > one.clientWidth + 1,
    says: getComputedStyle(one, '::before').display === 'block'}))"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Skips without Chromium; with PODIUM_REQUIRE_CONTAINER=1 that is a failure instead."""
    if problem := why_no_browser():
        (pytest.fail if os.environ.get("PODIUM_REQUIRE_CONTAINER") == "1" else pytest.skip)(problem)
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    rankings = {"golden": golden_ranking(), "large": large_ranking(teams=20, cases=30, metrics=4)}
    found = {}
    for name, ranking in rankings.items():
        found[name] = tmp_path_factory.mktemp(name) / "report.html"
        write_report(ranking_report(ranking), found[name])
    return found


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("name", ["golden", "large"])
def test_nothing_is_clipped_without_a_hint(browser: Browser, pages: dict[str, Path], name: str, look: str) -> None:
    page = browser.new_page(**LOOKS[look])
    page.goto(pages[name].as_uri())
    page.evaluate("document.querySelectorAll('article details').forEach(one => { one.open = true })")
    width = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert width[0] == width[1], "the page itself never scrolls sideways"
    frames = page.evaluate(FRAMES)
    assert len(frames) > 5
    assert [frame["label"] for frame in frames if frame["scrolls"] and not frame["says"]] == []
    if look == "desktop" and name == "golden":
        assert not any(frame["scrolls"] for frame in frames)
    if look == "desktop":
        assert not any(frame["scrolls"] for frame in frames if "strengths and weaknesses" in frame["label"])
    page.close()


@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_no_fault(browser: Browser, pages: dict[str, Path], look: str) -> None:
    page = browser.new_page(**LOOKS[look])
    page.goto(pages["golden"].as_uri())
    found = Axe().run(page).response["violations"]
    faults = [f"{one['id']}: {one['help']} {node['html'][:200]}" for one in found for node in one["nodes"]]
    assert faults == []
    page.close()
