"""What has to be said of a table of scores that it does not say itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Literal, TypeVar

from podium.errors import UsageError
from podium.metrics.declaration import Direction
from podium.ranking.tables.reading import ScoreTable

Missing = Literal["worst", "exclude", "error"]
Given = TypeVar("Given")


@dataclass(frozen=True, kw_only=True)
class TableOptions:
    """What a table does not say of itself.

    directions  by metric, or by a pattern such as "hd95*"; under "" of all metrics that are not named
    worst       by metric or pattern: what a missing value counts as, and no value may be worse
    missing     worst: a missing value counts as the worst; exclude: the case is left out of the metric for all teams;
                error: nothing may be missing
    """

    directions: Mapping[str, Direction] = field(default_factory=dict)
    worst: Mapping[str, float] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)
    missing: Missing = "worst"


def refuse_unknown(table: ScoreTable, options: TableOptions) -> None:
    for option, given in (
        ("direction", options.directions),
        ("worst", options.worst),
        ("weights", options.weights),
    ):
        for metric in given:
            if metric and not any(metric == each or fnmatchcase(each, metric) for each in table.metrics):
                raise UsageError(
                    f"--{option} names '{metric}', which the table does not have; it has: {', '.join(table.metrics)}."
                )


def by_metric(given: Mapping[str, Given], metrics: Sequence[str]) -> dict[str, Given]:
    """What was given for each metric: under its own name, else under the last pattern that fits it."""
    found: dict[str, Given] = {}
    for metric in metrics:
        fitting = [pattern for pattern in given if pattern and fnmatchcase(metric, pattern)]
        if metric in given or fitting:
            found[metric] = given[metric if metric in given else fitting[-1]]
    return found


def direction_of(metric: str, table: ScoreTable, options: TableOptions) -> Direction:
    given = by_metric(options.directions, [metric])
    found = given.get(metric) or table.directions.get(metric) or options.directions.get("")
    if found is None:
        raise UsageError(
            f"Is higher or lower better in '{metric}'? Say it: --direction {metric}=higher or {metric}=lower."
        )
    return found
