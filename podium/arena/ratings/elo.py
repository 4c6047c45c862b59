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
    ratings = np.full(permutations * len(names), INITIAL)  # one permutation after the other
    starts = np.arange(permutations) * len(names)
    for kind in order.T.astype(np.intp):  # one vote in every permutation at a time
        one, other = first.take(kind), second.take(kind)
        one += starts
        other += starts
        ahead, behind = ratings.take(one), ratings.take(other)
        gained = k_factor * (score.take(kind) - 1 / (1 + np.exp((behind - ahead) * (np.log(10) / SCALE))))
        ratings[one] = ahead + gained
        ratings[other] = behind - gained
    means = ratings.reshape(permutations, -1).mean(axis=0)
    return {method: float(means[place[method]]) for method in methods}


def _seen_by_elo(ballot: Ballot, place: dict[str, int]) -> tuple[int, int, float]:
    left, right, score = place[ballot.left], place[ballot.right], _LEFT_SCORE[ballot.answer]
    return (left, right, score) if left < right else (right, left, 1 - score)
