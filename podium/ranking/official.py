"""A challenge's own rule, applied to the teams' aggregates, or to those of every replicate of a bootstrap."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from podium.challenges.ranking_rule import Criterion, RankingRule
from podium.errors import UsageError
from podium.figures import Figures, get
from podium.metrics.resampling import Resamples
from podium.ranking.arena_ratings import read_ratings
from podium.ranking.facts import Facts
from podium.ranking.numbers import finite_number
from podium.ranking.positions import Ranks, case_positions, mean_positions, positions
from podium.ranking.schemes import SchemeOutcome

Floats = NDArray[np.float64]


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


def rank_by_case(facts: Facts, resamples: Resamples) -> SchemeOutcome:
    """Teams have a position in every case by every metric of the rule; the mean of all positions decides, then the
    tie-breaks. A case where no team has a value by a metric is left out of that metric."""
    rule = facts.rule
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
    """The full ranking by the rule; who goes on to the arena, or came through it; and its ratings `[team]`, once they
    decided."""

    outcome: SchemeOutcome
    finalists: NDArray[np.bool_]
    ratings: Floats | None


def official_ranking(facts: Facts, arena: Path | None) -> Official:
    """Finalists are all teams ranked within the arena's number of places; its ratings reorder them among themselves,
    and all other teams stay behind them. Organisers may admit fewer, but no team before a better one."""
    if facts.rule.by_case:
        outcome = rank_by_case(facts, Resamples.whole(len(facts.cases)))
    else:
        outcome = apply_rule(facts.rule, rule_figures(facts.rule, facts.aggregates, facts.labels))
    ranks = outcome.ranks[0]
    places = facts.rule.finalists or 0
    finalists = np.asarray(ranks <= places)
    if arena is None:
        return Official(outcome=outcome, finalists=finalists, ratings=None)
    if facts.rule.finalists is None:
        raise UsageError(f"The challenge '{facts.challenge.name}' has no arena.")
    found = read_ratings(arena, ranks=dict(zip(facts.teams, ranks.tolist(), strict=True)), places=places)
    ratings = np.array([found.get(team, np.nan) for team in facts.teams])
    rated = ~np.isnan(ratings)
    decided = np.maximum(ranks, 1 + np.count_nonzero(rated))
    decided[rated] = positions([(ratings[rated], "higher")])
    return Official(outcome=replace(outcome, ranks=decided[None]), finalists=rated, ratings=ratings)


def official_replicates(facts: Facts, resamples: Resamples) -> Ranks | None:
    """The rule's ranks in every replicate; None where the rows do not hold what the rule is made of."""
    if facts.rule.by_case:
        return rank_by_case(facts, resamples).ranks
    by_team = []
    for rows, aggregates in zip(facts.rows, facts.aggregates, strict=True):
        ordered = [rows[case].metrics for case in facts.cases]
        try:
            found = facts.challenge.resampled(ordered, aggregates, resamples)
        except (KeyError, TypeError, ValueError):  # a row is any JSON object: what is in it is known only here
            found = None
        if found is None:
            return None
        by_team.append(found)
    figures = rule_figures(facts.rule, facts.aggregates, facts.labels)
    for path in by_team[0]:
        figures[path] = np.stack([found[path] for found in by_team], axis=1)
    return apply_rule(facts.rule, figures).ranks
