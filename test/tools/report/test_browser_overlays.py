"""Overlays in a real browser: enlarged by a click and by the keyboard, without a script."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from evaluating import evaluate_command
from places import ROOT
from playwright.sync_api import Page
from tools.arena.browsing import open_browser, why_no_browser

from podium.cli.main import main


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    problem = why_no_browser()
    if problem and os.environ.get("PODIUM_REQUIRE_CONTAINER") == "1":
        pytest.fail(f"PODIUM_REQUIRE_CONTAINER=1, but {problem}.")
    if problem:
        pytest.skip(problem)
    folder = tmp_path_factory.mktemp("overlays")
    ground_truth, submission = ROOT / "ground-truth/lesions", ROOT / "test/submissions/lesions/ember"
    assert evaluate_command(submission, ground_truth, folder) == 0
    given: dict[str, Path] = {"--images": ROOT / "test/images/lesions", "--submission": submission}
    options = [str(word) for pair in {**given, "--ground-truth": ground_truth}.items() for word in pair]
    assert main(["report", str(folder / "metrics.json"), *options, "--output", str(folder / "page.html")]) == 0
    with open_browser() as browser:
        opened = browser.new_page(viewport={"width": 1280, "height": 900})
        opened.goto((folder / "page.html").as_uri())
        yield opened


def width(page: Page, number: int) -> float:
    box = page.locator(".panel svg").nth(number).bounding_box()
    assert box
    return box["width"]


def test_a_click_enlarges_a_picture_and_another_one_does_not(page: Page) -> None:
    small = width(page, 0)
    page.locator(".panel").first.click()
    assert width(page, 0) > 1.8 * small
    page.locator(".panel").first.click()
    assert width(page, 0) == small


def test_a_step_of_the_row_is_enlarged_by_the_keyboard(page: Page) -> None:
    small = width(page, 3)
    assert small < width(page, 0) / 2
    page.locator(".panel input").nth(3).press("Space")
    assert width(page, 3) > 4 * small
    page.locator(".panel input").nth(3).press("Space")


def test_it_has_no_accessibility_faults(page: Page) -> None:
    found = Axe().run(page, context=".overlays")
    assert found.violations_count == 0, found.generate_report()
