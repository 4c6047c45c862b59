"""A volume of 400 x 400 x 400 in a real browser: no step of the wheel is lost. bench/arena_viewer.py times it."""

from collections.abc import Iterator

import pytest
from arena.arena_folders import make_arena
from arena.browsing import DESKTOP, Site, Visits
from arena.serve_process import serving
from playwright.sync_api import expect

SIZE = 400


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("arena")
    made = make_arena(folder, cases=("A1",), volumes=("A1",), volume_shape=(SIZE, SIZE, SIZE), raters=())
    with serving(folder) as address:
        yield Site(made, address)


def test_every_step_through_a_large_volume_is_drawn(site: Site, visits: Visits) -> None:
    visits.expected = ["willReadFrequently"]  # advice for pages that read their canvas often, as this test does
    page = visits.open(site.rater(matchups=3), **DESKTOP)
    figure = page.locator("figure")
    expect(figure).to_have_attribute("data-drawn", "200")
    figure.evaluate(
        """figure => {
          window.seen = [];
          const canvas = figure.querySelector("canvas");
          new MutationObserver(() => {
            const [grey] = canvas.getContext("2d").getImageData(200, 200, 1, 1).data;
            window.seen.push([Number(figure.dataset.drawn), grey]);
          }).observe(figure, { attributeFilter: ["data-drawn"] });
        }"""
    )
    page.locator("[data-stage]").hover()
    for number in range(201, 261):
        page.mouse.wheel(0, 100)
        expect(figure).to_have_attribute("data-drawn", str(number))
    page.get_by_role("slider", name="Slice").fill("3")  # far from what was fetched in advance
    expect(figure).to_have_attribute("data-drawn", "3")
    seen = page.evaluate("window.seen")
    numbers = [*range(201, 261), 3]
    assert [number for number, _ in seen] == numbers
    assert [grey for _, grey in seen] == [grey_at_the_middle(number) for number in numbers]


def grey_at_the_middle(slice_number: int) -> int:
    """Of the pattern and the window that make_arena chooses."""
    shade = (200 * 5 + 200 * 3 + (slice_number - 1) * 20) % 256
    return round(min(max((-1000 + shade / 255 * 3000 + 200) / 1000 * 255, 0), 255))
