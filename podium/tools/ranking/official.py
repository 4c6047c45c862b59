"""The teams under every scheme: the challenge's own rule, the platform's live leaderboard and the general schemes.

The official rule is applied to the teams' aggregates, or to those of every replicate of a bootstrap.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field, ValidationError

from podium.challenges.board import Criterion, RankingRule
from podium.errors import UsageError, first_problem, read_given
from podium.figures import Figures
from podium.metrics import Floats
from podium.metrics.aggregation import rounded
from podium.metrics.declaration import Direction
from podium.metrics.resampling import Resamples
from podium.tools.ranking.facts import Facts, figure_at
from podium.tools.ranking.result import Arena, ArenaTeam, Row, SchemeRanking
from podium.tools.ranking.schemes import (
    MEAN_POSITION,
    PLATFORM,
    TESTED,
    WINS,
    PlatformMethod,
    RankedFigure,
    RankingOptions,
    SchemeOutcome,
)
from podium.tools.ranking.statistics import case_positions, positions

_LAST: dict[Direction, float] = {"higher": -np.inf, "lower": np.inf}


class MissingFigure(UsageError):
    """A file does not have a figure that the official rule compares."""


# The official rule.


def rule_figures(rule: RankingRule, aggregates: Sequence[Figures], labels: Sequence[str]) -> dict[str, Floats]:
    """The figures that the rule compares, by path, as `[1, team]`; `labels` name the files in error messages."""
    found = {}
    for criterion in (*rule.criteria, *rule.tie_breaks):
        values = []
        for figures, label in zip(aggregates, labels, strict=True):
            value = figure_at(figures, criterion.path)
            if value is None and not criterion.absent_is_last:
                advice = f" {criterion.if_absent}" if criterion.if_absent else ""
                raise MissingFigure(f"{label} has no aggregates.{criterion.path}, which teams are ranked by.{advice}")
            is_known = criterion.known_path is None or figure_at(figures, criterion.known_path)
            values.append(value if is_known else _LAST[criterion.direction])
        found[criterion.path] = np.array([values], dtype=np.float64)
    return found


def apply_rule(rule: RankingRule, figures: Mapping[str, Floats]) -> SchemeOutcome:
    """`figures` by path, each `[replicate, team]`; a figure with a single replicate is used for all of them."""
    return SchemeOutcome.of(_compared(rule.criteria, figures), _compared(rule.tie_breaks, figures))


def rank_by_case(facts: Facts, rule: RankingRule, resamples: Resamples) -> SchemeOutcome:
    """Every team gets a position in every case by every metric of the rule; the mean of all positions decides, then the
    tie-breaks. With significant wins it gets one position by every metric: by the share of other teams that it beats. A
    case that teams are not compared in by a metric (`CaseTable.defined`) is left out of that metric."""
    wins: list[RankedFigure] = []
    total, count = np.zeros((resamples.replicates, len(facts.teams))), np.zeros((resamples.replicates, 1))
    for name, criterion in zip(rule.case_metrics, rule.criteria, strict=True):
        if name not in facts.tables:
            raise MissingFigure(f"{facts.labels[0]} has no per-case values of '{name}', which teams are ranked by.")
        table = facts.tables[name]
        if rule.method == "significant_wins":
            given = replace(table, values=rounded(table.values, criterion.decimals))
            share = TESTED.score(given, resamples, RankingOptions(alpha=rule.alpha))
            wins.append(RankedFigure(share, *WINS, part=criterion.part))
            continue
        values = rounded(table.compared, criterion.decimals)
        kept = resamples.only(table.defined)
        total += kept.total(case_positions(values, criterion.direction).T)
        count += kept.sizes[:, None]
    mean = total / np.maximum(count, 1)
    breaks = rule_figures(replace(rule, criteria=()), facts.aggregates, facts.labels)
    return SchemeOutcome.of(wins or [RankedFigure(mean, *MEAN_POSITION)], _compared(rule.tie_breaks, breaks))


def _compared(criteria: Sequence[Criterion], figures: Mapping[str, Floats]) -> list[RankedFigure]:
    """The values that are compared: rounded, and last where a figure that may be absent is absent."""
    found = []
    for each in criteria:
        values = rounded(figures[each.path], each.decimals)
        if each.absent_is_last:
            values = np.where(np.isnan(values), _LAST[each.direction], values)
        found.append(RankedFigure(values, each.direction, each.title, each.weight, each.part))
    return found


# The arena: arena.json has the ratings that decide among the finalists, and the votes behind them.

Rating = Annotated[float, Field(allow_inf_nan=False)]
Count = Annotated[int, Field(strict=True, ge=0)]


class ArenaTeamPart(BaseModel):
    """What the votes say about one team."""

    name: str
    group: Annotated[int, Field(ge=1)]
    interval: tuple[Rating, Rating] | None
    bradley_terry: Rating
    votes: Count
    wins: Count
    losses: Count
    ties: Count


class StopRulePart(BaseModel):
    """Whether there were enough votes; `missing` are sentences on what was missing."""

    holds: bool
    missing: tuple[str, ...] = ()


class ArenaFile(BaseModel):
    """The part of arena.json that ranking needs; other keys are ignored. Only the ratings are required."""

    ratings: dict[str, Rating]
    decided_by: str = ""
    tied_groups: bool = False
    teams: tuple[ArenaTeamPart, ...] = ()
    votes: Count | None = None
    raters: Count | None = None
    cases: Count | None = None
    stop_rule: StopRulePart | None = None


def read_arena(path: Path, *, ranks: Mapping[str, float], places: int) -> ArenaFile:
    """Raises UsageError unless the best teams are rated: none beyond `places`, and none without all better ones. Of the
    teams that tie at the last place, any may be left out."""
    try:
        arena = ArenaFile.model_validate_json(read_given(path))
    except ValidationError as error:
        raise UsageError(f"{path} is not an arena.json written by Podium: {first_problem(error)}.") from None
    ratings = arena.ratings
    outsiders = sorted(team for team in ratings if ranks.get(team, math.inf) > places)
    if outsiders:
        raise UsageError(f"{path} rates '{outsiders[0]}', which is not among the finalists.")
    last = max((ranks[team] for team in ratings), default=0)
    unrated = sorted(team for team in ranks if ranks[team] < last and team not in ratings)
    if unrated or not ratings:
        team = f"the finalist '{unrated[0]}'" if unrated else "any team"
        raise UsageError(f"{path} has no rating for {team}.")
    if arena.teams and sorted(team.name for team in arena.teams) != sorted(ratings):
        raise UsageError(f"{path} is not an arena.json written by Podium: 'teams' and 'ratings' name different teams.")
    return arena


def arena_section(arena: ArenaFile, teams: Sequence[str]) -> Arena:
    """The arena's part of a ranking; `teams` in the order of the final table."""
    standings = {team.name: team.model_dump(exclude={"name"}) for team in arena.teams}
    nothing = dict.fromkeys(ArenaTeamPart.model_fields.keys() - {"name"})
    return Arena(
        **arena.model_dump(exclude={"ratings", "stop_rule", "teams"}),
        stop_rule_holds=arena.stop_rule.holds if arena.stop_rule else None,
        stop_rule_missing=arena.stop_rule.missing if arena.stop_rule else (),
        teams=tuple(
            ArenaTeam(rating=arena.ratings[team], **standings.get(team, nothing)) if team in arena.ratings else None
            for team in teams
        ),
    )


# The ranking by the rule, and by the arena among its finalists.


@dataclass(frozen=True, kw_only=True)
class Official:
    """The ranking of all cases by the rule."""

    rule: RankingRule
    outcome: SchemeOutcome
    finalists: NDArray[np.bool_]  # [team], who goes on to the arena, or was in it
    arena: ArenaFile | None = None  # its result, and `ratings` [team], where they decided
    ratings: Floats | None = None


def official_ranking(facts: Facts, options: RankingOptions) -> Official:
    """Finalists are all teams ranked within the arena's number of places. Its ratings, or under `tied_groups`
    its groups, reorder the finalists, and all other teams stay behind them. Organisers may admit fewer teams, but never
    a team before a better one."""
    rule = facts.rule
    if rule is None:
        raise MissingFigure("A table of scores has no official rule.")
    if rule.by_case:
        outcome = rank_by_case(facts, rule, facts.whole)
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
    scores = arena.ratings
    if arena.tied_groups or options.tied_groups:
        if not arena.teams:
            raise UsageError(f"{options.arena} has no groups, so --tied-groups cannot be used.")
        arena = arena.model_copy(update={"tied_groups": True})
        scores = {team.name: -float(team.group) for team in arena.teams}
    decided[rated] = positions([(np.array([scores[team] for team in facts.teams if team in scores]), "higher")])
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
    """The ranking by the columns of the phase settings, the score first. Figures are as in the files: the platform
    recomputes none."""
    score, *others = facts.challenge.columns()
    columns = [score, *(column for column in others if column.ranked)]
    method = method or ("mean" if len(columns) > 1 else "absolute")
    values = [[figure_at(file.content.aggregates, each.path) for each in columns] for file in facts.files]
    ranks, scores = platform_ranking(values, [column.direction for column in columns], method)
    shown = ", ".join(column.path for column in columns)
    by = "the position in" if method == "absolute" else f"the {method} position over"
    return SchemeRanking(
        scheme=PLATFORM,
        title="Live leaderboard",
        words=f"teams are ranked as the platform's live leaderboard ranks them, by {by} {shown}",
        score_title="Position" if method == "absolute" else f"{method.capitalize()} position",
        score_direction="lower",
        ranks=ranks,
        scores=scores,
        score_intervals=None,
        stability=None,
        why_no_stability="The live leaderboard uses aggregates only, so it cannot be bootstrapped over cases.",
    )


def platform_ranking(
    values: Sequence[Sequence[float | None]], directions: Sequence[Direction], method: PlatformMethod
) -> tuple[tuple[int | None, ...], Row]:
    """The ranks of submissions by `values[submission][column]`, the score first, and what they are ranked by.

    A submission without a number in one of the columns is not ranked, even under `absolute`: both are None. Each column
    gives positions, equal values sharing the smaller one; `absolute` takes those of the first column, `mean` and
    `median` rank by that statistic of a submission's positions.
    """
    figures = np.array(values, dtype=np.float64)
    is_ranked = np.asarray(~np.isnan(figures).any(axis=1))
    by_column = np.stack([positions([(each, way)]) for each, way in zip(figures[is_ranked].T, directions, strict=True)])
    match method:
        case "absolute":
            found = by_column[0].astype(np.float64)
        case "mean":
            found = by_column.sum(axis=0) / len(directions)  # whole numbers: equal sums are equal
        case "median":
            found = np.median(by_column, axis=0)
    pairs = zip(positions([(found, "lower")]).tolist(), found.tolist(), strict=True)
    ranks, scores = zip(*(next(pairs) if each else (None, None) for each in is_ranked), strict=True)
    return ranks, scores
