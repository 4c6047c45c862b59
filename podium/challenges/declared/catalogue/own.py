"""An organiser's own metrics: metrics.py is loaded, and its declarations become kinds of the catalogue.

Settings that come from metrics.json have the declarations without the code: figures can then be named, not computed.
"""

import hashlib
import logging
import math
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from inspect import signature
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import numpy as np
from pydantic import ValidationError, create_model

from podium.challenges.board import title_of
from podium.challenges.declared.catalogue.base import (
    NO_REFERENCE,
    CaseValueMetric,
    CohortFacts,
    CohortValueMetric,
    Declared,
    DeclaredCase,
    MetricKind,
    MetricSettings,
    joined_path,
    needs_failed,
    outside,
    referenced,
)
from podium.challenges.declared.catalogue.regions import FORMULA, RegionFigure, RegionMetric, RegionPair
from podium.challenges.declared.values import VALUE_KINDS, AnyValueKind
from podium.challenges.ground_truth import METRICS_CODE
from podium.challenges.samples import CaseImage
from podium.errors import ConfigurationError, OwnMetricFailed, Refused, ValidationProblem, did_you_mean, first_problem
from podium.figures import Figures
from podium.kernel import deadline
from podium.metrics import Floats
from podium.metrics.declaration import CaseMetric, CohortMetric, Figure, Reason
from podium.metrics.engines import MetricEngine
from podium.metrics.resampling import Resamples
from podium.own_metrics import DECLARED, KINDS_WITH_FACTS, PARAMETERS, PREPARED, OwnFigure, OwnMetric

LOG = logging.getLogger(__name__)
Found = TypeVar("Found")
_IMPORT_SECONDS = 120.0  # of metrics.py, with the packages that it imports


def load_own_metrics(path: Path) -> Sequence[OwnMetric]:
    """The metrics that a metrics.py declares, in its order; ConfigurationError where it cannot be run.

    The organiser's code is trusted, as the references are, but neither an endless one nor `sys.exit` may pass for a
    result. It runs where cases are scored or checked, and nowhere else: everything that reads metrics.json takes the
    declarations from there.
    """
    try:
        source = path.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"{path.name} cannot be read: {error.strerror}.", detail=str(path)) from None
    module = ModuleType("podium_challenge_metrics")
    module.__file__ = str(path)
    DECLARED.clear()
    PREPARED.clear()
    try:
        with deadline(_IMPORT_SECONDS):
            exec(compile(source, str(path), "exec"), module.__dict__)  # noqa: S102  (the organiser's own code)
    except ValidationError as error:
        raise _refusal(path, error, f"a metric is declared wrongly: {first_problem(error)}") from None
    except SyntaxError as error:
        where = f", line {error.lineno}" if error.lineno else ""
        raise ConfigurationError(f"{path.name}{where} is not valid Python: {error.msg}.", detail=str(path)) from None
    except (Exception, SystemExit) as error:  # whatever the organiser's code raises
        raise _refusal(path, error, f"it raises {_named(error)}") from None
    digest = hashlib.sha256(source).hexdigest()
    if not DECLARED:
        raise ConfigurationError(f"{path.name} declares no metric; decorate its functions.", detail=str(path))
    code = {"code": digest, "prepare": PREPARED[-1] if PREPARED else None}
    return [each.model_copy(update=code) for each in DECLARED]


def _refusal(path: Path, error: BaseException, words: str) -> ConfigurationError:
    return ConfigurationError(_sentence(path.name, error, words), detail="".join(traceback.format_exception(error)))


def _sentence(file: str, error: BaseException, words: str) -> str:
    """`metrics.py, line 7: ...`, where the line is the organiser's last one that was run."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename).name == file]
    where = f", line {lines[-1]}" if lines else ""
    return f"{file}{where}: {words.removesuffix('.')}."


def _named(error: BaseException) -> str:
    """`KeyError: 'x'`; an assertion may have no text."""
    return f"{type(error).__name__}: {error}".removesuffix(": ")


def own_kind(own: OwnMetric) -> MetricKind:
    """The kind of metric that this declaration makes."""
    if own.values:
        return whole_case_kind(own)
    shared: dict[str, Any] = {"name": own.kind, "definition": f"{own.kind} of the challenge's metrics.py"}
    if own.scope != "cohort" and own.is_of_regions:
        return RegionMetric(**shared, figures={"": _region_figure(own)})
    shared |= {"compares": own.compares, "figure": figure_of(own, title_of(own.kind))}
    if own.scope == "cohort":
        return CohortValueMetric(**shared, compute=lambda cohort: _of_all(own, cohort))
    worst = own.worst_value
    assert worst != "diagonal"
    return CaseValueMetric(
        **shared,
        compute=lambda case, value, _: _of_values(own, case, value),
        worst=lambda _, __: worst,
        has_unit=False,
        reveals_reference=bool({*KINDS_WITH_FACTS} & {*own.compares}),
    )


def figure_of(own: OwnFigure, title: str) -> Figure:
    """What the declaration says of a figure; by default with this title and without a bound."""
    return Figure(
        title=own.title or title,
        direction=own.direction,
        lowest=-math.inf if own.lowest is None else own.lowest,
        highest=math.inf if own.highest is None else own.highest,
        unit=own.unit,
    )


def _region_figure(own: OwnMetric) -> RegionFigure[Any]:
    emptinesses = ("both_empty", "prediction_empty", "reference_empty")
    policies: dict[str, Any] = {
        each: FORMULA if (given := getattr(own, each)) is None else given for each in emptinesses
    }
    figure = figure_of(own, title_of(own.kind))
    return RegionFigure(
        title=figure.title,
        **figure.scale,
        compute=lambda pair, _: _of_region(own, pair),
        worst=own.worst_value,
        **policies,
    )


def checked_figure(own: OwnFigure, found: Any) -> float | None:
    """A finite number within its range, or None. NaN is an error too: a submission that provokes 0 / 0, say by an empty
    mask, must not drop out of the mean."""
    value = None if found is None else float(found)
    if value is not None and not (math.isfinite(value) and own.holds(value)):
        raise ValueError(f"its value is {value}, outside of its declared range")
    return value


def call_own(own: OwnMetric, compute: Callable[[], Found]) -> Found:
    """What the organiser's code gives. An error of it fails the case, and its reason is for the organiser alone;
    `Refused` is for the participant."""
    try:
        return compute()
    except (MemoryError, Refused):
        raise  # of a prediction that is too large, or that the organiser refuses
    except (Exception, SystemExit) as error:  # whatever the organiser's code raises
        raise OwnMetricFailed(
            f"The challenge's own metric '{own.kind}' raised {type(error).__name__}",
            detail=_sentence(METRICS_CODE, error, f"the metric '{own.kind}' raises {_named(error)}"),
        ) from error


def _called(own: OwnMetric, **arguments: Any) -> float | None:
    if (function := own.function) is None:
        raise KeyError(own.kind)  # as for a row without the facts: it cannot be computed again
    return call_own(own, lambda: checked_figure(own, function(**arguments)))


def _of_region(own: OwnMetric, pair: RegionPair) -> float | None:
    shape = pair.region.reference_labels.shape
    whole = replace(pair.region, box=tuple(slice(0, length) for length in shape))
    prediction, reference = whole.masks()
    return _called(own, prediction=prediction, reference=reference, spacing_mm=pair.spacing)


def _of_values(own: OwnMetric, case: DeclaredCase, value: AnyValueKind) -> float | None:
    compared = case.values[value.name]
    found, expected = compared.found, compared.reference
    if isinstance(expected, CaseImage):
        return _called(own, prediction=found.pixels, reference=expected.pixels, spacing_mm=expected.spacing)
    return _called(own, prediction=found, reference=expected)


def _of_all(own: OwnMetric, cohort: CohortFacts) -> Floats:
    numbers = np.arange(len(cohort.facts))
    drawn = (np.repeat(numbers, counts).tolist() for counts in cohort.resamples.counts)
    facts = ([cohort.facts[number] for number in each] for each in drawn)
    return np.array([drawn_figure(own, partial(of_facts, own, each)) for each in facts])


def drawn_figure(own: OwnMetric, compute: Callable[[], Any]) -> float:
    """A figure of all cases: NaN where it has no value, or the organiser's code fails."""
    if own.function is None:
        raise KeyError(own.kind)
    try:
        found = call_own(own, lambda: checked_figure(own, compute()))
    except (Refused, MemoryError) as error:  # no submission may lose its other figures over it
        reason = _named(error.__cause__ or error)
        LOG.info("undefined: the metric '%s' of metrics.py failed over all cases: %s", own.kind, reason)
        return math.nan
    return math.nan if found is None else found


def of_facts(own: OwnMetric, facts: Sequence[Mapping[str, Any]]) -> float | None:
    """A metric of all cases, of what their rows keep of its value; Refused where the organiser's code fails."""
    predictions = [fact["prediction"] for fact in facts]
    return _called(own, predictions=predictions, references=[_reference(fact) for fact in facts])


def _reference(fact: Mapping[str, Any]) -> Any:
    return fact["reference"] if "reference" in fact else {"time": fact["time"], "event": fact["event"]}


# Metrics of whole cases: functions that see all values of a case, organiser-only files and facts.
#
# A function is given those of these that it names: `predictions` and `references` by value (arrays of images, else what
# `metric` gets), `extra` (paths by name), `spacing_mm` of the first image, `facts` (the case's row of cases.csv),
# `prepared`, and its parameters.


def whole_case_kind(own: OwnMetric) -> "WholeCaseMetric":
    """The kind of metric that this declaration makes; its parameters are keys of `[[metrics]]`."""
    keys: Any = {name: (PARAMETERS[kind], ...) for name, kind in own.parameters.items()}
    model = create_model("WholeCaseSettings", __base__=MetricSettings, **keys)
    definition = f"{own.kind} of the challenge's metrics.py"
    return WholeCaseMetric(name=own.kind, definition=definition, compares=VALUE_KINDS, settings_model=model, own=own)


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
    return value.pixels if isinstance(value, CaseImage) else value


def _seen(case: DeclaredCase, values: Sequence[str]) -> dict[str, Any]:
    """What a function may see of a case."""
    compared = {name: case.values[name] for name in values}
    images = [each.reference for each in compared.values() if isinstance(each.reference, CaseImage)]
    return {
        "predictions": {name: _plain(each.prediction) for name, each in compared.items()},
        "references": {name: _plain(each.reference) for name, each in compared.items()},
        "spacing_mm": images[0].spacing if images else None,
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
