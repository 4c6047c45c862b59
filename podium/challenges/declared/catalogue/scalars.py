"""The catalogue of numbers and of survival times: one number per case."""

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from podium.challenges.declared.catalogue.base import (
    CaseValueMetric,
    CohortArrays,
    CohortFacts,
    CohortValueMetric,
    DeclaredCase,
    MetricSettings,
    length_of_range,
    needs_failed,
)
from podium.challenges.declared.values import AnyValueKind
from podium.errors import ValidationProblem
from podium.metrics import Floats, regression
from podium.metrics.declaration import Figure


def _needs_a_range(settings: MetricSettings, value: AnyValueKind) -> Sequence[ValidationProblem]:
    is_undecided = settings.failed == "worst" and value.settings.range is None
    return [needs_failed(settings.kind, f" without a range of '{value.name}'", "a number")] if is_undecided else ()


def _furthest(reference: float, bounds: tuple[float, float]) -> float:
    """The end of the range that is further from the reference."""
    return max(bounds, key=lambda end: abs(end - reference))


def _absolute_error(case: DeclaredCase, value: AnyValueKind, _: MetricSettings) -> float:
    compared = case.values[value.name]
    return float(abs(compared.found - compared.reference))


def _missing_error(case: DeclaredCase, value: AnyValueKind, _: MetricSettings) -> float:
    reference: float = case.values[value.name].reference
    return abs(_furthest(reference, value.settings.range) - reference)


def _arrays(cohort: CohortFacts) -> CohortArrays:
    """Predictions and references. A failed case has the worst number within the range, unless `failed` gives one."""
    reference = np.array([fact["reference"] for fact in cohort.facts], dtype=np.float64)
    prediction = np.array([fact["prediction"] for fact in cohort.facts], dtype=np.float64)
    missing = np.isnan(prediction)
    if missing.any():
        given = cohort.settings.failed
        prediction[missing] = [
            given if isinstance(given, int | float) else _furthest(each, cohort.value.settings.range)
            for each in reference[missing].tolist()
        ]
    return {"prediction": prediction, "reference": reference, "resamples": cohort.resamples}


def _number_metric(
    compute: Callable[..., Floats], definition: str, figure: Figure, undefined_when: str = ""
) -> CohortValueMetric:
    """A metric of all cases, named like its function."""
    return CohortValueMetric(
        name=compute.__name__,
        definition=definition,
        compares=("number",),
        failed="a number",
        check=_needs_a_range,
        figure=figure,
        undefined_when=undefined_when,
        compute=lambda cohort: compute(**_arrays(cohort)),
    )


_error = partial(Figure, direction="lower")
_correlation = partial(Figure, direction="higher", lowest=-1.0, highest=1.0)
_EQUAL = "where all references are equal"
_NUMBER_METRICS = (
    CaseValueMetric(
        name="mae",
        definition="mean of |P - G| over the cases",
        compares=("number",),
        figure=_error(title="MAE"),
        compute=_absolute_error,
        when_missing=_missing_error,
        worst=length_of_range,
        reveals_reference=True,
        needed=" without a range of the value",
    ),
    _number_metric(regression.rmse, "root of the mean of (P - G)^2 over the cases", _error(title="RMSE")),
    _number_metric(regression.median_absolute_error, "median of |P - G|", _error(title="Median absolute error")),
    _number_metric(
        regression.bias,
        "mean of P - G; 0 is best: rank by abs(bias), with its direction",
        _error(title="Bias", lowest=-math.inf),
    ),
    _number_metric(
        regression.r2,
        "1 - sum of (P - G)^2 / sum of (G - mean G)^2",
        Figure(title="R2", direction="higher", lowest=-math.inf, highest=1.0),
    ),
    _number_metric(regression.pearson, "correlation of P and G", _correlation(title="Pearson's r"), _EQUAL),
    _number_metric(
        regression.spearman, "correlation of the ranks of P and G", _correlation(title="Spearman's rho"), _EQUAL
    ),
    _number_metric(
        regression.icc, "ICC(2,1): two-way random, absolute agreement, single", _correlation(title="ICC"), _EQUAL
    ),
    _number_metric(regression.ccc, "Lin's concordance correlation", _correlation(title="CCC"), _EQUAL),
)


# Survival times


def _c_index(cohort: CohortFacts) -> Floats:
    times = np.array([fact["time"] for fact in cohort.facts], dtype=np.float64)
    events = np.array([fact["event"] for fact in cohort.facts], dtype=np.int64) == 1
    risks = np.array([fact["prediction"] for fact in cohort.facts], dtype=np.float64)
    failed = cohort.settings.failed
    if isinstance(failed, int | float):
        risks = np.where(np.isnan(risks), failed, risks)
    return regression.c_index(
        prediction=risks * (1 if cohort.value.settings.prediction == "risk" else -1),
        times=times,
        events=events,
        resamples=cohort.resamples,
    )


_C_INDEX = CohortValueMetric(
    name="c_index",
    definition="Harrell's C: the share of comparable pairs whose earlier event has the higher risk, or the shorter "
    "predicted time; a missing case is wrong in all of its pairs",
    compares=("survival",),
    figure=Figure(title="C-index", direction="higher", highest=1.0),
    failed="a number",
    undefined_when="without an event that another case outlived",
    compute=_c_index,
)


METRICS = (*_NUMBER_METRICS, _C_INDEX)
