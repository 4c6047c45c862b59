"""Links from webmail, which is another site to the browser, and forms that another site sends."""

from collections.abc import Iterator
from html import escape
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest
from arena.browsing import Rater, Site, Visits, button, expect_progress
from playwright.sync_api import expect


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
    rater = site.rater()
    page = visits.open(rater)
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
