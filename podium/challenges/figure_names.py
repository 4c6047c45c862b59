"""The names of figures: which there are, what a name means, and what is known of each before anything is scored."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from podium.formulas import Known
from podium.metrics.declaration import Direction, GivenFigure, Metric, Scoreboard

BETTER: Mapping[Direction, int] = {"higher": 1, "lower": -1}
MEAN = ".mean"


def known_of(metric: Metric) -> Known:
    """Range and direction of a per-case figure and its mean."""
    return Known(lowest=metric.lowest, highest=metric.highest, better=BETTER[metric.direction])


def known_figures(board: Scoreboard[Any]) -> Iterator[tuple[str, Known]]:
    """Every figure below `aggregates` that a formula may name, with what is known of it."""
    for metric in board.metrics:
        known = known_of(metric)
        spread = Known(lowest=0.0, better=0)
        for path, each in (
            (metric.mean_path, known),
            (metric.median, known),
            (metric.std_path, spread),
            (metric.count, spread),
        ):
            if path:
                yield path, each
    for figure in (*board.cohort_metrics, *board.given, *board.formulas):
        better = BETTER[figure.direction] if figure.title else 0
        yield figure.path, Known(lowest=figure.lowest, highest=figure.highest, better=better)


def resolve(name: str, known: Mapping[str, Any]) -> str | None:
    """The path that a name means: itself, or its mean."""
    return next((path for path in (name, name + MEAN) if path in known), None)


def shown(board: Scoreboard[Any], path: str) -> GivenFigure:
    """Title and direction of the figure at a path."""
    for metric in board.metrics:
        if path in (metric.mean_path, metric.median, metric.std_path, metric.count):
            return GivenFigure(path=path, title=metric.title, direction=metric.direction, unit=metric.unit)
    return next(each for each in (*board.cohort_metrics, *board.given, *board.formulas) if each.path == path)


def retitled(board: Scoreboard[Any], titles: Mapping[str, str]) -> Scoreboard[Any]:
    """The scoreboard with other titles, by path."""

    def renamed(figures: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(replace(each, title=titles.get(each.path, each.title)) for each in figures)

    return replace(
        board,
        metrics=tuple(replace(each, title=titles.get(each.mean_path, each.title)) for each in board.metrics),
        cohort_metrics=renamed(board.cohort_metrics),
        given=renamed(board.given),
        formulas=renamed(board.formulas),
    )


def case_metrics_of(board: Scoreboard[Any], case_figures: Sequence[str]) -> tuple[str, ...]:
    """The per-case metrics that stand for a challenge in the general schemes: the case figures with what has no mean of
    its own, else means over regions, else all."""
    if case_figures:
        return (*case_figures, *(metric.name for metric in board.metrics if not metric.mean_path))
    combined = [metric.name for metric in board.metrics if metric.of_row is not None]
    inner = {name.removesuffix(MEAN) for name in combined}
    alone = [
        metric.name
        for metric in board.metrics
        if metric.of_row is None and metric.name.rpartition(".")[0] not in inner and metric.name not in inner
    ]
    return (*combined, *alone)


def title_of(name: str) -> str:
    """`segmentation_score` as a title."""
    words = name.replace("_", " ")
    return words[:1].upper() + words[1:]
