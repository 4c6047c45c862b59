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
_LONGEST_STEP = 3.0  # of a log strength in one step of Newton's method
_MOST_STEPS = 200
_TOLERANCE = 1e-9


@dataclass(frozen=True, kw_only=True)
class BradleyTerry:
    """`why_virtual_draw`: why no plain fit exists and half a virtual draw per pair was added; None if it exists."""

    ratings: dict[str, float]
    why_virtual_draw: str | None


def bradley_terry(ballots: Iterable[Ballot], methods: Sequence[str]) -> BradleyTerry:
    return fit_counts(count_pairs(ballots, methods))


def fit_counts(counts: PairCounts) -> BradleyTerry:
    why = None if plain_fit_exists(counts.points) else _why_no_plain_fit(counts)
    points = counts.points if why is None else with_virtual_draws(counts.points)
    (ratings,) = fit_ratings(points[None]).tolist()
    return BradleyTerry(ratings=dict(zip(counts.methods, ratings, strict=True)), why_virtual_draw=why)


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


def fit_ratings(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """[batch, team]: the ratings for a batch of matrices of points. The fit must exist for each of them."""
    return np.asarray(INITIAL + SCALE / np.log(10) * _log_strengths(points))


def _log_strengths(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Natural logarithms of the strengths, of mean 0, by Newton's method. A step that lowers the likelihood is halved.

    Where no fit exists the iteration may still end, with equal strengths for all teams, so this is checked first.
    """
    if not reachable(points).all():
        raise ArithmeticError("The Bradley-Terry fit does not exist.")
    size = points.shape[-1]
    if size < 2:
        return np.zeros(points.shape[:-1])
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
    raise ArithmeticError("The Bradley-Terry fit did not converge.")


def _log_likelihood(points: NDArray[np.float64], found: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(-(points * np.logaddexp(0, found[:, None, :] - found[:, :, None])).sum(axis=(-2, -1)))


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
