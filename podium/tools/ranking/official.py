"""A challenge's own rule, applied to the teams' aggregates, or to those of every replicate of a bootstrap."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from podium.challenges.board import Criterion, RankingRule
from podium.errors import UsageError
from podium.figures import Figures, finite_number, get
from podium.metrics import Floats
from podium.metrics.declaration import Direction
from podium.metrics.resampling import Resamples
from podium.platform.privacy import phase_settings
from podium.tools.ranking.arena import ArenaFile, finalists_ranks, read_arena
from podium.tools.ranking.facts import Facts
from podium.tools.ranking.result import SchemeRanking, Table, plain_row
from podium.tools.ranking.schemes import (
    OFFICIAL,
    PLATFORM,
    SCHEMES,
    SIDE_BY_SIDE,
    PlatformMethod,
    RankingOptions,
    Scheme,
    SchemeOptions,
    SchemeOutcome,
    apply_scheme,
    platform_ranking,
)
from podium.tools.ranking.statistics import (
    case_positions,
    mean_positions,
    percentile_intervals,
    positions,
    stability,
    tau_b,
)


class MissingFigure(UsageError):
    """A file does not have a figure that the official rule compares."""


def figure(aggregates: Figures, path: str) -> float | None:
    """The number at a dotted path of nested figures, None where there is none."""
    try:
        return finite_number(get(aggregates, path))
    except (KeyError, TypeError):
        return None


def rule_figures(rule: RankingRule, aggregates: Sequence[Figures], labels: Sequence[str]) -> dict[str, Floats]:
    """What the rule compares, by path, as `[1, team]`; `labels` name the files in error messages."""
    return {
        criterion.path: np.array([_values(criterion, aggregates, labels)])
        for criterion in (*rule.criteria, *rule.tie_breaks)
    }


def _values(criterion: Criterion, aggregates: Sequence[Figures], labels: Sequence[str]) -> list[float]:
    values = []
    for figures, label in zip(aggregates, labels, strict=True):
        value = figure(figures, criterion.path)
        if value is None and criterion.absent_is_last:
            value = np.nan
        if value is None:
            advice = f" {criterion.if_absent}" if criterion.if_absent else ""
            raise MissingFigure(f"{label} has no aggregates.{criterion.path}, which teams are ranked by.{advice}")
        if criterion.known_path is not None and not figure(figures, criterion.known_path):
            value = -np.inf if criterion.direction == "higher" else np.inf
        values.append(value)
    return values


def apply_rule(rule: RankingRule, figures: Mapping[str, Floats]) -> SchemeOutcome:
    """`figures` by path, each `[replicate, team]`; a figure that has one replicate serves for all."""
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
    """Teams have a position in every case by every metric of the rule; the mean of all positions decides, then the
    tie-breaks. A case where no team has a value by a metric is left out of that metric."""
    total, count = np.zeros((resamples.replicates, len(facts.teams))), np.zeros((resamples.replicates, 1))
    for name, criterion in zip(rule.case_metrics, rule.criteria, strict=True):
        if name not in facts.tables:
            raise MissingFigure(f"{facts.labels[0]} has no single cases of '{name}', which teams are ranked by.")
        table = facts.tables[name]
        values = _rounded(table.values[:, table.defined], criterion.decimals)
        kept = resamples.only(table.defined)
        total += kept.total(case_positions(values, criterion.direction).T)
        count += kept.sizes[:, None]
    mean = np.round(total / np.maximum(count, 1), 9)  # freed of the last digits' noise: equal means stay equal
    breaks = rule_figures(replace(rule, criteria=()), facts.aggregates, facts.labels)
    ties = [(_compared(breaks[each.path], each), each.direction) for each in rule.tie_breaks]
    return SchemeOutcome(
        ranks=positions([(mean, "lower"), *ties]), scores=mean, direction="lower", score_title="Mean position"
    )


def _compared(values: Floats, criterion: Criterion) -> Floats:
    """What teams are compared by: rounded, and behind all others where a figure that may be absent is."""
    rounded = _rounded(values, criterion.decimals)
    if not criterion.absent_is_last:
        return rounded
    return np.where(np.isnan(rounded), -np.inf if criterion.direction == "higher" else np.inf, rounded)


def _rounded(values: Floats, decimals: int | None) -> Floats:
    """As Python rounds, on the exact binary value: numpy scales first, and can lift a figure over the half."""
    if decimals is None:
        return values
    return np.array([round(value, decimals) for value in values.ravel().tolist()]).reshape(values.shape)


@dataclass(frozen=True, kw_only=True)
class Official:
    """The full ranking by the rule; who goes on to the arena, or came through it; and the arena's result, with its
    ratings `[team]`, once they decided."""

    rule: RankingRule
    outcome: SchemeOutcome
    finalists: NDArray[np.bool_]
    arena: ArenaFile | None = None
    ratings: Floats | None = None


def official_ranking(facts: Facts, options: RankingOptions) -> Official:
    """Finalists are all teams ranked within the arena's number of places; its ratings reorder them among themselves,
    and all other teams stay behind them. Organisers may admit fewer, but no team before a better one."""
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
    """The rule in every replicate, from `drawn[path][replicate, team]`; None where a criterion is not among these.

    What does not come from the cases, such as a runtime that breaks ties, is the same in every replicate.
    """
    if not all(criterion.path in drawn for criterion in rule.criteria):
        return None
    figures = rule_figures(rule, facts.aggregates, facts.labels)
    return apply_rule(rule, {**figures, **{each.path: drawn[each.path] for each in rule.criteria}})


# The platform's ranking of a cohort, by the phase settings that its challenge would have pasted.

_METHODS: dict[str, PlatformMethod] = {"abs": "absolute", "avg": "mean", "med": "median"}
_WORDS = {
    "absolute": "by the position in",
    "mean": "by the mean position over",
    "median": "by the median position over",
}


def live_leaderboard(facts: Facts, method: PlatformMethod | None) -> SchemeRanking:
    """Figures as the container wrote them: the platform recomputes nothing over a cohort."""
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
        file.team: [figure({"aggregates": file.content.aggregates}, path) for path, _ in columns]
        for file in facts.files
    }
    places = platform_ranking(submissions, [direction for _, direction in columns], method)
    shown = ", ".join(path.removeprefix("aggregates.") for path, _ in columns)
    return SchemeRanking(
        scheme=PLATFORM,
        title="Live leaderboard",
        words=f"teams are ranked as the platform's live leaderboard ranks them, {_WORDS[method]} {shown}",
        score_title="Position" if method == "absolute" else f"{method.capitalize()} position",
        score_direction="lower",
        ranks=tuple(places[team].rank or None for team in facts.teams),
        scores=tuple(places[team].score for team in facts.teams),
        score_intervals=None,
        stability=None,
        why_no_stability="The live leaderboard knows aggregates only, so no cases can be drawn for it.",
    )


def _direction(order: str) -> Direction:
    return "higher" if order == "desc" else "lower"


# The teams under every scheme, each with what its bootstrap says.


@dataclass(frozen=True, kw_only=True)
class Ranked:
    """One scheme: its ranking, and what it was made from, on all cases and in every replicate; None where a scheme
    has none."""

    ranking: SchemeRanking
    full: SchemeOutcome | None = None
    replicates: SchemeOutcome | None = None


@dataclass(frozen=True, kw_only=True)
class Bootstrap:
    """The draws, and the figures of the leaderboard in each: dotted path to `[replicate, team]`."""

    resamples: Resamples
    figures: Mapping[str, Floats]


def deciding_ranks(facts: Facts, official: Official | None, options: RankingOptions) -> Sequence[int | None]:
    """The ranks of the final table alone, without any bootstrap."""
    if options.scheme == OFFICIAL and official is not None:
        return _ranks(official.outcome)
    if options.scheme == PLATFORM:
        return live_leaderboard(facts, options.platform_method).ranks
    return _ranks(_full(SCHEMES[options.scheme], facts, options))


def scheme_rankings(
    facts: Facts, official: Official | None, bootstrap: Bootstrap | None, options: RankingOptions
) -> list[Ranked]:
    """The official rule, the general schemes side by side, and the deciding one where it is not one of these."""
    rankings = [_official_ranked(facts, official, bootstrap, options)] if official else []
    schemes = list(SIDE_BY_SIDE)
    if options.scheme in SCHEMES and SCHEMES[options.scheme] not in schemes:
        schemes.append(SCHEMES[options.scheme])
    if facts.in_schemes:
        rankings += [_general(scheme, facts, bootstrap, options) for scheme in schemes]
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
        reason = "The arena decides among the finalists, and resampling the cases says nothing about its votes."
        return _ranked(names, official.outcome, replicates, reason, options)
    why_not = None if replicates is not None else _why_not(facts, bootstrap)
    return _ranked(names, official.outcome, replicates, why_not, options)


def _general(scheme: Scheme, facts: Facts, bootstrap: Bootstrap | None, options: RankingOptions) -> Ranked:
    replicates = (
        apply_scheme(scheme, facts.in_schemes, bootstrap.resamples, _scheme_options(options), facts.weights)
        if bootstrap
        else None
    )
    why_not = None if replicates is not None else _why_not(facts, bootstrap)
    full = _full(scheme, facts, options)
    words = scheme.words.format(quantile=options.quantile)
    return _ranked((scheme.name, scheme.title, words), full, replicates, why_not, options)


def _ranked(
    names: tuple[str, str, str],
    full: SchemeOutcome,
    replicates: SchemeOutcome | None,
    why_not: str | None,
    options: RankingOptions,
) -> Ranked:
    """Where there is a reason why not, the replicates tell of the score alone, not of the rank."""
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
    )
    return Ranked(ranking=ranking, full=full, replicates=None if ranks is None else replicates)


def _why_not(facts: Facts, bootstrap: Bootstrap | None) -> str:
    if not facts.cases:
        return "The files hold no single cases, so none can be drawn."
    if bootstrap is None:
        return "No bootstrap was asked for."
    if facts.is_anonymous:
        return (
            "The rows are anonymous and do not contain everything the official score is computed from, so it cannot be "
            "recomputed."
        )
    return "The rows do not contain everything the official score is computed from, so it cannot be recomputed."


def _full(scheme: Scheme, facts: Facts, options: RankingOptions) -> SchemeOutcome:
    whole = Resamples.whole(len(facts.cases))
    return apply_scheme(scheme, facts.in_schemes, whole, _scheme_options(options), facts.weights)


def _scheme_options(options: RankingOptions) -> SchemeOptions:
    return SchemeOptions(quantile=options.quantile, alpha=options.alpha, workers=options.workers)


def _ranks(outcome: SchemeOutcome) -> tuple[int, ...]:
    return tuple(outcome.ranks[0].tolist())


def taus_between(rankings: Sequence[SchemeRanking]) -> Table:
    """Kendall's tau-b between every two schemes; a team that a scheme leaves unranked is behind all others there."""
    ranks = np.array([[rank or len(ranking.ranks) + 1 for rank in ranking.ranks] for ranking in rankings])
    return tuple(plain_row(tau_b(ranks, reference)) for reference in ranks)
