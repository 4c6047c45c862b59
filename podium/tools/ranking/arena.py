"""arena.json: the ratings that decide among the finalists, and the votes behind them."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from podium.errors import UsageError, first_problem, read_given
from podium.tools.ranking.result import Arena, ArenaTeam
from podium.tools.ranking.statistics import Ranks, positions

Rating = Annotated[float, Field(allow_inf_nan=False)]
Count = Annotated[int, Field(strict=True, ge=0)]


class _Part(BaseModel):
    """Other keys of the file are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class ArenaTeamPart(_Part):
    """What the votes say about one team."""

    name: str
    group: Annotated[int, Field(ge=1)]
    interval: tuple[Rating, Rating] | None
    bradley_terry: Rating
    votes: Count
    wins: Count
    losses: Count
    ties: Count


class StopRulePart(_Part):
    """Whether there were enough votes; `missing` are sentences on what was missing."""

    holds: bool
    missing: tuple[str, ...] = ()


class ArenaFile(_Part):
    """The part of arena.json that ranking needs. Only the ratings are required."""

    ratings: dict[str, Rating]
    decided_by: str = ""
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


def finalists_ranks(arena: ArenaFile, teams: Sequence[str], *, break_ties: bool) -> Ranks:
    """The ranks among the rated teams: by group where the file has groups, unless `break_ties`; otherwise by rating."""
    if break_ties or not arena.teams:
        return positions([(np.array([arena.ratings[team] for team in teams]), "higher")])
    groups = {team.name: team.group for team in arena.teams}
    return positions([(np.array([groups[team] for team in teams], dtype=np.float64), "lower")])


def arena_section(arena: ArenaFile, teams: Sequence[str], *, ties_broken: bool) -> Arena:
    """The arena's part of a ranking; `teams` in the order of the final table."""
    standings = {team.name: team.model_dump(exclude={"name"}) for team in arena.teams}
    nothing = dict.fromkeys(ArenaTeamPart.model_fields.keys() - {"name"})
    return Arena(
        decided_by=arena.decided_by,
        ties_broken=ties_broken,
        votes=arena.votes,
        raters=arena.raters,
        cases=arena.cases,
        stop_rule_holds=arena.stop_rule.holds if arena.stop_rule else None,
        stop_rule_missing=arena.stop_rule.missing if arena.stop_rule else (),
        teams=tuple(
            ArenaTeam(rating=arena.ratings[team], **standings.get(team, nothing)) if team in arena.ratings else None
            for team in teams
        ),
    )
