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
