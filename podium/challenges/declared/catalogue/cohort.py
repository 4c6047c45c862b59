"""Metrics of all cases together, from the facts that every row keeps of a value."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from podium.challenges.board import title_of
from podium.challenges.declared.catalogue.base import Declared, Figure, MetricKind, MetricSettings
from podium.challenges.declared.values import AnyValueKind
from podium.figures import Figures
from podium.metrics.declaration import CohortMetric
from podium.metrics.resampling import Floats, Resamples

Facts = Sequence[Figures]  # of one value, in the order of the cases
Compute = Callable[[Facts, Resamples], Floats]


def one_figure(_: Any, __: AnyValueKind) -> Sequence[str]:
    """Most metrics have one figure, at their own name."""
    return ("",)


@dataclass(frozen=True, kw_only=True)
class CohortValueMetric(MetricKind):
    """One or several figures of all cases, from the facts of one value.

    figure   what all of its figures share
    parts    the last parts of the figures' paths, "" for one figure
    compute  (part, settings, value) -> how that figure is computed from the value's facts
    """

    figure: Figure
    parts: Callable[[Any, AnyValueKind], Sequence[str]] = one_figure
    compute: Callable[[str, Any, AnyValueKind], Compute]

    def declare(self, settings: MetricSettings, values: Mapping[str, AnyValueKind]) -> Declared:
        declared = Declared()
        for name, value in values.items():
            place = name if len(values) > 1 else ""
            for part in self.parts(settings, value):
                path = ".".join(each for each in (settings.own_name, place, part) if each)
                words = " ".join(each for each in (value.title if place else "", part) if each).replace("_", " ")
                declared.cohort_metrics.append(
                    CohortMetric(
                        path=path,
                        title=f"{settings.title or title_of(self.figure.title)} {words}".strip(),
                        direction=self.figure.direction,
                        lowest=self.figure.lowest,
                        highest=self.figure.highest,
                        unit=self.figure.unit,
                        of=_from_rows(name, self.compute(part, settings, value)),
                        undefined=None,
                    )
                )
                declared.columns.append(path)
        return declared


def _from_rows(value: str, compute: Compute) -> Compute:
    def of(rows: Sequence[Figures], resamples: Resamples) -> Floats:
        return compute([row[value] for row in rows], resamples)

    return of
