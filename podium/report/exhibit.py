"""What a section of a report shows: a plot, its words, and the same figures as a table."""

from collections.abc import Sequence
from dataclasses import dataclass

_LIMITS_REM = (24, 36, 48, 60, 76)  # the widths that page.css knows
_MARGIN_REM = 4


@dataclass(frozen=True, kw_only=True)
class Table:
    """Plain words in rows; the first column names the row. The template escapes every cell."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""

    @property
    def hint(self) -> str:
        """From which width of the page on a reader has to be told that the table goes on: estimated by its words."""
        widths = [
            max(len(cell) for cell in (*(row[column] for row in self.rows), self._longest_word(self.head[column])))
            for column in range(len(self.head))
        ]
        rem = sum(0.5 * width + 1.3 for width in widths)
        return next((f"hint-{limit}" for limit in _LIMITS_REM if rem < limit - _MARGIN_REM), "hint-always")

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
