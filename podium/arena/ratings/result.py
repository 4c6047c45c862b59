"""arena.json: the ratings that decide, and everything that defends them. `podium rank --arena` reads the ratings.

Raters are counted, not named: the file may be published.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from pydantic import TypeAdapter

from podium import __version__
from podium.arena.raters.agreement import ArenaAgreement, arena_agreement
from podium.arena.ratings.ballots import Ballot
from podium.arena.ratings.standing import RatingName, TeamStanding, standing
from podium.arena.ratings.stop_rule import Condition, stop_rule
from podium.arena.settings import ArenaSettings


@dataclass(frozen=True, kw_only=True)
class StopRuleResult:
    """All of `required` must be met, and one of `either`; `missing` lists in sentences what is not met yet."""

    holds: bool
    required: tuple[Condition, ...]
    either: tuple[Condition, ...]
    missing: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ArenaResult:
    """The whole result.

    ratings        of every team by `decided_by`, larger is better
    teams          best first; `pair_votes` and `pair_wins` are [row][column] in this order
    votes          that count; `repeats` measure the raters, and `unjudged` are "cannot judge": both are left out of
                   every rating
    closed         no vote can follow; else the result is provisional
    agreement      of the raters, who are counted and not named
    disagreements  in words: which ratings order which teams differently
    notes          in words: what the figures rest on, and what an organiser should look at
    """

    schema: Literal["podium-arena-1"] = "podium-arena-1"
    podium_version: str
    settings: Mapping[str, int | float | tuple[str, ...]]
    decided_by: RatingName
    ratings: Mapping[str, float]
    teams: tuple[TeamStanding, ...]
    pair_votes: tuple[tuple[int, ...], ...]
    pair_wins: tuple[tuple[int, ...], ...]
    votes: int
    repeats: int
    unjudged: int
    raters: int
    cases: int
    closed: bool
    stop_rule: StopRuleResult
    agreement: ArenaAgreement
    disagreements: tuple[str, ...]
    notes: tuple[str, ...]


def arena_result(  # noqa: PLR0913  (votes, rules, and what goes with them)
    ballots: Sequence[Ballot],
    methods: Sequence[str],
    settings: ArenaSettings,
    *,
    notes: Sequence[str],
    by: RatingName,
    closed: bool = False,
) -> ArenaResult:
    """What the standing votes say; `notes` are those of `init`. Depends on nothing else, not even on the hour."""
    reached = standing(ballots, methods, settings, by=by)
    rule = stop_rule(ballots, reached, settings)
    warning = [] if rule.holds else [f"The stop rule does not hold yet: {' '.join(rule.missing)}"]
    return ArenaResult(
        podium_version=__version__,
        settings=settings.model_dump(exclude={"url", "instructions", "window_presets"}),
        decided_by=by,
        ratings=reached.ratings,
        teams=reached.teams,
        pair_votes=reached.pair_votes,
        pair_wins=reached.pair_wins,
        votes=reached.votes,
        repeats=reached.repeats,
        unjudged=sum(not ballot.is_judged for ballot in ballots),
        raters=reached.raters,
        cases=reached.cases,
        closed=closed,
        agreement=arena_agreement(ballots, methods),
        stop_rule=StopRuleResult(
            holds=rule.holds, required=rule.required, either=rule.either, missing=tuple(rule.missing)
        ),
        disagreements=reached.disagreements,
        notes=(*warning, *reached.notes, *notes),
    )


def result_to_json(result: ArenaResult) -> str:
    """The content of arena.json, the same bytes for the same result."""
    document = _adapter().dump_python(result, mode="json")
    return json.dumps(document, indent=2, sort_keys=True, allow_nan=False, ensure_ascii=False) + "\n"


def result_schema() -> dict[str, Any]:
    """The JSON Schema of arena.json that is shipped with the package."""
    schema: dict[str, Any] = json.loads(files("podium.arena.ratings").joinpath("arena.schema.json").read_text("utf-8"))
    return schema


def schema_of_the_classes() -> dict[str, Any]:
    """What the shipped schema has to be, from the classes above."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **_adapter().json_schema(mode="serialization"),
        "title": "arena.json as Podium writes it",
    }


@cache
def _adapter() -> TypeAdapter[ArenaResult]:
    return TypeAdapter(ArenaResult)
