"""axe-core on every page, by day and by night, on a desktop and on a phone."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from html import escape
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect
from tools.arena.browsing import DESKTOP, PHONE, TABLET, Rater, Site, Visits, button, expect_progress

from podium.tools.arena.raters import invite
from podium.tools.arena.settings import read_settings
from podium.tools.arena.store import Store

pytestmark = pytest.mark.browser

LOOKS: dict[str, dict[str, Any]] = {
    "desktop, light": {**DESKTOP, "color_scheme": "light"},
    "phone, dark": {**PHONE, "color_scheme": "dark"},
}


def faults(page: Page) -> Sequence[str]:
    """What axe-core finds, of any impact, with the element it is found on."""
    found = Axe().run(page).response["violations"]
    return [
        f"{one['impact']} {one['id']}: {one['help']} {node['html'][:200]}" for one in found for node in one["nodes"]
    ]


def changing_slowly(page: Page) -> Sequence[str]:
    """Elements whose colours fade: between two colour schemes their text would have next to no contrast."""
    slow = "element => getComputedStyle(element).transitionDuration !== '0s'"
    found: Sequence[str] = page.evaluate(
        f"[...document.querySelectorAll('*')].filter({slow}).map(one => one.outerHTML)"
    )
    return found


@pytest.mark.parametrize("look", LOOKS)
def test_a_raters_pages(site: Site, visits: Visits, look: str) -> None:
    rater = site.rater(matchups=4)
    page = visits.context(**LOOKS[look]).new_page()
    page.goto(site.link(rater))
    assert faults(page) == []
    page.get_by_role("link", name="Start").click()
    kinds = set()
    for done in range(4):
        expect_progress(page, done, 4)
        kind = "volume" if page.locator("canvas, figure svg").count() else "picture"
        button(page, "A is better")
        if kind not in kinds:
            for summary in page.locator("summary:visible").all():
                summary.click()
            assert faults(page) == []
            assert changing_slowly(page) == []
            page.get_by_role("button" if kind == "volume" else "link", name="Enlarge").click()
            if kind == "picture":
                expect(page.get_by_role("dialog", name="Image of the case")).to_be_visible()
            assert faults(page) == []
            page.get_by_role("button", name="Close").click()
        kinds.add(kind)
        button(page, "A is better").click()
    assert kinds == {"volume", "picture"}
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Thank you, {rater.name}")
    assert faults(page) == []


@pytest.mark.parametrize("look", LOOKS)
def test_a_notice_a_refusal_and_the_organisers_pages(site: Site, visits: Visits, look: str) -> None:
    visits.expected = ["status of 401"]
    page = visits.open(site.rater(), **LOOKS[look])
    button(page, "A is better").click()
    page.get_by_role("button", name="Undo last vote").click()
    expect(page.locator(".notice")).to_be_visible()
    assert faults(page) == []
    button(page, "Both good").click()
    expect_progress(page, 1)

    page.goto(f"{site.address}/enter/nobody")
    expect(page.get_by_role("heading", level=1)).to_have_text("A personal link is required")
    assert faults(page) == []

    page.goto(site.link(Rater("Organiser", site.made.organiser)))
    assert faults(page) == []
    page.get_by_role("link", name="Open the organiser's page").click()
    expect(page.get_by_role("heading", name="Votes per pair")).to_be_visible()
    assert faults(page) == []
    assert_fits(page)


# Phones and tablets: nothing to scroll sideways, and the buttons always in reach of a finger.

SMALL_PHONE = {**PHONE, "viewport": {"width": 320, "height": 568}}
PHONE_ON_ITS_SIDE = {**PHONE, "viewport": {"width": 844, "height": 390}}
SCREENS = {
    "phone": PHONE,
    "small phone": SMALL_PHONE,
    "phone on its side": PHONE_ON_ITS_SIDE,
    "tablet": TABLET,
    "desktop": DESKTOP,
}
CHOICES = ("A is better", "Both good", "B is better")
FINGER_PX = 44


@pytest.mark.parametrize("screen", SCREENS)
def test_a_whole_session_fits_the_screen(site: Site, visits: Visits, screen: str) -> None:
    rater = site.rater()
    options = SCREENS[screen]
    page = visits.context(**options).new_page()
    page.goto(site.link(rater))
    assert_fits(page)
    page.get_by_role("link", name="Start").click()
    seen = set()
    for done in range(6):
        expect_progress(page, done)
        assert_nothing_lies_over_the_image(page)
        seen.add(page.locator("figure img, figure svg").evaluate("image => image.tagName"))
        if done == 1:  # with the button that takes the vote back
            assert_large_enough_for_a_finger(page)
        assert_fits(page)
        for place in (0, 0.5, 1):
            page.evaluate("place => window.scrollTo(0, place * document.documentElement.scrollHeight)", place)
            assert_in_reach(page, options)
        page.get_by_text("Add a comment").click()
        assert_fits(page)
        assert_in_reach(page, options)
        chosen = button(page, CHOICES[done % 3])
        chosen.tap() if options.get("has_touch") else chosen.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Thank you, {rater.name}")
    assert_fits(page)
    assert site.answers(rater) == ["left", "both-good", "right"] * 2
    assert seen == {"IMG", "svg"}


def assert_fits(page: Page) -> None:
    wide, room = page.evaluate("[document.scrollingElement.scrollWidth, document.documentElement.clientWidth]")
    assert wide <= room


def assert_in_reach(page: Page, options: dict[str, Any]) -> None:
    """Each of the three wholly on the screen, large enough, on top of everything else, and of one size."""
    boxes = []
    for words in CHOICES:
        choice = button(page, words)
        expect(choice).to_be_in_viewport(ratio=1)
        box = choice.bounding_box()
        assert box
        assert min(box["width"], box["height"]) >= FINGER_PX
        middle = [box["x"] + box["width"] / 2, box["y"] + box["height"] / 2]
        assert page.evaluate("([x, y]) => document.elementFromPoint(x, y).closest('button')?.value", middle)
        boxes.append(box)
    assert max(box["x"] + box["width"] for box in boxes) <= options["viewport"]["width"]
    assert boxes[0]["width"] == pytest.approx(boxes[2]["width"], abs=1)  # neither side is favoured
    assert boxes[0]["height"] == pytest.approx(boxes[2]["height"], abs=1)


def assert_large_enough_for_a_finger(page: Page) -> None:
    found = page.locator("button:visible, summary:visible, a:visible:not(.skip), input:visible")
    small = [
        one.evaluate("element => element.outerHTML")
        for one in found.all()
        if (box := one.bounding_box()) and min(box["width"], box["height"]) < FINGER_PX - 0.5
    ]
    assert found.count() >= 5
    assert small == []


def assert_nothing_lies_over_the_image(page: Page) -> None:
    """Whatever it hid could be the finding. What is below the screen's edge can be scrolled to."""
    image = page.locator("figure img, figure svg")
    expect(image).to_have_count(1)
    image.scroll_into_view_if_needed()
    covered = image.evaluate(
        """image => {
          const { left, top, width, height } = image.getBoundingClientRect();
          const places = [0.01, 0.25, 0.5, 0.75, 0.99].flatMap((x) => [0.01, 0.25, 0.5].map((y) => [x, y]));
          return places
            .map(([x, y]) => document.elementFromPoint(left + x * width, top + y * height))
            .filter((found) => !image.contains(found) && !found?.closest(".decision"))
            .map((found) => found?.outerHTML ?? "nothing");
        }"""
    )
    assert covered == []


def test_every_line_of_a_report_has_its_own_direction(site: Site, visits: Visits) -> None:
    page = visits.open(site.rater())
    while not (report := page.locator(".text", has_text="مينا")).count():
        done = int(page.locator("progress").get_attribute("value") or 0)
        button(page, "Both good").click()
        expect_progress(page, done + 1)
    left, right = report.first.evaluate(
        """report => {
          const [text] = report.childNodes;
          const { left, right } = report.getBoundingClientRect();
          const place = (words) => {
            const range = document.createRange();
            const start = text.data.indexOf(words);
            range.setStart(text, start);
            range.setEnd(text, start + words.length);
            return range.getBoundingClientRect();
          };
          return [place("No-break").left - left, right - place("مينا").right];
        }"""
    )
    assert left == pytest.approx(0, abs=1)
    assert right == pytest.approx(0, abs=1)


def test_the_organisers_page_fits_a_phone(site: Site, visits: Visits) -> None:
    with closing(Store(site.made.folder)) as store:
        invite(store, read_settings(site.made.folder), "Professor Maximilian von Oberhausen-Schmidt-Lichtenfels zu Hof")
    page = visits.context(**SMALL_PHONE).new_page()
    page.goto(site.link(Rater("Organiser", site.made.organiser)))
    assert_fits(page)
    page.get_by_role("link", name="Open the organiser's page").click()
    expect(page.get_by_role("heading", name="Votes per pair")).to_be_visible()
    assert_fits(page)
    inside = "select => select.getBoundingClientRect().right < document.documentElement.clientWidth"
    assert page.locator("select").evaluate_all(f"all => all.every({inside})")


def test_reports_stand_side_by_side_and_on_a_phone_one_above_the_other(site: Site, visits: Visits) -> None:
    rater = site.rater()
    for options in (PHONE, TABLET, DESKTOP):
        page = visits.open(rater, **options)
        left, right = (page.locator(".report").nth(number).bounding_box() for number in (0, 1))
        assert left
        assert right
        assert left["width"] == pytest.approx(right["width"], abs=1)
        if options is PHONE:
            assert left["y"] + left["height"] <= right["y"]
        else:
            assert left["y"] == right["y"]
            assert left["x"] + left["width"] <= right["x"]


# Links from webmail, which is another site to the browser, and forms that another site sends.


class OtherSite:
    """One page on http://localhost: to a browser another site than http://127.0.0.1."""

    def __init__(self) -> None:
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.end_headers()
                self.wfile.write(
                    f"<!doctype html><title>Mail</title><link rel=icon href=data:,>{site.content}".encode()
                )

            def log_message(self, *words: object) -> None:
                """Keep quiet."""

        self.content = ""
        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://localhost:{self.server.server_port}/"


@pytest.fixture
def other() -> Iterator[OtherSite]:
    site = OtherSite()
    thread = Thread(target=site.server.serve_forever)
    thread.start()
    yield site
    site.server.shutdown()
    thread.join()
    site.server.server_close()


def test_a_link_in_a_mail_works_at_the_first_and_at_the_second_click(
    site: Site, visits: Visits, other: OtherSite
) -> None:
    rater = site.rater()
    other.content = f"<a href='{site.link(rater)}'>Your link</a>"
    visits.allowed_origins.append(other.address)
    context = visits.context()
    for done in (0, 1):
        page = context.new_page()
        page.goto(other.address)
        with page.expect_request(site.link(rater)) as asked:
            page.get_by_role("link", name="Your link").click()
        headers = asked.value.all_headers()
        assert headers["sec-fetch-site"] == "cross-site"
        assert "cookie" not in headers  # Strict: the server cannot know who comes back
        page.get_by_role("link", name="Continue" if done else "Start").click()
        expect_progress(page, done)
        button(page, "A is better").click()
        expect_progress(page, done + 1)
    (cookie,) = context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["path"]) == (True, "Strict", "/")
    assert page.evaluate("document.cookie") == ""
    assert site.answers(rater) == ["left", "left"]


def test_the_link_opened_again_leaves_the_older_tab_working(site: Site, visits: Visits) -> None:
    rater = site.rater()
    context = visits.context()
    older = visits.open(rater, context)
    older.get_by_text("Add a comment").click()
    older.get_by_label("Comment for the organiser").fill("Written before the link was opened again.")
    visits.open(rater, context)
    button(older, "B is better").click()
    expect_progress(older, 1)
    assert [vote.comment for vote in site.records(rater)] == ["Written before the link was opened again."]


def forged(site: Site, rater: Rater, fields: dict[str, str]) -> str:
    hidden = "".join(f"<input type=hidden name={name} value='{escape(value)}'>" for name, value in fields.items())
    return f"<form method=post action='{site.address}/vote'>{hidden}<button>A prize for {rater.name}</button></form>"


def test_another_site_cannot_vote_not_even_with_the_right_token(site: Site, visits: Visits, other: OtherSite) -> None:
    rater, page = visits.newcomer()
    visits.allowed_origins.append(other.address)
    visits.expected = ["status of 401"]
    fields = {name: page.locator(f"#vote [name={name}]").get_attribute("value") or "" for name in ("csrf", "matchup")}
    other.content = forged(site, rater, {**fields, "answer": "left", "comment": ""})
    page.goto(other.address)
    page.get_by_role("button", name="A prize").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("A personal link is required")
    assert site.records(rater) == []
    page.goto(site.address)
    expect_progress(page, 0)


def test_another_site_cannot_show_the_page_in_a_frame(site: Site, visits: Visits, other: OtherSite) -> None:
    visits.allowed_origins.append(other.address)
    visits.expected = ["frame-ancestors", "ERR_BLOCKED_BY_RESPONSE"]
    other.content = f"<iframe src='{site.link(site.rater())}'></iframe>"
    page = visits.context().new_page()
    page.goto(other.address)
    expect(page.frame_locator("iframe").get_by_role("link", name="Start")).to_have_count(0)
    assert any("frame-ancestors" in text for text in visits.complaints), visits.complaints


# What reaches a rater's browser names no team and no case; the browser asks nobody else, and the policy holds.


def test_the_watch_over_these_tests_sees_what_it_watches_for(browser: Browser, site: Site) -> None:
    """Every test of a browser fails on a request elsewhere, an error or a breach of the policy: here they are."""
    visits = Visits(browser, site)
    page = visits.open(site.rater())
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<p style=\"color: red\">Red</p>')")
    page.evaluate("fetch('http://localhost:9/').catch(() => null)")
    page.evaluate("setTimeout(() => { throw new Error('thrown by the test') })")
    page.wait_for_timeout(200)
    for words in ("style-src", "connect-src", "thrown by the test"):
        assert any(words in text for text in visits.complaints)
    with pytest.raises(AssertionError, match="thrown by the test"):
        visits.close()
    visits.addresses.append("http://localhost:9/")
    with pytest.raises(AssertionError, match="http://localhost:9/"):
        visits.close()
