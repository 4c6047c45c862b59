"""Elo: r' = r + K (S - E) with E = 1 / (1 + 10^((r_other - r) / 400)), S = 1, 1/2 or 0, from 1000 for everybody.

Source: A. Elo, The Rating of Chessplayers, Past and Present, 1978. The figures depend on the order of the votes; the
average over permutations of the votes does not.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from podium.arena.ratings.ballots import Answer, Ballot
from podium.arena.ratings.pair_counts import counted

INITIAL = 1000.0
SCALE = 400.0
_BLOCK = 64  # votes looked up at once
_LEFT_SCORE: dict[Answer, float] = {"left": 1.0, "both-good": 0.5, "both-bad": 0.5, "right": 0.0}


def online_elo(ballots: Iterable[Ballot], methods: Sequence[str], *, k_factor: float) -> dict[str, float]:
    """Every vote replayed in the order in which it was cast, as the rules say."""
    ratings = dict.fromkeys(methods, INITIAL)
    for ballot in counted(ballots):
        left, right = ratings[ballot.left], ratings[ballot.right]
        gained = k_factor * (_LEFT_SCORE[ballot.answer] - 1 / (1 + 10 ** ((right - left) / SCALE)))
        ratings[ballot.left] = left + gained
        ratings[ballot.right] = right - gained
    return ratings


def averaged_elo(
    ballots: Iterable[Ballot], methods: Sequence[str], *, k_factor: float, permutations: int, seed: int
) -> dict[str, float]:
    """Mean of Elo over seeded permutations of the votes.

    The same votes in any other order, by other raters or with the sides swapped, give the same figures to the last bit:
    before they are permuted, votes are sorted by what Elo sees of them.
    """
    names = sorted(methods)
    place = {method: index for index, method in enumerate(names)}
    votes = sorted(_seen_by_elo(ballot, place) for ballot in counted(ballots))
    if not votes:
        return dict.fromkeys(methods, INITIAL)
    # Votes that look alike to Elo are one kind: permuting the few kinds keeps everything in the fastest memory.
    kinds = sorted(set(votes))
    kind_of = {kind: number for number, kind in enumerate(kinds)}
    first, second, score = (np.array(column) for column in zip(*kinds, strict=True))
    cast = np.array([kind_of[vote] for vote in votes], dtype=np.uint16)
    order = np.random.default_rng(seed).permuted(np.tile(cast, (permutations, 1)), axis=1)
    unit = SCALE / np.log(10)  # ratings are kept as (points - 1000) / unit: then 1 / (1 + exp(difference)) is enough
    step = k_factor / unit
    ratings = np.zeros(len(names) * permutations)  # one method after the other, in every permutation
    column = np.arange(permutations)
    ones, others, gained = (np.empty(permutations) for _ in range(3))
    for start in range(0, len(votes), _BLOCK):
        kind = order[:, start : start + _BLOCK].T.astype(np.intp)
        places = (first * permutations).take(kind) + column, (second * permutations).take(kind) + column
        for one, other, won in zip(*places, (step * score).take(kind), strict=True):  # one vote in every permutation
            ratings.take(one, out=ones, mode="clip")
            ratings.take(other, out=others, mode="clip")
            np.exp(np.subtract(others, ones, out=gained), out=gained)
            gained += 1
            np.subtract(won, np.divide(step, gained, out=gained), out=gained)
            ratings[one] = np.add(ones, gained, out=ones)
            ratings[other] = np.subtract(others, gained, out=others)
    means = INITIAL + unit * ratings.reshape(len(names), permutations).mean(axis=1)
    return {method: float(means[place[method]]) for method in methods}


def _seen_by_elo(ballot: Ballot, place: dict[str, int]) -> tuple[int, int, float]:
    left, right, score = place[ballot.left], place[ballot.right], _LEFT_SCORE[ballot.answer]
    return (left, right, score) if left < right else (right, left, 1 - score)
