"""Six languages with the same words, and which of them a rater gets."""

import re
from contextlib import closing
from pathlib import Path

import pytest
from tools.arena.arena_folders import make_arena
from tools.arena.arena_server import running

from podium.tools.arena.raters import Guest, invite
from podium.tools.arena.settings import DEFAULT_REASONS, read_settings
from podium.tools.arena.store import Store
from podium.tools.arena.web.site import LANGUAGES, choose, words_of

TEXTS = {code: words_of(code)._texts for code in LANGUAGES}


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_language_says_everything_with_the_same_blanks(code: str) -> None:
    assert list(TEXTS[code]) == list(TEXTS["en"])
    blanks = {key: sorted(re.findall(r"{\w+}", text)) for key, text in TEXTS[code].items()}
    assert blanks == {key: sorted(re.findall(r"{\w+}", text)) for key, text in TEXTS["en"].items()}
    assert set(DEFAULT_REASONS) <= set(TEXTS[code])


def test_no_language_is_a_copy_of_english() -> None:
    for code in LANGUAGES[1:]:
        same = [key for key, text in TEXTS[code].items() if text == TEXTS["en"][key] and key not in ("page", "change")]
        assert len(same) <= 4, (code, same)


@pytest.mark.parametrize(
    ("wanted", "accepted", "code"),
    [
        ("it", "de", "it"),
        ("", "de-CH,de;q=0.9,en;q=0.8", "de"),
        ("", "nl, en;q=0.3, fr;q=0.7", "fr"),
        ("", "zh-Hans-CN", "zh"),
        ("", "nl", "en"),
        ("", "", "en"),
        ("xx", "*;q=x,,;", "en"),
    ],
)
def test_whose_language_it_is(wanted: str, accepted: str, code: str) -> None:
    assert choose(wanted, accepted).code == code


def test_a_rater_is_greeted_in_his_language_and_may_change_it(tmp_path: Path) -> None:
    made = make_arena(tmp_path)
    with closing(Store(tmp_path)) as store:
        token = invite(store, read_settings(tmp_path), Guest(name="Rossi", language="it")).token
    with running(made) as server:
        guest = server.guest()
        page = guest.page(f"/enter/{token}")
        assert '<html lang="it"' in page
        assert "Buongiorno, Rossi" in page
        assert "Quale referto descrive meglio questo caso?" in guest.page()
        changed = guest.client.post("/language", data={**guest.form("/language", page), "language": "de"})
        assert "Willkommen, Rossi" in changed.text
        assert "Welcher Befund beschreibt diesen Fall besser?" in guest.page()
        assert "Nicht gefunden" in guest.client.get("/nothing").text
        refused = guest.client.post("/language", data={**guest.form("/language", page), "language": "xx"})
        assert refused.status_code == 400
