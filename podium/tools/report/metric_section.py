"""The cases of a ranking by metric, and their plots: a panel for each of a few metrics, heat maps for many."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

from podium.metrics import Floats
from podium.metrics.declaration import Metric
from podium.tools.ranking.result import CaseMetricResult, Interval, Intervals, Ranking, Row
from podium.tools.ranking.statistics import Ranks, case_positions
from podium.tools.report.page import Exhibit
from podium.tools.report.plots.axes import drawable
from podium.tools.report.plots.values import box_and_dots, figure_heatmap, is_yes_or_no, share_bars

MOST_PANELS = 12
MOST_DETAILED = 4
"""How many metrics that the schemes rank by have their own maps and plots."""

_MEAN = "mean"
_SEPARATORS = (".", "/", ":", "|", "_", " ")


@dataclass(frozen=True, eq=False)
class CaseValues:
    """One metric of a ranking, as arrays over (teams, cases).

    filled      the worst value where a team has none; NaN where no team has a value, or the worst value is infinite
    ranks       of the teams in every case, as the general schemes count them: teams without a value are last
    in_schemes  whether the general schemes rank by it
    means       [team], from the ranking, with their `intervals`: None where a worst value is infinite
    """

    metric: Metric
    filled: Floats
    ranks: Ranks
    in_schemes: bool
    means: Row
    intervals: Intervals | None

    @property
    def defined(self) -> NDArray[np.bool_]:
        """The cases where at least one team has a value."""
        return np.asarray(~np.isnan(self.filled).all(axis=0))


def case_values(ranking: Ranking) -> list[CaseValues]:
    """Every metric in which at least one team has a value; those that the schemes rank by come first."""
    found = []
    for declared in ranking.metrics:
        shape = len(ranking.teams), len(ranking.cases)
        values = drawable(value for row in declared.values for value in row).reshape(shape)
        missing = np.isnan(values)
        if missing.all():
            continue
        ranks = case_positions(values, declared.direction)
        if declared.worst is not None:
            values = np.where(missing & ~missing.all(axis=0), declared.worst, values)
        found.append(
            CaseValues(_metric(declared), values, ranks, declared.in_schemes, declared.means, declared.mean_intervals)
        )
    return sorted(found, key=lambda each: not each.in_schemes)


def _metric(declared: CaseMetricResult) -> Metric:
    """The declaration with its infinite bounds, which JSON does not have."""
    lowest = -math.inf if declared.lowest is None else declared.lowest
    highest = math.inf if declared.highest is None else declared.highest
    unbounded = lowest if declared.direction == "higher" else highest
    return Metric(
        name=declared.name,
        title=declared.title,
        direction=declared.direction,
        lowest=lowest,
        highest=highest,
        worst=unbounded if declared.worst is None else declared.worst,
        unit=declared.unit,
    )


@dataclass(frozen=True, kw_only=True)
class ScoredCases:
    """One submission's scored cases by one metric: case to value."""

    metric: Metric
    values: Mapping[str, float]

    def worst_first(self) -> list[str]:
        """The cases in order, equals by name."""
        sign = 1 if self.metric.direction == "higher" else -1
        return sorted(self.values, key=lambda case: (sign * self.values[case], case))


# The plots.


def metric_exhibits(ranking: Ranking, values: Sequence[CaseValues]) -> list[Exhibit]:
    """A panel for every metric; for more than twelve metrics, maps of all and panels of the first that decide."""
    if len(values) <= MOST_PANELS:
        return [_panel(ranking, each) for each in values]
    names = [team.name for team in ranking.teams]
    return [*_maps(names, values), *(_panel(ranking, each) for each in values[:MOST_DETAILED] if each.in_schemes)]


def _panel(ranking: Ranking, each: CaseValues) -> Exhibit:
    draw = share_bars if is_yes_or_no(each.metric, list(each.filled)) else box_and_dots
    return draw(each.metric, [team.name for team in ranking.teams], list(each.filled), each.intervals)


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Metrics as families of labels: `places[(family, label)]` is the number of the metric."""

    families: Sequence[str]
    labels: Sequence[str]
    places: dict[tuple[str, str], int]


def grid_of(names: Sequence[str]) -> Grid | None:
    """`dice.liver`, `dice.spleen`, `nsd.liver`, ... as families and labels, where every family has every label."""
    for separator in _SEPARATORS:
        if not all(separator in name for name in names):
            continue
        for split in (str.partition, str.rpartition):
            parts = [split(name, separator) for name in names]
            for first, second in ((0, 2), (2, 0)):
                families = list(dict.fromkeys(part[first] for part in parts))
                labels = list(dict.fromkeys(part[second] for part in parts))
                places = {(part[first], part[second]): number for number, part in enumerate(parts)}
                if len(families) <= len(labels) and len(places) == len(families) * len(labels) == len(names):
                    return Grid(families=families, labels=labels, places=places)
    return None


def _maps(teams: Sequence[str], values: Sequence[CaseValues]) -> list[Exhibit]:
    means = np.array([each.means for each in values], dtype=np.float64).T  # [team, metric]
    grid = grid_of([each.metric.name for each in values]) or grid_of([each.metric.title for each in values])
    if grid is None:
        return [
            _map(
                "Means of all metrics",
                teams,
                values,
                numbers=range(len(values)),
                columns=[_title(each) for each in values],
                means=means,
            )
        ]
    overview = np.array(
        [[_median(means[:, grid.places[family, label]]) for family in grid.families] for label in grid.labels]
    )
    first = {family: values[grid.places[family, grid.labels[0]]] for family in grid.families}
    titles = {family: _family_title(family, grid, values) for family in grid.families}
    labels = [_spaced(label) for label in grid.labels]
    maps = [
        figure_heatmap(
            "Labels by metric",
            "The median over the teams of their mean in every label and metric; below it, the lowest and the highest.",
            labels,
            [titles[family] for family in grid.families],
            values=overview,
            directions=[first[family].metric.direction for family in grid.families],
            intervals=[
                [_range(means[:, grid.places[family, label]]) for family in grid.families] for label in grid.labels
            ],
            corner="Label",
        )
    ]
    for family in grid.families:
        numbers = [grid.places[family, label] for label in grid.labels]
        title = f"Means by label: {titles[family]}"
        maps.append(_map(title, teams, values, numbers=numbers, columns=labels, means=means))
    return maps


def _family_title(family: str, grid: Grid, values: Sequence[CaseValues]) -> str:
    """The common beginning of its titles, as in "Dice liver" and "Dice spleen"; the family's name where there is none.
    The mean over labels may have a different title."""
    words = [values[grid.places[family, label]].metric.title.split() for label in grid.labels if label != _MEAN]
    common = [column[0] for column in takewhile(lambda column: len(set(column)) == 1, zip(*words, strict=False))]
    return " ".join(common) or family


def _spaced(label: str) -> str:
    return "mean of labels" if label == _MEAN else label.replace("_", " ")


def _map(  # noqa: PLR0913  (some of the metrics, by their numbers)
    title: str,
    teams: Sequence[str],
    values: Sequence[CaseValues],
    *,
    numbers: Sequence[int],
    columns: Sequence[str],
    means: Floats,
) -> Exhibit:
    chosen = [values[number] for number in numbers]
    units = {each.metric.unit for each in chosen if each.metric.unit}
    directions = {each.metric.direction for each in chosen}
    better = f" {next(iter(directions)).capitalize()} is better." if len(directions) == 1 else ""
    unit = f" in {next(iter(units))}" if len(units) == 1 else ""
    return figure_heatmap(
        title,
        f"The mean over cases{unit} of every team above its interval; missing values count as the worst.{better}",
        teams,
        columns,
        values=means[:, list(numbers)],
        directions=[each.metric.direction for each in chosen],
        intervals=[[each.intervals[row] if each.intervals else None for each in chosen] for row in range(len(teams))],
        corner="Team",
    )


def _title(each: CaseValues) -> str:
    return f"{each.metric.title} ({each.metric.unit})" if each.metric.unit else each.metric.title


def _range(column: Floats) -> Interval | None:
    known = column[~np.isnan(column)]
    return (float(known.min()), float(known.max())) if known.size else None


def _median(column: Floats) -> float:
    known = column[~np.isnan(column)]
    return float(np.median(known)) if known.size else float("nan")
