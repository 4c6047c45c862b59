"""METEOR with stems and synonyms, as NLTK has it."""

from collections.abc import Callable, Collection, Sequence
from itertools import pairwise

from podium.metrics.porter import stem_of

Pair = tuple[int, int]  # a candidate position and the reference position it is matched with


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
