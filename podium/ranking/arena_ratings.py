"""arena.json: the ratings that decide among the finalists."""

from collections.abc import Collection
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from podium.contract.errors import UsageError

Rating = Annotated[float, Field(allow_inf_nan=False)]


class ArenaRatings(BaseModel):
    """The part of an arena's result that ranking needs; what else the file holds is left alone."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    ratings: dict[str, Rating]


def read_ratings(path: Path, *, finalists: Collection[str], tied: Collection[str] = ()) -> dict[str, float]:
    """Team to rating, larger is better. Raises UsageError unless exactly the finalists are rated, and any of those who
    are `tied` at the last place."""
    try:
        ratings = ArenaRatings.model_validate_json(path.read_bytes()).ratings
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise UsageError(
            f"{path} is not an arena's result ({'.'.join(map(str, first['loc']))}: {first['msg'].lower()})."
        ) from None
    unrated = sorted(set(finalists) - ratings.keys())
    if unrated:
        raise UsageError(f"{path} has no rating of the finalist '{unrated[0]}'.")
    strangers = sorted(ratings.keys() - {*finalists, *tied})
    if strangers:
        raise UsageError(f"{path} rates '{strangers[0]}', who is not among the finalists.")
    return ratings
