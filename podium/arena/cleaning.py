"""Texts as they are shown: what nobody can see goes, since a hidden mark would let a team be recognised."""

import re
import unicodedata

LONGEST_REPORT = 50_000
LONGEST_COMMENT = 2_000
CUT_NOTE = "[The report is longer; it was cut here.]"
_TRAILING = re.compile(r"[ \t\u00a0]+$", re.MULTILINE)


def clean_text(text: str) -> str:
    """`text` with LF line ends, tabs as spaces, no control, zero-width, bidi or other format character, and no blanks
    at the ends of lines or blank lines around it.

    Where such a character is not text at all (lone surrogates, private use) it goes as well.
    """
    lines = re.sub(r"\r\n?|[\u0085\u2028\u2029\v\f]", "\n", text).replace("\t", " ")
    seen = "".join(each for each in lines if each == "\n" or not unicodedata.category(each).startswith("C"))
    return _TRAILING.sub("", seen).strip("\n")


def clean_report(text: str) -> str:
    """A report for display, cut with a visible note where nobody would read on."""
    cleaned = clean_text(text)
    return cleaned if len(cleaned) <= LONGEST_REPORT else f"{cleaned[:LONGEST_REPORT]}\n{CUT_NOTE}"


def clean_comment(text: str) -> str:
    """A rater's comment; the page lets nobody write more."""
    return clean_text(text)[:LONGEST_COMMENT].strip()


def clean_name(text: str) -> str:
    """A rater's name on one line, with composed letters, so that two spellings of it are one person."""
    return " ".join(unicodedata.normalize("NFC", clean_text(text)).split())
