"""Takes docs/pictures/arena-*.png: every page of an arena of the reports samples in a real browser.

    ./demo.sh && python docs/pictures/draw_arena.py

The arena is made, served and visited as an organiser and raters would; the votes are drawn from one seed.
"""

import random
import re
import shutil
import subprocess
import sys
import time
from contextlib import closing
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from PIL import Image
from playwright.sync_api import Browser, FloatRect, Page, sync_playwright

from podium.tools.arena import voting
from podium.tools.arena.raters import find_visitor, open_session
from podium.tools.arena.store import Answer, OpenArena
from podium.tools.arena.voting import Matchup

PICTURES = Path(__file__).parent
REPOSITORY = PICTURES.parents[1]
PODIUM = (sys.executable, "-m", "podium", "arena")
FLAGS = (
    *("--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"),
    *("--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
RATERS = ("Dr Anna Rossi", "Dr Bilal Haddad", "Dr Chen Wei", "Dr Dana Novak")
SHOWN, SCANNED, PHONED = "Dr Elin Berg", "Dr Felix Meyer", "Dr Giulia Conti"  # who stop at a volume, at scans, at once
DESKTOP: dict[str, Any] = {"viewport": {"width": 1280, "height": 800}, "color_scheme": "light"}
PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 844},
    "color_scheme": "dark",
    "has_touch": True,
    "is_mobile": True,
}
INSTRUCTIONS = "Judge what a referring dentist needs.\n\nAn invented finding is worse than a missed one."
COMMENT = "Both name the implants; A invents a fracture."


def main() -> None:
    with TemporaryDirectory() as folder:
        arena = Path(folder) / "arena"
        samples = {"--ranking": "demo-output/reports/ranking/ranking.json", "--submissions": "test/submissions/reports"}
        options = [str(word) for pair in {**samples, "--cases": "test/arena-cases"}.items() for word in pair]
        written = Path(folder) / "instructions.txt"
        written.write_text(INSTRUCTIONS)
        organiser = printed("init", str(arena), *options, "--instructions", str(written))
        links = {name: printed("invite", str(arena), name) for name in (*RATERS, SHOWN, SCANNED)}
        links[PHONED] = printed("invite", str(arena), PHONED, "--language", "it")
        with closing(OpenArena(arena)) as opened:
            vote(opened, {name: link.rpartition("/")[2] for name, link in links.items()})
        command = [*PODIUM, "serve", str(arena), "--port", "0"]
        with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as server:  # noqa: S603
            assert server.stdout is not None
            found = re.search(r"http://127\.0\.0\.1:\d+", server.stdout.readline())
            assert found
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
                here = {name: link.replace("http://localhost:8000", found[0]) for name, link in links.items()}
                draw_raters_pages(browser, here, found[0])
                draw_organisers_page(browser, organiser.replace("http://localhost:8000", found[0]))
                save(card(browser, here[SHOWN]).screenshot(), "arena-closed.png")
                browser.close()
            server.terminate()


def draw_raters_pages(browser: Browser, links: dict[str, str], address: str) -> None:
    save(card(browser, address).screenshot(), "arena-no-link.png")
    page = browser.new_page(**PHONE)
    page.goto(links[PHONED])
    save(page.screenshot(), "arena-welcome-phone.png")
    save(drawn(enter(browser, links[PHONED], **DESKTOP)).screenshot(), "arena-practice.png")
    page = drawn(enter(browser, links[SHOWN], **DESKTOP))
    save(page.screenshot(), "arena-matchup.png")
    page.locator(".comment summary").click()
    page.get_by_label("invented finding").check()
    page.locator("#comment").fill(COMMENT)
    save(page.screenshot(), "arena-reasons.png")
    page.locator(".comment summary").click()
    page.locator("[data-enlarge]").click()
    page.wait_for_timeout(800)
    save(page.screenshot(), "arena-large.png")
    save(drawn(enter(browser, links[SHOWN], **PHONE)).screenshot(), "arena-phone.png")
    page = drawn(enter(browser, links[SCANNED], **DESKTOP))
    save(page.screenshot(), "arena-scans.png")
    page.locator(".picture a").click()
    page.wait_for_timeout(500)
    save(page.screenshot(), "arena-photograph.png")
    page = card(browser, links[RATERS[0]])
    page.locator(".go a").click()
    save(page.screenshot(), "arena-thanks.png")


def draw_organisers_page(browser: Browser, link: str) -> None:
    """Closes the arena at the end."""
    page = enter(browser, link, **DESKTOP)
    save(page.screenshot(full_page=True, clip=down_to(page, "raters")), "arena-organiser.png")
    page.goto(page.url + "/votes?case=B001")
    save(page.screenshot(), "arena-votes.png")
    page.go_back()
    page.get_by_label("Name").fill("Dr Hana Sato")
    page.get_by_role("button", name="Create a link").click()
    page.locator("code.link").evaluate("link => { link.textContent = link.textContent.replace(/[^/]+$/, 'kS3…'); }")
    save(page.screenshot(clip=down_to(page, "link")), "arena-invited.png")
    page.get_by_label("I am sure").check()
    page.get_by_role("button", name="Close the arena").click()
    page.get_by_text("The arena is closed").wait_for()


def printed(*words: str) -> str:
    """The link that a command prints."""
    done = subprocess.run([*PODIUM, *words], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603
    return done.stdout.strip()


def vote(opened: OpenArena, tokens: dict[str, str]) -> None:
    """Everybody to the end but one, who stops before a volume on which both reports have something to say.

    A clinician likes the longer report better, more or less, and takes half a minute or so.
    """
    drawn = random.Random(5)  # noqa: S311
    now = [time.time() - 70 * 3600.0]
    for name, token in tokens.items():
        visitor = find_visitor(opened.store, open_session(opened.store, token) or "")
        assert visitor
        votes = 0
        while (matchup := voting.next_matchup(opened, visitor.id)) is not None:
            if name == PHONED or (name == SHOWN and votes >= 11 and is_telling(matchup)):
                break
            if name == SCANNED and any(picture.is_mesh for picture in matchup.pictures):
                break
            better = (len(matchup.left_report) - len(matchup.right_report)) / 100 + drawn.gauss(0, 0.4)
            answer: Answer = "both-good" if abs(better) < 0.2 else "left" if better > 0 else "right"
            comment = COMMENT if votes == 7 and name == RATERS[1] else ""
            now[0] += drawn.lognormvariate(3.3, 0.4)
            with patch("podium.tools.arena.voting.time.time", lambda: now[0]):  # nobody waits hours for a picture
                voting.cast(opened.store, visitor.id, matchup=matchup.key, answer=answer, comment=comment)
            votes += 1
        now[0] += drawn.uniform(2, 14) * 3600


def is_telling(matchup: Matchup) -> bool:
    shortest = min(len(matchup.left_report), len(matchup.right_report))
    return matchup.pictures[0].is_volume and shortest > 120


def enter(browser: Browser, link: str, **look: Any) -> Page:
    """The page behind a link's welcome."""
    page = browser.new_page(**look)
    page.goto(link)
    page.locator(".go a").click()
    return page


def drawn(page: Page) -> Page:
    page.locator("[data-viewer-ready]").first.wait_for()
    page.wait_for_timeout(700)
    return page


def card(browser: Browser, link: str) -> Page:
    """A page that says one thing."""
    page = browser.new_page(viewport={"width": 640, "height": 400}, color_scheme="light")
    page.goto(link)
    return page


def down_to(page: Page, heading: str) -> FloatRect:
    box = page.locator("section", has=page.locator(f"#{heading}")).bounding_box()
    assert box
    return {"x": 0, "y": 0, "width": 1280, "height": box["y"] + box["height"] + 12}


def save(shot: bytes, name: str) -> None:
    """As a palette image: grey and a few colours need no more."""
    Image.open(BytesIO(shot)).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(
        PICTURES / name, optimize=True
    )
    print(f"{PICTURES / name}: {(PICTURES / name).stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
