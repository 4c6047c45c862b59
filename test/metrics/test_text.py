"""BLEU-4, BLEU-13a and METEOR against the published figures, a literal reading, and NLTK to the last bit."""

import itertools
import tracemalloc
from collections.abc import Collection, Iterable
from functools import partial
from types import SimpleNamespace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from literal import reports as literal
from nltk.stem.porter import PorterStemmer
from nltk.translate.bleu_score import SmoothingFunction, corpus_bleu
from nltk.translate.meteor_score import single_meteor_score

from podium.metrics.text import (
    NgramCounts,
    bleu_4,
    bleu_13a,
    count_ngrams,
    meteor,
    meteor_synonyms,
    rouge_l,
    stem_of,
    tokens_13a,
    tokens_of,
)

A_REFERENCE = (
    "Transverse relationships are within normal limits, with no crossbite. The overbite is increased. Class II molar "
    "relationship on the right and Class I on the left. Class II canine relationship bilaterally. The overjet is "
    "increased. The lower midline is deviated to the right. The Curve of Spee is accentuated. Moderate crowding in the "
    "lower arch, mild crowding in the upper arch."
)
A_CANDIDATE = (
    "Transverse relationships are within normal limits. Deep bite. Molar relationship is Class II on the right and "
    "Class I on the left. Canine relationship is Class II on both sides. Increased overjet. The mandibular midline is "
    "shifted to the right. Increased Curve of Spee. Moderate lower crowding and slight upper crowding."
)
C_REFERENCE = (
    "Tooth 46 is missing. There is a large cavity on tooth 36. The gums are inflamed and plaque is present. "
    "No open bite."
)
C_CANDIDATE = (
    "Absence of tooth 46. Big carious lesion of the lower left first molar. Gingival inflammation with visible plaque "
    "deposits. An anterior open bite is not seen."
)

# Few words, so that they repeat and match; some that a tokeniser may stumble over.
WORDS = st.sampled_from(["tooth", "46", "is", "missing", ".", "è", "l", "’", "no_bite", "ß"])
TOKENS = st.lists(WORDS, max_size=14)
# Whatever the rules of 13a look for, and what they must leave alone.
TEXTS = st.lists(
    st.sampled_from(
        [*"aB 19.,-'/(&<\n\r\u00a0\u0663é’_", "<skipped>", "&quot;", "&amp;", "&lt;", "tooth ", "46 ", "is "]
    ),
    max_size=24,
).map("".join)
PAIRS = st.lists(st.tuples(TOKENS, TOKENS), min_size=1, max_size=6)


def sum_counts(counts: Iterable[NgramCounts]) -> NgramCounts:
    """The counts of a corpus."""
    found = list(counts)
    return NgramCounts(
        matches=tuple(map(sum, zip(*(each.matches for each in found), strict=True))),
        totals=tuple(map(sum, zip(*(each.totals for each in found), strict=True))),
        candidate_tokens=sum(each.candidate_tokens for each in found),
        reference_tokens=sum(each.reference_tokens for each in found),
    )


def counts(candidate: str, reference: str):
    return count_ngrams(candidate=tokens_of(candidate), reference=tokens_of(reference))


@pytest.mark.parametrize(
    ("candidate", "reference", "lengths", "bleu", "meteor_score"),
    [
        (A_CANDIDATE, A_REFERENCE, (59, 71), 0.30544992, 0.63097135),
        (C_CANDIDATE, C_REFERENCE, (30, 27), 0.02404891, 0.29258620),
        ("no crossbite", "no crossbite", (2, 2), 0.31622777, 0.93750000),
    ],
)
def test_golden_figures(
    candidate: str, reference: str, lengths: tuple[int, int], bleu: float, meteor_score: float
) -> None:
    assert (len(tokens_of(candidate)), len(tokens_of(reference))) == lengths
    assert round(bleu_4(counts(candidate, reference)), 8) == bleu
    assert round(meteor(candidate=tokens_of(candidate), reference=tokens_of(reference)), 8) == meteor_score


def test_golden_corpus() -> None:
    both = sum_counts([counts(A_CANDIDATE, A_REFERENCE), counts(C_CANDIDATE, C_REFERENCE)])
    assert round(bleu_4(both), 8) == 0.24222779


def counts_13a(candidate: str, reference: str):
    return count_ngrams(candidate=tokens_13a(candidate), reference=tokens_13a(reference), least_total=0)


def test_golden_bleu_13a() -> None:
    a, c = counts_13a(A_CANDIDATE, A_REFERENCE), counts_13a(C_CANDIDATE, C_REFERENCE)
    assert [round(bleu_13a(counts), 4) for counts in (a, c, sum_counts([a, c]))] == [0.2932, 0, 0.2305]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Class II, no open-bite.", ["Class", "II", ",", "no", "open-bite", "."]),
        ("1,000.5 mm; 3.5mm, 46.", ["1,000.5", "mm", ";", "3.5mm", ",", "46", "."]),
        ("36-37 isn't (at all) 50%", ["36", "-", "37", "isn't", "(", "at", "all", ")", "50", "%"]),
        ("over-\nbite<skipped>\nis", ["overbite", "is"]),
        ("a&amp;lt;b &quot;c&quot;", ["a", "<", "b", '"', "c", '"']),
        ("x,.5", ["x", ",", ".5"]),  # matches of a rule do not overlap
        ("l’È snake_case", ["l’È", "snake", "_", "case"]),
        (" \t\u00a0\n", []),
    ],
)
def test_tokens_13a(text: str, tokens: list[str]) -> None:
    assert tokens_13a(text) == tokens


@given(st.one_of(TEXTS, st.text(max_size=60)))
def test_tokens_13a_follow_the_literal_reading(text: str) -> None:
    assert tokens_13a(text) == literal.tokens_13a(text)


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=5))
def test_bleu_13a_follows_the_literal_reading(pairs: list[tuple[str, str]]) -> None:
    pairs += [(text, text) for text, _ in pairs[:1]]  # else four words in a row rarely match
    found = bleu_13a(sum_counts(counts_13a(candidate, reference) for candidate, reference in pairs))
    assert found == pytest.approx(literal.corpus_bleu_13a(pairs), abs=1e-12)
    assert 0 <= found <= 1


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("L’elemento 18 È incluso.", ["l", "’", "elemento", "18", "è", "incluso", "."]),
        ("Class II,\r\nno open-bite", ["class", "ii", ",", "no", "open", "-", "bite"]),
        (" \t\u00a0\n", []),
        ("snake_case 3.5mm", ["snake_case", "3", ".", "5mm"]),
        ("e\u0301", ["e", "\u0301"]),  # nothing is normalised: a combining accent is a token of its own
    ],
)
def test_tokens(text: str, tokens: list[str]) -> None:
    assert tokens_of(text) == tokens


def test_the_greedy_match_takes_the_first_free_token_from_the_left() -> None:
    # b takes position 0; a takes 1, a takes 2: positions 1, 2, 0, so two chunks. P = R = F = 1.
    assert meteor(candidate=["a", "a", "b"], reference=["b", "a", "a"]) == 1 - 0.5 * (2 / 3) ** 3


def test_an_unmatched_candidate_token_does_not_break_a_chunk() -> None:
    # m = 2 in one chunk, P = 2/3, R = 1: F = 10 * 2/3 / (1 + 6) = 20/21.
    assert meteor(candidate=["a", "x", "b"], reference=["a", "b"]) == pytest.approx(20 / 21 * (1 - 0.5 / 8), rel=1e-15)


@pytest.mark.parametrize(("candidate", "reference"), [([], []), ([], ["a"]), (["a"], []), (["a"], ["b"])])
def test_nothing_in_common_is_zero(candidate: list[str], reference: list[str]) -> None:
    assert bleu_4(count_ngrams(candidate=candidate, reference=reference)) == 0
    assert bleu_13a(count_ngrams(candidate=candidate, reference=reference, least_total=0)) == 0
    assert meteor(candidate=candidate, reference=reference) == 0


@given(PAIRS)
def test_bleu_is_that_of_nltk_to_the_last_bit(pairs: list[tuple[list[str], list[str]]]) -> None:
    summed = sum_counts(count_ngrams(candidate=candidate, reference=reference) for candidate, reference in pairs)
    candidates, references = [candidate for candidate, _ in pairs], [[reference] for _, reference in pairs]
    theirs = corpus_bleu(references, candidates, smoothing_function=SmoothingFunction().method1)
    assert bleu_4(summed) == theirs


@given(PAIRS)
def test_both_follow_the_literal_reading(pairs: list[tuple[list[str], list[str]]]) -> None:
    summed = sum_counts(count_ngrams(candidate=candidate, reference=reference) for candidate, reference in pairs)
    assert bleu_4(summed) == pytest.approx(literal.corpus_bleu(pairs), abs=1e-12)
    assert 0 <= bleu_4(summed) <= 1
    for candidate, reference in pairs:
        assert meteor(candidate=candidate, reference=reference) == literal.meteor(candidate, reference)
        assert 0 <= meteor(candidate=candidate, reference=reference) <= 1


@given(st.text(max_size=60))
def test_tokens_follow_the_literal_reading(text: str) -> None:
    assert tokens_of(text) == literal.tokens(text)


def test_an_endless_report_costs_no_memory_for_what_is_not_in_the_reference() -> None:
    candidate = [str(number) for number in range(100_000)]
    tracemalloc.start()
    try:
        counts = count_ngrams(candidate=candidate, reference=["7", "8", "9", "x"])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (counts.matches, counts.totals) == ((3, 2, 1, 0), (100_000, 99_999, 99_998, 99_997))
    assert peak < 1_000_000


# Stems, synonyms and METEOR against NLTK, to the last bit.

SYNONYMS = {"big": {"large", "great"}, "large": {"big"}, "cavity": {"caries"}, "gums": {"gum", "gingiva"}}
KNOWN_WORDS = st.sampled_from(
    ["big", "large", "great", "cavity", "caries", "gum", "gums", "gingiva", "cavities", "the", "."]
)
KNOWN_TOKENS = st.lists(KNOWN_WORDS, max_size=12)
SUFFIXES = [
    *("", "s", "es", "ies", "ied", "eed", "ed", "ing", "y"),
    *("ational", "alli", "logi", "fulli", "ization", "ousness"),
]


def synonyms(word: str) -> Collection[str]:
    return SYNONYMS.get(word, frozenset())


class FewWords:
    """The part of NLTK's WordNet reader that its METEOR calls, with the words above."""

    def synsets(self, word: str) -> list[SimpleNamespace]:
        lemmas = [SimpleNamespace(name=partial(str, name)) for name in synonyms(word)]
        return [SimpleNamespace(lemmas=lambda: lemmas)]


@given(KNOWN_TOKENS, KNOWN_TOKENS)
def test_it_is_nltks_meteor_to_the_last_bit(candidate: list[str], reference: list[str]) -> None:
    ours = meteor_synonyms(candidate=candidate, reference=reference, synonyms=synonyms)
    assert ours == single_meteor_score(reference, candidate, wordnet=FewWords())


@pytest.mark.parametrize(
    ("reference", "score"),
    [
        # "cavities" matches by stem, "big" by synonym: 3 of 3, in one chunk.
        (["the", "great", "cavity"], 1 - 0.5 / 27),
        # The stem of "large" is "larg", which is nobody's synonym: 2 of 3, in two chunks.
        (["the", "large", "cavity"], 2 / 3 * (1 - 0.5)),
        ([], 0),
    ],
)
def test_by_hand(reference: list[str], score: float) -> None:
    found = meteor_synonyms(candidate=["the", "big", "cavities"], reference=reference, synonyms=synonyms)
    assert found == pytest.approx(score, rel=1e-12)
    assert meteor_synonyms(candidate=[], reference=reference, synonyms=synonyms) == 0


@given(st.builds(str.__add__, st.text(alphabet="abeilosty", max_size=6), st.sampled_from(SUFFIXES)))
@example("logy")  # nothing but the suffix, so it stays: logi
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


def longest_common_subsequence(one: str, other: str) -> int:
    """By its recursion."""
    table = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for i, j in itertools.product(range(len(one)), range(len(other))):
        table[i + 1][j + 1] = table[i][j] + 1 if one[i] == other[j] else max(table[i][j + 1], table[i + 1][j])
    return table[-1][-1]


@given(st.text("abc", max_size=9), st.text("abc", max_size=9))
def test_rouge_l_is_the_f1_of_the_longest_common_subsequence(one: str, other: str) -> None:
    both = len(one) + len(other)
    expected = 2 * longest_common_subsequence(one, other) / both if both else 1.0
    assert rouge_l(candidate=list(one), reference=list(other)) == pytest.approx(expected)


def test_rouge_l_of_a_published_example() -> None:
    """Lin 2004: "police killed the gunman" against "police kill the gunman" has 3/4."""
    assert (
        rouge_l(candidate=["police", "kill", "the", "gunman"], reference=["police", "killed", "the", "gunman"]) == 0.75
    )
