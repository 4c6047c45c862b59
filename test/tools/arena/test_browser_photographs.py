"""Photographs in a real browser: the whole one first, then larger, and the next one."""

from collections.abc import Iterator

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect
from tools.arena.arena_folders import make_arena
from tools.arena.browsing import DESKTOP, Site, Visits, button
from tools.arena.serve_process import serving

from podium.tools.arena.images import prepare
from podium.tools.arena.store import PICTURES

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Every case has two photographs."""
    folder = tmp_path_factory.mktemp("photographs")
    arena, pictures = folder / "arena", {}
    for number, case in enumerate(("F1", "F2")):
        pictures[case] = []
        for place in range(2):
            source = folder / f"{case}-{place}.png"
            Image.fromarray(np.full((200, 300, 3), 60 + 60 * place, dtype=np.uint8)).save(source)
            pictures[case].append(prepare(source, arena / PICTURES / f"{10 * number + place:032x}"))
    made = make_arena(arena, cases=tuple(pictures), raters=(), pictures=pictures)
    with serving(arena) as address:
        yield Site(made, address)


def test_fit_zoom_and_gallery(site: Site, visits: Visits) -> None:
    rater, page = visits.newcomer(matchups=3, **DESKTOP)
    page.wait_for_load_state("load")  # before that the link opens the picture itself
    page.get_by_role("link", name="Enlarge").first.click()
    dialog = page.get_by_role("dialog", name="Image of the case")
    image = dialog.locator("img")
    expect(image).to_have_js_property("naturalWidth", 300)
    shown = image.bounding_box()
    assert shown
    assert (shown["width"], shown["height"]) == (1440, 900)  # the screen: all of it is seen
    first = image.get_attribute("src")
    page.keyboard.press("+")
    expect(dialog).to_have_attribute("data-zoom", "1.5")
    larger = image.bounding_box()
    assert larger
    assert larger["width"] == pytest.approx(1.5 * 1440, abs=1)
    page.keyboard.press("-")
    dialog.get_by_role("button", name="Next").click()
    assert image.get_attribute("src") != first
    page.keyboard.press("ArrowLeft")
    assert image.get_attribute("src") == first
    page.keyboard.press("1")  # no vote while the reports are out of sight
    dialog.get_by_role("button", name="Close").click()
    expect(dialog).to_be_hidden()
    button(page, "A is better")
    assert site.answers(rater) == []
