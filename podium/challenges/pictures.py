"""What a report draws of all cases together: data only, so that a challenge knows nothing of pages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from podium.metrics.declaration import Direction

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True, kw_only=True)
class Diagram:
    """Lines and dots over two axes.

    share      both axes run from 0 to 1
    lines      by their names
    dots       one per case
    diagonal   the line on which x = y, for comparison
    levels     horizontal lines by their names
    told       what it shows, in words
    """

    title: str
    x: str
    y: str
    told: str
    share: bool = False
    lines: Mapping[str, Points] = field(default_factory=dict)
    dots: Points = ()
    diagonal: bool = False
    levels: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class FigureGrid:
    """Figures by row and column, None where there is none; directions by column."""

    title: str
    corner: str
    rows: Sequence[str]
    columns: Sequence[str]
    values: Sequence[Sequence[float | None]]
    directions: Sequence[Direction]


Picture = Diagram | FigureGrid
