"""Elo: r' = r + K (S - E) with E = 1 / (1 + 10^((r_other - r) / 400)), S = 1, 1/2 or 0, from 1000 for everybody.

Source: A. Elo, The Rating of Chessplayers, Past and Present, 1978. The figures depend on the order of the votes; the
average over permutations of the votes does not.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from podium.arena.ratings.ballots import Ballot
from podium.arena.ratings.pair_counts import counted

INITIAL = 1000.0
SCALE = 400.0
_LEFT_SCORE = {"left": 1.0, "tie": 0.5, "right": 0.0}


def online_elo(ballots: Iterable[Ballot], methods: Sequence[str], *, k_factor: float) -> dict[str, float]:
    """Every vote replayed in the order in which it was cast, as the rules say."""
    ratings = dict.fromkeys(methods, INITIAL)
    for ballot in counted(ballots):
        left, right = ratings[ballot.left], ratings[ballot.right]
        gained = k_factor * (_LEFT_SCORE[ballot.winner] - 1 / (1 + 10 ** ((right - left) / SCALE)))
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
    first, second, score = (np.array(column) for column in zip(*votes, strict=True))
    order = np.random.default_rng(seed).permuted(np.tile(np.arange(len(votes)), (permutations, 1)), axis=1)
    ratings = np.full((permutations, len(names)), INITIAL)
    every = np.arange(permutations)
    for vote in order.T:  # one vote in every permutation at a time
        one, other = first[vote], second[vote]
        expected = 1 / (1 + 10 ** ((ratings[every, other] - ratings[every, one]) / SCALE))
        gained = k_factor * (score[vote] - expected)
        ratings[every, one] += gained
        ratings[every, other] -= gained
    means = ratings.mean(axis=0)
    return {method: float(means[place[method]]) for method in methods}


def _seen_by_elo(ballot: Ballot, place: dict[str, int]) -> tuple[int, int, float]:
    left, right, score = place[ballot.left], place[ballot.right], _LEFT_SCORE[ballot.winner]
    return (left, right, score) if left < right else (right, left, 1 - score)
