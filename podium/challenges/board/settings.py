"""The four tables as settings."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from podium.challenges.settings import FigureName, Positive, Settings, Text, problems_of, without_problems
from podium.errors import ValidationProblem
from podium.metrics.declaration import Direction

BOARD_TABLES = ("figures", "case_figures", "leaderboard", "ranking")
Bound = Annotated[float, Field(strict=True)]  # may be infinite


class FigureSettings(Settings):
    """A figure with more than its formula.

    direction  needed where the terms do not decide it
    range      lowest and highest value [derived from the terms]
    """

    formula: Text
    title: Text | None = None
    direction: Direction | None = None
    range: tuple[Bound, Bound] | None = None
    unit: str = ""


class LeaderboardSettings(Settings):
    """Which figures the leaderboard shows, in this order, and their titles [ranked figures first, then metrics]."""

    columns: Annotated[tuple[Text, ...], Field(min_length=1)] | None = None
    titles: Mapping[str, Text] = {}


class RankingSettings(Settings):
    """What teams are ranked by.

    by         a figure, or several whose positions are combined
    method     mean_of_positions: a position in each figure, then their weighted mean; positions_by_case: a position in
               each case and metric, then the mean of all
    weights    of the positions [equal]
    round      decimals that count [all]
    tie_break  figures asked in turn among teams that are equal
    """

    by: Text | Annotated[tuple[Text, ...], Field(min_length=1)]
    method: Literal["mean_of_positions", "positions_by_case"] | None = None
    weights: Annotated[tuple[Positive, ...], Field(min_length=1)] | None = None
    round: Annotated[int, Field(strict=True, ge=0, le=12)] | None = None
    tie_break: tuple[Text, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return (self.by,) if isinstance(self.by, str) else self.by


class BoardSettings(Settings):
    """The four tables."""

    figures: Mapping[FigureName, Text | FigureSettings] = {}
    case_figures: Mapping[FigureName, Text | FigureSettings] = {}
    leaderboard: LeaderboardSettings = LeaderboardSettings()
    ranking: RankingSettings | None = None


def examine_board(tables: Mapping[str, Any]) -> tuple[BoardSettings, Sequence[ValidationProblem], frozenset[str]]:
    """The four tables without what is wrong, everything that is wrong, and the names that are missing for that
    reason: of figures, or `ranking`."""
    content = {table: tables[table] for table in BOARD_TABLES if table in tables}
    problems = problems_of(BoardSettings, content, ())
    formulas: dict[str, Any] = {
        table: without_problems(content[table], [each for each in problems if each.key[0] == table], depth=1)
        for table in ("figures", "case_figures")
        if table in content
    }
    right = {**without_problems(content, problems, depth=0), **formulas}
    lost = {str(each.key[-1] if len(each.key) < 2 else each.key[1]) for each in problems if each.key[0] in formulas}
    lost |= {"ranking"} if "ranking" in content and "ranking" not in right else set()
    return BoardSettings.model_validate(right), problems, frozenset(lost)
