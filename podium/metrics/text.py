"""BLEU-4 and METEOR as the live leaderboard of ODIN 2026 computes them, and the BLEU of its final ranking.

Many metrics go by these two names; docs/reports.md says how these differ from the others. All see a text as the list
of its tokens, and all are 0 where either text has none: an empty report scores 0, against an empty reference too.
"""

import math
import re
import string
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

MAX_ORDER = 4
# NLTK's smoothing method 1: an order without a single match counts as this many matches.
EPSILON = 0.1

_TOKEN = re.compile(r"\w+|[^\w\s]")

_ENTITIES = {"&quot;": '"', "&amp;": "&", "&lt;": "<", "&gt;": ">"}  # in this order: "&amp;lt;" becomes "<"
_SEPARATE = re.escape("".join(sorted(set(string.punctuation) - set("',-."))))
_RULES_13A = (
    (re.compile(f"([{_SEPARATE}])"), r" \1 "),
    (re.compile(r"([^0-9])([.,])"), r"\1 \2 "),
    (re.compile(r"([.,])([^0-9])"), r" \1 \2"),
    (re.compile(r"([0-9])-"), r"\1 - "),
)


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
        matches=tuple(matches),
        totals=tuple(totals),
        candidate_tokens=len(candidate),
        reference_tokens=len(reference),
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
    positions = _match_greedily(candidate=candidate, reference=reference)
    if not positions:
        return 0.0
    matched = len(positions)
    chunks = 1 + sum(later != earlier + 1 for earlier, later in pairwise(positions))
    precision, recall = matched / len(candidate), matched / len(reference)
    f_mean = 10 * precision * recall / (recall + 9 * precision)
    return f_mean * (1 - 0.5 * (chunks / matched) ** 3)


def _match_greedily(*, candidate: Sequence[str], reference: Sequence[str]) -> list[int]:
    """The reference positions taken, in candidate order."""
    free: dict[str, list[int]] = {}
    for position in range(len(reference) - 1, -1, -1):
        free.setdefault(reference[position], []).append(position)
    return [free[token].pop() for token in candidate if free.get(token)]
