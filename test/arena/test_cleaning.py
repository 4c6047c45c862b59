"""What nobody can see is not shown: a hidden mark would let a team be recognised."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.tools.arena.setup import blind_report, cut_report, mixed_script_words
from podium.tools.arena.store import clean_comment, clean_name, clean_text


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ("one\r\ntwo\rthree\u2028four\vfive", "one\ntwo\nthree\nfour\nfive"),
        ("tooth\t46", "tooth 46"),
        ("a\u200bb\u200dc\ufeffd\u2060e\u00adf", "abcdef"),
        ("\u202eevil\u202c \u2066word\u2069", "evil word"),
        ("bell\a null\0 escape\x1b[31m", "bell null escape[31m"),
        ("wide\u2003and\u00a0unbroken\u3000spaces", "wide and unbroken spaces"),
        ("a\ufe0fb\u034fc\u3164d\u2800e\U000e0101f", "abcdef"),
        ("tag\U000e0041\U000e0042", "tag"),
        ("private\ue000 lone\ud800", "private lone"),
        ("trailing  \n\u00a0\nlines \t", "trailing\n\nlines"),
        ("\n\n  indented\n\n", "  indented"),
        ("Zähne: 46 ≥ 2 mm – è così", "Zähne: 46 ≥ 2 mm – è così"),
        (" \n\t\n", ""),
        ("", ""),
    ],
)
def test_texts_are_cleaned(sent: str, shown: str) -> None:
    assert clean_text(sent) == shown


@given(st.text())
def test_cleaned_texts_are_clean(sent: str) -> None:
    shown = clean_text(sent)
    assert clean_text(shown) == shown
    assert not [each for each in shown if each != "\n" and unicodedata.category(each).startswith("C")]


def test_a_report_that_nobody_would_read_on_is_cut_visibly() -> None:
    assert cut_report("x" * 50_000) == "x" * 50_000
    assert cut_report("x" * 50_001) == "x" * 50_000 + "\n[The report is longer; it was cut here.]"


def test_comments_and_names() -> None:
    assert clean_comment("  good\r\nbut short \n") == "good\nbut short"
    assert clean_comment("x" * 3000) == "x" * 2000
    assert clean_name(" Anna\n Rossi\u200b ") == "Anna Rossi"
    assert clean_name("Jose\u0301") == "José"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ﬁssure at １６", "fissure at 16"),
        ("Two  spaces   here", "Two spaces here"),
        ("a" + "\u0301\u0300\u0302\u0303\u0304" * 9, "\u00e1\u0300\u0302\u0303"),
        ("e\u200b\u0301", "\u00e9"),
        ("mm²", "mm2"),
        ("مينا  سليمة", "مينا سليمة"),
        ("牙釉质", "牙釉质"),
    ],
)
def test_all_teams_write_in_one_typography(text: str, shown: str) -> None:
    assert blind_report(text) == shown


@given(st.text())
def test_blinding_again_changes_nothing(text: str) -> None:
    assert blind_report(blind_report(text)) == blind_report(text)


def test_look_alike_letters_are_found() -> None:
    """A Cyrillic "es" or "a" in a Latin word; a word of one alphabet, a unit and a Greek letter of its own are none."""
    assert mixed_script_words("The \u0441aries of 20 \u03bcm, \u03b2-lactam, \u043a\u0430\u0440, c\u0430ries") == [
        "\u0441aries",
        "c\u0430ries",
    ]
