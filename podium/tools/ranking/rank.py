"""The main job: a cohort of metrics.json files in, a `Ranking` out."""

import math
import os
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from podium.errors import UsageError
from podium.execution.executor import OverallProgress
from podium.figures import agrees, put
from podium.metrics.declaration import CaseMetric
from podium.metrics.resampling import Resamples
from podium.readers.files import escape_for_display
from podium.tools.ranking.arena import arena_section
from podium.tools.ranking.documents import Cohort, read_cohorts
from podium.tools.ranking.facts import Facts, figure_at, gather_facts, replicate_figures
from podium.tools.ranking.official import (
    Bootstrap,
    MissingFigure,
    Official,
    Ranked,
    deciding_ranks,
    general_schemes,
    official_ranking,
    scheme_rankings,
    taus_between,
)
from podium.tools.ranking.result import Arena, Calibration, Difference, Ranking, read_calibration
from podium.tools.ranking.schemes import MEAN, OFFICIAL, SCHEMES, RankingOptions, neighbour_differences, rank_groups
from podium.tools.ranking.sections import (
    Groups,
    aggregate_columns,
    case_metrics,
    method_sentences,
    methods,
    notes,
    significance,
    team_lines,
)
from podium.tools.ranking.statistics import Ranks
from podium.tools.ranking.tables import TableOptions, read_score_table, table_cohorts


@dataclass(frozen=True, kw_only=True)
class DrawnRanking:
    """A ranking, and its teams' ranks in every replicate of the deciding scheme: `[replicate, team]`."""

    ranking: Ranking
    replicates: Ranks | None


def rank(cohort: Cohort[Any], options: RankingOptions) -> Ranking:
    """Everything about one cohort, its teams in the order of the deciding scheme, equals by name."""
    return rank_with_replicates(cohort, options).ranking


def rank_paths(
    *paths: str | os.PathLike[str], options: RankingOptions | None = None, table: TableOptions | None = None
) -> Sequence[Ranking]:
    """Rank the teams of a challenge: team folders, metrics.json files, or a folder of either; or one table of scores.

    One ranking for every part that is ranked on its own, such as a regime or a task; most challenges have one.

    table  what a table of scores does not say of itself; with it, the path is that of a table
    """
    wanted = options or RankingOptions()
    if table is None:
        return [rank(cohort, wanted) for cohort in read_cohorts([Path(path) for path in paths])]
    (path,) = paths
    drawn = rank_tasks(table_cohorts(read_score_table(Path(path)), table), wanted)
    return [each.ranking for each in drawn]


def rank_tasks(cohorts: Sequence[Cohort[Any]], options: RankingOptions) -> list[DrawnRanking]:
    """Every task. Tasks with the same cases draw the same ones, so that what their figures share is kept; the others
    have seeds of their own."""
    seeds: dict[frozenset[str], int] = {}
    rankings = []
    for cohort in cohorts:
        seed = seeds.setdefault(cohort.files[0].cases, options.seed + len(seeds))
        rankings.append(rank_with_replicates(cohort, replace(options, seed=seed)))
    return rankings


def rank_with_replicates(cohort: Cohort[Any], options: RankingOptions) -> DrawnRanking:
    """`rank` with the replicates. A table of scores has no official rule: the mean decides."""
    if options.scheme == OFFICIAL and cohort.challenge.ranking is None:
        options = replace(options, scheme=MEAN.name)
    facts = _in_final_order(_with_recomputed_figures(gather_facts(cohort, options)), options)
    official = _official(facts, options)
    bootstrap = _bootstrap(facts, options)
    steps = len(facts.in_schemes) * (len(general_schemes(options)) + 1 if bootstrap else 1)
    overall = OverallProgress(options.progress("ranking", steps))
    try:
        ranked = scheme_rankings(facts, official, bootstrap, replace(options, progress=overall.start))
        tests = []
        for table in facts.in_schemes:
            tests.append(significance(table, alpha=options.alpha))
            overall.advance()
    finally:
        overall.finish()
    chosen = next(each for each in ranked if each.ranking.scheme == options.scheme)
    common = facts.files[0].content
    arena = arena_section(official.arena, facts.teams, options) if official and official.arena else None
    groups, differences = _comparisons(facts, chosen, arena if options.scheme == OFFICIAL else None, options)
    columns = aggregate_columns(facts, arena, bootstrap, options)
    ranking = Ranking(
        challenge=common.challenge,
        title=escape_for_display(common.title),
        version=escape_for_display(common.version),
        division=cohort.division,
        settings=common.settings,
        deciding_scheme=options.scheme,
        teams=team_lines(facts, official, chosen.ranking, groups),
        cases=tuple(facts.cases),
        statuses=tuple(tuple(rows[case].status for case in facts.cases) for rows in facts.rows),
        columns=columns,
        metrics=case_metrics(facts, bootstrap, options),
        schemes=tuple(each.ranking for each in ranked),
        differences=differences,
        not_resampled=tuple(column.title for column in columns if column.is_given) if bootstrap else (),
        scheme_taus=taus_between([each.ranking for each in ranked]),
        significance=tuple(tests),
        arena=arena,
        methods=methods(options),
        notes=(),
        calibration=_calibration(facts, options),
    )
    ranking = replace(
        ranking,
        methods=replace(ranking.methods, sentences=tuple(method_sentences(facts, ranking))),
        notes=tuple(notes(facts, official, ranking, options)),
    )
    return DrawnRanking(ranking=ranking, replicates=None if chosen.replicates is None else chosen.replicates.ranks)


def _bootstrap(facts: Facts, options: RankingOptions) -> Bootstrap | None:
    if not options.bootstraps or not facts.cases:
        return None
    resamples = Resamples.draw(cases=len(facts.cases), replicates=options.bootstraps, seed=options.seed)
    return Bootstrap(resamples=resamples, figures=replicate_figures(facts, resamples))


def _comparisons(
    facts: Facts, chosen: Ranked, arena: Arena | None, options: RankingOptions
) -> tuple[Groups, tuple[Difference, ...]]:
    """The groups and the differences between neighbours. Where the arena decided, the groups are the arena's."""
    nothing: tuple[None, ...] = (None,) * len(facts.teams)
    if arena is not None:
        return (tuple(team.group if team else None for team in arena.teams), nothing), ()
    if chosen.full is None or chosen.replicates is None:
        return (nothing, nothing), ()
    groups = rank_groups(chosen.full, chosen.replicates, cases=len(facts.cases), alpha=options.alpha)
    return groups, neighbour_differences(facts.teams, chosen.full, chosen.replicates, confidence=options.confidence)


def _in_final_order(facts: Facts, options: RankingOptions) -> Facts:
    if options.scheme in SCHEMES and not facts.in_schemes:
        raise UsageError(
            f"The scheme '{options.scheme}' ranks by per-case values, and the files contain none "
            '(per_case = "none", or figures that are not published).'
        )
    official = _official(facts, options)
    ranks = deciding_ranks(facts, official, options)
    last = len(ranks) + 1
    ratings = np.zeros(len(ranks))  # of the arena: they order teams that share a rank
    if options.scheme == OFFICIAL and official is not None and official.ratings is not None:
        ratings = np.nan_to_num(official.ratings)
    order = sorted(range(len(ranks)), key=lambda team: (ranks[team] or last, -ratings[team], facts.teams[team]))
    return facts.in_order(order)


def _calibration(facts: Facts, options: RankingOptions) -> Calibration | None:
    """The content of the file, if all of its teams are ranked here."""
    if options.calibration is None:
        return None
    found = read_calibration(options.calibration)
    strangers = [team.name for team in found.teams if team.name not in facts.teams]
    if strangers:
        raise UsageError(f"{options.calibration} has an estimate for '{strangers[0]}', which is not ranked here.")
    return found


def _official(facts: Facts, options: RankingOptions) -> Official | None:
    """None where the files lack a figure of the official rule and another scheme was requested."""
    try:
        return official_ranking(facts, options)
    except MissingFigure:
        if options.scheme == OFFICIAL:
            raise
        return None


# Figures are recomputed from the rows: they replace the published ones, which must agree with them.


def _with_recomputed_figures(facts: Facts) -> Facts:
    """The facts with every column recomputed from the rows: published figures may be rounded.

    Raises UsageError, naming file, figure and values, where an aggregate differs from what the rows give, or a row has
    a figure outside the range of its metric. Figures that the rows are not sufficient for are not checked.
    """
    _refuse_out_of_range(facts)
    _refuse_changed_rows(facts)
    if not facts.cases:
        return facts
    again: list[dict[str, Any]] = [deepcopy(dict(aggregates)) for aggregates in facts.aggregates]
    for path, values in replicate_figures(facts, Resamples.whole(len(facts.cases))).items():
        for team, expected in enumerate(values[0].tolist()):
            published = figure_at(facts.aggregates[team], path)
            if published is None or math.isnan(expected):  # undefined over these cases: a rule sets the figure
                continue
            if not agrees(published, expected):
                raise UsageError(
                    f"{facts.labels[team]} has aggregates.{path} = {published:.10g}, but its rows give "
                    f"{expected:.10g}: it was changed after it was written, or written by another version."
                )
            put(again[team], path, expected)
    return replace(facts, aggregates=again)


def _refuse_changed_rows(facts: Facts) -> None:
    """Figures of a row that are made of its other figures are computed again."""
    for table in facts.tables.values():
        metric = table.metric
        if not isinstance(metric, CaseMetric) or metric.of_row is None:
            continue
        for (team, case), value in np.ndenumerate(table.values):
            row = facts.rows[team][facts.cases[case]]
            if math.isnan(value):
                continue
            try:
                expected = metric.from_row(row.metrics)
            except (KeyError, TypeError, ValueError):  # anonymous rows do not have everything it is made of
                continue
            if expected is None or not agrees(float(value), expected):
                given = "no value" if expected is None else f"{expected:.10g}"
                raise UsageError(
                    f"{facts.labels[team]}: '{metric.name}' of the case '{row.case}' is {value:.10g}, but the "
                    f"row's other figures give {given}: it was changed after it was written, or written by "
                    "another version."
                )


def _refuse_out_of_range(facts: Facts) -> None:
    for table in facts.tables.values():
        metric = table.metric
        with np.errstate(invalid="ignore"):
            outside = (table.values < metric.lowest) | (table.values > metric.highest)
        for team, case in np.argwhere(outside).tolist():
            raise UsageError(
                f"{facts.labels[team]}: '{metric.name}' of the case '{facts.cases[case]}' is "
                f"{table.values[team, case]:g}, outside {metric.lowest:g} to {metric.highest:g}."
            )
