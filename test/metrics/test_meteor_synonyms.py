"""Stems, synonyms and METEOR against NLTK, to the last bit."""

from collections.abc import Collection

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.stem.porter import PorterStemmer
from nltk.translate.meteor_score import single_meteor_score

from podium.metrics.text import meteor_synonyms, stem_of

SYNONYMS = {"big": {"large", "great"}, "large": {"big"}, "cavity": {"caries"}, "gums": {"gum", "gingiva"}}
WORDS = st.sampled_from(["big", "large", "great", "cavity", "caries", "gum", "gums", "gingiva", "cavities", "the", "."])
TOKENS = st.lists(WORDS, max_size=12)
SUFFIXES = [
    "",
    "s",
    "es",
    "ies",
    "ied",
    "eed",
    "ed",
    "ing",
    "y",
    "ational",
    "alli",
    "logi",
    "fulli",
    "ization",
    "ousness",
]


class Lemma:
    def __init__(self, name: str) -> None:
        self._name = name

    def name(self) -> str:
        return self._name


class Synset:
    def __init__(self, names: Collection[str]) -> None:
        self._names = names

    def lemmas(self) -> list[Lemma]:
        return [Lemma(name) for name in self._names]


class FewWords:
    """The part of NLTK's WordNet reader that its METEOR calls, with the words above."""

    def synsets(self, word: str) -> list[Synset]:
        return [Synset(SYNONYMS[word])] if word in SYNONYMS else []


@given(TOKENS, TOKENS)
def test_it_is_nltks_meteor_to_the_last_bit(candidate: list[str], reference: list[str]) -> None:
    ours = meteor_synonyms(
        candidate=candidate, reference=reference, synonyms=lambda word: SYNONYMS.get(word, frozenset())
    )
    assert ours == single_meteor_score(reference, candidate, wordnet=FewWords())


@pytest.mark.parametrize(
    ("reference", "score"),
    [
        # "cavities" matches by stem, "big" by synonym: 3 of 3, in one chunk.
        (["the", "great", "cavity"], 1 - 0.5 / 27),
        # The stem of "large" is "larg", which is nobody's synonym: 2 of 3, in two chunks.
        (["the", "large", "cavity"], 2 / 3 * (1 - 0.5)),
    ],
)
def test_by_hand(reference: list[str], score: float) -> None:
    found = meteor_synonyms(
        candidate=["the", "big", "cavities"],
        reference=reference,
        synonyms=lambda word: SYNONYMS.get(word, frozenset()),
    )
    assert found == pytest.approx(score, rel=1e-12)


def test_empty_texts_score_0() -> None:
    assert meteor_synonyms(candidate=[], reference=[], synonyms=lambda _: ()) == 0
    assert meteor_synonyms(candidate=["a"], reference=[], synonyms=lambda _: ()) == 0


@given(st.builds(str.__add__, st.text(alphabet="abeilosty", max_size=6), st.sampled_from(SUFFIXES)))
def test_stems_are_nltks(word: str) -> None:
    assert stem_of(word) == PorterStemmer().stem(word)


@pytest.mark.parametrize(
    ("word", "stem"),
    [
        ("caresses", "caress"),
        ("ponies", "poni"),
        ("agreed", "agre"),
        ("plastered", "plaster"),
        ("hopping", "hop"),
        ("filing", "file"),
        ("relational", "relat"),
        ("formalize", "formal"),
        ("adjustment", "adjust"),
        ("controll", "control"),
        ("skies", "sky"),
        ("is", "is"),
        ("è", "è"),
    ],
)
def test_stems_of_the_paper(word: str, stem: str) -> None:
    assert stem_of(word) == stem
