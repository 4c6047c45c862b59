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
    names = sorted(team.name for team in rankings[0].ranking.teams)
    tasks = [" ".join(each.ranking.division.values()) for each in rankings]
    columns = [[[team.name for team in each.ranking.teams].index(name) for name in names] for each in rankings]
    ranks = np.array(
        [
            [each.ranking.teams[column].rank or len(names) for column in order]
            for each, order in zip(rankings, columns, strict=True)
        ],
        dtype=np.int64,
    )
    drawn = [
        None if each.replicates is None else each.replicates[:, order]
        for each, order in zip(rankings, columns, strict=True)
    ]
    full, means = _by_mean_rank(ranks)
    order = sorted(range(len(names)), key=lambda team: (full[team], names[team]))
    best = kemeny_order(ranks[:, order]) if len(names) <= MOST_TEAMS else None
    known = [each for each in drawn if each is not None]
    replicates, drawn_means = _by_mean_rank(np.stack(known)) if len(known) == len(drawn) else (None, None)
    return Consensus(
        title=rankings[0].ranking.title,
        tasks=tuple(tasks),
        teams=tuple(names[team] for team in order),
        consensus_ranks=tuple(full[order].tolist()),
        mean_ranks=tuple(means[order].tolist()),
        mean_rank_intervals=None
        if drawn_means is None
        else percentile_intervals(drawn_means[:, order], confidence=options.confidence),
        ranks=tuple(tuple(row) for row in ranks[:, order].tolist()),
        task_taus=plain_row(tau_b(ranks, full)),
        kemeny=None if best is None else tuple(names[order[place]] for place in best.order),
        kemeny_disagreements=None if best is None else best.disagreements,
        stability=None
        if replicates is None
        else stability(replicates[:, order], full[order], confidence=options.confidence),
        confidence=options.confidence,
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
