"""One order of the teams from the rankings of several tasks: by mean rank, and the Kemeny order."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from podium.metrics import Floats
from podium.tools.ranking.rank import DrawnRanking
from podium.tools.ranking.result import Interval, Intervals, Row, Stability, plain_row
from podium.tools.ranking.schemes import RankingOptions
from podium.tools.ranking.statistics import (
    MOST_TEAMS,
    Ranks,
    kemeny_order,
    percentile_intervals,
    positions,
    stability,
    tau_b,
)


@dataclass(frozen=True, kw_only=True)
class Consensus:
    """Teams by mean rank over the tasks, equals by name.

    ranks      [task][team]; `task_taus` are Kendall's tau-b of each task to the consensus
    kemeny     the order with the fewest pairwise disagreements with the tasks; None for more than 12 teams
    mean_rank_intervals, stability
               from the replicates of the tasks; None where a task has none
    """

    schema: str = "podium-consensus-1"
    title: str
    tasks: tuple[str, ...]
    teams: tuple[str, ...]
    consensus_ranks: tuple[int, ...]
    mean_ranks: tuple[float, ...]
    mean_rank_intervals: Intervals | None
    ranks: tuple[tuple[int, ...], ...]
    task_taus: Row
    kemeny: tuple[str, ...] | None
    kemeny_disagreements: int | None
    stability: Stability | None
    confidence: float
    cases: int  # of the task with the fewest
    sentences: tuple[str, ...]

    def mean_rank_interval(self, team: int) -> Interval | None:
        return self.mean_rank_intervals[team] if self.mean_rank_intervals else None


def consensus(rankings: Sequence[DrawnRanking], options: RankingOptions) -> Consensus:
    """`rankings` are of the same teams, one per task."""
    places = [{team.name: place for place, team in enumerate(each.ranking.teams)} for each in rankings]
    names = sorted(places[0])
    last = len(names)
    ranks = np.array(
        [
            [each.ranking.teams[place[name]].rank or last for name in names]
            for each, place in zip(rankings, places, strict=True)
        ]
    )
    by_rank = np.argsort(_by_mean_rank(ranks)[0], kind="stable")
    names, ranks = [names[team] for team in by_rank], ranks[:, by_rank]
    full, means = _by_mean_rank(ranks)
    drawn = [
        each.replicates[:, [place[name] for name in names]]
        for each, place in zip(rankings, places, strict=True)
        if each.replicates is not None
    ]
    replicates, drawn_means = _by_mean_rank(np.stack(drawn)) if len(drawn) == len(rankings) else (None, None)
    kemeny, disagreements = kemeny_order(ranks) if len(names) <= MOST_TEAMS else (None, None)
    confidence = options.confidence
    return Consensus(
        title=rankings[0].ranking.title,
        tasks=tuple(" ".join(each.ranking.division.values()) for each in rankings),
        teams=tuple(names),
        consensus_ranks=tuple(full.tolist()),
        mean_ranks=tuple(means.tolist()),
        mean_rank_intervals=None if drawn_means is None else percentile_intervals(drawn_means, confidence=confidence),
        ranks=tuple(tuple(row) for row in ranks.tolist()),
        task_taus=plain_row(tau_b(ranks, full)),
        kemeny=None if kemeny is None else tuple(names[team] for team in kemeny),
        kemeny_disagreements=disagreements,
        stability=None if replicates is None else stability(replicates, full, confidence=confidence),
        confidence=confidence,
        cases=min(len(each.ranking.cases) for each in rankings),
        sentences=tuple(_sentences(rankings, options, replicates is not None)),
    )


def _by_mean_rank(ranks: Ranks) -> tuple[Ranks, Floats]:
    """Positions by the mean over the first axis, the tasks; whole numbers are added, so equal means tie exactly."""
    totals = ranks.sum(axis=0).astype(np.float64)
    return positions([(totals, "lower")]), totals / ranks.shape[0]


def _sentences(rankings: Sequence[DrawnRanking], options: RankingOptions, is_drawn: bool) -> Iterator[str]:
    first = rankings[0].ranking
    yield (
        f"{len(first.teams)} teams were ranked in each of {len(rankings)} tasks ({first.deciding.words}), and by the "
        "mean of these ranks; equal means share the smaller position."
    )
    if len(first.teams) <= MOST_TEAMS:
        yield "The Kemeny order contradicts the tasks in the fewest pairs of teams, counted over all tasks."
    if is_drawn:
        yield (
            f"In each of {options.bootstraps:,} bootstrap replicates the cases of every task were drawn with "
            "replacement, tasks with the same cases together, and the consensus was formed again."
        )
