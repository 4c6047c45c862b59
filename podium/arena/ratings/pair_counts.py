"""Votes as counts: how often each method beat each other. All ratings except Elo need no more than this."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from podium.arena.ratings.ballots import Ballot


@dataclass(frozen=True, kw_only=True)
class PairCounts:
    """Rows and columns in the order of `methods`.

    wins  [i, j]: votes in which i was preferred to j
    ties  [i, j] = [j, i]: votes that called them equal
    """

    methods: tuple[str, ...]
    wins: NDArray[np.int64]
    ties: NDArray[np.int64]

    def __sub__(self, some: "PairCounts") -> "PairCounts":
        """Without `some` of the votes, over the same methods."""
        return PairCounts(methods=self.methods, wins=self.wins - some.wins, ties=self.ties - some.ties)

    @property
    def votes(self) -> NDArray[np.int64]:
        """[i, j] = [j, i]: votes on this pair."""
        return self.wins + self.wins.T + self.ties

    @property
    def points(self) -> NDArray[np.float64]:
        """[i, j]: what i won of j, a tie being half a win to each."""
        return self.wins + self.ties / 2


def counted(ballots: Iterable[Ballot]) -> list[Ballot]:
    """The ballots that ratings and the stop rule count: neither repeats nor "cannot judge"."""
    return [ballot for ballot in ballots if not ballot.repeat and ballot.answer != "cannot-judge"]


def count_pairs(ballots: Iterable[Ballot], methods: Sequence[str]) -> PairCounts:
    place = {method: index for index, method in enumerate(methods)}
    wins = np.zeros((len(methods), len(methods)), dtype=np.int64)
    ties = np.zeros_like(wins)
    alike = Counter((ballot.left, ballot.right, ballot.answer) for ballot in counted(ballots))
    for (left_name, right_name, answer), count in alike.items():
        left, right = place[left_name], place[right_name]
        match answer:
            case "left":
                wins[left, right] += count
            case "right":
                wins[right, left] += count
            case "both-good" | "both-bad":
                ties[left, right] += count
                ties[right, left] += count
    return PairCounts(methods=tuple(methods), wins=wins, ties=ties)
