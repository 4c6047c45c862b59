"""The main job: a cohort of metrics.json files in, a `Ranking` out; and the consensus of several rankings."""

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from podium import __version__
from podium.challenges.board import Criterion, RankingRule
from podium.errors import UsageError
from podium.execution.executor import OverallProgress, no_progress
from podium.figures import Figures
from podium.metrics import Floats
from podium.metrics.resampling import Resamples
from podium.platform.leaderboard import Column
from podium.readers.files import escape_for_display
from podium.tools.ranking.calibration import Calibration, read_calibration
from podium.tools.ranking.comparisons import Comparison
from podium.tools.ranking.documents import Cohort, PerTeam, cohorts_from
from podium.tools.ranking.facts import (
    Facts,
    figure_at,
    gather_facts,
    group_figures,
    group_paths,
    replicate_figures,
    with_recomputed_figures,
)
from podium.tools.ranking.official import (
    MissingFigure,
    Official,
    arena_section,
    live_leaderboard,
    official_ranking,
    official_replicates,
    rank_by_case,
)
from podium.tools.ranking.prose import method_sentences, notes, sentences
from podium.tools.ranking.result import (
    ARENA_PATH,
    AggregateColumn,
    Arena,
    CaseMetricResult,
    Claims,
    Consensus,
    Difference,
    IntervalKind,
    Intervals,
    Methods,
    Ranking,
    RuleTerm,
    SchemeRanking,
    Significance,
    Team,
    Trouble,
    plain_row,
    plain_table,
)
from podium.tools.ranking.schemes import (
    MEAN,
    OFFICIAL,
    PLATFORM,
    SCHEMES,
    SIDE_BY_SIDE,
    CaseTable,
    RankingOptions,
    Scheme,
    SchemeOutcome,
    apply_scheme,
    enough_replicates,
    exact_intervals,
    positions_in_cases,
)
from podium.tools.ranking.statistics import (
    MOST_TEAMS,
    Ranks,
    holm_over_pairs,
    kemeny_order,
    median_interval,
    pairwise_p,
    percentile_intervals,
    positions,
    stability,
    tau_b,
)
from podium.tools.ranking.tables import TableOptions, read_score_table, table_cohorts

Groups = tuple[Sequence[int | None], Sequence[float | None]]  # [team], the group and its p-value


@dataclass(frozen=True, kw_only=True)
class Ranked:
    """One scheme: its ranking, and the outcome on all cases and in every replicate, None where there is none."""

    ranking: SchemeRanking
    full: SchemeOutcome | None = None
    replicates: SchemeOutcome | None = None


@dataclass(frozen=True)
class Bootstrap:
    """The draws, and `replicate_figures` of them."""

    resamples: Resamples
    figures: Mapping[str, Floats]
    over_defined_terms: set[str]

    @classmethod
    def draw(cls, facts: Facts, *, replicates: int, seed: int) -> "Bootstrap":
        resamples = Resamples.draw(cases=len(facts.cases), replicates=replicates, seed=seed, patients=facts.patients)
        return cls(resamples, *replicate_figures(facts, resamples, also=group_paths(facts)))

    def interval_kind(self, *paths: str) -> IntervalKind:
        """Of figures that have percentile intervals."""
        return "percentile" if self.over_defined_terms.isdisjoint(paths) else "defined-terms"


@dataclass(frozen=True, kw_only=True)
class DrawnRanking:
    """A ranking, and its teams' ranks in every replicate of the deciding scheme: `[replicate, team]`."""

    ranking: Ranking
    replicates: Ranks | None


def rank(cohort: Cohort[Any], options: RankingOptions) -> Ranking:
    """Everything about one cohort, its teams in the order of the deciding scheme, equals by name."""
    return rank_all([cohort], options)[0].ranking


def rank_paths(
    *paths: str | os.PathLike[str],
    options: RankingOptions | None = None,
    table: TableOptions | None = None,
    per_team: PerTeam | None = None,
) -> Sequence[Ranking]:
    """Rank the teams of a challenge.

    Args:
        paths: team folders, metrics.json files, or a folder of either; the platform's export of evaluations; or one
            table of scores.
        options: how to rank; by default the challenge's own rule.
        table: what a table of scores does not say of itself; with it, the path is that of a table.
        per_team: which of a team's evaluations counts, of an export [newest].

    Returns:
        One ranking for every part that is ranked on its own, such as a regime or a task; most challenges have one.
    """
    cohorts: Sequence[Cohort[Any]]
    if table is None:
        cohorts = cohorts_from([Path(path) for path in paths], per_team=per_team)
    else:
        (path,) = paths
        cohorts = table_cohorts(read_score_table(Path(path)), table)
    return [each.ranking for each in rank_all(cohorts, options or RankingOptions())]


def rank_all(cohorts: Sequence[Cohort[Any]], options: RankingOptions) -> list[DrawnRanking]:
    """Every cohort. Tasks of a table that have the same cases draw the same ones, so that what their figures share is
    kept; the others have seeds of their own."""
    seeds: dict[frozenset[str], int] = {}
    fewest = min(cohort.files[0].units for cohort in cohorts)
    options = replace(options, bootstraps=enough_replicates(options, cases=fewest))
    rankings = []
    for cohort in cohorts:
        seed = options.seed
        if cohort.challenge.ranking is None:
            seed = seeds.setdefault(cohort.files[0].cases, seed + len(seeds))
        rankings.append(_rank(cohort, replace(options, seed=seed)))
    return rankings


def _rank(cohort: Cohort[Any], options: RankingOptions) -> DrawnRanking:
    """A table of scores has no official rule: the mean decides."""
    if options.scheme == OFFICIAL and cohort.challenge.ranking is None:
        options = replace(options, scheme=MEAN.name)
    facts = _in_final_order(with_recomputed_figures(gather_facts(cohort, options)), options)
    official = _official(facts, options)
    bootstrap = None
    if options.bootstraps and facts.cases:
        bootstrap = Bootstrap.draw(facts, replicates=options.bootstraps, seed=options.seed)
    steps = len(facts.in_schemes) * (len(general_schemes(options)) + 1 if bootstrap else 1)
    overall = OverallProgress(options.progress("ranking", steps))
    try:
        ranked = scheme_rankings(facts, official, bootstrap, replace(options, progress=overall.start))
        tests = []
        for table in facts.in_schemes:
            tests.append(significance(table, facts.whole, alpha=options.alpha))
            overall.advance()
    finally:
        overall.finish()
    chosen = next(each for each in ranked if each.ranking.scheme == options.scheme)
    common, last = facts.files[0].content, len(facts.teams) + 1
    scheme_ranks = np.array([[rank or last for rank in each.ranking.ranks] for each in ranked])
    arena = arena_section(official.arena, facts.teams) if official and official.arena else None
    arena_decides = arena if options.scheme == OFFICIAL else None
    groups, differences, claims = _comparisons(facts, chosen, bootstrap, arena_decides, options)
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
        patients=None if facts.patients is None else facts.units,
        statuses=tuple(tuple(rows[case].status for case in facts.cases) for rows in facts.rows),
        columns=columns,
        metrics=case_metrics(facts, bootstrap, options),
        schemes=tuple(each.ranking for each in ranked),
        differences=differences,
        not_resampled=tuple(column.title for column in columns if column.is_given) if bootstrap else (),
        scheme_taus=tuple(plain_row(tau_b(scheme_ranks, reference)) for reference in scheme_ranks),
        significance=tuple(tests),
        arena=arena,
        methods=Methods(
            podium_version=__version__,
            python_version=platform.python_version(),
            numpy_version=np.__version__,
            scipy_version=scipy.__version__,
            seed=options.seed,
            bootstraps=options.bootstraps or 0,
            confidence=options.confidence,
            alpha=options.alpha,
            quantile=options.quantile,
            sentences=(),
        ),
        notes=(),
        rule=_rule_terms(facts.rule) if official else (),
        calibration=_calibration(facts, options),
        claims=claims,
        groups=group_figures(facts, bootstrap.figures if bootstrap else {}, options),
    )
    if ranking.claims:
        ranking = replace(ranking, claims=replace(ranking.claims, sentences=sentences("claims", ranking=ranking)))
    methods = replace(ranking.methods, sentences=method_sentences(facts, ranking))
    ranking = replace(ranking, methods=methods, notes=notes(facts, official, ranking, options))
    return DrawnRanking(ranking=ranking, replicates=None if chosen.replicates is None else chosen.replicates.ranks)


def _rule_terms(rule: RankingRule | None) -> tuple[RuleTerm, ...]:
    terms = (rule.terms or (rule.criteria if len(rule.criteria) > 1 else ())) if rule else ()
    return tuple(RuleTerm(title=each.title, path=each.path, weight=each.weight) for each in terms)


def _comparisons(
    facts: Facts, chosen: Ranked, bootstrap: Bootstrap | None, arena: Arena | None, options: RankingOptions
) -> tuple[Groups, tuple[Difference, ...], Claims | None]:
    """The groups, the differences between neighbours, and the claims. Where the arena decided, the groups are the
    arena's."""
    nothing: tuple[None, ...] = (None,) * len(facts.teams)
    if arena is not None:
        return (tuple(team.group if team else None for team in arena.teams), nothing), (), None
    if chosen.full is None or chosen.replicates is None or bootstrap is None:
        return (nothing, nothing), (), None
    comparison = Comparison(
        teams=facts.teams,
        full=chosen.full,
        replicates=chosen.replicates,
        values=_case_scores(facts, chosen.full.scores[0], chosen.replicates.scores, bootstrap.resamples),
        tables=facts.in_schemes,
        resamples=bootstrap.resamples,
        options=options,
        by_permutation=options.scheme == OFFICIAL and facts.rule is not None and facts.rule.method == "permutation",
    )
    return comparison.groups(), comparison.neighbours, comparison.claims()


def _case_scores(facts: Facts, full: Floats, drawn: Floats, resamples: Resamples) -> Floats | None:
    """`[team, case]` whose means are the scores, `full[team]` and `drawn[replicate, team]`: the values of a metric,
    such as whether a class is correct, or positions by it. None where no values are, as with formulas, several metrics,
    rounded scores and cases without a value."""
    for table in facts.tables.values():
        for values in (table.filled(), positions_in_cases(table).astype(np.float64)):
            if len(drawn) == resamples.replicates and values.shape[1] == resamples.cases and np.isfinite(values).all():
                same = partial(np.allclose, rtol=1e-9, atol=1e-12)
                if same(values.mean(axis=1), full) and same(resamples.mean(values.T), drawn):
                    return values
    return None


def _in_final_order(facts: Facts, options: RankingOptions) -> Facts:
    if options.scheme in SCHEMES and not facts.in_schemes:
        raise UsageError(
            f"The scheme '{options.scheme}' ranks by per-case values, and the files contain none "
            '(per_case = "none", or figures that are not published).'
        )
    ratings = np.zeros(len(facts.teams))  # of the arena: they order teams that share a rank
    ranks: Sequence[int | None]
    if options.scheme == PLATFORM:
        ranks = live_leaderboard(facts, options.platform_method).ranks
    elif options.scheme == OFFICIAL:
        official = official_ranking(facts, options)
        ranks = official.outcome.ranks[0].tolist()
        ratings = ratings if official.ratings is None else np.nan_to_num(official.ratings)
    else:
        ranks = _full(SCHEMES[options.scheme], facts, options).ranks[0].tolist()
    last = len(ranks) + 1
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


# All schemes, each with its bootstrap.


def general_schemes(options: RankingOptions) -> Sequence[Scheme]:
    """Those side by side, and the deciding scheme if it is another one."""
    chosen = SCHEMES.get(options.scheme)
    return [*SIDE_BY_SIDE, chosen] if chosen is not None and chosen not in SIDE_BY_SIDE else SIDE_BY_SIDE


def scheme_rankings(
    facts: Facts, official: Official | None, bootstrap: Bootstrap | None, options: RankingOptions
) -> list[Ranked]:
    """The official rule, the general schemes side by side, and the deciding scheme if it is none of these."""
    rankings = [_official_ranked(facts, official, bootstrap, options)] if official else []
    if facts.in_schemes:
        rankings += [_general(scheme, facts, bootstrap, options) for scheme in general_schemes(options)]
    if options.scheme == PLATFORM:
        rankings.append(Ranked(ranking=live_leaderboard(facts, options.platform_method)))
    return rankings


def _official_ranked(facts: Facts, official: Official, bootstrap: Bootstrap | None, options: RankingOptions) -> Ranked:
    rule, replicates = official.rule, None
    if bootstrap and rule.by_case:
        replicates = rank_by_case(facts, rule, bootstrap.resamples)
    elif bootstrap:
        replicates = official_replicates(facts, rule, bootstrap.figures)
    why_not = None if replicates is not None else _why_not(facts, bootstrap, rule.criteria)
    if official.ratings is not None:
        why_not = "The arena decides among the finalists, and resampling cases does not resample its votes."
    paths = () if rule.by_case else (each.path for each in rule.criteria)
    kind = bootstrap.interval_kind(*paths) if bootstrap else "percentile"
    names = (OFFICIAL, "Official", rule.words)
    return _ranked(names, official.outcome, replicates, why_not, facts=facts, options=options, kind=kind)


def _general(scheme: Scheme, facts: Facts, bootstrap: Bootstrap | None, options: RankingOptions) -> Ranked:
    words = scheme.words.format(quantile=options.quantile)
    if len(facts.in_schemes) > 1:
        mean = "weighted mean" if len(set(facts.weights)) > 1 else "mean"
        words += f", separately by every metric, and then by the {mean} of these positions"
    names, full = (scheme.name, scheme.title, words), _full(scheme, facts, options)
    if bootstrap is None:
        return _ranked(names, full, None, _why_not(facts, bootstrap), facts=facts, options=options)
    replicates = apply_scheme(scheme, facts.in_schemes, bootstrap.resamples, options, facts.weights)
    exact = exact_intervals(scheme, facts.in_schemes, options.confidence) if facts.patients is None else None
    return _ranked(names, full, replicates, None, facts=facts, options=options, exact=exact)


def _why_not(facts: Facts, bootstrap: Bootstrap | None, criteria: Sequence[Criterion] = ()) -> str:
    """Why there are no replicates."""
    if not facts.cases:
        return "The files contain no per-case rows, so cases cannot be resampled."
    if bootstrap is None:
        return "No bootstrap was requested."
    if all(each.path in bootstrap.figures for each in criteria):
        return "No resample has a value of everything that teams are ranked by."
    rows = "The rows are anonymous and" if facts.is_anonymous else "The rows"
    return f"{rows} do not contain everything the official score is computed from, so it cannot be recomputed."


def _ranked(  # noqa: PLR0913  (what a ranking by one scheme is made of)
    names: tuple[str, str, str],
    full: SchemeOutcome,
    replicates: SchemeOutcome | None,
    why_not: str | None,
    *,
    facts: Facts,
    options: RankingOptions,
    kind: IntervalKind = "percentile",
    exact: Intervals | None = None,
) -> Ranked:
    """With a reason in `why_not`, the replicates give intervals of the score but not of the rank."""
    name, title, words = names
    confidence, intervals, undefined = options.confidence, None, 0
    if replicates is not None:
        intervals = percentile_intervals(replicates.scores, confidence=confidence, cases=facts.units)
        undefined = (options.bootstraps or 0) - len(replicates.scores)
    ranks = replicates.ranks if replicates is not None and why_not is None else None
    ranking = SchemeRanking(
        scheme=name,
        title=title,
        words=words,
        score_title=full.score_title,
        score_direction=full.direction,
        ranks=tuple(full.ranks[0].tolist()),
        scores=plain_row(full.scores[0]),
        score_intervals=exact or intervals,
        interval_kind="binomial" if exact else kind,
        stability=None if ranks is None else stability(ranks, full.ranks[0], confidence=confidence),
        why_no_stability=why_not,
        undefined_replicates=undefined,
    )
    return Ranked(ranking=ranking, full=full, replicates=None if ranks is None else replicates)


def _full(scheme: Scheme, facts: Facts, options: RankingOptions) -> SchemeOutcome:
    return apply_scheme(scheme, facts.in_schemes, facts.whole, replace(options, progress=no_progress), facts.weights)


# The parts of a ranking: lines of the table, columns, per-case metrics and tests.


def team_lines(facts: Facts, official: Official | None, deciding: SchemeRanking, groups: Groups) -> tuple[Team, ...]:
    """The lines of the final table."""
    ranked = list(zip(facts.teams, deciding.ranks, strict=True))
    return tuple(
        Team(
            name=file.team,
            rank=rank,
            score=deciding.scores[number],
            score_interval=deciding.score_intervals[number] if deciding.score_intervals else None,
            group=groups[0][number],
            group_p=groups[1][number],
            tied_with=tuple(team for team, theirs in ranked if theirs == rank is not None and team != file.team),
            finalist=official is not None and bool(official.finalists[number]),
            **file.content.counts.model_dump(),
            troubles=tuple(
                Trouble(case=case, status=rows[case].status, error=error)
                for case in facts.cases
                if (error := rows[case].trouble) is not None
            ),
        )
        for number, (file, rank, rows) in enumerate(zip(facts.files, deciding.ranks, facts.rows, strict=True))
    )


def aggregate_columns(
    facts: Facts, arena: Arena | None, bootstrap: Bootstrap | None, options: RankingOptions
) -> tuple[AggregateColumn, ...]:
    """The leaderboard's columns in which at least one team has a value, and the arena's ratings."""
    drawn = bootstrap.figures if bootstrap else {}
    given = {figure.path for figure in facts.challenge.scoreboard.given}
    medians = {table.metric.median for table in facts.tables.values() if facts.patients is None}
    columns = [
        AggregateColumn(
            path=column.path,
            title=column.title,
            direction=column.direction,
            headline=column.headline,
            values=tuple(known_figure(figures, column) for figures in facts.aggregates),
            errors=tuple(figure_at(figures, column.error_path) for figures in facts.aggregates)
            if column.error_path
            else None,
            intervals=_intervals(facts, column, drawn[column.path], options) if column.path in drawn else None,
            interval_kind="binomial"
            if column.path in medians
            else bootstrap.interval_kind(column.path)
            if bootstrap
            else "percentile",
            is_given=column.path in given,
            undefined=tuple(np.isnan(drawn[column.path]).sum(axis=0).tolist()) if column.path in drawn else (),
        )
        for column in (*facts.challenge.offline_columns(), *facts.challenge.columns())
    ]
    if arena is not None:
        intervals = tuple(team.interval if team else None for team in arena.teams)
        rating = AggregateColumn(
            path=ARENA_PATH,
            title="Arena rating",
            direction="higher",
            headline=True,
            values=tuple(team.rating if team else None for team in arena.teams),
            errors=None,
            intervals=intervals if arena.decided_by == "bradley-terry" else None,  # another rating has none
        )
        columns.append(rating)
    return tuple(column for column in columns if any(value is not None for value in column.values))


def known_figure(aggregates: Figures, column: Column) -> float | None:
    """The figure of a column; None where it is unknown, such as the time that nobody measured."""
    is_unknown = column.known_path and figure_at(aggregates, column.known_path) == 0
    return None if is_unknown else figure_at(aggregates, column.path)


def _intervals(facts: Facts, column: Column, drawn: Floats, options: RankingOptions) -> Intervals:
    """None for a team whose figure is unknown. Medians over independent cases have exact intervals."""
    found = percentile_intervals(drawn, confidence=options.confidence, cases=facts.units)
    for table in facts.tables.values() if facts.patients is None else ():
        if table.metric.median == column.path:
            cases = [values[~np.isnan(values)] for values in table.values]
            found = tuple(median_interval(values, confidence=options.confidence) for values in cases)
    return tuple(
        None if known_figure(figures, column) is None else interval
        for figures, interval in zip(facts.aggregates, found, strict=True)
    )


def case_metrics(facts: Facts, bootstrap: Bootstrap | None, options: RankingOptions) -> tuple[CaseMetricResult, ...]:
    """Every metric in the rows: those of the general schemes first and in the rule's order, because reports call a case
    good or bad by the first."""
    first = {table.metric.name: table for table in facts.in_schemes}
    found = []
    for name, table in {**first, **facts.tables}.items():
        metric, filled = table.metric, table.filled().T
        drawn = bootstrap.resamples.only(table.defined).mean(filled) if bootstrap else None
        lowest, highest, worst = plain_row(np.array([metric.lowest, metric.highest, metric.worst], dtype=np.float64))
        result = CaseMetricResult(
            name=name,
            title=metric.title,
            direction=metric.direction,
            lowest=lowest,
            highest=highest,
            worst=worst,
            unit=metric.unit,
            in_schemes=name in first,
            undefined_cases=int(np.count_nonzero(~table.defined)),
            means=plain_row(Resamples.whole(filled.shape[0]).mean(filled)[0]),
            mean_intervals=None
            if drawn is None
            else percentile_intervals(drawn, confidence=options.confidence, cases=facts.units),
            values=plain_table(table.values),
        )
        found.append(result)
    return tuple(found)


def significance(table: CaseTable, whole: Resamples, *, alpha: float) -> Significance:
    """Every team against every other by one metric; missing values count as the worst."""
    p = pairwise_p(*whole.only(table.defined).by_patient(table.gains()))[0]
    adjusted = holm_over_pairs(p)
    return Significance(
        metric=table.metric.name,
        p=plain_table(p),
        p_holm=plain_table(adjusted),
        significant=tuple(map(tuple, (p <= alpha).tolist())),  # NaN is not significant
        significant_holm=tuple(map(tuple, (adjusted <= alpha).tolist())),
    )


# One order of the teams from the rankings of several tasks: by mean rank, and the Kemeny order.


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
    confidence, cases = options.confidence, min(each.ranking.units for each in rankings)
    return Consensus(
        title=rankings[0].ranking.title,
        tasks=tuple(" ".join(each.ranking.division.values()) for each in rankings),
        teams=tuple(names),
        consensus_ranks=tuple(full.tolist()),
        mean_ranks=tuple(means.tolist()),
        mean_rank_intervals=None
        if drawn_means is None
        else percentile_intervals(drawn_means, confidence=confidence, cases=cases),
        ranks=tuple(tuple(row) for row in ranks.tolist()),
        task_taus=plain_row(tau_b(ranks, full)),
        kemeny=None if kemeny is None else tuple(names[team] for team in kemeny),
        kemeny_disagreements=disagreements,
        stability=None if replicates is None else stability(replicates, full, confidence=confidence),
        confidence=confidence,
        cases=cases,
        sentences=sentences(
            "consensus",
            first=rankings[0].ranking,
            tasks=len(rankings),
            bootstraps=rankings[0].ranking.methods.bootstraps,
            is_drawn=replicates is not None,
        ),
    )


def _by_mean_rank(ranks: Ranks) -> tuple[Ranks, Floats]:
    """Positions by the mean over the first axis, the tasks; whole numbers are added, so equal means tie exactly."""
    totals = ranks.sum(axis=0).astype(np.float64)
    return positions([(totals, "lower")]), totals / ranks.shape[0]
