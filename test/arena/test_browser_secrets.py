"""What reaches a rater's browser names no team and no case; the browser asks nobody else, and the policy holds."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from arena.browsing import Site, Visits, button, expect_progress
from arena.conftest import CASES, METHODS
from playwright.sync_api import Browser, expect


def test_nothing_the_browser_received_names_a_team_or_a_case(site: Site, visits: Visits, tmp_path: Path) -> None:
    rater = site.rater(matchups=8)
    context = visits.context(record_har_path=tmp_path / "all.har", record_har_content="embed")
    page = visits.open(rater, context)
    for done in range(8):
        expect_progress(page, done, 8)
        expect(page.locator("figure img, figure svg").first).to_be_visible()
        button(page, "A is better").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Thank you, {rater.name}")
    page.get_by_role("button", name="Undo last vote").click()
    expect_progress(page, 7, 8)
    context.close()
    entries = json.loads((tmp_path / "all.har").read_text(encoding="utf-8"))["log"]["entries"]
    everything = b"\n".join(received(entries))
    assert b"The second premolar of the lower left jaw" in everything  # bodies are there
    assert everything.count(b"IHDR") >= 3  # pictures, too
    assert b"content-security-policy" in everything.lower()  # and headers
    assert sum("/picture/" in entry["request"]["url"] for entry in entries) >= 12  # slices fetched ahead, too
    for name in (*METHODS, *CASES):
        assert name.encode() not in everything.lower()


def received(entries: list[dict[str, dict[str, object]]]) -> Iterator[bytes]:
    """All of every response as the browser has it, and what it was asked for."""
    for entry in entries:
        content = entry["response"].pop("content")
        assert isinstance(content, dict)
        text = content.get("text", "")
        yield base64.b64decode(text) if content.get("encoding") == "base64" else text.encode()
        yield json.dumps([entry["request"], entry["response"]]).encode()


def test_the_watch_over_these_tests_sees_what_it_watches_for(browser: Browser, site: Site) -> None:
    """Every test of a browser fails on a request elsewhere, an error or a breach of the policy: here they are."""
    visits = Visits(browser, site)
    page = visits.open(site.rater())
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<p style=\"color: red\">Red</p>')")
    page.evaluate("fetch('http://localhost:9/').catch(() => null)")
    page.evaluate("setTimeout(() => { throw new Error('thrown by the test') })")
    page.wait_for_timeout(200)
    assert any("style-src" in text for text in visits.complaints)
    assert any("connect-src" in text for text in visits.complaints)
    assert any("thrown by the test" in text for text in visits.complaints)
    with pytest.raises(AssertionError, match="thrown by the test"):
        visits.close()
    visits.addresses.append("http://localhost:9/")
    with pytest.raises(AssertionError, match="http://localhost:9/"):
        visits.close()
