"""What a section of a report shows: a plot, its words, and the same figures as a table."""

from collections.abc import Sequence
from dataclasses import dataclass

HINT_LIMITS_REM = tuple(range(16, 77, 2))  # the widths that the page's stylesheet knows


@dataclass(frozen=True, kw_only=True)
class Table:
    """Plain words in rows; the first column names the row. The template escapes every cell."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""

    @property
    def hint(self) -> str:
        """Below which width of its frame a reader has to be told that the table goes on: estimated by its words."""
        widths = [
            max(len(cell) for cell in (*(row[column] for row in self.rows), self._longest_word(self.head[column])))
            for column in range(len(self.head))
        ]
        rem = sum(0.52 * width + 1.1 for width in widths)  # a figure's width in the tables' type, and the padding
        return next((f"hint-{limit}" for limit in HINT_LIMITS_REM if rem <= limit), "hint-always")

    @staticmethod
    def _longest_word(head: str) -> str:
        return max(head.split(), key=len, default="")


@dataclass(frozen=True, kw_only=True)
class Exhibit:
    """A plot (SVG that our writer has escaped) with a caption, and its table for those who cannot see it.

    `wide` plots take the whole width of the page, the others stand two by two where there is room. `file` is the
    name of the figure's files, without ending; empty where there are none.
    """

    title: str
    caption: str
    svg: str
    table: Table
    wide: bool = False
    file: str = ""
