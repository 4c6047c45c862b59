"""The teams under every scheme: the challenge's own rule, the platform's live leaderboard and the general schemes.

The official rule is applied to the teams' aggregates, or to those of every replicate of a bootstrap.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from podium.challenges.board import Criterion, RankingRule
from podium.errors import UsageError
from podium.execution.executor import no_progress
from podium.figures import Figures
from podium.metrics import Floats
from podium.metrics.declaration import Direction
from podium.metrics.resampling import Resamples
from podium.platform.privacy import phase_settings
from podium.tools.ranking.arena import ArenaFile, finalists_ranks, read_arena
from podium.tools.ranking.facts import Facts, figure_at
from podium.tools.ranking.result import SchemeRanking, Table, plain_row
from podium.tools.ranking.schemes import (
    OFFICIAL,
    PLATFORM,
    SCHEMES,
    SIDE_BY_SIDE,
    PlatformMethod,
    RankingOptions,
    Scheme,
    SchemeOutcome,
    apply_scheme,
    exact_intervals,
)
from podium.tools.ranking.statistics import (
    case_positions,
    mean_positions,
    percentile_intervals,
    positions,
    stability,
    tau_b,
)

_METHODS: dict[str, PlatformMethod] = {"abs": "absolute", "avg": "mean", "med": "median"}
_METHOD_WORDS = {
    "absolute": "by the position in",
    "mean": "by the mean position over",
    "median": "by the median position over",
}


class MissingFigure(UsageError):
    """A file does not have a figure that the official rule compares."""


# The official rule.


def rule_figures(rule: RankingRule, aggregates: Sequence[Figures], labels: Sequence[str]) -> dict[str, Floats]:
    """The figures that the rule compares, by path, as `[1, team]`; `labels` name the files in error messages."""
    return {
        criterion.path: np.array([_values(criterion, aggregates, labels)])
        for criterion in (*rule.criteria, *rule.tie_breaks)
    }


def _values(criterion: Criterion, aggregates: Sequence[Figures], labels: Sequence[str]) -> list[float]:
    values = []
    for figures, label in zip(aggregates, labels, strict=True):
        value = figure_at(figures, criterion.path)
        if value is None and criterion.absent_is_last:
            value = np.nan
        if value is None:
            advice = f" {criterion.if_absent}" if criterion.if_absent else ""
            raise MissingFigure(f"{label} has no aggregates.{criterion.path}, which teams are ranked by.{advice}")
        if criterion.known_path is not None and not figure_at(figures, criterion.known_path):
            value = -np.inf if criterion.direction == "higher" else np.inf
        values.append(value)
    return values


def apply_rule(rule: RankingRule, figures: Mapping[str, Floats]) -> SchemeOutcome:
    """`figures` by path, each `[replicate, team]`; a figure with a single replicate is used for all of them."""
    criteria = [(_compared(figures[each.path], each), each) for each in rule.criteria]
    tie_breaks = [(_compared(figures[each.path], each), each.direction) for each in rule.tie_breaks]
    if len(criteria) == 1:
        score, only = criteria[0]
        return SchemeOutcome(
            ranks=positions([(score, only.direction), *tie_breaks]),
            scores=score,
            direction=only.direction,
            score_title=only.title,
        )
    ranks = [positions([(score, each.direction)]) for score, each in criteria]
    combined = mean_positions(ranks, [each.weight for _, each in criteria])
    return SchemeOutcome(
        ranks=positions([(combined, "lower"), *tie_breaks]),
        scores=combined,
        direction="lower",
        score_title="Mean position",
    )


def rank_by_case(facts: Facts, rule: RankingRule, resamples: Resamples) -> SchemeOutcome:
    """Every team gets a position in every case by every metric of the rule; the mean of all positions decides, then the
    tie-breaks. A case where no team has a value of a metric is left out of that metric."""
    total, count = np.zeros((resamples.replicates, len(facts.teams))), np.zeros((resamples.replicates, 1))
    for name, criterion in zip(rule.case_metrics, rule.criteria, strict=True):
        if name not in facts.tables:
            raise MissingFigure(f"{facts.labels[0]} has no per-case values of '{name}', which teams are ranked by.")
        table = facts.tables[name]
        values = _rounded(table.values[:, table.defined], criterion.decimals)
        kept = resamples.only(table.defined)
        total += kept.total(case_positions(values, criterion.direction).T)
        count += kept.sizes[:, None]
    mean = np.round(total / np.maximum(count, 1), 9)  # rounded so that equal means tie
    breaks = rule_figures(replace(rule, criteria=()), facts.aggregates, facts.labels)
    ties = [(_compared(breaks[each.path], each), each.direction) for each in rule.tie_breaks]
    return SchemeOutcome(
        ranks=positions([(mean, "lower"), *ties]), scores=mean, direction="lower", score_title="Mean position"
    )


def _compared(values: Floats, criterion: Criterion) -> Floats:
    """The values that are compared: rounded, and last where a figure that may be absent is absent."""
    rounded = _rounded(values, criterion.decimals)
    if not criterion.absent_is_last:
        return rounded
    return np.where(np.isnan(rounded), -np.inf if criterion.direction == "higher" else np.inf, rounded)


def _rounded(values: Floats, decimals: int | None) -> Floats:
    """Rounded as Python rounds, by the exact binary value: NumPy scales first and can round a figure up by mistake."""
    if decimals is None:
        return values
    return np.array([round(value, decimals) for value in values.ravel().tolist()]).reshape(values.shape)


@dataclass(frozen=True, kw_only=True)
class Official:
    """The ranking of all cases by the rule.

    finalists  [team], who goes on to the arena, or was in it
    arena      its result, and `ratings` [team], where they decided
    """

    rule: RankingRule
    outcome: SchemeOutcome
    finalists: NDArray[np.bool_]
    arena: ArenaFile | None = None
    ratings: Floats | None = None


def official_ranking(facts: Facts, options: RankingOptions) -> Official:
    """Finalists are all teams ranked within the arena's number of places. Its ratings reorder the finalists, and all
    other teams stay behind them. Organisers may admit fewer teams, but never a team before a better one."""
    rule = facts.rule
    if rule is None:
        raise MissingFigure("A table of scores has no official rule.")
    if rule.by_case:
        outcome = rank_by_case(facts, rule, Resamples.whole(len(facts.cases)))
    else:
        outcome = apply_rule(rule, rule_figures(rule, facts.aggregates, facts.labels))
    ranks = outcome.ranks[0]
    places = rule.finalists or 0
    finalists = np.asarray(ranks <= places)
    if options.arena is None:
        return Official(rule=rule, outcome=outcome, finalists=finalists)
    if rule.finalists is None:
        raise UsageError(f"The challenge '{facts.challenge.name}' has no arena.")
    arena = read_arena(options.arena, ranks=dict(zip(facts.teams, ranks.tolist(), strict=True)), places=places)
    ratings = np.array([arena.ratings.get(team, np.nan) for team in facts.teams])
    rated = ~np.isnan(ratings)
    decided = np.maximum(ranks, 1 + np.count_nonzero(rated))
    rated_teams = [team for team, is_rated in zip(facts.teams, rated, strict=True) if is_rated]
    decided[rated] = finalists_ranks(arena, rated_teams, break_ties=options.break_arena_ties)
    return Official(
        rule=rule, outcome=replace(outcome, ranks=decided[None]), finalists=rated, arena=arena, ratings=ratings
    )


def official_replicates(facts: Facts, rule: RankingRule, drawn: Mapping[str, Floats]) -> SchemeOutcome | None:
    """The rule in every replicate, from `drawn[path][replicate, team]`; None where a criterion is missing there.

    Figures that do not come from the cases, such as a runtime that breaks ties, are the same in every replicate.
    Replicates in which a team lacks a figure that it has over all cases are left out; None where there are no others.
    """
    if not all(criterion.path in drawn for criterion in rule.criteria):
        return None
    figures = rule_figures(rule, facts.aggregates, facts.labels)
    paths = [each.path for each in rule.criteria]
    kept = np.logical_and.reduce([(np.isnan(figures[path]) | ~np.isnan(drawn[path])).all(axis=1) for path in paths])
    if not kept.any():
        return None
    return apply_rule(rule, {**figures, **{path: drawn[path][kept] for path in paths}})


# The live leaderboard of Grand Challenge, computed offline.


def live_leaderboard(facts: Facts, method: PlatformMethod | None) -> SchemeRanking:
    """The ranking by the challenge's phase settings. Figures are as in the files: the platform recomputes none."""
    settings = phase_settings(facts.challenge.columns())
    columns: list[tuple[str, Direction]] = [
        (settings["score_jsonpath"], _direction(settings["score_default_sort"])),
        *(
            (column["path"], _direction(column["order"]))
            for column in settings["extra_results_columns"]
            if not column["exclude_from_ranking"]
        ),
    ]
    method = method or _METHODS[settings["scoring_method_choice"]]
    submissions = {
        file.team: [figure_at({"aggregates": file.content.aggregates}, path) for path, _ in columns]
        for file in facts.files
    }
    places = platform_ranking(submissions, [direction for _, direction in columns], method)
    shown = ", ".join(path.removeprefix("aggregates.") for path, _ in columns)
    return SchemeRanking(
        scheme=PLATFORM,
        title="Live leaderboard",
        words=f"teams are ranked as the platform's live leaderboard ranks them, {_METHOD_WORDS[method]} {shown}",
        score_title="Position" if method == "absolute" else f"{method.capitalize()} position",
        score_direction="lower",
        ranks=tuple(places[team].rank or None for team in facts.teams),
        scores=tuple(places[team].score for team in facts.teams),
        score_intervals=None,
        stability=None,
        why_no_stability="The live leaderboard uses aggregates only, so it cannot be bootstrapped over cases.",
    )


@dataclass(frozen=True, kw_only=True)
class PlatformPlace:
    """`rank` as the platform counts, 0 for a submission that it does not rank; `score` is what it ranks by."""

    rank: int
    score: float | None


def platform_ranking(
    submissions: Mapping[str, Sequence[float | None]], directions: Sequence[Direction], method: PlatformMethod
) -> dict[str, PlatformPlace]:
    """Rank submissions by their values in several columns, the score first.

    A submission without a number in one of the columns is not ranked (position 0), even under `absolute`. Each column
    gives positions, equal values sharing the smaller one; `absolute` takes those of the first column, `mean` and
    `median` rank by that statistic of a submission's positions.
    """
    ranked = [name for name, values in submissions.items() if all(value is not None for value in values)]
    places = {name: PlatformPlace(rank=0, score=None) for name in submissions}
    if not ranked:
        return places
    figures = np.array([submissions[name] for name in ranked], dtype=np.float64)
    by_column = np.stack([positions([(figures[:, number], direction)]) for number, direction in enumerate(directions)])
    match method:
        case "absolute":
            scores = by_column[0].astype(np.float64)
        case "mean":
            scores = by_column.sum(axis=0) / len(directions)  # whole numbers: equal sums are equal
        case "median":
            scores = np.median(by_column, axis=0)
    for name, rank, score in zip(ranked, positions([(scores, "lower")]), scores, strict=True):
        places[name] = PlatformPlace(rank=int(rank), score=float(score))
    return places


def _direction(order: str) -> Direction:
    return "higher" if order == "desc" else "lower"


# All schemes, each with its bootstrap.


@dataclass(frozen=True, kw_only=True)
class Ranked:
    """One scheme: its ranking, and the outcome on all cases and in every replicate, None where there is none."""

    ranking: SchemeRanking
    full: SchemeOutcome | None = None
    replicates: SchemeOutcome | None = None


@dataclass(frozen=True, kw_only=True)
class Bootstrap:
    """The draws, and the leaderboard's figures in each: dotted path to `[replicate, team]`."""

    resamples: Resamples
    figures: Mapping[str, Floats]


def deciding_ranks(facts: Facts, official: Official | None, options: RankingOptions) -> Sequence[int | None]:
    """The ranks of the final table, without any bootstrap."""
    if options.scheme == OFFICIAL and official is not None:
        return _ranks(official.outcome)
    if options.scheme == PLATFORM:
        return live_leaderboard(facts, options.platform_method).ranks
    return _ranks(_full(SCHEMES[options.scheme], facts, options))


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
    names = (OFFICIAL, "Official", official.rule.words)
    replicates = None
    if bootstrap:
        replicates = (
            rank_by_case(facts, official.rule, bootstrap.resamples)
            if official.rule.by_case
            else official_replicates(facts, official.rule, bootstrap.figures)
        )
    if official.ratings is not None:
        reason = "The arena decides among the finalists, and resampling cases does not resample its votes."
        return _ranked(names, official.outcome, replicates, reason, options)
    why_not = None if replicates is not None else _why_not(facts, bootstrap)
    if bootstrap and all(each.path in bootstrap.figures for each in official.rule.criteria) and why_not:
        why_not = "No resample has a value of everything that teams are ranked by."
    return _ranked(names, official.outcome, replicates, why_not, options)


def _general(scheme: Scheme, facts: Facts, bootstrap: Bootstrap | None, options: RankingOptions) -> Ranked:
    replicates = (
        apply_scheme(scheme, facts.in_schemes, bootstrap.resamples, options, facts.weights) if bootstrap else None
    )
    why_not = None if replicates is not None else _why_not(facts, bootstrap)
    full = _full(scheme, facts, options)
    words = scheme.words.format(quantile=options.quantile)
    found = _ranked((scheme.name, scheme.title, words), full, replicates, why_not, options)
    exact = exact_intervals(scheme, facts.in_schemes, options.confidence) if bootstrap else None
    if exact is None:
        return found
    return replace(found, ranking=replace(found.ranking, score_intervals=exact, interval_kind="binomial"))


def _ranked(
    names: tuple[str, str, str],
    full: SchemeOutcome,
    replicates: SchemeOutcome | None,
    why_not: str | None,
    options: RankingOptions,
) -> Ranked:
    """With a reason in `why_not`, the replicates give intervals of the score but not of the rank."""
    name, title, words = names
    confidence = options.confidence
    ranks = replicates.ranks if replicates is not None and why_not is None else None
    ranking = SchemeRanking(
        scheme=name,
        title=title,
        words=words,
        score_title=full.score_title,
        score_direction=full.direction,
        ranks=_ranks(full),
        scores=plain_row(full.scores[0]),
        score_intervals=None if replicates is None else percentile_intervals(replicates.scores, confidence=confidence),
        stability=None if ranks is None else stability(ranks, full.ranks[0], confidence=confidence),
        why_no_stability=why_not,
        undefined_replicates=0 if replicates is None else options.bootstraps - replicates.scores.shape[0],
    )
    return Ranked(ranking=ranking, full=full, replicates=None if ranks is None else replicates)


def _why_not(facts: Facts, bootstrap: Bootstrap | None) -> str:
    if not facts.cases:
        return "The files contain no per-case rows, so cases cannot be resampled."
    if bootstrap is None:
        return "No bootstrap was requested."
    rows = "The rows are anonymous and" if facts.is_anonymous else "The rows"
    return f"{rows} do not contain everything the official score is computed from, so it cannot be recomputed."


def _full(scheme: Scheme, facts: Facts, options: RankingOptions) -> SchemeOutcome:
    whole, quick = Resamples.whole(len(facts.cases)), replace(options, progress=no_progress)
    return apply_scheme(scheme, facts.in_schemes, whole, quick, facts.weights)


def _ranks(outcome: SchemeOutcome) -> tuple[int, ...]:
    return tuple(outcome.ranks[0].tolist())


def taus_between(rankings: Sequence[SchemeRanking]) -> Table:
    """Kendall's tau-b between every two schemes; a team that a scheme does not rank counts as last there."""
    ranks = np.array([[rank or len(ranking.ranks) + 1 for rank in ranking.ranks] for ranking in rankings])
    return tuple(plain_row(tau_b(ranks, reference)) for reference in ranks)
