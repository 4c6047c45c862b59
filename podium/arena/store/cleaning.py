"""Texts as they are shown, without invisible characters: a hidden mark would identify a team."""

import re
import unicodedata

LONGEST_REPORT = 50_000
LONGEST_COMMENT = 2_000
CUT_NOTE = "[The report is longer; it was cut here.]"
_TRAILING = re.compile(r" +$", re.MULTILINE)
_LINE_END = re.compile("\r\n?|[\v\f\x85\u2028\u2029]")
_SPACE = re.compile(r"[^\S\n]")  # of any width
# Drawn as nothing, though Unicode has them for letters, marks and signs: joiners, fillers, variation selectors, blanks.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U0001d159\U000e0100-\U000e01ef]"
)


def clean_text(text: str) -> str:
    """`text` with LF line ends and plain spaces, without any control, zero-width, bidi or other invisible character,
    blanks at the ends of lines, or blank lines around it.

    Code points that are not text (lone surrogates, private use) are removed as well.
    """
    seen = "".join(
        each
        for each in _INVISIBLE.sub("", _SPACE.sub(" ", _LINE_END.sub("\n", text)))
        if each == "\n" or not unicodedata.category(each).startswith("C")
    )
    return _TRAILING.sub("", seen).strip("\n")


def cut_report(text: str) -> str:
    """A cleaned report; one that is too long is cut with a visible note."""
    return text if len(text) <= LONGEST_REPORT else f"{text[:LONGEST_REPORT]}\n{CUT_NOTE}"


def clean_comment(text: str) -> str:
    """A rater's comment, up to the length that the page allows."""
    return clean_text(text)[:LONGEST_COMMENT].strip()


def clean_name(text: str) -> str:
    """A rater's name on one line, with composed letters, so that two spellings of it are one person."""
    return " ".join(unicodedata.normalize("NFC", clean_text(text)).split())
