"""Texts as they are shown, without invisible characters: a hidden mark would identify a team."""

import re
import unicodedata

LONGEST_REPORT = 50_000
LONGEST_COMMENT = 2_000
CUT_NOTE = "[The report is longer; it was cut here.]"
MOST_MARKS = 3  # Vietnamese needs two, pointed Hebrew three
_LOOK_ALIKE = frozenset(("LATIN", "GREEK", "CYRILLIC"))
_WORD = re.compile(r"[^\W\d_]+")
_SPACES = re.compile(" {2,}")
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


def blind_report(text: str) -> str:
    """A report as raters see it: cleaned, and in one typography for all teams, so that no habit of writing tells one.

    Unicode NFKC (full-width letters, ligatures and the like become plain ones), at most three combining marks on a
    letter, runs of spaces as one. What a removed character kept apart may compose, hence twice.
    """
    plain = unicodedata.normalize("NFKC", clean_text(unicodedata.normalize("NFKC", text)))
    return _SPACES.sub(" ", clean_text(_limit_marks(plain)))


def mixed_script_words(text: str) -> list[str]:
    """Words with letters of two of the alphabets that look alike, such as a Cyrillic "а" in a Latin word.

    The Greek mu alone is the micro of units.
    """
    return [word for word in dict.fromkeys(_WORD.findall(text)) if len(_alphabets(word)) > 1]


def _alphabets(word: str) -> set[str]:
    names = {unicodedata.name(letter, "").partition(" ")[0] for letter in word.replace("\N{GREEK SMALL LETTER MU}", "")}
    return names & _LOOK_ALIKE


def _limit_marks(text: str) -> str:
    kept, marks = [], 0
    for each in text:
        marks = marks + 1 if unicodedata.combining(each) else 0
        if marks <= MOST_MARKS:
            kept.append(each)
    return "".join(kept)


def cut_report(text: str) -> str:
    """A cleaned report; one that is too long is cut with a visible note."""
    return text if len(text) <= LONGEST_REPORT else f"{text[:LONGEST_REPORT]}\n{CUT_NOTE}"


def clean_comment(text: str) -> str:
    """A rater's comment, up to the length that the page allows."""
    return clean_text(text)[:LONGEST_COMMENT].strip()


def clean_name(text: str) -> str:
    """A rater's name on one line, with composed letters, so that two spellings of it are one person."""
    return " ".join(unicodedata.normalize("NFC", clean_text(text)).split())
