"""Raters in a real browser: everything they do is watched for what must never happen."""

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, expect, sync_playwright
from tools.arena.arena_folders import MadeArena

from podium.errors import PodiumError
from podium.tools.arena.raters import invite
from podium.tools.arena.settings import read_settings
from podium.tools.arena.store import Store, VoteRecord, read_votes
from podium.tools.arena.web.viewer import install_viewer

FLAGS = (
    *("--no-sandbox", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
WITHOUT_WEBGL = ("--disable-gpu", "--disable-3d-apis")
SOFTWARE_WEBGL = ("--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist")
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True, "device_scale_factor": 2}
TABLET = {"viewport": {"width": 820, "height": 1180}, "has_touch": True, "is_mobile": True}
DESKTOP = {"viewport": {"width": 1440, "height": 900}}
SETTLED_MS = 500  # the page takes no vote in its first 350 ms


def skip_because(problem: str | None) -> None:
    """Skip the test where there is a problem; with PODIUM_REQUIRE_CONTAINER=1 that is a failure instead."""
    if problem:
        (pytest.fail if os.environ.get("PODIUM_REQUIRE_CONTAINER") == "1" else pytest.skip)(problem)


@contextmanager
def open_browser(*, webgl: bool = False) -> Iterator[Browser]:
    """Skips the test without Chromium; with `webgl`, also without NiiVue, which needs it."""
    program, problem = shutil.which("chromium"), None
    if webgl:
        try:
            install_viewer()
        except PodiumError as error:
            problem = str(error)
    skip_because(problem if program else "Chromium is not installed: apt-get install chromium")
    with sync_playwright() as playwright:
        flags = [*FLAGS, *(SOFTWARE_WEBGL if webgl else WITHOUT_WEBGL)]
        browser = playwright.chromium.launch(executable_path=program, args=flags)
        yield browser
        browser.close()


@dataclass(frozen=True)
class Rater:
    name: str
    token: str


class Site:
    """An arena that is being served, and what the organiser does beside the server."""

    def __init__(self, made: MadeArena, address: str) -> None:
        self.made, self.address, self._number = made, address, count(1)

    def rater(self, matchups: int = 6) -> Rater:
        """Somebody new."""
        name = f"Rater {next(self._number)}"
        with closing(Store(self.made.folder)) as store:
            made = invite(store, read_settings(self.made.folder), name, matchups=matchups)
        return Rater(name, made.token)

    def link(self, rater: Rater) -> str:
        return f"{self.address}/enter/{rater.token}"

    def records(self, rater: Rater) -> list[VoteRecord]:
        """All that the rater ever cast, what was undone too."""
        with closing(Store(self.made.folder)) as store:
            return [vote for vote in read_votes(store) if vote.ballot.rater == rater.name]

    def answers(self, rater: Rater) -> list[str]:
        """The rater's standing votes."""
        return [vote.ballot.answer for vote in self.records(rater) if not vote.is_undone]


class Visits:
    """Fresh browser contexts; none may ask another origin for anything, or run into an error or the security policy."""

    def __init__(self, browser: Browser, site: Site) -> None:
        self._browser, self._site = browser, site
        self._contexts: list[BrowserContext] = []
        self.addresses: list[str] = []
        self.complaints: list[str] = []
        self.allowed_origins = [f"{site.address}/"]
        self.expected: Sequence[str] = ()

    def context(self, **options: Any) -> BrowserContext:
        context = self._browser.new_context(**options)
        self._contexts.append(context)
        context.set_default_timeout(15_000)
        context.on("request", lambda request: self.addresses.append(request.url))
        context.on("console", self._heard)
        context.on("weberror", lambda error: self.complaints.append(str(error.error)))
        return context

    def open(self, rater: Rater, context: BrowserContext | None = None, **options: Any) -> Page:
        """The rater's matchup, by way of the link and its welcome page."""
        page = (context or self.context(**options)).new_page()
        page.goto(self._site.link(rater))
        page.get_by_role("link", name=re.compile("Start|Continue")).click()
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        return page

    def newcomer(self, *, matchups: int = 6, **options: Any) -> tuple[Rater, Page]:
        """Somebody new, at the first matchup."""
        rater = self._site.rater(matchups)
        return rater, self.open(rater, **options)

    def close(self) -> None:
        for context in self._contexts:
            context.close()
        outside = [address for address in self.addresses if not address.startswith(tuple(self.allowed_origins))]
        assert not outside, outside
        unexpected = [text for text in self.complaints if not any(words in text for words in self.expected)]
        assert not unexpected, unexpected

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)


def button(page: Page, words: str) -> Locator:
    """A vote's button, once it takes votes: the page's script disables it for a moment after loading."""
    found = page.get_by_role("button", name=words)
    found.wait_for()
    page.wait_for_load_state("load")
    expect(found).to_be_enabled()
    return found


def expect_progress(page: Page, done: int, total: int = 6) -> None:
    expect(page.locator(".progress")).to_contain_text(f"{done} of {total}")


def long_reports(methods: Sequence[str], cases: Sequence[str]) -> dict[str, dict[str, str]]:
    """Reports that ask much of a page: many lines, a word without end, scripts from right to left, nothing at all."""
    kinds = (
        "Findings:\n" + "The second premolar of the lower left jaw shows a restoration with a marginal gap. " * 14,
        "Short.",
        "No-break: " + "x" * 400 + "\n\tIndented\n\n\nمينا سليمة.\n<script>alert(1)</script>",
        "",
    )
    return {
        method: {case: kinds[(number + place) % len(kinds)] for place, case in enumerate(cases)}
        for number, method in enumerate(methods)
    }
