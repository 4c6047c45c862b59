"""How sure a Bradley-Terry rating is: percentile bootstrap over cases.

Cases are drawn with replacement and every vote on a case goes with it, since votes on one case share its reports.
Source: B. Efron, The Annals of Statistics 7, 1979.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from podium.arena.ratings.ballots import Ballot
from podium.arena.ratings.bradley_terry import plain_fit_exists, with_virtual_draws
from podium.arena.ratings.elo import INITIAL, SCALE
from podium.arena.ratings.pair_counts import count_pairs, counted

_LONGEST_STEP = 3.0  # of a log strength in one step of Newton's method
_MOST_STEPS = 200
_TOLERANCE = 1e-9


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
    ratings = INITIAL + SCALE / np.log(10) * log_strengths(
        np.where(exists[:, None, None], points, with_virtual_draws(points))
    )
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


def log_strengths(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bradley-Terry for a batch of matrices of points at once: natural logarithms of the strengths, of mean 0.

    Newton's method, its steps halved where they lead down. The fit must exist for every matrix. It finds what evalica
    finds, several times faster: see bench/arena_figures.py.
    """
    size = points.shape[-1]
    meetings = points + points.swapaxes(-1, -2)
    found = np.zeros(points.shape[:-1])
    likelihood = _log_likelihood(points, found)
    for _ in range(_MOST_STEPS):
        expected = 1 / (1 + np.exp(found[:, None, :] - found[:, :, None]))
        gradient = (points - meetings * expected).sum(axis=-1)
        weights = meetings * expected * (1 - expected)
        curvature = 1 / size - weights + weights.sum(axis=-1)[..., None] * np.eye(size)  # 1 / size: the mean stays 0
        step = np.linalg.solve(curvature, gradient[..., None])[..., 0]
        longest = np.abs(step).max(axis=-1, keepdims=True)
        if longest.max() < _TOLERANCE:
            return found
        step *= np.minimum(1, _LONGEST_STEP / np.maximum(longest, _TOLERANCE))
        while True:
            reached = _log_likelihood(points, found + step)
            worse = reached < likelihood - 1e-9 * np.abs(likelihood)
            if not worse.any():
                break
            step[worse] /= 2
        found, likelihood = found + step, reached
    raise ArithmeticError("The Bradley-Terry fit of a bootstrap replicate did not converge.")


def _log_likelihood(points: NDArray[np.float64], found: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(-(points * np.logaddexp(0, found[:, None, :] - found[:, :, None])).sum(axis=(-2, -1)))
