"""From a ranking to the final order, each step as an organiser and a rater take it: commands, links and a browser."""

import json
import re
import socket
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from arena.arena_folders import MadeArena
from arena.browsing import Site, Visits, button, expect_progress
from arena.organiser import Organiser
from arena.serve_process import ServeProcess
from PIL import Image
from playwright.sync_api import Browser, Page, expect

MATCHUPS = 6  # of three teams on two cases
TIFF, PNG = (40, 120, 200), (77,)  # the shades of the pages

CORNERS = """images => images.map((image) => {
  const context = new OffscreenCanvas(1, 1).getContext("2d");
  context.drawImage(image, 0, 0);
  return context.getImageData(0, 0, 1, 1).data[0];
})"""


def test_from_a_ranking_to_the_final_order(
    browser: Browser, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    organiser = Organiser(tmp_path)
    first, *others = (Image.fromarray(np.full((48, 64), shade, np.uint8)) for shade in TIFF)
    (organiser.images / "B000.png").unlink()
    first.save(organiser.images / "B000.tif", save_all=True, append_images=others)
    Image.fromarray(np.full((48, 64), PNG[0], np.uint8)).save(organiser.images / "B001.png")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = int(listener.getsockname()[1])
    address = f"http://127.0.0.1:{port}"

    def link(verb: str, *words: str) -> str:
        """The one line that a command prints."""
        capsys.readouterr()
        assert (organiser.init if verb == "init" else lambda *more: organiser.run(verb, *more))(*words) == 0
        return capsys.readouterr().out.strip()

    organisers_link = link("init", "--url", address)
    raters_link = link("invite", "Anna Rossi", "--matchups", str(MATCHUPS))
    server = ServeProcess(organiser.arena, port=port)
    visits = Visits(browser, Site(MadeArena(folder=organiser.arena, tokens={}, organiser=""), address))
    try:
        page = visits.context().new_page()
        page.goto(raters_link)
        page.get_by_role("link", name="Start").click()
        assert Counter(vote_for_the_higher_number(page)) == {TIFF: 3, PNG: 3}
        expect(page.get_by_role("heading", level=1)).to_have_text("Thank you, Anna Rossi")

        page = visits.context().new_page()
        page.goto(organisers_link)
        page.get_by_role("link", name="Open the organiser's page").click()
        ratings = page.locator("section", has=page.locator("#ratings"))
        expect(ratings.locator("tbody th")).to_have_text(["team3", "team2", "team1"])
        with page.expect_download() as download:
            page.get_by_role("link", name="Votes (CSV)").click()
        assert len(download.value.path().read_text().splitlines()) == 1 + MATCHUPS
    finally:
        visits.close()
        complaints = server.stop()
    assert complaints == "Stopped.\n"

    result = tmp_path / "arena.json"
    assert organiser.run("close") == 0
    assert organiser.run("result", "--output", str(result)) == 0
    assert organiser.rank("--arena", str(result)) == 0
    ranked = json.loads(organiser.ranking.read_text())["teams"]
    assert [team["name"] for team in sorted(ranked, key=lambda team: team["rank"])] == ["team3", "team2", "team1"]


def vote_for_the_higher_number(page: Page) -> list[tuple[int, ...]]:
    """To the end; the shades of the pictures that each matchup showed."""
    shown = []
    for done in range(MATCHUPS):
        expect_progress(page, done, MATCHUPS)
        images = page.locator("figure img")
        page.wait_for_load_state("load")
        shown.append(tuple(images.evaluate_all(CORNERS)))
        left, right = (re.findall(r"Finding (\d)", text) for text in page.locator(".report").all_inner_texts())
        button(page, "A is better" if left > right else "B is better").click()
    return shown
