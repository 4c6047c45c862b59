"""An arena and its server; and a browser and raters for the tests in a real browser."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from tools.arena.arena_folders import MadeArena, make_arena
from tools.arena.arena_server import Running, running
from tools.arena.browsing import Site, Visits, long_reports, open_browser
from tools.arena.serve_process import serving

METHODS = ("zirconium", "palladium", "osmium", "iridium")
CASES = ("patient-17", "patient-18", "patient-19", "patient-20")


@pytest.fixture
def made(tmp_path: Path) -> MadeArena:
    return make_arena(tmp_path, raters=("Anna", "Bo"), volumes=("A2",))


@pytest.fixture
def server(made: MadeArena) -> Iterator[Running]:
    with running(made) as server:
        yield server


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Two cases with pictures and two with a volume."""
    folder = tmp_path_factory.mktemp("arena")
    reports = long_reports(METHODS, CASES)
    made = make_arena(folder, methods=METHODS, cases=CASES, volumes=CASES[2:], raters=(), reports=reports)
    with serving(folder) as address:
        yield Site(made, address)


@pytest.fixture
def visits(browser: Browser, site: Site) -> Iterator[Visits]:
    """Closed, and held against what was heard, when the test ends."""
    opened = Visits(browser, site)
    try:
        yield opened
    finally:
        opened.close()
