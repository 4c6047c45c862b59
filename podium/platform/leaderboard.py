"""Leaderboard columns: dotted paths into metrics.json, in the words of the platform's phase settings."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from podium.metrics.declaration import Direction, Scoreboard


@dataclass(frozen=True, kw_only=True)
class Column:
    """One figure below `aggregates`; `error_path` names its spread, shown beside it; the `headline` ones make a short
    table. Where columns besides the first are `ranked`, teams are ordered by the mean of their positions in those. The
    figure at `known_path`, if there is one, is 0 where this one is unknown."""

    path: str
    title: str
    direction: Direction
    error_path: str | None = None
    headline: bool = False
    ranked: bool = False
    known_path: str = ""

    @property
    def order(self) -> str:
        """The platform's word for the direction."""
        return "desc" if self.direction == "higher" else "asc"


def column(board: Scoreboard[Any], path: str) -> Column:
    """The column of a declared figure: of a metric's mean with its spread, or of any other figure."""
    resolved = board.resolved(path)
    shared: dict[str, Any] = {"path": path, "headline": path in board.headline, "ranked": path in board.ranked}
    for metric in board.metrics:
        if metric.mean_path == resolved:
            prefix = path.removesuffix(".mean")
            error_path = f"{prefix}.std" if prefix != path else metric.std_path
            return Column(
                title=_title(metric.mean_title or metric.title, metric.unit),
                direction=metric.direction,
                error_path=error_path if metric.std_path else None,
                **shared,
            )
    for figure in (*board.formulas, *board.cohort_metrics, *board.given, *board.offline):
        if figure.path == resolved:
            title = _title(figure.title, figure.unit)
            return Column(title=title, direction=figure.direction, known_path=figure.known, **shared)
    raise KeyError(path)


def group_columns(board: Scoreboard[Any], paths: Sequence[str]) -> Sequence[Column]:
    """The means over the groups of cases, for those of these figures that have one."""
    resolved = [board.resolved(path) for path in paths]
    figures = [(metric.name, metric.mean_path) for metric in board.metrics if metric.mean_path in resolved]
    figures += [(figure.path, figure.path) for figure in board.cohort_metrics if figure.path in resolved]
    return [
        Column(path=f"{name}_group_mean", title=f"{shown.title}, mean of groups", direction=shown.direction)
        for name, path in figures
        for shown in [column(board, path)]
    ]


def _title(title: str, unit: str) -> str:
    return f"{title} ({unit})" if unit else title


def phase_settings(columns: Sequence[Column]) -> dict[str, Any]:
    """The fields of the phase's admin form; the first column is the score, the others enter the ranking if ranked."""
    score, *others = columns
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
