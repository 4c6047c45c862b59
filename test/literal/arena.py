"""The arena's rules read literally: loops over votes, every partition of the teams, plain minorisation-maximisation."""

import itertools
import math
from collections.abc import Sequence

Vote = tuple[str, str, str]  # left, right, winner: "left", "right" or "tie"
SCORE = {"left": 1.0, "tie": 0.5, "right": 0.0}


def elo(votes: Sequence[Vote], teams: Sequence[str], k: float) -> dict[str, float]:
    rating = dict.fromkeys(teams, 1000.0)
    for left, right, winner in votes:
        expected_left = 10 ** (rating[left] / 400) / (10 ** (rating[left] / 400) + 10 ** (rating[right] / 400))
        expected_right = 1 - expected_left
        rating[left] += k * (SCORE[winner] - expected_left)
        rating[right] += k * ((1 - SCORE[winner]) - expected_right)
    return rating


def elo_over_all_orders(votes: Sequence[Vote], teams: Sequence[str], k: float) -> dict[str, float]:
    every = [elo(order, teams, k) for order in itertools.permutations(votes)]
    return {team: math.fsum(one[team] for one in every) / len(every) for team in teams}


def points(votes: Sequence[Vote], one: str, other: str) -> float:
    """What `one` won of `other`."""
    return sum(SCORE[winner] for left, right, winner in votes if (left, right) == (one, other)) + sum(
        1 - SCORE[winner] for left, right, winner in votes if (right, left) == (one, other)
    )


def fit_exists(votes: Sequence[Vote], teams: Sequence[str]) -> bool:
    """Ford's condition: part the teams in two as you like, one of the second part beat or tied one of the first."""
    return all(
        any(points(votes, one, other) > 0 for one in set(teams) - set(part) for other in part)
        for size in range(1, len(teams))
        for part in itertools.combinations(teams, size)
    )


def bradley_terry(
    votes: Sequence[Vote],
    teams: Sequence[str],
    virtual_draw: float = 0.0,
    heavier: tuple[Vote, float] | None = None,
) -> dict[str, float]:
    """On the Elo scale, by s_i <- points won / sum over opponents of meetings / (s_i + s_j), until nothing moves.

    `heavier`: a vote that counts again, with this weight.
    """
    won = {
        (one, other): points(votes, one, other) + virtual_draw / 2 for one, other in itertools.permutations(teams, 2)
    }
    if heavier:
        for pair in itertools.permutations(teams, 2):
            won[pair] += heavier[1] * points([heavier[0]], *pair)
    strength = dict.fromkeys(teams, 1.0)
    for _ in range(100_000):
        before = dict(strength)
        for one in teams:
            others = [other for other in teams if other != one]
            meetings = sum((won[one, other] + won[other, one]) / (strength[one] + strength[other]) for other in others)
            strength[one] = sum(won[one, other] for other in others) / meetings
        mean = math.exp(sum(math.log(value) for value in strength.values()) / len(teams))
        strength = {team: value / mean for team, value in strength.items()}
        if all(abs(math.log(strength[team] / before[team])) < 1e-13 for team in teams):
            break
    return {team: 1000 + 400 * math.log10(value) for team, value in strength.items()}


def influences(votes: Sequence[Vote], teams: Sequence[str]) -> list[dict[str, float]]:
    """How fast every rating moves with the weight of every vote, by differences."""
    step = 1e-3
    moved = []
    for vote in votes:
        more, less = (bradley_terry(votes, teams, heavier=(vote, weight)) for weight in (step, -step))
        moved.append({team: (more[team] - less[team]) / (2 * step) for team in teams})
    return moved


def variance_and_freedom(
    votes: Sequence[Vote], teams: Sequence[str], cases: Sequence[str], raters: Sequence[str]
) -> tuple[dict[str, float], float]:
    """Of every rating: V_case + max(0, 1 - tr V_cell / tr V_rater) V_rater, and Satterthwaite's degrees of freedom."""
    moved = influences(votes, teams)

    def clustered(clusters: Sequence[object]) -> tuple[dict[str, float], int]:
        names = sorted(set(clusters))
        sums = {
            team: [sum(one[team] for one, mine in zip(moved, clusters, strict=True) if mine == name) for name in names]
            for team in teams
        }
        inflated = len(names) / (len(names) - 1)
        return {team: inflated * sum(value**2 for value in each) for team, each in sums.items()}, len(names)

    (by_case, n_cases), (by_rater, n_raters) = clustered(cases), clustered(raters)
    by_cell, _ = clustered(list(zip(cases, raters, strict=True)))
    share = max(0.0, 1 - sum(by_cell.values()) / sum(by_rater.values()))
    trace_of_cases, trace_of_raters = sum(by_case.values()), share * sum(by_rater.values())
    freedom = (trace_of_cases + trace_of_raters) ** 2 / (
        trace_of_cases**2 / (n_cases - 1) + trace_of_raters**2 / (n_raters - 1)
    )
    return {team: by_case[team] + share * by_rater[team] for team in teams}, freedom
