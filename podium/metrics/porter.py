"""Porter's stemmer with NLTK's changes, which is the one NLTK's METEOR stems with.

Source: M. F. Porter, An algorithm for suffix stripping, 1980; the changes are marked below. NLTK itself is not
imported: that alone takes longer than scoring a hundred reports.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

_VOWELS = frozenset("aeiou")

# NLTK: words whose stem is looked up.
_IRREGULAR = {
    "skies": "sky",
    "sky": "sky",
    "dying": "die",
    "lying": "lie",
    "tying": "tie",
    "news": "news",
    "innings": "inning",
    "inning": "inning",
    "outings": "outing",
    "outing": "outing",
    "cannings": "canning",
    "canning": "canning",
    "howe": "howe",
    "proceed": "proceed",
    "exceed": "exceed",
    "succeed": "succeed",
}

_STEP_2 = (
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("bli", "ble"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
    ("fulli", "ful"),  # NLTK
)
_STEP_3 = (
    ("icate", "ic"),
    ("ative", ""),
    ("alize", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ful", ""),
    ("ness", ""),
)
_STEP_4 = tuple(
    (suffix, "")
    for suffix in (
        *("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion"),
        *("ou", "ism", "ate", "iti", "ous", "ive", "ize"),
    )
)


def stem_of(word: str) -> str:
    """The stem of a word in lower case; words of one or two letters are their own."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= 2:
        return word
    for step in (_step_1a, _step_1b, _step_1c, _step_2, _step_3, _step_4, _step_5a, _step_5b):
        word = step(word)
    return word


def _consonants(word: str) -> list[bool]:
    """Whether each letter is a consonant: all but a, e, i, o, u, and y after a consonant."""
    flags: list[bool] = []
    for letter in word:
        flags.append(not flags[-1] if letter == "y" and flags else letter not in _VOWELS)
    return flags


def _measure(stem: str) -> int:
    """Porter's m: how often a consonant follows a vowel."""
    flags = _consonants(stem)
    return sum(later and not earlier for earlier, later in pairwise(flags))


def _ends_short(word: str) -> bool:
    """Porter's *o: consonant, vowel, consonant at the end, the last not w, x or y. NLTK: or just these two last."""
    flags = _consonants(word)
    if len(word) == 2:
        return flags == [False, True]
    return flags[-3:] == [True, False, True] and word[-1] not in "wxy"


def _first_suffix(
    word: str, rules: Sequence[tuple[str, str]], *, applies: Callable[[str, str], bool] = lambda _stem, _suffix: True
) -> str:
    """The first rule whose suffix fits decides, even if that is to leave the word alone."""
    for suffix, replacement in rules:
        if word.endswith(suffix):
            stem = word[: len(word) - len(suffix)]
            return stem + replacement if applies(stem, suffix) else word
    return word


def _step_1a(word: str) -> str:
    if word.endswith("ies") and len(word) == 4:  # NLTK: ties -> tie
        return word[:-1]
    return _first_suffix(word, (("sses", "ss"), ("ies", "i"), ("ss", "ss"), ("s", "")))


def _step_1b(word: str) -> str:
    if word.endswith("ied"):  # NLTK: died -> die, spied -> spi
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        stem = word.removesuffix(suffix)
        if stem != word and not all(_consonants(stem)):
            return _mend(stem)
    return word


def _mend(stem: str) -> str:
    """What is left after -ed and -ing: hopp -> hop, conflat -> conflate, fil -> file."""
    if stem.endswith(("at", "bl", "iz")):
        return stem + "e"
    if len(stem) >= 2 and stem[-1] == stem[-2] and _consonants(stem)[-1]:
        return stem if stem[-1] in "lsz" else stem[:-1]
    return stem + "e" if _measure(stem) == 1 and _ends_short(stem) else stem


def _step_1c(word: str) -> str:
    # NLTK: only after a consonant that is not the whole stem; Porter asks for a vowel in the stem.
    if word.endswith("y") and len(word) > 2 and _consonants(word)[-2]:
        return word[:-1] + "i"
    return word


def _step_2(word: str) -> str:
    if word.endswith("alli") and _measure(word[:-4]) > 0:  # NLTK: what this leaves goes through the step again
        return _step_2(word[:-2])
    if word.endswith("logi") and not word.endswith(tuple(suffix for suffix, _ in _STEP_2)):
        return word[:-1] if _measure(word[:-3]) > 0 else word  # NLTK: the l counts as part of the stem
    return _first_suffix(word, _STEP_2, applies=lambda stem, _: _measure(stem) > 0)


def _step_3(word: str) -> str:
    return _first_suffix(word, _STEP_3, applies=lambda stem, _: _measure(stem) > 0)


def _step_4(word: str) -> str:
    def applies(stem: str, suffix: str) -> bool:
        return _measure(stem) > 1 and (suffix != "ion" or stem[-1] in "st")

    return _first_suffix(word, _STEP_4, applies=applies)


def _step_5a(word: str) -> str:
    if not word.endswith("e"):
        return word
    measure = _measure(word[:-1])
    return word[:-1] if measure > 1 or (measure == 1 and not _ends_short(word[:-1])) else word


def _step_5b(word: str) -> str:
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word
