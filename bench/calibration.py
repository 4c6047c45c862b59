"""Counts how many 95 % intervals of `podium judge calibrate` contain the truth, in simulated challenges.

    python bench/calibration.py [--challenges 1000]

Every challenge has reports of varying quality, a judge that sees the quality with noise and favours long reports, and
an arena with the real pairing on some of the cases. The truth is each team's mean of points against every other team
over 200,000 cases of the same kind.
"""

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from podium.metrics import Floats
from podium.tools.arena.calibration import VotesOnTeam, prediction_powered
from podium.tools.arena.voting import MatchupPlanner

_CASES_FOR_TRUTH = 200_000


@dataclass(frozen=True, kw_only=True)
class Challenge:
    """judge_noise  standard deviation of the judge's error, where quality has 1 from case to case
    gap          between the true strengths of two neighbours
    """

    name: str
    teams: int
    cases: int
    voted_cases: int
    votes: int
    judge_noise: float
    gap: float = 0.3
    ties: float = 0.2


CHALLENGES = (
    Challenge(name="a good judge, votes on a third", teams=7, cases=120, voted_cases=40, votes=300, judge_noise=0.3),
    Challenge(name="a poor judge", teams=7, cases=120, voted_cases=40, votes=300, judge_noise=3.0),
    Challenge(name="votes on all cases", teams=5, cases=60, voted_cases=60, votes=200, judge_noise=0.5),
    Challenge(name="few cases", teams=4, cases=50, voted_cases=15, votes=90, judge_noise=0.5),
    Challenge(name="few votes", teams=7, cases=100, voted_cases=50, votes=100, judge_noise=0.5),
    Challenge(name="two teams", teams=2, cases=100, voted_cases=30, votes=60, judge_noise=0.5),
)


def draw_cases(kind: Challenge, random: np.random.Generator, cases: int) -> tuple[Floats, Floats]:
    """Quality as clinicians see it and the judge's score, `[case, team]`."""
    quality = -kind.gap * np.arange(kind.teams) + random.standard_normal((cases, kind.teams))
    length = random.standard_normal((cases, kind.teams))
    seen = quality + 0.3 * length + kind.judge_noise * random.standard_normal((cases, kind.teams))
    return quality, 1 / (1 + np.exp(-seen))


def chances(kind: Challenge, quality: Floats, first: int, second: int) -> Floats:
    """The expected points of the first team, ties being half a point."""
    return kind.ties / 2 + (1 - kind.ties) / (1 + np.exp(-1.5 * (quality[:, first] - quality[:, second])))


def truths(kind: Challenge) -> list[float]:
    quality, _ = draw_cases(kind, np.random.default_rng(2026), _CASES_FOR_TRUTH)
    others = [[other for other in range(kind.teams) if other != team] for team in range(kind.teams)]
    return [
        float(np.mean([chances(kind, quality, team, other).mean() for other in others[team]]))
        for team in range(kind.teams)
    ]


def play(kind: Challenge, seed: int) -> tuple[list[VotesOnTeam], Floats]:
    """The votes on every team, and the judge's scores."""
    random = np.random.default_rng([seed, kind.teams, kind.cases])
    quality, judged = draw_cases(kind, random, kind.cases)
    raters = 5
    planner = MatchupPlanner(methods=kind.teams, cases=kind.voted_cases, repeat_share=0, seed=seed)
    planned: list = []
    for rater in range(raters):
        planned += planner.plan(kind.votes // raters, rater=rater, others=planned)
    cast: list[list[tuple[int, int, float]]] = [[] for _ in range(kind.teams)]
    for each in planned:
        chance = chances(kind, quality[each.case : each.case + 1], each.left, each.right)[0]
        won = (chance - kind.ties / 2) / (1 - kind.ties)
        points = 0.5 if random.random() < kind.ties else float(random.random() < won)
        cast[each.left].append((each.case, each.right, points))
        cast[each.right].append((each.case, each.left, 1 - points))
    votes = []
    for mine in cast:
        case, opponent, points = (np.array(column) for column in zip(*mine, strict=True))
        votes.append(VotesOnTeam(case=case, opponent=opponent, points=points.astype(np.float64)))
    return votes, judged


@dataclass
class Tally:
    """`[challenge, team]`: whether the interval holds the truth, and how wide it is."""

    inside: list[list[bool]]
    widths: list[list[float]]

    def add(self, intervals: list[tuple[float, float]], truth: list[float]) -> None:
        self.inside.append([low <= true <= high for (low, high), true in zip(intervals, truth, strict=True)])
        self.widths.append([high - low for low, high in intervals])


def coverage(kind: Challenge, challenges: int) -> tuple[Tally, Tally]:
    """By the votes alone, and by votes and judge together."""
    truth = truths(kind)
    by_votes, by_both = Tally([], []), Tally([], [])
    for seed in range(challenges):
        votes, judged = play(kind, seed)
        found = [
            prediction_powered(mine, judged[:, [team]] - judged, confidence=0.95) for team, mine in enumerate(votes)
        ]
        by_votes.add([each.by_votes.interval or (0.0, 1.0) for each in found], truth)
        by_both.add([each.by_both.interval or (0.0, 1.0) for each in found], truth)
    return by_votes, by_both


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--challenges", type=int, default=1000, metavar="N", help="per kind [%(default)s]")
    challenges = parser.parse_args().challenges
    print(f"{challenges} simulated challenges per row; intervals of 95 %")
    print(f"{'':32} {'votes alone':>20} {'votes and judge':>20}")
    print(f"{'':32} {'coverage':>10}{'width':>10} {'coverage':>10}{'width':>10} {'CPU s':>7}")
    for kind in CHALLENGES:
        begun = time.process_time()
        tallies = coverage(kind, challenges)
        cells = " ".join(f"{np.mean(each.inside):>10.1%}{np.mean(each.widths):>10.3f}" for each in tallies)
        print(f"{kind.name:32} {cells} {time.process_time() - begun:>7.1f}", flush=True)


if __name__ == "__main__":
    main()
