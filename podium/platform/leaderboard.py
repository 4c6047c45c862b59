"""Leaderboard columns: dotted paths into metrics.json, as the platform's phase settings name them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from podium.metrics.declaration import GROUP_MEAN, Direction, GivenFigure, NamedFigure, Scoreboard


@dataclass(frozen=True, kw_only=True)
class Column:
    """One figure below `aggregates`. Where columns besides the first are ranked, teams are ordered by the mean of their
    positions in those."""

    path: str
    title: str
    direction: Direction
    error_path: str | None = None  # the path of its spread, which is shown beside it
    headline: bool = False  # it is part of a short table
    ranked: bool = False
    known_path: str = ""  # the path of a figure that is 0 where this one is unknown, if there is one

    @property
    def order(self) -> str:
        """The platform's word for the direction."""
        return "desc" if self.direction == "higher" else "asc"


def column(board: Scoreboard[Any], path: str) -> Column:
    """The column of any figure below `aggregates`; of a mean with its spread."""
    shown: NamedFigure | GivenFigure | None = board.names.find(path)
    shown = shown or next((figure for figure in board.offline if figure.path == path), None)
    if shown is None:
        raise KeyError(path)
    needs_unit = shown.unit and not shown.title.endswith(f"({shown.unit})")
    return Column(
        path=path,
        title=f"{shown.title} ({shown.unit})" if needs_unit else shown.title,
        direction=shown.direction,
        error_path=(shown.error_path or None) if isinstance(shown, NamedFigure) else None,
        headline=path in board.headline,
        ranked=path in board.ranked,
        known_path=shown.known,
    )


def group_columns(board: Scoreboard[Any], paths: Sequence[str]) -> Sequence[Column]:
    """The means over the groups of cases, for those of these figures that have one."""
    return [column(board, name + GROUP_MEAN) for name, path in board.names.group_means.items() if path in paths]


def phase_settings(columns: Sequence[Column]) -> dict[str, Any]:
    """The fields of the phase's admin form; the first column is the score, the others enter the ranking if ranked, and
    these come first. Columns of the same title are told apart by their paths."""
    titles = Counter(column.title.casefold() for column in columns)
    alike = [column for column in columns if titles[column.title.casefold()] > 1]
    score, *others = [replace(each, title=f"{each.title}: {each.path}") if each in alike else each for each in columns]
    others.sort(key=lambda column: not column.ranked)
    return {
        "score_title": score.title,
        "score_jsonpath": f"aggregates.{score.path}",
        "score_error_jsonpath": f"aggregates.{score.error_path}" if score.error_path else "",
        "score_default_sort": score.order,
        "scoring_method_choice": "avg" if any(column.ranked for column in others) else "abs",
        "score_decimal_places": 4,
        "extra_results_columns": [_extra(column) for column in others],
    }


def _extra(column: Column) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "title": column.title,
        "path": f"aggregates.{column.path}",
        "order": column.order,
        "exclude_from_ranking": not column.ranked,
    }
    if column.error_path:
        settings["error_path"] = f"aggregates.{column.error_path}"
    return settings
