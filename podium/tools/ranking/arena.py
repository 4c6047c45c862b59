"""arena.json: the ratings that decide among the finalists, and what stands behind them."""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from podium.errors import UsageError, first_problem
from podium.metrics import Floats
from podium.tools.ranking.result import Arena, ArenaTeam, Calibration, Interval, Measured, fixed
from podium.tools.ranking.statistics import Ranks, positions

Rating = Annotated[float, Field(allow_inf_nan=False)]
Count = Annotated[int, Field(strict=True, ge=0)]


class _Part(BaseModel):
    """What else the file holds is left alone."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class ArenaTeamPart(_Part):
    """What the votes say of one team."""

    name: str
    group: Annotated[int, Field(ge=1)]
    interval: tuple[Rating, Rating] | None
    bradley_terry: Rating
    votes: Count
    wins: Count
    losses: Count
    ties: Count


class StopRulePart(_Part):
    """Whether there were enough votes; `missing` says in sentences what there was not."""

    holds: bool
    missing: tuple[str, ...] = ()


class ArenaFile(_Part):
    """The part of an arena's result that ranking needs. Only the ratings must be there."""

    ratings: dict[str, Rating]
    decided_by: str = ""
    teams: tuple[ArenaTeamPart, ...] = ()
    votes: Count | None = None
    raters: Count | None = None
    cases: Count | None = None
    stop_rule: StopRulePart | None = None


def read_arena(path: Path, *, ranks: Mapping[str, float], places: int) -> ArenaFile:
    """Raises UsageError unless the best teams are rated: none beyond `places`, and none while a better one is not. Of
    those who tie at the last place any may have been left out."""
    try:
        arena = ArenaFile.model_validate_json(path.read_bytes())
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from None
    except ValidationError as error:
        raise UsageError(f"{path} is not an arena.json written by Podium: {first_problem(error)}.") from None
    ratings = arena.ratings
    outsiders = sorted(team for team in ratings if ranks.get(team, math.inf) > places)
    if outsiders:
        raise UsageError(f"{path} rates '{outsiders[0]}', which is not among the finalists.")
    last = max((ranks[team] for team in ratings), default=0)
    unrated = sorted(team for team in ranks if ranks[team] < last and team not in ratings)
    if unrated or not ratings:
        whom = f"the finalist '{unrated[0]}'" if unrated else "anybody"
        raise UsageError(f"{path} has no rating of {whom}.")
    if arena.teams and sorted(team.name for team in arena.teams) != sorted(ratings):
        raise UsageError(f"{path} is not an arena.json written by Podium: 'teams' and 'ratings' name different teams.")
    return arena


def finalists_ranks(arena: ArenaFile, teams: Sequence[str], *, break_ties: bool) -> Ranks:
    """The ranks of the rated teams among themselves: by group where the file has groups, unless `break_ties`; else by
    rating."""
    if break_ties or not arena.teams:
        return positions([(_ratings(arena, teams), "higher")])
    groups = {team.name: team.group for team in arena.teams}
    return positions([(np.array([groups[team] for team in teams], dtype=np.float64), "lower")])


def _ratings(arena: ArenaFile, teams: Sequence[str]) -> Floats:
    return np.array([arena.ratings[team] for team in teams], dtype=np.float64)


def arena_section(arena: ArenaFile, teams: Sequence[str], *, ties_broken: bool) -> Arena:
    """What a ranking keeps of the arena; `teams` in the order of the final table."""
    standings = {team.name: team for team in arena.teams}
    return Arena(
        decided_by=arena.decided_by,
        ties_broken=ties_broken,
        votes=arena.votes,
        raters=arena.raters,
        cases=arena.cases,
        stop_rule_holds=arena.stop_rule.holds if arena.stop_rule else None,
        stop_rule_missing=arena.stop_rule.missing if arena.stop_rule else (),
        teams=tuple(
            _team(arena.ratings[team], standings.get(team)) if team in arena.ratings else None for team in teams
        ),
    )


def _team(rating: float, found: ArenaTeamPart | None) -> ArenaTeam:
    interval: Interval | None = found.interval if found else None
    return ArenaTeam(
        rating=rating,
        group=found.group if found else None,
        bradley_terry=found.bradley_terry if found else None,
        interval=interval,
        votes=found.votes if found else None,
        wins=found.wins if found else None,
        losses=found.losses if found else None,
        ties=found.ties if found else None,
    )


# A calibration as words: the same rows on a terminal and on a page.

_UNKNOWN = "–"


def figure_rows(calibration: Calibration) -> list[tuple[str, str, str, str]]:
    """What was asked, the figure, its interval and of how many; what nobody could answer is left out."""
    return [
        (figure.title, _value(figure, figure.value), _interval(figure), f"{figure.total:,}")
        for figure in calibration.figures
        if figure.value is not None
    ]


def team_rows(calibration: Calibration) -> list[tuple[str, str, str, str, str, str]]:
    """Points of 100, with intervals, by votes, by the judge and by both; votes, and what they are worth."""
    return [
        (
            team.name,
            _points(team.by_votes, team.by_votes_interval),
            _points(team.by_judge, team.by_judge_interval),
            _points(team.by_both, team.by_both_interval),
            f"{team.votes:,}",
            _UNKNOWN if team.worth is None else f"{team.worth:,.0f}",
        )
        for team in calibration.teams
    ]


def calibration_sentences(calibration: Calibration) -> Iterable[str]:
    """How it was done, for a page and a methods section."""
    yield (
        f"Clinicians cast {calibration.votes:,} votes on {calibration.voted_cases} of the {calibration.cases} cases "
        f"that the judge {calibration.judge} rated. The judge prefers the report with the larger RadFact F1 in the "
        "case; equal ones are a tie. It sees one report at a time, so it cannot favour a side."
    )
    yield (
        "Comparisons won are the share of comparisons with the other teams of the arena that clinicians decide for a "
        "team, a tie being half a win. The prediction-powered estimate (PPI++) corrects the votes by what the judge "
        "says of all cases; a poor judge gets little weight and changes little. It assumes that the cases with "
        "votes are like the others."
    )


def _value(figure: Measured, value: float) -> str:
    return f"{100 * value:.0f} %" if figure.is_share else fixed(value, 2)


def _interval(figure: Measured) -> str:
    if figure.interval is None:
        return _UNKNOWN
    low, high = (_value(figure, end) for end in figure.interval)
    return f"{low} to {high}"


def _points(value: float, interval: Interval | None) -> str:
    if interval is None:
        return fixed(100 * value, 1)
    low, high = (fixed(100 * end, 1) for end in interval)
    return f"{fixed(100 * value, 1)} [{low}, {high}]"
