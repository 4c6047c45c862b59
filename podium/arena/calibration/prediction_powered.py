"""Prediction-powered estimates: few votes and many judged cases together.

Source: A. N. Angelopoulos, J. C. Duchi and T. Zrnic, PPI++: Efficient prediction-powered inference, arXiv:2311.01453,
2023. Votes on one case share its reports, so variances are sums over cases, not over votes.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from podium.metrics import Floats

FEWEST_CASES = 3  # with votes: one is taken by the mean and one by the weight

Indices = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class VotesOnTeam:
    """The votes on one team, seen from its side.

    case, opponent  [vote]
    points          [vote]: 1 for the team, 0 for its opponent, 0.5 for a tie
    """

    case: Indices
    opponent: Indices
    points: Floats


@dataclass(frozen=True, kw_only=True)
class MeanEstimate:
    """A mean with its interval, which is None where too few cases have votes."""

    value: float
    interval: tuple[float, float] | None
    variance: float


@dataclass(frozen=True, kw_only=True)
class PredictionPowered:
    """weight  lambda of PPI++: how much the judge is followed; 0 leaves the votes alone."""

    by_votes: MeanEstimate
    by_both: MeanEstimate
    weight: float


def prediction_powered(votes: VotesOnTeam, judged: Floats, *, confidence: float) -> PredictionPowered:
    """The mean of a team's points, every opponent counting the same.

    `judged[case, opponent]` is what the judge says of every matchup of every case: any figure that grows with the
    team's chance. With Y the points and f the judge's figure,

        estimate = mean of Y over votes + weight * (mean of f over all matchups - mean of f over votes)

    where means over votes are means of the means per opponent. The weight is the one with the smallest variance.
    """
    ours, all_cases = _judged_parts(votes, judged)
    points = _centred(votes, votes.points, cases=len(judged))
    shift = all_cases - _centred(votes, ours, cases=len(judged))
    spread = float(shift @ shift)
    weight = -float(points @ shift) / spread if spread else 0.0
    # A case that has helped to choose the weight is nearer to it: as if each were left out in turn (HC3).
    leverage = np.minimum(shift**2 / spread, 0.5) if spread else np.zeros_like(shift)
    value = _mean_over_opponents(votes, votes.points)
    seen = np.unique(votes.opponent)
    judge_ahead = float(judged[:, seen].mean()) - _mean_over_opponents(votes, ours)
    cases = np.unique(votes.case).size
    return PredictionPowered(
        by_votes=_estimate(value, points, cases=cases, spent=1, confidence=confidence),
        by_both=_estimate(
            value + weight * judge_ahead,
            (points + weight * shift) / (1 - leverage),
            cases=cases,
            spent=2,
            confidence=confidence,
        ),
        weight=weight,
    )


def mean_over_cases(values: Floats, *, confidence: float) -> MeanEstimate:
    """The mean of one figure per case, with the interval of a t distribution."""
    parts = (values - values.mean()) / values.size
    return _estimate(float(values.mean()), parts, cases=values.size, spent=1, confidence=confidence)


def _judged_parts(votes: VotesOnTeam, judged: Floats) -> tuple[Floats, Floats]:
    """The judge's figure of every vote's matchup, and every case's part of the mean over all matchups."""
    by_case = judged[:, np.unique(votes.opponent)].mean(axis=1)
    return judged[votes.case, votes.opponent], (by_case - by_case.mean()) / by_case.size


def _mean_over_opponents(votes: VotesOnTeam, figures: Floats) -> float:
    return float(np.mean([figures[votes.opponent == each].mean() for each in np.unique(votes.opponent)]))


def _centred(votes: VotesOnTeam, figures: Floats, *, cases: int) -> Floats:
    """What every case adds to the error of the mean over opponents.

    A vote's distance to the mean of its opponent's n votes is too short by sqrt(1 - 1/n). The only vote on an opponent
    has no such distance: it is held against the mean of all.
    """
    opponents = np.unique(votes.opponent)
    overall = _mean_over_opponents(votes, figures)
    parts = np.zeros(cases)
    for opponent in opponents:
        mine = votes.opponent == opponent
        count = int(mine.sum())
        centre = figures[mine].mean() if count > 1 else overall
        longer = math.sqrt(count / (count - 1)) if count > 1 else 1.0
        np.add.at(parts, votes.case[mine], (figures[mine] - centre) * longer / (count * opponents.size))
    return parts


def _estimate(value: float, parts: Floats, *, cases: int, spent: int, confidence: float) -> MeanEstimate:
    """`parts` are the cases' parts of the error; `spent` the degrees of freedom that were used up."""
    from scipy.special import stdtrit

    value = min(1.0, max(0.0, value))  # a mean of points, which a large weight may lead beyond them
    variance = float(parts @ parts)
    if cases < FEWEST_CASES:
        return MeanEstimate(value=value, interval=None, variance=variance)
    variance *= cases / (cases - 1)
    half = float(stdtrit(cases - spent, (1 + confidence) / 2)) * math.sqrt(variance)
    return MeanEstimate(value=value, interval=(max(0.0, value - half), min(1.0, value + half)), variance=variance)
