"""Slices in a browser without WebGL: what is shown is compared with what is stored, pixel by pixel."""

from collections.abc import Iterator

import numpy as np
import pytest
from playwright.sync_api import Page, expect
from tools.arena.arena_folders import make_arena, shades_of
from tools.arena.browsing import DESKTOP, PHONE, Site, Visits, button, expect_progress
from tools.arena.serve_process import serving

pytestmark = pytest.mark.browser

SLICES, ROWS, COLUMNS = 30, 32, 48


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("arena")
    shape = (SLICES, ROWS, COLUMNS)
    made = make_arena(folder, cases=("A1", "A2"), volumes=("A1", "A2"), volume_shape=shape, raters=())
    with serving(folder) as address:
        yield Site(made, address)


def assert_drawn(page: Page, slice_number: int) -> None:
    """The picture on the page is this slice, once it says so."""
    expect(page.locator("figure")).to_have_attribute("data-drawn", str(slice_number))
    values = page.locator("figure svg image").evaluate(
        """async (shown) => {
          const image = new Image();
          image.src = shown.getAttribute("href");
          await image.decode();
          const context = new OffscreenCanvas(image.naturalWidth, image.naturalHeight).getContext("2d");
          context.drawImage(image, 0, 0);
          return [...context.getImageData(0, 0, image.naturalWidth, image.naturalHeight).data];
        }"""
    )
    pixels = np.array(values, dtype=np.uint8).reshape(ROWS, COLUMNS, 4)
    assert (pixels[..., :3] == shades_of(slice_number - 1, ROWS, COLUMNS)[..., None]).all()


def test_slider_wheel_and_keys_draw_the_slice_they_name(site: Site, visits: Visits) -> None:
    page = visits.open(site.rater(), **DESKTOP)
    assert_drawn(page, 15)  # the middle
    slider = page.get_by_role("slider", name="Slice")
    slider.fill("22")
    assert_drawn(page, 22)
    expect(page.locator("[data-count]")).to_have_text("22 / 30")
    stage = page.locator("[data-stage]")
    stage.hover()
    for number in (23, 24, 25):
        page.mouse.wheel(0, 100)
        assert_drawn(page, number)
    page.mouse.wheel(0, -100)
    assert_drawn(page, 24)
    for _ in range(5):
        page.mouse.wheel(0, 10)  # a touchpad's small movements: 50 make a slice
    assert_drawn(page, 25)
    stage.focus()
    steps = {"ArrowUp": 24, "ArrowLeft": 23, "ArrowRight": 24, "ArrowDown": 25, "PageUp": 15, "PageDown": 25}
    for key, number in {**steps, "End": 30, "Home": 1}.items():
        page.keyboard.press(key)
        assert_drawn(page, number)
    page.keyboard.press("ArrowUp")  # there is none before the first
    slider.focus()
    page.keyboard.press("ArrowRight")
    assert_drawn(page, 2)
    expect(slider).to_have_attribute("aria-valuetext", "Slice 2 of 30")
    expect(page.get_by_role("img", name="Slice 2 of 30")).to_be_visible()


def test_slices_have_their_true_proportions(site: Site, visits: Visits) -> None:
    for options in (DESKTOP, PHONE):
        page = visits.open(site.rater(), **options)
        assert_drawn(page, 15)
        box, stage = page.locator("figure svg image").bounding_box(), page.locator("[data-stage]").bounding_box()
        assert box
        assert stage
        assert box["width"] / box["height"] == pytest.approx(COLUMNS / (ROWS * 1.5), rel=0.01)
        filled = max(box["width"] / stage["width"], box["height"] / stage["height"])
        assert filled == pytest.approx(1, rel=0.06)  # but for a margin


def test_enlarged_both_reports_stay_readable_and_keys_vote(site: Site, visits: Visits) -> None:
    rater, page = visits.newcomer(**DESKTOP)
    small = page.locator("[data-stage]").bounding_box()
    page.get_by_role("button", name="Enlarge").click()
    large = page.locator("[data-stage]").bounding_box()
    assert small
    assert large
    assert large["width"] > 1.5 * small["width"]
    for letter in "AB":
        expect(page.locator(f"#report-{letter}")).to_be_in_viewport()
    page.locator("[data-stage]").press("Escape")
    expect(page.get_by_role("button", name="Enlarge")).to_be_visible()
    page.get_by_role("button", name="Enlarge").click()
    button(page, "A is better")
    page.keyboard.press("1")
    expect_progress(page, 1)
    assert site.answers(rater) == ["left"]


def test_a_vote_by_key_counts_while_the_slice_slider_has_the_focus(site: Site, visits: Visits) -> None:
    rater, page = visits.newcomer(**DESKTOP)
    button(page, "A is better")
    page.get_by_role("slider", name="Slice").focus()
    page.keyboard.press("2")
    expect_progress(page, 1)
    assert site.answers(rater) == ["right"]
