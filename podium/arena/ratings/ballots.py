"""A vote as the ratings see it: the two methods, the case, the rater and the outcome."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

Winner: TypeAlias = Literal["left", "right", "tie"]


@dataclass(frozen=True, kw_only=True)
class Ballot:
    """One vote that stands: cast and not undone.

    left, right  names of the two methods as they stood on the page
    repeat       the rater had seen this matchup before, with the sides swapped: it measures the rater alone, and
                 neither ratings nor the stop rule count it
    cast_at      seconds since 1970; ballots are always in the order in which they were cast
    """

    rater: str
    case: str
    left: str
    right: str
    winner: Winner
    repeat: bool = False
    cast_at: float = 0.0
