"""Teams compared by the score that decides: neighbours in the table, and groups of teams that cannot be told apart."""

from collections.abc import Sequence

import numpy as np
from scipy.special import stdtr

from podium.metrics import Floats
from podium.ranking.intervals import percentile_interval
from podium.ranking.result import Difference
from podium.ranking.schemes import SchemeOutcome


def neighbour_differences(
    teams: Sequence[str], full: SchemeOutcome, replicates: SchemeOutcome, *, confidence: float
) -> tuple[Difference, ...]:
    """Every team and the next one, in the order of the final table.

    The difference is the better team's score minus the other's. The probability that the better one is ahead is the
    share of replicates in which its rank is better, an equal rank counting half.
    """
    scores, ranks = full.scores[0], replicates.ranks
    found = []
    for first in range(len(teams) - 1):
        second = first + 1
        with np.errstate(invalid="ignore"):  # two infinite worst values have no difference
            difference = float(scores[first] - scores[second])
            drawn = replicates.scores[:, first] - replicates.scores[:, second]
        ahead = np.where(ranks[:, first] == ranks[:, second], 0.5, ranks[:, first] < ranks[:, second])
        found.append(
            Difference(
                better=teams[first],
                worse=teams[second],
                difference=difference if np.isfinite(difference) else None,
                interval=percentile_interval(drawn, confidence=confidence),
                probability_ahead=float(ahead.mean()),
            )
        )
    return tuple(found)


def rank_groups(
    full: SchemeOutcome, replicates: SchemeOutcome, *, cases: int, alpha: float
) -> tuple[tuple[int, ...], tuple[float | None, ...]]:
    """For every team, in the order of the final table, the number of its group (from 1) and the adjusted p of its
    comparison with the group's first team, which itself has none.

    The best team is the anchor of the first group. A team that does not differ from it at `alpha`, after Holm's
    adjustment over all comparisons with this anchor, belongs to its group; the best team outside is the next anchor.
    """
    teams = full.scores.shape[1]
    groups: list[int] = [0] * teams
    adjusted: list[float | None] = [None] * teams
    group = 0
    while 0 in groups:
        group += 1
        anchor, *others = [team for team in range(teams) if not groups[team]]
        groups[anchor] = group
        p = holm_adjusted([paired_p(full, replicates, anchor, other, cases=cases) for other in others])
        for other, value in zip(others, p, strict=True):
            if value > alpha:
                groups[other], adjusted[other] = group, value
    return tuple(groups), tuple(adjusted)


def paired_p(full: SchemeOutcome, replicates: SchemeOutcome, first: int, second: int, *, cases: int) -> float:
    """Two-sided p of two teams' difference: t = difference / bootstrap standard error, n - 1 degrees of freedom.

    The standard error is the spread of the paired differences over the replicates times sqrt(n / (n - 1)): for a mean
    over n cases this is the paired t test, but for the noise of the draws. 1 where the score or the cases cannot tell:
    one case, equal scores, infinite scores.
    """
    with np.errstate(invalid="ignore"):
        difference = float(full.scores[0, first] - full.scores[0, second])
        drawn: Floats = replicates.scores[:, first] - replicates.scores[:, second]
    if cases < 2 or difference == 0 or not np.isfinite(difference) or not np.isfinite(drawn).all():
        return 1.0
    error = float(drawn.std()) * (cases / (cases - 1)) ** 0.5
    if error == 0:
        return 0.0
    return float(2 * stdtr(cases - 1, -abs(difference) / error))


def holm_adjusted(p: Sequence[float]) -> list[float]:
    """The i-th smallest of m times m - i + 1, made non-decreasing, at most 1; in the order given."""
    adjusted = [0.0] * len(p)
    largest = 0.0
    for place, number in enumerate(sorted(range(len(p)), key=lambda each: p[each])):
        largest = max(largest, min(1.0, p[number] * (len(p) - place)))
        adjusted[number] = largest
    return adjusted
