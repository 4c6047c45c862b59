"""A challenge's own rule, applied to the teams' aggregates, or to those of every replicate of a bootstrap."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from podium.challenges.board import Criterion, RankingRule
from podium.errors import UsageError
from podium.figures import Figures, finite_number, get
from podium.metrics import Floats
from podium.metrics.resampling import Resamples
from podium.ranking.arena_ratings import ArenaFile, finalists_ranks, read_arena
from podium.ranking.facts import Facts
from podium.ranking.options import RankingOptions
from podium.ranking.positions import case_positions, mean_positions, positions
from podium.ranking.schemes import SchemeOutcome


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
