"""Metrics of all cases together, from the facts that every row keeps of a value."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from podium.challenges.declared.catalogue.base import Declared, DeclaredCase, Figure, MetricKind, MetricSettings
from podium.challenges.declared.values import AnyValueKind, Compared
from podium.errors import ValidationProblem
from podium.figures import Figures, get
from podium.metrics.declaration import CohortMetric
from podium.metrics.resampling import Floats, Resamples

Facts = Sequence[Any]  # in the order of the cases
Compute = Callable[[Facts, Resamples], Floats]


def one_figure(_: Any, __: AnyValueKind) -> Sequence[str]:
    """Most metrics have one figure, at their own name."""
    return ("",)


@dataclass(frozen=True, kw_only=True)
class CohortValueMetric(MetricKind):
    """One or several figures of all cases, from the facts of one value.

    figure   what all of its figures share
    parts    the last parts of the figures' paths, "" for one figure
    compute  (part, settings, value) -> how that figure is computed from the facts of all cases
    fact     what a row keeps of a case for this metric, from both sides and (settings, value) [what it keeps of the
             value]
    check    what is wrong with settings that are well-formed
    """

    figure: Figure
    parts: Callable[[Any, AnyValueKind], Sequence[str]] = one_figure
    compute: Callable[[str, Any, AnyValueKind], Compute]
    fact: Callable[[Compared[Any, Any], tuple[Any, AnyValueKind]], Any] | None = None
    check: Callable[[Any, AnyValueKind], Sequence[ValidationProblem]] = lambda _, __: ()

    def problems(self, settings: Any, values: Mapping[str, AnyValueKind]) -> Sequence[ValidationProblem]:
        return [problem for value in values.values() for problem in self.check(settings, value)]

    def declare(self, settings: MetricSettings, values: Mapping[str, AnyValueKind]) -> Declared:
        declared = Declared()
        for name, value in values.items():
            place = name if len(values) > 1 else ""
            path_of_facts = name
            if self.fact is not None:
                path_of_facts = ".".join(each for each in ("facts", settings.own_name, place) if each)
                declared.facts[path_of_facts] = _bound(self.fact, settings, value)
                declared.confidential.append(path_of_facts)
            for part in self.parts(settings, value):
                path = ".".join(each for each in (settings.own_name, place, part) if each)
                words = " ".join(each for each in (value.title if place else "", part) if each).replace("_", " ")
                declared.cohort_metrics.append(
                    CohortMetric(
                        path=path,
                        title=f"{settings.title_of(self.figure)} {words}".strip(),
                        direction=self.figure.direction,
                        lowest=self.figure.lowest,
                        highest=self.figure.highest,
                        unit=self.figure.unit,
                        of=_from_rows(path_of_facts, self.compute(part, settings, value)),
                        undefined=None,
                    )
                )
                declared.columns.append(path)
        return declared


def _from_rows(path: str, compute: Compute) -> Compute:
    def of(rows: Sequence[Figures], resamples: Resamples) -> Floats:
        return compute([get(row, path) for row in rows], resamples)

    return of


def _bound(
    fact: Callable[[Compared[Any, Any], tuple[Any, AnyValueKind]], Any], settings: Any, value: AnyValueKind
) -> Callable[[DeclaredCase], Any]:
    return lambda case: fact(case.values[value.name], (settings, value))
