"""An organiser's own metrics of whole cases: functions that see all values of a case, organiser-only files and facts.

A function is given those of these that it names: `predictions` and `references` by value (arrays of images, else what
`metric` gets), `extra` (paths by name), `spacing_mm` of the first image, `facts` (the case's row of cases.csv),
`prepared`, and its parameters.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from inspect import signature
from typing import Any

import numpy as np
from pydantic import create_model

from podium.challenges.board import title_of
from podium.challenges.declared.catalogue.base import (
    NO_REFERENCE,
    Declared,
    DeclaredCase,
    MetricKind,
    MetricSettings,
    joined_path,
    needs_failed,
    outside,
    referenced,
)
from podium.challenges.declared.catalogue.own import call_own, checked_figure, drawn_figure, figure_of
from podium.challenges.declared.values import AnyValueKind, ContinuousImage, LabelImage, array_spacing
from podium.errors import ValidationProblem, did_you_mean
from podium.figures import Figures
from podium.metrics import Floats
from podium.metrics.declaration import CaseMetric, CohortMetric, Figure, Reason
from podium.metrics.engines import MetricEngine
from podium.metrics.resampling import Resamples
from podium.own_metrics import PARAMETERS, OwnMetric


def whole_case_kind(own: OwnMetric, compares: Sequence[str]) -> "WholeCaseMetric":
    """The kind of metric that this declaration makes; its parameters are keys of `[[metrics]]`."""
    keys: Any = {name: (PARAMETERS[kind], ...) for name, kind in own.parameters.items()}
    model = create_model("WholeCaseSettings", __base__=MetricSettings, **keys)
    definition = f"{own.kind} of the challenge's metrics.py"
    return WholeCaseMetric(
        name=own.kind, definition=definition, compares=tuple(compares), settings_model=model, own=own
    )


@dataclass(frozen=True, kw_only=True)
class WholeCaseMetric(MetricKind):
    """A metric of the values that its declaration names."""

    own: OwnMetric

    def problems(self, settings: Any, values: Mapping[str, AnyValueKind]) -> Sequence[ValidationProblem]:
        words = "is a metric of the value '{}', which does not exist{}"
        unknown = [words.format(name, did_you_mean(name, values)) for name in self.own.values if name not in values]
        found = [ValidationProblem(key=("kind",), words=each) for each in unknown]
        if settings.of is not None:
            found.append(ValidationProblem(key=("of",), words="is not for a metric whose declaration names its values"))
        for figure in self._figures(settings).values() if self.own.scope == "case" else ():
            if isinstance(failed := self._failed(settings, figure), str) or not math.isfinite(failed):
                found.append(needs_failed(self.name, "", "a number"))
            else:
                found += outside(failed, figure)
        return found

    def declare(self, settings: Any, values: Mapping[str, AnyValueKind], engine: MetricEngine) -> Declared:  # noqa: ARG002
        declared = Declared()
        of, facts = frozenset(self.own.values), joined_path("facts", settings.own_name)
        for part, figure in self._figures(settings).items():
            path = joined_path(settings.own_name, part)
            if self.own.scope == "cohort":
                compute = partial(self._of_all, settings, facts)
                declared.cohort_metrics.append(
                    CohortMetric(path=path, compute=compute, title=figure.title, **figure.scale)
                )
                declared.facts[facts] = self.own.values[0], partial(self._of_case, settings)
                declared.columns.append(path)
                continue
            failed = self._failed(settings, figure)
            failed = failed if isinstance(failed, float) else math.inf  # which `problems` refuses
            metric: CaseMetric[DeclaredCase] = CaseMetric(
                name=path,
                title=figure.title,
                **figure.scale,
                worst=failed,
                of=of,
                median=f"{path}.median",
                count=f"{path}.n",
                compute=partial(self._figure, settings, part, failed),
            )
            declared.metrics.append(metric)
            declared.columns.append(metric.mean_path)
            scalar = [name for name in self.own.values if values[name].settings.kind not in ("labels", "image")]
            declared.confidential += [path] if scalar else []
        return declared

    def run(self, settings: Any, case: DeclaredCase) -> None:
        """Call the organiser's function; Refused where it refuses what it sees."""
        if self.own.scope == "case":
            self.results(settings, case)
        else:
            self._of_case(settings, case)

    def _failed(self, settings: Any, figure: Figure) -> float | str:
        """The figure of a case that lacks a value: of several figures, those with a worst value have that."""
        worst = figure.lowest if figure.direction == "higher" else figure.highest
        if settings.failed == "worst" or (self.own.figures and math.isfinite(worst)):
            return worst
        return settings.failed if isinstance(settings.failed, str) else float(settings.failed)

    def _figures(self, settings: Any) -> Mapping[str, Figure]:
        """By the last part of the path; each with its own unit and title."""
        named = {name: figure_of(each, title_of(name)) for name, each in self.own.figures.items()}
        return named or {"": figure_of(self.own, settings.title or title_of(settings.own_name))}

    def _figure(self, settings: Any, part: str, failed: float, case: DeclaredCase) -> float | Reason | None:
        if not case.values.keys() >= {*self.own.values}:
            return "reference_empty"
        return self.results(settings, case)[part] if self.sees_all(case) else failed

    def sees_all(self, case: DeclaredCase) -> bool:
        """Whether there is a reference and a prediction of all values."""
        return all(name in case.values and not case.values[name].is_missing for name in self.own.values)

    def results(self, settings: Any, case: DeclaredCase) -> Mapping[str, float | None]:
        """All figures of a case, computed once."""
        key = settings.own_name
        if key not in case.own:
            declared = self.own.figures or {"": self.own}

            def figures() -> Mapping[str, float | None]:
                given = self._call(settings, case)
                found = given if self.own.figures else {"": given}
                if {*found} != {*declared}:
                    raise ValueError(f"it returns {sorted(found)} instead of {sorted(declared)}")
                return {name: checked_figure(each, found[name]) for name, each in declared.items()}

            case.own[key] = call_own(self.own, figures)
        found: Mapping[str, float | None] = case.own[key]
        return found

    def _of_case(self, settings: Any, case: DeclaredCase) -> Any:
        """What a row keeps of a case for a metric of all cases."""
        if not case.values.keys() >= {*self.own.values}:
            return NO_REFERENCE
        return call_own(self.own, lambda: self._call(settings, case)) if self.sees_all(case) else None

    def _call(self, settings: Any, case: DeclaredCase) -> Any:
        function = self.own.of_case or self.own.function
        if function is None:
            raise KeyError(self.own.kind)
        given = _seen(case, self.own.values) | {name: getattr(settings, name) for name in self.own.parameters}
        return function(**{name: given[name] for name in signature(function).parameters if name in given})

    def _of_all(self, settings: Any, path: str, rows: Sequence[Figures], resamples: Resamples) -> Floats:
        if (function := self.own.function) is None:
            raise KeyError(self.own.kind)
        facts, drawn = referenced(rows, path, resamples)
        wanted = signature(function).parameters
        given = {name: getattr(settings, name) for name in self.own.parameters if name in wanted}
        figures = [
            drawn_figure(self.own, partial(function, [facts[number] for number in kept.tolist()], **given))
            for kept in (np.repeat(np.arange(len(facts)), counts) for counts in drawn.counts)
        ]
        return np.array(figures)


def _plain(value: Any) -> Any:
    return (
        value.labels if isinstance(value, LabelImage) else value.pixels if isinstance(value, ContinuousImage) else value
    )


def _seen(case: DeclaredCase, values: Sequence[str]) -> dict[str, Any]:
    """What a function may see of a case."""
    compared = {name: case.values[name] for name in values}
    images = [each.reference for each in compared.values() if isinstance(each.reference, LabelImage | ContinuousImage)]
    return {
        "predictions": {name: _plain(each.prediction) for name, each in compared.items()},
        "references": {name: _plain(each.reference) for name, each in compared.items()},
        "spacing_mm": array_spacing(images[0].geometry, _plain(images[0]).ndim) if images else None,
        "extra": case.extra,
        "facts": case.facts,
        "prepared": case.prepared,
    }


def prepare_own(own: OwnMetric, case: DeclaredCase) -> Any:
    """What the organiser's `prepare` returns for a reference; None without one."""
    if (function := own.prepare) is None:
        return None
    given = _seen(case, [*case.values])
    wanted = [name for name in signature(function).parameters if name in given]
    return call_own(own, lambda: function(**{name: given[name] for name in wanted}))
