"""The viewer of a report in a real Chromium with software rendering, opened as a file: what the canvas shows, what the
page's policy forbids, and what remains where nothing can be drawn in 3-D."""

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from numpy.typing import NDArray
from PIL import Image
from places import ROOT
from playwright.sync_api import Browser, Locator, Page, expect
from tools.arena.browsing import open_browser
from tools.arena.test_browser_niivue import WITHOUT_WEBGL2
from tools.report.page_check import write_page

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("close_pages")]

COLOURS = {"agreed": (62, 209, 165), "false positive": (255, 79, 216), "reference": (230, 159, 0)}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser(webgl=True) as opened:
        yield opened


@pytest.fixture(scope="module")
def report(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: ARG001  (skips without one)
    folders = (ROOT / "test/submissions/lesions/ember", ROOT / "ground-truth/lesions")
    images = ROOT / "test/images/lesions"
    return write_page(*folders, tmp_path_factory.mktemp("viewer"), "--viewer", "--images", images)


def open_viewer(page: Page, number: int = 0) -> Locator:
    """The viewer of a case, once it is drawn."""
    viewer = page.locator("details.viewer").nth(number)
    viewer.locator("summary").click()
    expect(viewer).to_have_attribute("data-shown", "errors", timeout=60_000)
    return viewer


def share(viewer: Locator, name: str) -> float:
    """Of the canvas that has about this colour over the image, which shines through."""
    viewer.page.wait_for_timeout(300)  # a frame
    pixels: NDArray[np.int64] = np.asarray(
        Image.open(BytesIO(viewer.locator("canvas").screenshot())).convert("RGB")
    ).astype(int)
    assert pixels.std() > 5, "not blank"
    colour = np.array(COLOURS[name])
    tone = pixels - pixels.mean(axis=2, keepdims=True)
    wanted = colour - colour.mean()
    alike = (tone @ wanted) / np.maximum(np.linalg.norm(tone, axis=2) * np.linalg.norm(wanted), 1)
    return float(((alike > 0.97) & (np.linalg.norm(tone, axis=2) > 40)).mean())


def test_errors_and_the_reference_are_drawn_under_the_policy(browser: Browser, report: Path) -> None:
    page, said = browser.new_page(viewport={"width": 1280, "height": 1000}), []
    page.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{report.as_uri()}#cases")
    viewer = open_viewer(page)
    assert share(viewer, "agreed") > 0.001
    assert share(viewer, "false positive") > 0.0005
    letters = share(viewer, "reference")  # those of the directions are of nearly this colour
    viewer.locator("[data-layer]").select_option("reference")
    expect(viewer).to_have_attribute("data-shown", "reference")
    assert share(viewer, "reference") > letters + 0.001
    assert share(viewer, "false positive") == 0
    viewer.locator("[data-layer]").select_option("image")
    expect(viewer).to_have_attribute("data-shown", "image")
    assert share(viewer, "reference") < letters + 0.0002
    assert share(viewer, "agreed") == 0
    viewer.locator("[data-plane=axial]").click()
    place = viewer.locator("[data-count]")
    before = place.inner_text()
    viewer.locator("[data-stage]").press("ArrowUp")
    assert place.inner_text() != before
    assert [text for text in said if "GPU stall due to ReadPixels" not in text] == []
    assert [address for address in asked if not address.startswith(("file:", "data:"))] == []
    found = Axe().run(page, context="details.viewer")
    assert found.violations_count == 0, found.generate_report()


def test_labels_of_a_declared_challenge_are_drawn_without_images(browser: Browser, tmp_path: Path) -> None:
    entry = ROOT / "gallery/flare22"
    report = write_page(entry / "teams/cedar", entry, tmp_path, "--viewer")
    page, said = browser.new_page(viewport={"width": 1280, "height": 1000}), []
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(f"{report.as_uri()}#cases")
    viewer = open_viewer(page)
    agreed = share(viewer, "agreed")
    assert agreed > 0.001
    viewer.locator("[data-layer]").select_option("reference")
    expect(viewer).to_have_attribute("data-shown", "reference")
    assert share(viewer, "agreed") < agreed / 2
    assert said == []


def test_one_canvas_is_drawn_at_a_time(browser: Browser, report: Path) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 1000})
    page.goto(f"{report.as_uri()}#cases")
    open_viewer(page)
    open_viewer(page, 1)
    expect(page.locator("canvas")).to_have_count(1)
    expect(page.locator("details.viewer[open]")).to_have_count(1)
    open_viewer(page)
    expect(page.locator("canvas")).to_have_count(1)


def test_without_webgl2_and_without_javascript_the_pictures_remain(browser: Browser, report: Path) -> None:
    page = browser.new_page()
    page.add_init_script(WITHOUT_WEBGL2)
    page.goto(f"{report.as_uri()}#cases")
    expect(page.get_by_text("This browser cannot draw volumes: it has no WebGL2.")).to_have_count(4)
    assert page.locator("details.viewer").count() == 0
    assert page.locator(".panel svg:visible").count() > 4
    page = browser.new_page(java_script_enabled=False)
    page.goto(f"{report.as_uri()}#cases")
    assert page.locator("details.viewer:visible").count() == 0
    assert page.locator(".panel svg:visible").count() > 4
