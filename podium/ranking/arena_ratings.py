"""arena.json: the ratings that decide among the finalists."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from podium.errors import UsageError
from podium.validation_errors import first_problem

Rating = Annotated[float, Field(allow_inf_nan=False)]


class ArenaRatings(BaseModel):
    """The part of an arena's result that ranking needs; what else the file holds is left alone."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    ratings: dict[str, Rating]


def read_ratings(path: Path, *, ranks: Mapping[str, float], places: int) -> dict[str, float]:
    """Team to rating, larger is better. Raises UsageError unless the best teams are rated: none beyond `places`, and
    none while a better one is not. Of those who tie at the last place any may have been left out."""
    try:
        ratings = ArenaRatings.model_validate_json(path.read_bytes()).ratings
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from None
    except ValidationError as error:
        raise UsageError(f"{path} is not an arena.json written by Podium: {first_problem(error)}.") from None
    outsiders = sorted(team for team in ratings if ranks.get(team, math.inf) > places)
    if outsiders:
        raise UsageError(f"{path} rates '{outsiders[0]}', which is not among the finalists.")
    last = max((ranks[team] for team in ratings), default=0)
    unrated = sorted(team for team in ranks if ranks[team] < last and team not in ratings)
    if unrated or not ratings:
        whom = f"the finalist '{unrated[0]}'" if unrated else "anybody"
        raise UsageError(f"{path} has no rating of {whom}.")
    return ratings
