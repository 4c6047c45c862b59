"""The ratings of the teams: Elo, Elo averaged over permutations of the votes, and Bradley-Terry with its intervals."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from podium.errors import listed
from podium.metrics import Floats
from podium.tools.arena.store import Ballot, VoteAnswer
from podium.tools.ranking.wording import Interval

INITIAL = 1000.0
SCALE = 400.0
_UNIT = SCALE / float(np.log(10))  # points of a factor e
VIRTUAL_DRAW = 0.5
_BLOCK = 64  # votes looked up at once
_SHIFTS = 4  # of every permutation of the votes
_LEFT_SCORE: dict[VoteAnswer, float] = {"left": 1.0, "both-good": 0.5, "both-bad": 0.5, "right": 0.0}
_LONGEST_STEP = 3.0  # of a log strength in one step of Newton's method
_MOST_STEPS = 200
_TOLERANCE = 1e-9

# Votes as counts: how often each method beat each other. Bradley-Terry needs no more than this.


@dataclass(frozen=True, kw_only=True)
class PairCounts:
    """Rows and columns in the order of `methods`."""

    methods: tuple[str, ...]
    wins: NDArray[np.int64]  # [i, j]: votes in which i was preferred to j
    ties: NDArray[np.int64]  # [i, j] = [j, i]: votes that called them equal

    def __sub__(self, some: "PairCounts") -> "PairCounts":
        """Without `some` of the votes, over the same methods."""
        return PairCounts(methods=self.methods, wins=self.wins - some.wins, ties=self.ties - some.ties)

    @property
    def votes(self) -> NDArray[np.int64]:
        """[i, j] = [j, i]: votes on this pair."""
        return self.wins + self.wins.T + self.ties

    @property
    def points(self) -> Floats:
        """[i, j]: what i won against j; a tie is half a win for each."""
        return self.wins + self.ties / 2


def counted(ballots: Iterable[Ballot]) -> list[Ballot]:
    """The ballots that ratings and the stop rule count: neither repeats nor "cannot judge"."""
    return [ballot for ballot in ballots if not ballot.repeat and ballot.is_judged]


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


# Elo: r' = r + K (S - E) with E = 1 / (1 + 10^((r_other - r) / 400)), S = 1, 1/2 or 0; all start at 1000.
#
# Source: A. Elo, The Rating of Chessplayers, Past and Present, 1978. The figures depend on the order of the votes;
# the average over permutations of the votes does not.


def online_elo(ballots: Iterable[Ballot], methods: Sequence[str], *, k_factor: float) -> dict[str, float]:
    """Elo after all votes in the order in which they were cast, as the rules say."""
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
    """Mean of Elo over seeded permutations of the votes, in full eights.

    Each random permutation counts eight times: shifted cyclically by a quarter of the votes, and each of these also
    reversed, so that every vote comes early and late: with K = 4 as exact as 70 to 300 times as many permutations.

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
    tiled = np.tile(cast, (-(-permutations // (2 * _SHIFTS)), 1))
    order = np.random.default_rng(seed).permuted(tiled, axis=1)
    order = np.concatenate([np.roll(order, len(votes) * shift // _SHIFTS, axis=1) for shift in range(_SHIFTS)])
    order = np.concatenate([order, order[:, ::-1]])
    permutations = len(order)
    step = k_factor / _UNIT  # ratings are kept as (points - 1000) / _UNIT: then 1 / (1 + exp(difference)) is enough
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
    means = INITIAL + _UNIT * ratings.reshape(len(names), permutations).mean(axis=1)
    return {method: float(means[place[method]]) for method in methods}


def _seen_by_elo(ballot: Ballot, place: dict[str, int]) -> tuple[int, int, float]:
    left, right, score = place[ballot.left], place[ballot.right], _LEFT_SCORE[ballot.answer]
    return (left, right, score) if left < right else (right, left, 1 - score)


# Bradley-Terry: i is preferred to j with probability s_i / (s_i + s_j); ties are half a win to each.
#
# Ratings are 1000 + 400 log10(s) with the geometric mean of s = 1, so that 400 points are odds of 10 to 1, as in Elo.
# Source: R. A. Bradley and M. E. Terry, Biometrika 39, 1952. The condition for a fit to exist: L. R. Ford, American
# Mathematical Monthly 64(8), 1957.


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


def reachable(points: Floats) -> NDArray[np.bool_]:
    """[..., i, j]: a chain of "beat or tied" leads from i to j. `points` may be a batch of matrices."""
    size = points.shape[-1]
    reached = (points > 0) | np.eye(size, dtype=bool)
    for _ in range(size.bit_length()):  # every round doubles the length of the chains
        reached = reached @ reached
    return reached


def plain_fit_exists(points: Floats) -> NDArray[np.bool_]:
    """[...]: finite strengths that maximise the likelihood exist, and are unique, exactly where the directed graph
    "beat or tied" is strongly connected."""
    return np.asarray(reachable(points).all(axis=(-2, -1)))


def with_virtual_draws(points: Floats) -> Floats:
    """Half a draw between every two methods: a draw of weight 0.5, thus a quarter of a win to each."""
    return points + VIRTUAL_DRAW / 2 * (1 - np.eye(points.shape[-1]))


def fit_ratings(points: Floats) -> Floats:
    """[batch, team]: the ratings for a batch of matrices of points. The fit must exist for each of them."""
    return np.asarray(INITIAL + _UNIT * _log_strengths(points))


def _log_strengths(points: Floats) -> Floats:
    """Natural logarithms of the strengths, of mean 0, by Newton's method. A step that lowers the likelihood is halved.

    Where no fit exists the iteration may still end, with equal strengths for all teams, so this is checked first.
    """
    if not reachable(points).all():
        raise ArithmeticError("The Bradley-Terry fit does not exist.")
    if points.shape[-1] < 2:
        return np.zeros(points.shape[:-1])
    meetings = points + points.swapaxes(-1, -2)
    found = np.zeros(points.shape[:-1])
    likelihood = _log_likelihood(points, found)
    for _ in range(_MOST_STEPS):
        gradient = (points - meetings * _expected(found)).sum(axis=-1)
        step = np.linalg.solve(_curvature(points, found), gradient[..., None])[..., 0]
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


def _expected(found: Floats) -> Floats:
    """[batch, i, j]: with what probability i is preferred to j."""
    return np.asarray(1 / (1 + np.exp(found[:, None, :] - found[:, :, None])))


def _curvature(points: Floats, found: Floats) -> Floats:
    """[batch, team, team]: the information, and 1 / teams, so that the mean stays 0."""
    size, expected = points.shape[-1], _expected(found)
    weights = (points + points.swapaxes(-1, -2)) * expected * (1 - expected)
    return np.asarray(1 / size - weights + weights.sum(axis=-1)[..., None] * np.eye(size))


def _log_likelihood(points: Floats, found: Floats) -> Floats:
    return np.asarray(-(points * np.logaddexp(0, found[:, None, :] - found[:, :, None])).sum(axis=(-2, -1)))


def _why_no_plain_fit(counts: PairCounts) -> str:
    """The most common reasons first, since each of them is enough."""
    votes, won, tied = counts.votes.sum(axis=1), counts.wins.sum(axis=1), counts.ties.sum(axis=1)
    reasons = [
        ("got no vote", votes == 0),
        ("won every vote", (votes > 0) & (won == votes)),
        ("lost every vote", (votes > 0) & (won + tied == 0)),
    ]
    found = [
        f"{listed([counts.methods[index] for index in np.flatnonzero(chosen)])} {words}"
        for words, chosen in reasons
        if chosen.any()
    ]
    if found:
        return "; ".join(found)
    start, goal = np.argwhere(~reachable(counts.points))[0]
    return f"no chain of wins or ties leads from {counts.methods[start]} to {counts.methods[goal]}"


# The uncertainty of Bradley-Terry ratings, with cases and raters both random: a multiplier bootstrap.
#
# To first order, a rating is off by the sum of the influences of its votes: the inverse information times the score. A
# replicate weights the sums of every case and every rater by normal random numbers, and is divided by sqrt(chi2 / f)
# since their variance is estimated, too. The noise of single votes is in both sums and counts once: by traces,
# V = V_case + V_rater - V_cell, but at least V_case. f are Satterthwaite's degrees of freedom (Biometrics Bulletin 2,
# 1946). Source: A. C. Cameron, J. B. Gelbach, D. L. Miller, Journal of Business & Economic Statistics 29, 2011.


@dataclass(frozen=True, kw_only=True)
class RatingIntervals:
    """Of all ratings at once.

    by_team    None where the votes do not determine an interval: a team without votes, or all votes on one case
    separated  (better, worse), where the ratings differ by more than the largest of all differences would by chance,
               each in units of its standard error under the fit (max-T)
    cases, raters with votes
    """

    by_team: dict[str, Interval | None]
    separated: frozenset[tuple[str, str]]
    cases: int
    raters: int


def rating_intervals(
    ballots: Iterable[Ballot], methods: Sequence[str], *, replicates: int, confidence: float, seed: int
) -> RatingIntervals:
    cells: dict[tuple[str, str], list[Ballot]] = {}
    for vote in counted(ballots):
        cells.setdefault((vote.case, vote.rater), []).append(vote)
    cases, raters = (len({cell[part] for cell in cells}) for part in (0, 1))
    if cases < 2:
        return RatingIntervals(by_team=dict.fromkeys(methods), separated=frozenset(), cases=cases, raters=raters)
    points = count_pairs(chain.from_iterable(cells.values()), methods).points
    has_votes = np.asarray((points + points.T).any(axis=1))
    fitted = points if plain_fit_exists(points) else with_virtual_draws(points)
    strengths = _log_strengths(fitted[None])
    expected, curvature = _expected(strengths)[0], _curvature(fitted[None], strengths)[0]
    covariance = np.linalg.inv(curvature) - 1 / len(methods)  # of the log strengths, were all votes independent
    influence = np.empty((len(cells), len(methods)))
    for row, (_, votes) in zip(influence, sorted(cells.items()), strict=True):
        points = count_pairs(votes, methods).points
        row[:] = covariance @ (points - (points + points.T) * expected).sum(axis=1)
    drawn = _drawn_errors(influence, sorted(cells), replicates=replicates, seed=seed)
    half = np.quantile(np.abs(drawn), confidence, axis=0)
    one, other = np.nonzero(has_votes[:, None] & has_votes & ~np.eye(len(methods), dtype=bool))
    errors = np.sqrt(covariance[one, one] + covariance[other, other] - 2 * covariance[one, other])
    largest = ((drawn[:, one] - drawn[:, other]) / errors).max(axis=1)
    (found,) = strengths
    clear = np.flatnonzero(found[one] - found[other] > np.quantile(largest, confidence) * errors + _TOLERANCE)
    low, high = (INITIAL + _UNIT * (found + sign * half) for sign in (-1, 1))
    return RatingIntervals(
        by_team={
            method: (float(low[team]), float(high[team])) if has_votes[team] else None
            for team, method in enumerate(methods)
        },
        separated=frozenset((methods[i], methods[j]) for i, j in zip(one[clear], other[clear], strict=True)),
        cases=cases,
        raters=raters,
    )


def _drawn_errors(influence: Floats, cells: Sequence[tuple[str, str]], *, replicates: int, seed: int) -> Floats:
    """`[replicate, team]` from `influence[cell, team]`. A single rater says nothing of others: cases alone."""
    by_case, by_rater, by_cell = (_cluster_sums(influence, of) for of in (*zip(*cells, strict=True), range(len(cells))))
    of_cases, of_raters, of_cells = (float(np.sum(each * each)) for each in (by_case, by_rater, by_cell))
    share = max(0.0, 1 - of_cells / of_raters) if len(by_rater) > 1 and of_raters else 0.0
    total, of_raters = of_cases + share * of_raters, share * of_raters
    spread = of_cases**2 / (len(by_case) - 1) + of_raters**2 / max(1, len(by_rater) - 1)
    freedom = total**2 / spread if spread else len(by_case) - 1.0
    random = np.random.default_rng(seed)
    drawn = random.standard_normal((replicates, len(by_case))) @ by_case
    drawn += random.standard_normal((replicates, len(by_rater))) @ (np.sqrt(share) * by_rater)
    return np.asarray(drawn / np.sqrt(random.chisquare(freedom, (replicates, 1)) / freedom))


def _cluster_sums(influence: Floats, clusters: Sequence[str | int]) -> Floats:
    """`[cluster, team]`, scaled so that the sum of squares of n clusters is a variance without bias. They add up to 0,
    except under virtual draws, and there are not centred: who won everything has an interval nevertheless."""
    names, place = np.unique(np.array(clusters), return_inverse=True)
    sums = np.zeros((len(names), influence.shape[1]))
    np.add.at(sums, place, influence)
    return np.asarray(sums * np.sqrt(len(names) / max(1, len(names) - 1)))
