"""BLEU-4 and METEOR as the live leaderboard of ODIN 2026 computes them, and the BLEU of its final ranking.

Many metrics go by these two names; docs/reports.md says how these differ from the others. All see a text as the list
of its tokens, and all are 0 where either text has none: an empty report scores 0, against an empty reference too.
"""

import math
import re
import string
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

import numpy as np

from podium.metrics import Floats
from podium.metrics.resampling import Resamples

MAX_ORDER = 4
# NLTK's smoothing method 1: an order without a single match counts as this many matches.
EPSILON = 0.1
Pair = tuple[int, int]  # a candidate position and the reference position it is matched with
_TOKEN = re.compile(r"\w+|[^\w\s]")
_ENTITIES = {"&quot;": '"', "&amp;": "&", "&lt;": "<", "&gt;": ">"}  # in this order: "&amp;lt;" becomes "<"
_SEPARATE = re.escape("".join(sorted(set(string.punctuation) - set("',-."))))
_RULES_13A = (
    (re.compile(f"([{_SEPARATE}])"), r" \1 "),
    (re.compile(r"([^0-9])([.,])"), r"\1 \2 "),
    (re.compile(r"([.,])([^0-9])"), r" \1 \2"),
    (re.compile(r"([0-9])-"), r"\1 - "),
)


def damaged_texts(text: str) -> list[str]:
    """A text, the same without every other word, and an empty one."""
    return [text, " ".join(text.split()[::2]), ""]


def tokens_of(text: str) -> list[str]:
    """Lower case, then runs of word characters and every other visible character by itself. Nothing is normalised."""
    return _TOKEN.findall(text.lower())


def tokens_13a(text: str) -> list[str]:
    """The tokens of WMT's script mteval-v13a, in sacreBLEU and Hugging Face's evaluate `13a`; upper case stays.

    A word broken by "-" at a line's end is joined. ASCII punctuation is separated; full stop and comma unless between
    digits, "-" only after a digit, the apostrophe never. Each rule runs over the text once, and its matches do not
    overlap.
    """
    text = text.replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    for entity, character in _ENTITIES.items():
        text = text.replace(entity, character)
    text = f" {text} "
    for pattern, replacement in _RULES_13A:
        text = pattern.sub(replacement, text)
    return text.split()


@dataclass(frozen=True, kw_only=True)
class NgramCounts:
    """All that BLEU needs to know of one pair of texts, or, summed, of a whole corpus.

    `matches` and `totals` are by order, 1 to 4.
    """

    matches: tuple[int, ...]
    totals: tuple[int, ...]
    candidate_tokens: int
    reference_tokens: int


def count_ngrams(*, candidate: Sequence[str], reference: Sequence[str], least_total: int = 1) -> NgramCounts:
    """Candidate n-grams that occur in the reference, each at most as often as it occurs there, and their number.

    `least_total` is the total of an order that the candidate is too short for. NLTK has 1: even an empty candidate
    weighs on the precision of the corpus.
    """
    matches, totals = [], []
    for order in range(1, MAX_ORDER + 1):
        wanted = Counter(_ngrams(reference, order))
        # The others are not kept: a report may be a million times as long as its reference.
        found = Counter(ngram for ngram in _ngrams(candidate, order) if ngram in wanted)
        matches.append((found & wanted).total())
        totals.append(max(least_total, len(candidate) - order + 1))
    return NgramCounts(
        matches=tuple(matches), totals=tuple(totals), candidate_tokens=len(candidate), reference_tokens=len(reference)
    )


def _ngrams(tokens: Sequence[str], order: int) -> Iterator[tuple[str, ...]]:
    return zip(*(islice(tokens, start, None) for start in range(order)), strict=False)


def bleu_4(counts: NgramCounts) -> float:
    """BP * exp(mean over n = 1..4 of ln p_n), between 0 and 1, of a pair or of a corpus.

    p_n = matches / total, with 0.1 in place of 0 matches; BP = 1 for a candidate longer than the reference, else
    exp(1 - reference length / candidate length). Source: Papineni et al. 2002 with smoothing method 1 of Chen and
    Cherry 2014, equal to NLTK's `corpus_bleu(..., smoothing_function=SmoothingFunction().method1)` to the last bit:
    every operation on floats is done in its order. Without one matching token it is 0.
    """
    if not counts.candidate_tokens or not counts.reference_tokens or counts.matches[0] == 0:
        return 0.0
    precisions = [(matched or EPSILON) / total for matched, total in zip(counts.matches, counts.totals, strict=True)]
    mean = math.fsum(math.log(precision) * (1 / MAX_ORDER) for precision in precisions)
    return _brevity_penalty(counts) * math.exp(mean)


def bleu_13a(counts: NgramCounts) -> float:
    """BLEU without smoothing, between 0 and 1, of counts over `tokens_13a` with a least total of 0.

    BP * exp(mean over n = 1..4 of ln p_n) as above, but 0 where an order has no match at all. Source: `bleu` of Hugging
    Face's package evaluate with its default settings.
    """
    if 0 in counts.matches:
        return 0.0
    precisions = [matched / total for matched, total in zip(counts.matches, counts.totals, strict=True)]
    return _brevity_penalty(counts) * math.exp(math.fsum(math.log(precision) for precision in precisions) / MAX_ORDER)


def corpus_bleu(bleu: Callable[[NgramCounts], float], counts: Sequence[Sequence[int]], resamples: Resamples) -> Floats:
    """BLEU of each replicate as one corpus: counts are summed first, and a text drawn twice counts twice.

    `counts` has a row per case: matches and totals of every order, then the tokens of candidate and reference.
    """
    summed = [
        NgramCounts(
            matches=tuple(row[:MAX_ORDER]),
            totals=tuple(row[MAX_ORDER:-2]),
            candidate_tokens=row[-2],
            reference_tokens=row[-1],
        )
        for row in resamples.total(counts).astype(np.int64).tolist()
    ]
    return np.array([bleu(each) for each in summed])


def _brevity_penalty(counts: NgramCounts) -> float:
    if counts.candidate_tokens > counts.reference_tokens:
        return 1.0
    return math.exp(1 - counts.reference_tokens / counts.candidate_tokens)


def meteor(*, candidate: Sequence[str], reference: Sequence[str]) -> float:
    """The leaderboard's METEOR, between 0 and 1: exact matches only, taken greedily.

    Each candidate token, left to right, takes the first unused equal reference token. With m matches,
    P = m / |candidate|, R = m / |reference|, F = 10 P R / (R + 9 P); a chunk is a run of consecutive reference
    positions in candidate order (candidate tokens without a match do not break it);
    METEOR = F (1 - 0.5 (chunks / m)^3). Without a match it is 0.
    """
    free: dict[str, list[int]] = {}
    for position in range(len(reference) - 1, -1, -1):
        free.setdefault(reference[position], []).append(position)
    positions = [free[token].pop() for token in candidate if free.get(token)]
    if not positions:
        return 0.0
    matched = len(positions)
    chunks = 1 + sum(later != earlier + 1 for earlier, later in pairwise(positions))
    precision, recall = matched / len(candidate), matched / len(reference)
    f_mean = 10 * precision * recall / (recall + 9 * precision)
    return f_mean * (1 - 0.5 * (chunks / matched) ** 3)


def rouge_l(*, candidate: Sequence[str], reference: Sequence[str]) -> float:
    """ROUGE-L = 2 L / (c + r): the F1 of the longest common subsequence L of c and r tokens; higher is better.

    As in the package rouge-score with these tokens, without stems. Two empty texts agree: 1. The subsequence is found
    row by row in the bits of one number (H. Hyyrö, Bit-parallel LCS-length computation revisited, 2004).
    """
    if not candidate and not reference:
        return 1.0
    places: dict[str, int] = {}
    for place, token in enumerate(reference):
        places[token] = places.get(token, 0) | 1 << place
    every = (1 << len(reference)) - 1
    row = every
    for token in candidate:
        matches = row & places.get(token, 0)
        row = ((row + matches) | (row - matches)) & every
    return 2 * (len(reference) - row.bit_count()) / (len(candidate) + len(reference))


def meteor_synonyms(
    *, candidate: Sequence[str], reference: Sequence[str], synonyms: Callable[[str], Collection[str]]
) -> float:
    """NLTK's `meteor_score` with its default weights (alpha 0.9, beta 3, gamma 0.5), between 0 and 1.

    Three passes, each over what the one before left: equal words, equal Porter stems, and a synonym of the candidate's
    that equals the reference's. The third sees the stems the second made, not the words, so "large" ("larg") finds no
    synonym: that is NLTK's figure, and this is to be the same. Every pass goes through the candidate from its end and
    takes the last free reference position. With m matches, P = m / |candidate|, R = m / |reference|,
    F = P R / (0.9 P + 0.1 R); a chunk is a run of matches that are neighbours in both texts; the result is
    F (1 - 0.5 (chunks / m)^3), 0 without a match (an empty text has none). The order of operations is NLTK's,
    so the figures are equal to the last bit.
    """
    pairs = _align(candidate, reference, synonyms)
    if not pairs:
        return 0.0
    matched = len(pairs)
    precision, recall = float(matched) / len(candidate), float(matched) / len(reference)
    f_mean = (precision * recall) / (0.9 * precision + (1 - 0.9) * recall)
    chunks = 1 + sum((later[0] - earlier[0], later[1] - earlier[1]) != (1, 1) for earlier, later in pairwise(pairs))
    penalty: float = 0.5 * (float(chunks) / matched) ** 3.0
    return (1 - penalty) * f_mean


def _align(
    candidate: Sequence[str], reference: Sequence[str], synonyms: Callable[[str], Collection[str]]
) -> list[Pair]:
    """All matches, by candidate position."""
    left_candidate = dict(enumerate(candidate))
    left_reference = dict(enumerate(reference))
    pairs: list[Pair] = []
    passes: tuple[Callable[[str], Collection[str]], ...] = (
        lambda word: (word,),
        lambda stem: (stem,),
        lambda stem: {stem, *synonyms(stem)},
    )
    for number, equals in enumerate(passes):
        if number == 1:
            stems = {word: stem_of(word) for word in {*left_candidate.values(), *left_reference.values()}}
            left_candidate = {position: stems[word] for position, word in left_candidate.items()}
            left_reference = {position: stems[word] for position, word in left_reference.items()}
        for mine, theirs in _match_from_the_end(left_candidate, left_reference, equals):
            del left_candidate[mine], left_reference[theirs]
            pairs.append((mine, theirs))
    return sorted(pairs)


def _match_from_the_end(
    candidate: dict[int, str], reference: dict[int, str], equals: Callable[[str], Collection[str]]
) -> list[Pair]:
    free: dict[str, list[int]] = {}
    for position, word in reference.items():
        free.setdefault(word, []).append(position)
    pairs: list[Pair] = []
    for position in reversed(candidate):
        if len(pairs) == len(reference):
            break
        fitting = [free[word] for word in equals(candidate[position]) if free.get(word)]
        if fitting:
            pairs.append((position, max(fitting, key=lambda positions: positions[-1]).pop()))
    return pairs


# Porter's stemmer with NLTK's changes, which is the one NLTK's METEOR stems with.
#
# Source: M. F. Porter, An algorithm for suffix stripping, 1980; the changes are marked below. NLTK itself is not
# imported: that alone takes longer than scoring a hundred reports.


_VOWELS = frozenset("aeiou")
# NLTK: words whose stem is looked up; most of them are their own.
_STAY = ("sky", "news", "inning", "outing", "canning", "howe", "proceed", "exceed", "succeed")
_IRREGULAR = {word: word for word in _STAY} | {"skies": "sky", "dying": "die", "lying": "lie", "tying": "tie"}
_IRREGULAR |= {f"{word}s": word for word in ("inning", "outing", "canning")}


def _rules(text: str) -> tuple[tuple[str, str], ...]:
    """Rules `suffix:replacement`, in the order in which they are tried."""
    return tuple((suffix, replacement) for suffix, _, replacement in (rule.partition(":") for rule in text.split()))


_STEP_1A = _rules("sses:ss ies:i ss:ss s:")
_STEP_2 = _rules(  # the last one is NLTK's
    "ational:ate tional:tion enci:ence anci:ance izer:ize bli:ble alli:al entli:ent eli:e ousli:ous ization:ize "
    "ation:ate ator:ate alism:al iveness:ive fulness:ful ousness:ous aliti:al iviti:ive biliti:ble fulli:ful"
)
_STEP_3 = _rules("icate:ic ative: alize:al iciti:ic ical:ic ful: ness:")
_STEP_4 = _rules("al: ance: ence: er: ic: able: ible: ant: ement: ment: ent: ion: ou: ism: ate: iti: ous: ive: ize:")


def stem_of(word: str) -> str:
    """The stem of a word in lower case; words of one or two letters are their own."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= 2:
        return word
    for step in (_step_1a, _step_1b, _step_1c, _step_2, _steps_3_and_4, _step_5):
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
    return _first_suffix(word, _STEP_1A)


def _step_1b(word: str) -> str:
    if word.endswith("ied"):  # NLTK: died -> die, spied -> spi
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        stem = word.removesuffix(suffix)
        if stem != word and not all(_consonants(stem)):
            return _repaired(stem)
    return word


def _repaired(stem: str) -> str:
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


def _steps_3_and_4(word: str) -> str:
    word = _first_suffix(word, _STEP_3, applies=lambda stem, _: _measure(stem) > 0)
    return _first_suffix(
        word, _STEP_4, applies=lambda stem, suffix: _measure(stem) > 1 and (suffix != "ion" or stem[-1] in "st")
    )


def _step_5(word: str) -> str:
    if word.endswith("e"):
        measure = _measure(word[:-1])
        word = word[:-1] if measure > 1 or (measure == 1 and not _ends_short(word[:-1])) else word
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word
