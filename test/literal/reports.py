"""The rules of the reports challenge, read word by word and computed the slow way. Imports nothing of podium."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


def tokens(text: str) -> list[str]:
    return re.findall(r"\w+|[^\w\s]", text.lower())


def ngrams(words: Sequence[str], order: int) -> list[tuple[str, ...]]:
    return [tuple(words[start : start + order]) for start in range(len(words) - order + 1)]


def clipped_matches(candidate: Sequence[str], reference: Sequence[str], order: int) -> int:
    """Cross an n-gram of the reference out for every equal one of the candidate."""
    left = ngrams(reference, order)
    matches = 0
    for ngram in ngrams(candidate, order):
        if ngram in left:
            left.remove(ngram)
            matches += 1
    return matches


def corpus_bleu(pairs: Sequence[tuple[Sequence[str], Sequence[str]]]) -> float:
    """Of (candidate, reference) pairs: precisions over the whole corpus, brevity over the whole corpus."""
    candidate_length = sum(len(candidate) for candidate, _ in pairs)
    reference_length = sum(len(reference) for _, reference in pairs)
    product = 1.0
    for order in (1, 2, 3, 4):
        matches = sum(clipped_matches(candidate, reference, order) for candidate, reference in pairs)
        total = sum(max(1, len(ngrams(candidate, order))) for candidate, _ in pairs)
        if order == 1 and matches == 0:
            return 0.0
        product *= (0.1 if matches == 0 else matches) / total
    brevity = 1.0
    if candidate_length <= reference_length:
        brevity = math.exp(1 - reference_length / candidate_length)
    return brevity * product**0.25


def bleu(candidate: Sequence[str], reference: Sequence[str]) -> float:
    return corpus_bleu([(candidate, reference)]) if candidate and reference else 0.0


def in_pairs(text: str, first: str | None, second: str | None, spaced: tuple[str, str, str]) -> str:
    """Go through the text from the left. Where a character of `first` is followed by one of `second` (None: anything
    but a digit), write the two with these spaces before, between and after, and go on behind both."""

    def fits(character: str, kind: str | None) -> bool:
        return character not in "0123456789" if kind is None else character in kind

    written, place = "", 0
    while place < len(text):
        one, other = text[place], text[place + 1 : place + 2]
        if other and fits(one, first) and fits(other, second):
            written += spaced[0] + one + spaced[1] + other + spaced[2]
            place += 2
        else:
            written += one
            place += 1
    return written


def tokens_13a(text: str) -> list[str]:
    """mteval-v13a: language-independent part, then the part for Western languages."""
    for old, new in (
        *(("<skipped>", ""), ("-\n", ""), ("\n", " ")),
        *(("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">")),
    ):
        text = new.join(text.split(old))
    text = " " + text + " "
    for low, high in (("{", "~"), ("[", "`"), (" ", "&"), ("(", "+"), (":", "@"), ("/", "/")):
        text = "".join(f" {letter} " if low <= letter <= high else letter for letter in text)
    text = in_pairs(text, None, ".,", ("", " ", " "))
    text = in_pairs(text, ".,", None, (" ", " ", ""))
    text = in_pairs(text, "0123456789", "-", ("", " ", " "))
    return text.split()


def corpus_bleu_13a(pairs: Sequence[tuple[str, str]]) -> float:
    """Of (candidate, reference) texts: cased, nothing smoothed, so 0 as soon as one order has no match."""
    split = [(tokens_13a(candidate), tokens_13a(reference)) for candidate, reference in pairs]
    product = 1.0
    for order in (1, 2, 3, 4):
        matches = sum(clipped_matches(candidate, reference, order) for candidate, reference in split)
        if matches == 0:
            return 0.0
        product *= matches / sum(len(ngrams(candidate, order)) for candidate, _ in split)
    ratio = sum(len(candidate) for candidate, _ in split) / sum(len(reference) for _, reference in split)
    return product**0.25 * (1.0 if ratio > 1 else math.exp(1 - 1 / ratio))


def meteor(candidate: Sequence[str], reference: Sequence[str]) -> float:
    used = [False] * len(reference)
    positions = []
    for word in candidate:
        for place, other in enumerate(reference):
            if other == word and not used[place]:
                used[place] = True
                positions.append(place)
                break
    if not positions:
        return 0.0
    chunks, previous = 0, None
    for place in positions:
        if previous is None or place != previous + 1:
            chunks += 1
        previous = place
    m = len(positions)
    p, r = m / len(candidate), m / len(reference)
    f = 10 * p * r / (r + 9 * p)
    return f * (1 - 0.5 * (chunks / m) ** 3)


@dataclass(frozen=True)
class Row:
    """One case: its status, and the two texts, the candidate "" where there is none."""

    status: str
    candidate: str
    reference: str

    @property
    def pair(self) -> tuple[list[str], list[str]]:
        return tokens(self.candidate), tokens(self.reference)

    def metrics(self) -> dict[str, float]:
        candidate, reference = self.pair
        return {
            "bleu_4": bleu(candidate, reference),
            "meteor": meteor(candidate, reference),
            "bleu_13a": corpus_bleu_13a([(self.candidate, self.reference)]),
            "captioning": (bleu(candidate, reference) + meteor(candidate, reference)) / 2,
        }


def mean_and_std(values: Sequence[float]) -> tuple[float, float]:
    mean = sum(values) / len(values)
    return mean, math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))


def aggregates(rows: Sequence[Row]) -> dict[str, Any]:
    bleu_4 = corpus_bleu([row.pair for row in rows])
    case_bleus = [row.metrics()["bleu_4"] for row in rows]
    meteors = [row.metrics()["meteor"] for row in rows]
    mean_meteor, meteor_std = mean_and_std(meteors)
    mean_bleu, bleu_std = mean_and_std(case_bleus)
    captioning = (bleu_4 + mean_meteor) / 2
    return {
        "score": captioning,
        "captioning": captioning,
        "bleu_4": bleu_4,
        "bleu_4_case_mean": mean_bleu,
        "bleu_4_case_std": bleu_std,
        "bleu_13a": corpus_bleu_13a([(row.candidate, row.reference) for row in rows]),
        "meteor": mean_meteor,
        "meteor_std": meteor_std,
        "radfact_known": 0,
        "empty_reports": sum(not row.pair[0] for row in rows),
    }


def radfact(counts: Sequence[tuple[int, int, int, int]]) -> dict[str, float]:
    """Of (entailed candidate findings, candidate findings, entailed reference findings, reference findings) a case."""

    def ratio(part: float, whole: float) -> float:
        return part / whole if whole else 0.0

    def harmonic(p: float, r: float) -> float:
        return ratio(2 * p * r, p + r)

    precisions = [ratio(entailed, found) for entailed, found, _, _ in counts]
    recalls = [ratio(entailed, found) for _, _, entailed, found in counts]
    precision, recall = sum(precisions) / len(counts), sum(recalls) / len(counts)
    f1s = [harmonic(p, r) for p, r in zip(precisions, recalls, strict=True)]
    return {
        "precision": precision,
        "recall": recall,
        "f1_of_means": harmonic(precision, recall),
        "mean_of_f1": sum(f1s) / len(counts),
    }
