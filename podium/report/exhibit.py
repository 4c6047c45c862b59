"""What a section of a report shows: a plot, its words, and the same figures as a table."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Table:
    """Plain words in rows; the first column names the row. The template escapes every cell."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""


@dataclass(frozen=True, kw_only=True)
class Exhibit:
    """A plot (SVG that our writer has escaped) with a caption, and its table for those who cannot see it.

    `wide` plots take the whole width of the page, the others stand two by two where there is room.
    """

    title: str
    caption: str
    svg: str
    table: Table
    wide: bool = False
