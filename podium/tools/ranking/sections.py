"""The parts of a ranking: lines of the table, columns, per-case metrics, tests, notes, and the methods in prose."""

import json
import platform
from collections.abc import Iterator, Sequence

import numpy as np
import scipy

from podium import __version__
from podium.challenges.board import Criterion
from podium.figures import Figures
from podium.metrics import Floats
from podium.metrics.resampling import Resamples
from podium.platform.jobs import CLOCKS, clock_path
from podium.platform.privacy import Column
from podium.readers.files import escape_for_display
from podium.tools.ranking.facts import Facts, figure_at
from podium.tools.ranking.official import Bootstrap, Official
from podium.tools.ranking.result import (
    ARENA_PATH,
    FEW_CASES,
    NARROW_BELOW,
    AggregateColumn,
    Arena,
    CaseMetricResult,
    Intervals,
    Methods,
    Ranking,
    SchemeRanking,
    Significance,
    Team,
    Trouble,
    plain_row,
    plain_table,
)
from podium.tools.ranking.schemes import OFFICIAL, CaseTable, RankingOptions
from podium.tools.ranking.statistics import (
    holm_over_pairs,
    median_interval,
    pairwise_p,
    percentile_intervals,
    positions,
)
from podium.tools.ranking.wording import MARK, MOST_UNDEFINED, NO_VALUE, confidence_words, count, listed, lost_words

Groups = tuple[Sequence[int | None], Sequence[float | None]]  # [team], the group and its p-value

_MANY = 5  # more sentences of one kind are summarised
_RATINGS = {"elo-averaged": "averaged Elo ratings", "elo": "Elo ratings", "bradley-terry": "Bradley-Terry ratings"}
_MISSING = {
    "worst": "A missing value counts as the worst value of its metric; the same cases count for every team.",
    "exclude": "A case without a value from some team was left out of that metric for all teams.",
    "error": "No value is missing.",
}


def team_lines(facts: Facts, official: Official | None, deciding: SchemeRanking, groups: Groups) -> tuple[Team, ...]:
    """The lines of the final table."""
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
    """The leaderboard's columns in which at least one team has a value, and the arena's ratings."""
    drawn = bootstrap.figures if bootstrap else {}
    given = {figure.path for figure in facts.challenge.scoreboard.given}
    medians = {table.metric.median for table in facts.tables.values()}
    columns = [
        AggregateColumn(
            path=column.path,
            title=column.title,
            direction=column.direction,
            headline=column.headline,
            values=tuple(_known_figure(figures, column) for figures in facts.aggregates),
            errors=tuple(figure_at(figures, column.error_path) for figures in facts.aggregates)
            if column.error_path
            else None,
            intervals=_intervals(facts, column, drawn[column.path], options) if column.path in drawn else None,
            interval_kind="binomial" if column.path in medians else "percentile",
            is_given=column.path in given,
            undefined=tuple(np.isnan(drawn[column.path]).sum(axis=0).tolist()) if column.path in drawn else (),
        )
        for column in (*facts.challenge.offline_columns(), *facts.challenge.columns())
    ]
    if arena is not None:
        columns.append(_arena_column(arena))
    return tuple(column for column in columns if any(value is not None for value in column.values))


def _known_figure(aggregates: Figures, column: Column) -> float | None:
    is_unknown = column.known_path and figure_at(aggregates, column.known_path) == 0
    return None if is_unknown else figure_at(aggregates, column.path)


def _intervals(facts: Facts, column: Column, drawn: Floats, options: RankingOptions) -> Intervals:
    """None for a team whose figure is unknown. Medians over the cases that have a value have exact intervals."""
    found = percentile_intervals(drawn, confidence=options.confidence)
    for table in facts.tables.values():
        if table.metric.median == column.path:
            cases = [values[~np.isnan(values)] for values in table.values]
            found = tuple(median_interval(values, confidence=options.confidence) for values in cases)
    return tuple(
        None if _known_figure(figures, column) is None else interval
        for figures, interval in zip(facts.aggregates, found, strict=True)
    )


def _arena_column(arena: Arena) -> AggregateColumn:
    """The arena's intervals are of the Bradley-Terry rating: another rating has none."""
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
    """Every metric in the rows: those of the general schemes first and in the rule's order, because reports call a case
    good or bad by the first."""
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


def significance(table: CaseTable, *, alpha: float) -> Significance:
    """Every team against every other by one metric; missing values count as the worst."""
    p = pairwise_p(table.gains(), Resamples.whole(table.values.shape[1]).only(table.defined))[0]
    adjusted = holm_over_pairs(p)
    return Significance(
        metric=table.metric.name,
        p=plain_table(p),
        p_holm=plain_table(adjusted),
        significant=_significant(p, alpha),
        significant_holm=_significant(adjusted, alpha),
    )


def _significant(p: Floats, alpha: float) -> tuple[tuple[bool, ...], ...]:
    return tuple(tuple(row) for row in (p <= alpha).tolist())  # NaN is not significant


# Notes: what could not be done, and what an organiser should know before publishing.


def notes(facts: Facts, official: Official | None, ranking: Ranking, options: RankingOptions) -> Iterator[str]:
    """Sentences, the most important first."""
    arena, rule = ranking.arena, official.rule if official else None
    if rule is not None and rule.lower_bound is not None:
        yield from _about_the_lower_bound(facts, rule.criteria[0], rule.lower_bound)
        yield from _about_doubts(facts, rule.doubts, rule.lower_bound)
    if facts.cases and options.bootstraps:
        yield from _about_small_numbers(len(facts.cases), ranking.deciding)
        yield from _about_intervals(ranking)
    if official is None and facts.rule is not None:
        yield "This is not the official ranking: the files do not have the figures that the official rule compares."
    if not facts.cases:
        yield (
            "The files contain no per-case rows: teams are ranked by aggregates alone, without bootstrap, tests or "
            "other schemes."
        )
    elif official and ranking.scheme(OFFICIAL).why_no_stability and options.bootstraps:
        yield f"The official ranking has no intervals. {ranking.scheme(OFFICIAL).why_no_stability}"
    if facts.is_adjusted:
        yield "Figures that depend on all teams were recomputed for these teams."
    yield from _about_clocks(facts)
    yield from _about_limits(facts)
    if official and official.rule.finalists is not None:
        yield from _about_the_finalists(official, official.rule.finalists)
    if arena is not None and arena.stop_rule_holds is False:
        yield " ".join(["Warning: the arena's stop rule does not hold.", *arena.stop_rule_missing])
    yield from facts.notes
    yield from _about_lost_cases(ranking)
    if facts.cases:
        yield from _about_metrics(facts)


def _about_the_lower_bound(facts: Facts, criterion: Criterion, path: str) -> Iterator[str]:
    """Both orders where they differ; nothing where a file has no bound, like those of older versions."""
    scores, bounds = ([figure_at(figures, each) for figures in facts.aggregates] for each in (criterion.path, path))
    if None in scores or None in bounds:
        return
    orders = [positions([(np.array([values]), criterion.direction)])[0] for values in (scores, bounds)]
    if not np.array_equal(*orders):
        by_score, by_bound = (
            ", ".join(f"{place:g} {team}" for place, team in sorted(zip(order, facts.teams, strict=True)))
            for order in orders
        )
        yield (
            "Warning: the order of the teams depends on doubtful results. "
            f"By score: {by_score}. By lower bound: {by_bound}."
        )


def _about_doubts(facts: Facts, doubts: Sequence[tuple[str, str]], lower_bound: str) -> Iterator[str]:
    for team, figures in zip(facts.teams, facts.aggregates, strict=True):
        counted = [(figure_at(figures, path) or 0, words) for path, words in doubts]
        bound = figure_at(figures, lower_bound)
        if bound is not None and any(number for number, _ in counted):
            listed = ", ".join(f"{number:,.0f} {words}" for number, words in counted)
            yield f"{team}: {listed}; the lower bound of the score is {bound:.4f}."


def _about_lost_cases(ranking: Ranking) -> Iterator[str]:
    """One sentence per team; a single one for more than five teams."""
    lost = [team for team in ranking.teams if team.failed or team.missing]
    if len(lost) > _MANY:
        shown = ", ".join(f"{team.name} ({team.failed + team.missing})" for team in lost)
        yield (
            f"{len(lost)} teams have failed or missing cases, which count with the worst values (number in brackets): "
            f"{shown}."
        )
        return
    for team in lost:
        words = lost_words(team.failed, team.missing).replace(", ", " and ")
        yield f"{team.name}: {words} of {team.expected} cases, which count with the worst values."


def _about_small_numbers(cases: int, deciding: SchemeRanking) -> Iterator[str]:
    if cases < FEW_CASES:
        are = "is only 1 case" if cases == 1 else f"are only {cases} cases"
        yield f"There {are}: intervals and probabilities are only rough estimates."
    if cases < NARROW_BELOW:
        yield f"Percentile intervals over fewer than {NARROW_BELOW} cases (here {cases}) are too narrow."
    if any(
        score is not None and interval is not None and not interval[0] <= score <= interval[1]
        for score, interval in zip(deciding.scores, deciding.score_intervals or (), strict=False)
    ):
        yield (
            "An interval does not contain the score itself: resampling cases shifts positions towards the middle "
            "of the field."
        )


def _about_intervals(ranking: Ranking) -> Iterator[str]:
    columns, deciding = ranking.columns, ranking.deciding
    medians = [each.title for each in columns if each.interval_kind == "binomial"]
    medians += [deciding.score_title] if deciding.interval_kind == "binomial" else []
    if medians:
        yield f"Exact binomial intervals, instead of percentile intervals: {listed(medians)} (medians over cases)."
    undefined = [deciding.undefined_replicates, *(number for each in columns for number in each.undefined)]
    if max(undefined) > MOST_UNDEFINED * ranking.methods.bootstraps:
        yield (
            f"{MARK} More than {MOST_UNDEFINED * 100:g} % of the resamples have no value of the figure and are left "
            "out of its interval, which is therefore unreliable."
        )
    without = [column.title for column in columns if not column.is_given and None in column.values]
    if without:
        yield f"'{NO_VALUE}' means that the figure is undefined for the team's cases: {listed(without)}."


def _about_clocks(facts: Facts) -> Iterator[str]:
    teams = {
        clock: [
            team
            for team, figures in zip(facts.teams, facts.aggregates, strict=True)
            if figure_at(figures, clock_path(clock))
        ]
        for clock in CLOCKS
    }
    if all(teams.values()):
        named = "; ".join(f"{clock}_duration of {', '.join(theirs)}" for clock, theirs in teams.items())
        yield (
            f"Warning: runtimes were measured by different clocks: {named}. exec_duration includes starting the "
            "container, invoke_duration does not, so they are not comparable."
        )


def _about_limits(facts: Facts) -> Iterator[str]:
    for path, limit in (facts.rule.limits if facts.rule is not None else {}).items():
        found = {team: figure_at(figures, path) for team, figures in zip(facts.teams, facts.aggregates, strict=True)}
        if over := [team for team, value in found.items() if value]:
            yield f"Warning: beyond {limit}: {', '.join(over)}."
        if unknown := [team for team, value in found.items() if value is None]:
            yield f"Not known to be within {limit}: {', '.join(unknown)}."


def _about_the_finalists(official: Official, places: int) -> Iterator[str]:
    number = int(np.count_nonzero(official.finalists))
    if official.ratings is None:
        if number > places:
            yield f"Due to a tie, {number} teams qualify for the arena's {places} places: the organisers must decide."
    elif number < min(places, official.finalists.size):
        yield f"The arena rated only the best {number} teams; it has {places} places."


def _about_metrics(facts: Facts) -> Iterator[str]:
    for name in facts.missing_metrics:
        rows = "The rows are anonymous and" if facts.is_anonymous else "The rows"
        yield f"{rows} do not contain '{name}', so the general schemes do not use it."
    absent: dict[str, int] = {}
    for table in facts.in_schemes:
        undefined = int(np.count_nonzero(~table.defined))
        if undefined:
            yield (
                f"No team has a value of '{table.metric.title}' in {undefined} of {len(facts.cases)} cases; the "
                "general schemes leave these out."
            )
        number = int(np.count_nonzero(np.isnan(table.values[:, table.defined])))
        if number:
            absent[table.metric.title] = number
    if len(absent) > _MANY:
        total = sum(absent.values())
        yield f"{total} values are missing in {len(absent)} metrics; each counts as the worst value of its metric."
        return
    for title, number in absent.items():
        values = "1 value is missing; it counts" if number == 1 else f"{number} values are missing; each counts"
        yield f"'{title}': {values} as the worst value."


# The methods, in prose for a paper.


def methods(options: RankingOptions) -> Methods:
    """The versions and settings behind a ranking, still without its sentences."""
    return Methods(
        podium_version=__version__,
        python_version=platform.python_version(),
        numpy_version=np.__version__,
        scipy_version=scipy.__version__,
        seed=options.seed,
        bootstraps=options.bootstraps,
        confidence=options.confidence,
        alpha=options.alpha,
        quantile=options.quantile,
        sentences=(),
    )


def method_sentences(facts: Facts, ranking: Ranking) -> Iterator[str]:
    """The method of a ranking."""
    yield _about_the_data(facts, ranking)
    yield from _about_the_rule(facts, ranking)
    yield _about_missing(facts)
    if ranking.methods.bootstraps and facts.cases:
        yield from _about_the_bootstrap(ranking)
    if facts.in_schemes and len(facts.teams) > 1:
        yield from _about_the_schemes(facts, ranking.methods.alpha)
    yield from _about_the_packages(facts)
    used = ranking.methods
    yield (
        f"Computed with Podium {used.podium_version}, Python {used.python_version}, NumPy {used.numpy_version}, SciPy "
        f"{used.scipy_version}."
    )


def _about_the_data(facts: Facts, ranking: Ranking) -> str:
    parts = [f"version {ranking.version}"] if ranking.version else []
    parts += [f"{name} {value}" for name, value in ranking.division.items()]
    shown = f" ({', '.join(parts)})" if parts else ""
    teams, cases = count(len(facts.teams), "team"), count(ranking.teams[0].expected, "case")
    return f"{teams} took part in {ranking.title}{shown}, evaluated on {cases}."


def _about_the_packages(facts: Facts) -> Iterator[str]:
    """Which package computed which metric, as metrics.json says; nothing where it does not."""
    if len({json.dumps(file.content.computed_by, sort_keys=True) for file in facts.files}) > 1:
        yield "The figures of the teams were not all computed by the same packages: see computed_by in metrics.json."
        return
    packages: dict[str, list[str]] = {}
    for metric, package in facts.files[0].content.computed_by.items():
        packages.setdefault(escape_for_display(package), []).append(escape_for_display(metric))
    parts = [f"{listed(metrics)} by {package}" for package, metrics in packages.items()]
    if parts:
        yield f"Metrics were computed with these packages: {'; '.join(parts)}."


def _about_missing(facts: Facts) -> str:
    if facts.rule is None:
        return _MISSING[str(facts.files[0].content.settings["table"]["missing"])]
    return (
        "A case without a prediction, or with one that could not be read, counts with the worst value of everything "
        "that teams are ranked by; the same cases count for every team."
    )


def _about_the_rule(facts: Facts, ranking: Ranking) -> Iterator[str]:
    rule, deciding, arena = facts.rule, ranking.deciding, ranking.arena
    is_official = deciding.scheme == OFFICIAL
    if rule is None:
        names = listed([table.metric.title for table in facts.in_schemes])
        yield f"For the table shown here, {deciding.words} ({names})."
    else:
        yield f"By the official rule, {rule.words}."
        if not is_official:
            yield f"The table shown here follows another scheme instead: {deciding.words}."
    if is_official and rule is not None and rule.tie_breaks:
        names = ", then ".join(f"{each.direction} {each.title.lower()}" for each in rule.tie_breaks)
        yield f"Teams with equal scores are ordered by {names}; if still equal, they share the smaller position."
    else:
        yield "Teams with equal scores share the smaller position (1, 1, 3)."
    if rule is not None and rule.finalists is not None:
        best = f"The best {rule.finalists} teams by the official rule go on to pairwise comparison by experts"
        yield f"{best}, whose ratings decided among them." if arena else f"{best}."
    if arena is not None:
        yield from _about_the_arena(arena)


def _about_the_arena(arena: Arena) -> Iterator[str]:
    rating = _RATINGS.get(arena.decided_by, "ratings")
    if arena.votes is not None and arena.raters is not None and arena.cases is not None:
        yield f"In this arena {arena.raters} raters gave {arena.votes} votes on {arena.cases} cases."
    has_groups = any(team is not None and team.group is not None for team in arena.teams)
    if has_groups:
        shared = (
            "teams of the same group are nevertheless ordered by their ratings"
            if arena.ties_broken
            else "teams of the same group share the rank"
        )
        yield (
            f"Finalists are ordered by their {rating}; those whose intervals (percentile bootstrap over cases of the "
            f"Bradley-Terry rating) overlap, directly or through other teams, form a group, and {shared}."
        )
    else:
        yield f"Finalists are ordered by their {rating}."
    if arena.stop_rule_holds is not None:
        held = "held" if arena.stop_rule_holds else "did not hold"
        yield f"The arena's stop rule {held} when the ratings were taken."


def _about_the_bootstrap(ranking: Ranking) -> Iterator[str]:
    used = ranking.methods
    confidence = confidence_words(used.confidence)
    yield (
        f"The stability of the ranking was assessed with {used.bootstraps:,} bootstrap replicates over cases, "
        f"drawn with replacement by a PCG64 generator with seed {used.seed}; a case drawn twice counts twice."
    )
    yield (
        f"We report the {confidence} percentile interval of every team's rank, the frequency of every "
        "rank, the probability of winning (a shared first place counting as an equal part of a win), and Kendall's "
        "tau-b of every replicate to the full ranking."
    )
    yield (
        f"Scores, means and differences between neighbours have {confidence} percentile intervals from the same "
        "replicates, the same cases being drawn for both teams; the probability that the better of two neighbours "
        "is ahead is its share of the replicates, an equal rank counting half."
    )
    if ranking.arena is None and ranking.deciding.stability is not None and len(ranking.teams) > 1:
        yield (
            "Teams form a group with the best team from which they do not differ: two-sided paired tests of the score "
            "(the difference over its bootstrap standard error, t distribution with one degree of freedom less than "
            f"there are cases), Holm-adjusted over the comparisons with that team, at a level of {used.alpha:g}; "
            "the best team outside leads the next group."
        )
    if ranking.not_resampled:
        yield f"Not resampled, because each team has only one figure: {', '.join(ranking.not_resampled)}."


def _about_the_schemes(facts: Facts, alpha: float) -> Iterator[str]:
    weighted, teams = len(set(facts.weights)) > 1, len(facts.teams)
    names = listed(
        [
            f"{table.metric.title} (weight {weight:g})" if weighted else table.metric.title
            for table, weight in zip(facts.in_schemes, facts.weights, strict=True)
        ]
    )
    mean = "weighted mean" if weighted else "mean"
    several = f", each metric giving positions whose {mean} is ranked" if len(facts.in_schemes) > 1 else ""
    yield (
        f"For comparison, teams were also ranked by {names}{several}, under the schemes mean-then-rank, "
        "median-then-rank, rank-then-mean, rank-then-median and test-then-rank."
    )
    yield (
        "Pairs of teams were compared with one-sided paired Wilcoxon signed-rank tests (normal approximation with "
        f"continuity correction, zero differences dropped) at a level of {alpha:g}, without adjustment "
        f"in test-then-rank and with Holm's adjustment over all {teams * (teams - 1)} ordered pairs in "
        "the significance map."
    )
