"""The parts of a result that restate the files: the lines of the table, its columns, the single cases, the tests."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from podium.figures import Figures
from podium.metrics import Floats
from podium.metrics.resampling import Resamples
from podium.platform.privacy import Column
from podium.ranking.cases import CaseTable
from podium.ranking.facts import Facts
from podium.ranking.intervals import percentile_intervals
from podium.ranking.official import Official, figure
from podium.ranking.options import RankingOptions
from podium.ranking.plain import plain_row, plain_table
from podium.ranking.rankings import Bootstrap
from podium.ranking.result import (
    ARENA_PATH,
    AggregateColumn,
    Arena,
    CaseMetricResult,
    Intervals,
    SchemeRanking,
    Significance,
    Team,
    Trouble,
)
from podium.ranking.wilcoxon import holm, pairwise_p

Groups = tuple[Sequence[int | None], Sequence[float | None]]  # of every team its group and the p beside it


def team_lines(facts: Facts, official: Official | None, deciding: SchemeRanking, groups: Groups) -> tuple[Team, ...]:
    """One line per team, in the order of the facts."""
    return tuple(_team_line(facts, official, deciding, groups, number) for number in range(len(facts.files)))


def _team_line(facts: Facts, official: Official | None, deciding: SchemeRanking, groups: Groups, number: int) -> Team:
    file, rank, rows = facts.files[number], deciding.ranks[number], facts.rows[number]
    counts = file.content.counts
    equals = [team for team, theirs in zip(facts.teams, deciding.ranks, strict=True) if theirs == rank is not None]
    return Team(
        name=file.team,
        rank=rank,
        score=deciding.scores[number],
        score_interval=deciding.score_intervals[number] if deciding.score_intervals else None,
        group=groups[0][number],
        group_p=groups[1][number],
        tied_with=tuple(team for team in equals if team != file.team),
        finalist=official is not None and bool(official.finalists[number]),
        expected=counts.expected,
        scored=counts.scored,
        failed=counts.failed,
        missing=counts.missing,
        unmatched=counts.unmatched,
        troubles=tuple(
            Trouble(case=case, status=rows[case].status, error=error)
            for case in facts.cases
            if (error := rows[case].error) is not None
        ),
    )


def aggregate_columns(
    facts: Facts, arena: Arena | None, bootstrap: Bootstrap | None, options: RankingOptions
) -> tuple[AggregateColumn, ...]:
    """The leaderboard's columns that any team has, and the arena's ratings."""
    drawn = bootstrap.figures if bootstrap else {}
    columns = [
        AggregateColumn(
            path=column.path,
            title=column.title,
            direction=column.direction,
            headline=column.headline,
            values=tuple(_known_figure(figures, column) for figures in facts.aggregates),
            errors=tuple(figure(figures, column.error_path) for figures in facts.aggregates)
            if column.error_path
            else None,
            intervals=_intervals(facts, column, drawn[column.path], options) if column.path in drawn else None,
        )
        for column in (*facts.challenge.offline_columns(), *facts.challenge.columns())
    ]
    if arena is not None:
        columns.append(_arena_column(arena))
    return tuple(column for column in columns if any(value is not None for value in column.values))


def _known_figure(aggregates: Figures, column: Column) -> float | None:
    is_unknown = column.known_path and figure(aggregates, column.known_path) == 0
    return None if is_unknown else figure(aggregates, column.path)


def _intervals(facts: Facts, column: Column, drawn: Floats, options: RankingOptions) -> Intervals:
    """None for a team whose figure is not known."""
    found = percentile_intervals(drawn, confidence=options.confidence)
    return tuple(
        None if _known_figure(figures, column) is None else interval
        for figures, interval in zip(facts.aggregates, found, strict=True)
    )


def _arena_column(arena: Arena) -> AggregateColumn:
    """Intervals are those of the Bradley-Terry rating: they belong to it alone."""
    by_bradley_terry = arena.decided_by == "bradley-terry"
    return AggregateColumn(
        path=ARENA_PATH,
        title="Arena rating",
        direction="higher",
        headline=True,
        values=tuple(team.rating if team else None for team in arena.teams),
        errors=None,
        intervals=tuple(team.interval if team else None for team in arena.teams) if by_bradley_terry else None,
    )


def case_metrics(facts: Facts, bootstrap: Bootstrap | None, options: RankingOptions) -> tuple[CaseMetricResult, ...]:
    """Every metric that the rows hold: those of the general schemes first and in the rule's order, for its first is
    what reports call a case good or bad by."""
    others = [table for table in facts.tables.values() if not any(table is each for each in facts.in_schemes)]
    return (
        *(_case_metric(table, bootstrap, options, in_schemes=True) for table in facts.in_schemes),
        *(_case_metric(table, bootstrap, options, in_schemes=False) for table in others),
    )


def _case_metric(
    table: CaseTable, bootstrap: Bootstrap | None, options: RankingOptions, *, in_schemes: bool
) -> CaseMetricResult:
    metric, filled = table.metric, table.filled().T
    means = Resamples.whole(filled.shape[0]).mean(filled)[0]
    drawn = bootstrap.resamples.only(table.defined).mean(filled) if bootstrap else None
    lowest, highest, worst = plain_row(np.array([metric.lowest, metric.highest, metric.worst], dtype=np.float64))
    return CaseMetricResult(
        name=metric.name,
        title=metric.title,
        direction=metric.direction,
        lowest=lowest,
        highest=highest,
        worst=worst,
        unit=metric.unit,
        in_schemes=in_schemes,
        undefined_cases=int(np.count_nonzero(~table.defined)),
        means=plain_row(means),
        mean_intervals=None if drawn is None else percentile_intervals(drawn, confidence=options.confidence),
        values=plain_table(table.values),
    )


def significance(table: CaseTable, *, alpha: float, workers: int) -> Significance:
    """Every team against every other by one metric, missing values being the worst."""
    p = pairwise_p(table.gains(), Resamples.whole(table.values.shape[1]).only(table.defined), workers=workers)[0]
    adjusted = holm(p)
    return Significance(
        metric=table.metric.name,
        p=plain_table(p),
        p_holm=plain_table(adjusted),
        significant=_significant(p, alpha),
        significant_holm=_significant(adjusted, alpha),
    )


def _significant(p: NDArray[np.float64], alpha: float) -> tuple[tuple[bool, ...], ...]:
    return tuple(tuple(row) for row in (p <= alpha).tolist())  # NaN is not significant
