"""The uncertainty of a Bradley-Terry rating: percentile bootstrap over cases.

Cases are drawn with replacement and every vote on a case goes with it, since votes on one case share its reports.
Source: B. Efron, The Annals of Statistics 7, 1979.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from podium.arena.ratings.ballots import Ballot
from podium.arena.ratings.bradley_terry import fit_ratings, plain_fit_exists, with_virtual_draws
from podium.arena.ratings.pair_counts import count_pairs, counted


class Interval(NamedTuple):
    low: float
    high: float

    def lies_above(self, other: "Interval") -> bool:
        return self.low > other.high


@dataclass(frozen=True, kw_only=True)
class Intervals:
    """Of a team, None where the votes cannot tell: a team without votes, or all votes on one case.

    cases                     with votes, from which the replicates were drawn
    replicates, virtual_draws how many there were, and in how many of them the plain fit does not exist, so that half a
                              virtual draw was added to every pair
    """

    of: dict[str, Interval | None]
    cases: int
    replicates: int
    virtual_draws: int


def bootstrap_intervals(
    ballots: Iterable[Ballot], methods: Sequence[str], *, replicates: int, confidence: float, seed: int
) -> Intervals:
    votes = counted(ballots)
    cases: dict[str, list[Ballot]] = {}
    for vote in votes:
        cases.setdefault(vote.case, []).append(vote)
    if len(cases) < 2:
        return Intervals(of=dict.fromkeys(methods), cases=len(cases), replicates=0, virtual_draws=0)
    by_case = np.stack([count_pairs(cases[case], methods).points for case in sorted(cases)])
    drawn = np.random.default_rng(seed).multinomial(len(cases), np.full(len(cases), 1 / len(cases)), size=replicates)
    points = np.tensordot(drawn, by_case, axes=1)
    exists = plain_fit_exists(points)
    ratings = fit_ratings(np.where(exists[:, None, None], points, with_virtual_draws(points)))
    tails = (1 - confidence) / 2, (1 + confidence) / 2
    low, high = np.quantile(ratings, tails, axis=0)
    seen = {method for vote in votes for method in (vote.left, vote.right)}
    return Intervals(
        of={
            method: Interval(float(low[index]), float(high[index])) if method in seen else None
            for index, method in enumerate(methods)
        },
        cases=len(cases),
        replicates=replicates,
        virtual_draws=int(np.sum(~exists)),
    )
