"""How a metric is declared: once, so that scoring, ranking, leaderboards and docs read the same facts."""

from dataclasses import dataclass
from typing import Literal

Direction = Literal["higher", "lower"]


@dataclass(frozen=True, kw_only=True)
class Metric:
    """One figure: where it stands in metrics.json, which way is better, and what the worst case costs.

    `name` is a dotted path (`dice.long_plaque`), the same in a result row's `metrics` and below `aggregates`.
    """

    name: str
    title: str
    direction: Direction
    lowest: float
    highest: float
    worst: float
    unit: str = ""

    def __post_init__(self) -> None:
        if not self.lowest <= self.worst <= self.highest:
            raise ValueError(f"{self.name}: worst value {self.worst} lies outside {self.lowest} to {self.highest}")


@dataclass(frozen=True, kw_only=True)
class Curve:
    """A figure that runs along one case, such as Dice over the steps of an interaction: for reports, never for a score.

    `name` is a dotted path in a result row's `metrics` that leads to a list of numbers, or through a list of objects
    (`steps.dice`); `along` says what the list runs over, and `first` is the number of its first place. Where the list
    holds the means of equal stretches, `length` is the dotted path to the number of places they stand for.
    """

    name: str
    title: str
    along: str
    direction: Direction
    lowest: float
    highest: float
    unit: str = ""
    first: int = 0
    length: str = ""
