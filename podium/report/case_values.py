"""The per-case figures of a ranking as arrays, ready for plots."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from podium.metrics.declaration import Metric
from podium.ranking.positions import Ranks, case_positions
from podium.ranking.result import CaseMetricResult, Intervals, Ranking, Row
from podium.report.plots.summary import drawable


@dataclass(frozen=True, eq=False)
class CaseValues:
    """One metric over (teams, cases).

    filled     the worst value where a team has no value; NaN where no team has one, or the worst value is infinite
    means      [team], as the ranking has them: None where a worst value is infinite; `intervals` of them
    ranks      of the teams in every case, as the general schemes count them: teams without a value are last
    in_schemes whether the general schemes rank by it
    """

    metric: Metric
    filled: NDArray[np.float64]
    ranks: Ranks
    in_schemes: bool
    means: Row
    intervals: Intervals | None

    @property
    def defined(self) -> NDArray[np.bool_]:
        """The cases where at least one team has a value."""
        return np.asarray(~np.isnan(self.filled).all(axis=0))


def case_values(ranking: Ranking) -> list[CaseValues]:
    """Every per-case metric that at least one team has a value in, those the schemes rank by first."""
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
    """The declaration, its infinite bounds restored (JSON has none)."""
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
