"""NiiVue in a real Chromium with software rendering: what it draws, which way round, and what it remembers."""

import secrets
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
import SimpleITK
from axe_playwright_python.sync_playwright import Axe
from numpy.typing import NDArray
from PIL import Image
from playwright.sync_api import Browser, Page, expect
from samples.jaw_mesh import draw_arch, write_ply, write_stl
from tools.arena.arena_folders import make_arena
from tools.arena.browsing import DESKTOP, Site, Visits, button, open_browser
from tools.arena.serve_process import serving

from podium.tools.arena.images import prepare
from podium.tools.arena.store import PICTURES

pytestmark = pytest.mark.browser

SHAPE = (40, 60, 50)  # slices, rows, columns
WITHOUT_WEBGL2 = (
    "const real = HTMLCanvasElement.prototype.getContext;"
    "HTMLCanvasElement.prototype.getContext = function (kind, ...more) {"
    "  return kind === 'webgl2' ? null : real.call(this, kind, ...more); };"
)
LETTER = (255, 209, 64)  # as niivue-viewer.js says


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser(webgl=True) as opened:
        yield opened


@pytest.fixture(autouse=True)
def readback(visits: Visits) -> None:
    """The software renderer's advice for pages that are photographed."""
    visits.expected = ["GPU stall due to ReadPixels"]


def phantom(path: Path, *, mirrored: bool) -> Path:
    """A bright block on the patient's right, in front and above; stored from right to left, or from left to right."""
    values = np.full(SHAPE, -1000, dtype=np.int16)
    values[8:32, 10:50, 8:42] = 0
    values[22:30, 12:22, 10:20] = 1500
    image = SimpleITK.GetImageFromArray(values[:, :, ::-1] if mirrored else values)
    if mirrored:
        image.SetDirection((-1, 0, 0, 0, 1, 0, 0, 0, 1))
    image.SetSpacing((0.8, 0.8, 1.2))
    SimpleITK.WriteImage(image, str(path))
    return path


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Both cases are the phantom, one of them stored the other way round."""
    folder = tmp_path_factory.mktemp("arena")
    pictures = {}
    for number, case in enumerate(("A1", "A2")):
        source = phantom(folder.parent / f"{case}.mha", mirrored=case == "A2")
        pictures[case] = [prepare(source, folder / PICTURES / f"{number:032x}")]
    made = make_arena(folder, cases=tuple(pictures), raters=(), pictures=pictures)
    with serving(folder) as address:
        yield Site(made, address)


def ready(page: Page) -> None:
    expect(page.locator("figure")).to_have_attribute("data-viewer-ready", "niivue", timeout=30_000)
    button(page, "A is better")


def picture(page: Page) -> NDArray[np.int64]:
    page.wait_for_timeout(200)  # a frame
    shot = Image.open(BytesIO(page.locator("canvas").first.screenshot())).convert("RGB")
    return np.asarray(shot).astype(int)


def letters(pixels: NDArray[np.int64]) -> NDArray[np.bool_]:
    return np.abs(pixels - LETTER).sum(axis=2) < 120


def block(pixels: NDArray[np.int64]) -> tuple[float, float]:
    """Where the bright block lies, as shares of the canvas from the top left."""
    rows, columns = np.nonzero(pixels.min(axis=2) > 200)
    assert len(rows) > 50
    return float(rows.mean()) / pixels.shape[0], float(columns.mean()) / pixels.shape[1]


def test_the_marked_side_and_the_letters(site: Site, visits: Visits) -> None:
    page = visits.open(site.rater(matchups=2), **DESKTOP)
    seen = set()
    for _ in range(2):
        ready(page)
        seen.add(page.locator("figure").get_attribute("data-key"))
        page.get_by_role("button", name="Axial").click()
        page.locator("[data-slider=slice]").fill("27")  # through the block
        pixels = picture(page)
        assert pixels.std() > 10  # not blank
        down, across = block(pixels)
        assert max(down, across) < 0.5  # front at the top, the patient's right on the left
        found = letters(pixels)
        edge = found[:, : found.shape[1] // 3]
        rows, columns = np.nonzero(edge)
        middle = np.abs(rows - found.shape[0] / 2) < found.shape[0] / 6
        rows, columns = rows[middle], columns[middle]
        assert len(rows) > 20
        upper_right = (rows < (rows.min() + rows.max()) / 2) & (columns > (columns.min() + columns.max()) / 2)
        assert upper_right.sum() > 5  # an R has ink there, an L has none
        page.get_by_role("button", name="Coronal").click()
        page.locator("[data-slider=slice]").fill("43")
        down, across = block(picture(page))
        assert max(down, across) < 0.5  # above at the top
        button(page, "Both good").click()
    assert len(seen) == 2


def test_planes_presets_zoom_and_what_is_remembered(site: Site, visits: Visits) -> None:
    page = visits.open(site.rater(matchups=3), **DESKTOP)
    ready(page)
    figure = page.locator("figure")
    expect(figure).to_have_attribute("data-plane", "all")
    case = page.locator(".case").bounding_box()
    assert case
    assert case["width"] > 0.47 * DESKTOP["viewport"]["width"]  # half of the screen, but for the margins
    pixels = picture(page)
    rows, columns = pixels.shape[0] // 2, pixels.shape[1] // 2
    for quadrant in (pixels[:rows, :columns], pixels[:rows, columns:], pixels[rows:, :columns]):
        assert letters(quadrant).any()
    assert not letters(pixels[rows + 8 :, columns + 8 :]).any()  # the fourth is 3-D
    assert pixels[rows + 8 :, columns + 8 :].std() > 10
    expect(page.get_by_role("button", name="As opened", pressed=True)).to_be_visible()
    page.get_by_role("button", name="Sagittal").click()
    assert picture(page).std() > 10
    page.get_by_role("button", name="bone").click()
    expect(figure).to_have_attribute("data-low", "-500")
    expect(page.get_by_role("button", name="bone", pressed=True)).to_be_visible()
    expect(page.get_by_role("button", name="As opened", pressed=False)).to_be_visible()
    before = picture(page)
    page.get_by_role("button", name="Zoom in").click()
    assert np.abs(picture(page) - before).mean() > 1
    button(page, "A is better").click()
    ready(page)
    expect(figure).to_have_attribute("data-plane", "sagittal")
    expect(figure).to_have_attribute("data-low", "-500")
    expect(figure).to_have_attribute("data-high", "1300")
    page.get_by_role("button", name="As opened").click()
    expect(figure).not_to_have_attribute("data-low", "-500")


def test_the_next_case_is_fetched_early_and_nothing_slice_by_slice(site: Site, visits: Visits) -> None:
    page = visits.open(site.rater(matchups=4), **DESKTOP)
    for _ in range(2):  # both cases are volumes, and come in turns
        ready(page)
        expect(page.locator("body")).to_have_attribute("data-upcoming", "fetched", timeout=30_000)
        button(page, "A is better").click()
    ready(page)
    volumes = [address for address in visits.addresses if "/picture/" in address]
    assert sorted({address.rpartition("/")[2] for address in volumes}) == ["19.png", "volume.u16.gz"]
    fetched = "performance.getEntriesByType('resource').find((one) => one.name.endsWith('volume.u16.gz'))"
    assert page.evaluate(f"{fetched}.transferSize") == 0  # from the browser's cache
    response = page.request.get(f"{site.address}/static/niivue.js", headers={"Accept-Encoding": "gzip"})
    assert response.headers["content-encoding"] == "gzip"
    assert int(response.headers["content-length"]) < 1_000_000


def test_by_keyboard_beside_the_reports_and_without_accessibility_faults(site: Site, visits: Visits) -> None:
    page = visits.open(site.rater(matchups=3), **DESKTOP)
    ready(page)
    page.get_by_role("button", name="Axial").press("Enter")
    count = page.locator("[data-count]")
    first = count.text_content() or ""
    page.locator("[data-stage]").press("ArrowUp")
    expect(count).not_to_have_text(first)
    page.get_by_role("button", name="Enlarge").press("Enter")
    canvas = page.locator("canvas").bounding_box()
    assert canvas
    assert canvas["width"] > 700
    for letter in "AB":
        expect(page.locator(f"#report-{letter}")).to_be_in_viewport()
    button(page, "A is better")
    assert Axe().run(page).violations_count == 0
    page.get_by_role("button", name="Close").click()


def test_without_webgl_the_slices_remain(site: Site, visits: Visits) -> None:
    """The tests of the slices themselves run in a browser without WebGL."""
    context = visits.context(**DESKTOP)
    context.add_init_script(WITHOUT_WEBGL2)
    page = visits.open(site.rater(matchups=3), context)
    expect(page.locator("figure")).to_have_attribute("data-drawn", "20")
    expect(page.get_by_role("button", name="Coronal")).to_be_hidden()


class TestMeshes:
    @pytest.fixture(scope="class")
    @staticmethod
    def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
        """Every case is two jaws."""
        folder = tmp_path_factory.mktemp("jaws")
        write_ply(folder / "upper.ply", *draw_arch(np.random.default_rng(1), "upper"))
        write_stl(folder / "lower.stl", *draw_arch(np.random.default_rng(2), "lower"))
        arena, pictures = folder / "arena", {}
        for case in ("F1", "F2"):
            pictures[case] = [
                prepare(folder / name, arena / PICTURES / secrets.token_hex(16)) for name in ("upper.ply", "lower.stl")
            ]
        made = make_arena(arena, cases=tuple(pictures), raters=(), pictures=pictures)
        with serving(arena) as address:
            yield Site(made, address)

    def test_both_jaws_turn_and_can_be_switched_off(self, site: Site, visits: Visits) -> None:
        page = visits.open(site.rater(matchups=3), **DESKTOP)
        figure = page.locator("figure").first
        expect(figure).to_have_attribute("data-viewer-ready", "niivue", timeout=30_000)
        expect(page.locator("figure").nth(1)).to_be_hidden()
        expect(figure).to_have_attribute("data-azimuth", "180")
        expect(page.get_by_role("button", name="Front", pressed=True)).to_be_visible()
        both = lit(page)
        assert both > 0.02
        page.get_by_role("button", name="Upper jaw").click()
        one = lit(page)
        assert 0.2 * both < one < 0.95 * both
        page.get_by_role("button", name="Lower jaw").click()
        assert lit(page) == 0
        page.get_by_role("button", name="Lower jaw").click()
        before = figure.get_attribute("data-azimuth")
        page.locator("[data-stage]").first.press("ArrowLeft")
        assert figure.get_attribute("data-azimuth") != before
        expect(page.get_by_role("button", name="Front", pressed=False)).to_be_visible()
        page.get_by_role("button", name="Above").click()
        expect(page.get_by_role("button", name="Above", pressed=True)).to_be_visible()
        assert lit(page) > 0.02
        button(page, "A is better")
        assert Axe().run(page).violations_count == 0

    def test_without_webgl_pictures_from_all_around(self, site: Site, visits: Visits) -> None:
        context = visits.context(**DESKTOP)
        context.add_init_script(WITHOUT_WEBGL2)
        page = visits.open(site.rater(matchups=3), context)
        turn = page.get_by_role("slider", name="Turn").first
        image = page.locator("figure img").first
        before = image.get_attribute("src")
        assert (before or "").endswith("/12.png")  # half a turn: from the front
        turn.fill("7")
        assert image.get_attribute("src") != before
        expect(image).to_have_js_property("naturalWidth", 400)
        assert page.locator("figure:visible").count() == 2


def lit(page: Page) -> float:
    """The share of the canvas that is not black."""
    return float((picture(page).max(axis=2) > 12).mean())
