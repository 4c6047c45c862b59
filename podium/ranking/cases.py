"""The single cases of all teams as arrays: what the general schemes rank by."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from podium.metrics import Floats
from podium.metrics.declaration import Metric


@dataclass(frozen=True, kw_only=True)
class CaseTable:
    """One metric of all teams: `values[team, case]` as in the files, NaN where a team has no value."""

    metric: Metric
    values: Floats

    @property
    def defined(self) -> NDArray[np.bool_]:
        """The cases where at least one team has a value.

        Where no team has one the metric is undefined (Dice where the reference is empty), and there is nothing to
        rank; where some team has one, it is missing for the teams without one.
        """
        return np.asarray(~np.isnan(self.values).all(axis=0))

    def filled(self) -> Floats:
        """The defined cases, a missing value being the metric's worst."""
        values = self.values[:, self.defined]
        return np.where(np.isnan(values), self.metric.worst, values)

    def gains(self) -> Floats:
        """`filled`, turned so that larger is better."""
        return self.filled() if self.metric.direction == "higher" else -self.filled()


def case_table(metric: Metric, rows: Sequence[Sequence[float | None]]) -> CaseTable:
    """From `rows[team][case]`, None where a team has no value."""
    return CaseTable(metric=metric, values=np.array(rows, dtype=np.float64).reshape(len(rows), -1))
