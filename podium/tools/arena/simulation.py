"""`podium arena simulate`: whole arenas with known strengths, the real pairing and the real ratings."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from podium.tools.arena.ratings import SCALE
from podium.tools.arena.settings import ArenaSettings
from podium.tools.arena.standing import RatingName, standing, vote_conditions
from podium.tools.arena.store import Ballot, VoteAnswer
from podium.tools.arena.voting import MatchupPlanner, Planned

VOTES_BETWEEN_CHECKS = 10


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """An arena to simulate."""

    gap_points: float  # between each team and the next in the true order: 400 are odds of 10 to 1
    teams: int
    raters: int
    cases: int
    tie_share: float  # share of ties among the votes, for every pair
    case_spread_points: float  # standard deviation of a team's strength from case to case: reports differ
    rater_spread_points: float  # the same from rater to rater: raters do not prefer the same
    settings: ArenaSettings


@dataclass(frozen=True, kw_only=True)
class Played:
    """One arena from the first vote to the end."""

    finished: bool  # the stop rule held; otherwise no rater had a matchup left
    votes: int
    is_first: dict[RatingName, bool]  # by each rating: the best team by true strength is first
    is_in_first_group: bool  # the best team is in the first group
    first_group: int  # how many teams share it
    tau: float  # Kendall's, of averaged Elo and the true order


@dataclass(frozen=True, kw_only=True)
class SimulationSummary:
    """Over all arenas of a scenario; shares between 0 and 1."""

    gap_points: float
    runs: int
    first: dict[RatingName, float]
    in_first_group: float
    mean_first_group: float
    median_votes: float
    votes_90: float
    unfinished: float
    mean_tau: float


def play(scenario: Scenario, seed: Sequence[int]) -> Played:
    """Votes until the stop rule holds, which is checked every ten votes."""
    from podium.tools.ranking.statistics import tau_b  # needs SciPy, which the arena's server does without

    random = np.random.default_rng(seed)
    names = [f"team{number}" for number in range(1, scenario.teams + 1)]
    # Shuffled, since equal ratings are ordered by name.
    true_order = [names[index] for index in random.permutation(scenario.teams)]
    rules = scenario.settings.model_copy(update={"seed": int(random.integers(2**31))})
    votes: list[Ballot] = []
    finished = False
    for vote in cast_votes(scenario, names, true_order, random, rules.seed):
        votes.append(vote)
        is_checked = len(votes) % VOTES_BETWEEN_CHECKS == 0
        if finished := is_checked and all(each.met for each in vote_conditions(votes, names, rules)):
            break
    reached = standing(votes, names, rules)
    first_group = reached.groups[0]
    orders: dict[RatingName, list[str]] = {
        by: [team.name for team in sorted(reached.teams, key=lambda team: -team.rating(by))]
        for by in ("elo-averaged", "elo", "bradley-terry")
    }
    return Played(
        finished=finished,
        votes=len(votes),
        is_first={by: order[0] == true_order[0] for by, order in orders.items()},
        is_in_first_group=true_order[0] in first_group,
        first_group=len(first_group),
        tau=float(tau_b(*(np.argsort(order) for order in (orders["elo-averaged"], true_order)))),
    )


def summarise(gap_points: float, played: Sequence[Played]) -> SimulationSummary:
    votes = [one.votes for one in played]
    return SimulationSummary(
        gap_points=gap_points,
        runs=len(played),
        first={by: fmean(one.is_first[by] for one in played) for by in played[0].is_first},
        in_first_group=fmean(one.is_in_first_group for one in played),
        mean_first_group=fmean(one.first_group for one in played),
        median_votes=float(np.median(votes)),
        votes_90=float(np.quantile(votes, 0.9)),
        unfinished=fmean(not one.finished for one in played),
        mean_tau=fmean(one.tau for one in played),
    )


def cast_votes(
    scenario: Scenario, names: Sequence[str], true_order: Sequence[str], random: np.random.Generator, seed: int
) -> Iterator[Ballot]:
    """Any rater who has a matchup left may be the next to vote."""
    strengths = np.array([-scenario.gap_points * true_order.index(name) for name in names])
    by_case = strengths + scenario.case_spread_points * random.standard_normal((scenario.cases, scenario.teams))
    by_rater = scenario.rater_spread_points * random.standard_normal((scenario.raters, scenario.teams))
    # Without repeats, which neither ratings nor the stop rule count.
    planner = MatchupPlanner(methods=scenario.teams, cases=scenario.cases, repeat_share=0, seed=seed)
    waiting: list[list[Planned]] = []
    for rater in range(scenario.raters):
        others = [planned for plan in waiting for planned in reversed(plan)]
        waiting.append(planner.plan(scenario.settings.matchups_per_rater, rater=rater, others=others)[::-1])
    while raters := [rater for rater, plan in enumerate(waiting) if plan]:
        rater = raters[int(random.integers(len(raters)))]
        shown = waiting[rater].pop()
        strength = by_case[shown.case] + by_rater[rater]
        ahead = strength[shown.left] - strength[shown.right]
        answer: VoteAnswer = "left" if random.random() < 1 / (1 + 10 ** (-ahead / SCALE)) else "right"
        yield Ballot(
            rater=f"rater{rater}",
            case=f"case{shown.case}",
            left=names[shown.left],
            right=names[shown.right],
            answer="both-good" if random.random() < scenario.tie_share else answer,
        )
