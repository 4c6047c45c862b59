"""Bradley-Terry: i is preferred to j with probability s_i / (s_i + s_j); ties are half a win to each.

Ratings are 1000 + 400 log10(s) with the geometric mean of s = 1, so that 400 points are odds of 10 to 1, as in Elo.
Source: R. A. Bradley and M. E. Terry, Biometrika 39, 1952. The condition for a fit to exist: L. R. Ford, American
Mathematical Monthly 64(8), 1957.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from podium.arena.ratings.ballots import Ballot
from podium.arena.ratings.elo import INITIAL, SCALE
from podium.arena.ratings.pair_counts import PairCounts, count_pairs
from podium.arena.wording import listed

VIRTUAL_DRAW = 0.5
_TOLERANCE = 1e-12
_MOST_ITERATIONS = 10_000
_LARGEST_RESIDUAL = 1e-6  # points per vote between what a team won and what its strength lets expect


@dataclass(frozen=True, kw_only=True)
class BradleyTerry:
    """`why_virtual_draw`: why there is no plain fit, so that half a virtual draw a pair was added; None if there is."""

    ratings: dict[str, float]
    why_virtual_draw: str | None


def bradley_terry(ballots: Iterable[Ballot], methods: Sequence[str]) -> BradleyTerry:
    counts = count_pairs(ballots, methods)
    why = None if plain_fit_exists(counts.points) else _why_no_plain_fit(counts)
    strengths = _fit(counts.points if why is None else with_virtual_draws(counts.points))
    ratings = INITIAL + SCALE * np.log10(strengths)
    return BradleyTerry(ratings=dict(zip(methods, ratings.tolist(), strict=True)), why_virtual_draw=why)


def reachable(points: NDArray[np.float64]) -> NDArray[np.bool_]:
    """[..., i, j]: a chain of "beat or tied" leads from i to j. `points` may be a batch of matrices."""
    size = points.shape[-1]
    reached = (points > 0) | np.eye(size, dtype=bool)
    for _ in range(size.bit_length()):  # every round doubles the length of the chains
        reached = reached @ reached
    return reached


def plain_fit_exists(points: NDArray[np.float64]) -> NDArray[np.bool_]:
    """[...]: finite strengths that maximise the likelihood exist, and are unique, exactly where the directed graph
    "beat or tied" is strongly connected."""
    return np.asarray(reachable(points).all(axis=(-2, -1)))


def with_virtual_draws(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Half a draw between every two methods: a draw of weight 0.5, thus a quarter of a win to each."""
    return points + VIRTUAL_DRAW / 2 * (1 - np.eye(points.shape[-1]))


def _fit(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Strengths of geometric mean 1, by evalica, held to the equations that they must solve.

    Where no fit exists evalica answers the same strength for everybody without a word. Such an answer is only believed
    where it is true, that is where it explains the points that everybody won.
    """
    from evalica import Winner, bradley_terry
    from pandas import RangeIndex

    if not points.any():
        return np.ones(len(points))
    winners, losers = np.nonzero(points)
    found = bradley_terry(
        winners.tolist(),
        losers.tolist(),
        [Winner.X] * len(winners),
        index=RangeIndex(len(points)),
        weights=points[winners, losers].tolist(),
        tolerance=_TOLERANCE,
        limit=_MOST_ITERATIONS,
    )
    scores = found.scores.sort_index().to_numpy()
    strengths: NDArray[np.float64] = scores / np.exp(np.log(scores).mean())
    expected = (points + points.T) * strengths[:, None] / (strengths[:, None] + strengths)
    residual = np.abs(points.sum(axis=1) - expected.sum(axis=1)).max() / points.sum()
    if not residual < _LARGEST_RESIDUAL:
        raise ArithmeticError("The Bradley-Terry fit did not converge.")
    return strengths


def _why_no_plain_fit(counts: PairCounts) -> str:
    """In words for people; the commonest reasons first, since each of them alone is enough."""
    votes, won, tied = counts.votes.sum(axis=1), counts.wins.sum(axis=1), counts.ties.sum(axis=1)
    reasons = [
        ("got no vote", votes == 0),
        ("won every vote", (votes > 0) & (won == votes)),
        ("lost every vote", (votes > 0) & (won + tied == 0)),
    ]
    said = [
        f"{listed([counts.methods[index] for index in np.flatnonzero(chosen)])} {words}"
        for words, chosen in reasons
        if chosen.any()
    ]
    if said:
        return "; ".join(said)
    start, goal = np.argwhere(~reachable(counts.points))[0]
    return f"no chain of wins or ties leads from {counts.methods[start]} to {counts.methods[goal]}"
