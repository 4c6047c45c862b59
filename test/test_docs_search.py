"""The built site in Chromium: search leads to the section that answers, and wide tables fit."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote_plus

import pytest
from places import ROOT
from playwright.sync_api import Page
from tools.arena.browsing import open_browser

pytestmark = pytest.mark.browser

SECTIONS = {
    "hd95 empty mask": "metrics.html#empty-masks-such-as-the-hd95-of-an-empty-mask",
    "hide per-case results": "organisers.html#hide-per-case-results",
    "score time": "declared.html#score-the-time-time",
    "tie break": "declared.html#tie-break",
}


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with open_browser() as browser:
        yield browser.new_page(viewport={"width": 1280, "height": 900})


@pytest.mark.parametrize("query", SECTIONS)
def test_search_gives_the_right_section_first(query: str, site: str, page: Page) -> None:
    page.goto(f"{site}/index.html?q={quote_plus(query)}")
    links = page.locator(".md-search-result__link")
    links.nth(1).wait_for()
    found = [Path(link.get_attribute("href") or "").name for link in links.all()[:2]]  # the page, and its best section
    expected, _, anchor = SECTIONS[query].partition("#")
    assert found[0].startswith(expected)
    assert found[1].startswith(expected)
    assert found[1].endswith(f"#{anchor}")


def test_the_tables_of_metrics_fit_a_window_of_1280_pixels(site: str, page: Page) -> None:
    page.goto(f"{site}/metrics.html")
    wide = page.evaluate(
        "[...document.querySelectorAll('.md-content table')].map(e => e.getBoundingClientRect().right)"
    )
    assert wide
    assert max(wide) <= 1280
    assert page.get_by_role("columnheader", name="empty", exact=True).count() > 0
