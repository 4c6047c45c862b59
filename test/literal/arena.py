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


def bradley_terry(votes: Sequence[Vote], teams: Sequence[str], virtual_draw: float = 0.0) -> dict[str, float]:
    """On the Elo scale, by s_i <- points won / sum over opponents of meetings / (s_i + s_j), until nothing moves."""
    won = {
        (one, other): points(votes, one, other) + virtual_draw / 2 for one, other in itertools.permutations(teams, 2)
    }
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
