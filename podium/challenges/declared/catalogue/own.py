"""An organiser's own metrics: metrics.py is loaded, and its declarations become kinds of the catalogue.

Settings that come from metrics.json have the declarations without the code: figures can then be named, not computed.
"""

import hashlib
import logging
import math
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from podium.challenges.board import title_of
from podium.challenges.declared.catalogue.base import (
    CaseValueMetric,
    CohortFacts,
    CohortValueMetric,
    DeclaredCase,
    MetricKind,
)
from podium.challenges.declared.catalogue.regions import FORMULA, RegionFigure, RegionMetric, RegionPair
from podium.challenges.declared.values import VALUE_KINDS, AnyValueKind, ContinuousImage, array_spacing
from podium.challenges.ground_truth import METRICS_CODE
from podium.errors import ConfigurationError, OwnMetricFailed, Refused, first_problem
from podium.kernel import deadline
from podium.metrics import Floats
from podium.metrics.declaration import Figure
from podium.own_metrics import DECLARED, KINDS_WITH_FACTS, PREPARED, OwnFigure, OwnMetric
from podium.pairing import Template
from podium.readers.files import SafeFile

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


def extra_files(
    metrics: Sequence[OwnMetric], files: Sequence[SafeFile]
) -> tuple[Mapping[str, Mapping[str, SafeFile]], Sequence[SafeFile]]:
    """The files among the references that own metrics alone see, by name and case; and the other files."""
    templates = {name: Template(text) for each in metrics for name, text in each.extra.items()}
    found: dict[str, dict[str, SafeFile]] = {name: {} for name in templates}
    for file in files:
        for name, template in templates.items():
            if (matched := template.match(file.name)) is not None:
                found[name][matched[0]] = file
    taken = {file for by_case in found.values() for file in by_case.values()}
    return found, [file for file in files if file not in taken]


def own_kind(own: OwnMetric) -> MetricKind:
    """The kind of metric that this declaration makes."""
    if own.values:
        from podium.challenges.declared.catalogue.whole_cases import whole_case_kind

        return whole_case_kind(own, tuple(VALUE_KINDS))
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
    if isinstance(found, ContinuousImage) and isinstance(expected, ContinuousImage):
        spacing = array_spacing(expected.geometry, expected.pixels.ndim)
        return _called(own, prediction=found.pixels, reference=expected.pixels, spacing_mm=spacing)
    return _called(own, prediction=found, reference=expected)


def _of_all(own: OwnMetric, cohort: CohortFacts) -> Floats:
    numbers = np.arange(len(cohort.facts))
    return np.array([_of_drawn(own, cohort, np.repeat(numbers, counts)) for counts in cohort.resamples.counts])


def _of_drawn(own: OwnMetric, cohort: CohortFacts, drawn: NDArray[np.int64]) -> float:
    return drawn_figure(own, lambda: of_facts(own, [cohort.facts[number] for number in drawn]))


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
