"""Metrics with a figure of every case that compare whole values: images, numbers, texts."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from podium.challenges.declared.catalogue.base import Declared, DeclaredCase, Figure, MetricKind, MetricSettings
from podium.challenges.declared.values import AnyValueKind
from podium.errors import ValidationProblem
from podium.metrics.declaration import CaseMetric

Of = Callable[[DeclaredCase, AnyValueKind, Any], float | None]
NoWorst = Callable[[Any, AnyValueKind], float | None]


@dataclass(frozen=True, kw_only=True)
class CaseValueMetric(MetricKind):
    """One figure of every case.

    of            (case, value, settings) -> the figure; None where it is undefined
    worst         (settings, value) -> the figure of a failed case; None where there is none by nature
    lost          (case, value, settings) -> the same where it depends on the reference
    tells         whether the figure, together with one's own prediction, gives the reference away
    needed        what a worst value would need, for the message
    check         what is wrong with settings that are well-formed
    """

    figure: Figure
    of: Of
    worst: NoWorst = lambda _, __: None
    lost: Of | None = None
    tells: bool = False
    needed: str = ""
    check: Callable[[Any, AnyValueKind], Sequence[ValidationProblem]] = lambda _, __: ()

    def problems(self, settings: Any, values: Mapping[str, AnyValueKind]) -> Sequence[ValidationProblem]:
        found = [problem for value in values.values() for problem in self.check(settings, value)]
        for value in values.values():
            undecided = self.lost is None or self.needed
            if settings.failed in ("worst", "diagonal") and undecided and self.worst(settings, value) is None:
                words = (
                    f"is missing: {self.name} has no worst value{self.needed}, so say what a case without a usable "
                    'prediction counts: a number, or "exclude"'
                )
                found.append(ValidationProblem(key=("failed",), words=words))
                break
        return found

    def declare(self, settings: MetricSettings, values: Mapping[str, AnyValueKind]) -> Declared:
        declared = Declared()
        for name, value in values.items():
            path = f"{settings.own_name}.{name}" if len(values) > 1 else settings.own_name
            title = settings.title_of(self.figure)
            worst = self._worst_number(settings, value)
            declared.metrics.append(
                CaseMetric(
                    name=path,
                    title=f"{title} {value.title}" if len(values) > 1 else title,
                    direction=self.figure.direction,
                    lowest=self.figure.lowest,
                    highest=self.figure.highest,
                    worst=worst,
                    unit=getattr(value.settings, "unit", "") or self.figure.unit,
                    median=f"{path}.median",
                    count=f"{path}.n",
                    undefined=worst if math.isfinite(worst) else None,
                    of=_bound(self.of, value, settings),
                    when_lost=self._when_lost(settings, value),
                )
            )
            declared.columns.append(f"{path}.mean")
            if self.tells:
                declared.confidential.append(path)
        return declared

    def _worst_number(self, settings: MetricSettings, value: AnyValueKind) -> float:
        given = settings.failed if isinstance(settings.failed, int | float) else self.worst(settings, value)
        if given is None:
            return self.figure.highest if self.figure.direction == "lower" else self.figure.lowest
        return min(max(float(given), self.figure.lowest), self.figure.highest)

    def _when_lost(self, settings: MetricSettings, value: AnyValueKind) -> Callable[[DeclaredCase], float | None]:
        if isinstance(settings.failed, int | float):
            number = float(settings.failed)
            return lambda _: number
        if settings.failed == "exclude":
            return lambda _: None
        if self.lost is not None:
            return _bound(self.lost, value, settings)
        worst = self.worst(settings, value)
        return lambda _: worst


def _bound(of: Of, value: AnyValueKind, settings: Any) -> Callable[[DeclaredCase], float | None]:
    return lambda case: of(case, value, settings)
