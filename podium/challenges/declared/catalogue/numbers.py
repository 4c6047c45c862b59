"""The catalogue of numbers and survival times."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from podium.challenges.declared.catalogue.base import DeclaredCase, Figure, MetricSettings
from podium.challenges.declared.catalogue.case_values import CaseValueMetric
from podium.challenges.declared.catalogue.cohort import CohortValueMetric, Compute, Facts
from podium.challenges.declared.values import AnyValueKind
from podium.errors import ValidationProblem
from podium.metrics import regression as number
from podium.metrics.regression import c_index
from podium.metrics.resampling import Floats, Resamples


def _needs_a_range(settings: MetricSettings, value: AnyValueKind) -> Sequence[ValidationProblem]:
    if settings.failed in ("worst", "diagonal") and value.settings.range is None:
        words = (
            f"is missing: the value '{value.name}' has no range, so say which number a case without a usable "
            'prediction counts as, or "exclude"'
        )
        return [ValidationProblem(key=("failed",), words=words)]
    return ()


def worst_number(reference: float, bounds: tuple[float, float]) -> float:
    """The end of the range that is further from the reference."""
    return max(bounds, key=lambda end: abs(end - reference))


# Figures of one case


def _absolute_error(case: DeclaredCase, value: AnyValueKind, _: MetricSettings) -> float:
    compared = case.values[value.name]
    return float(abs(compared.found - compared.reference))


def _lost_error(case: DeclaredCase, value: AnyValueKind, _: MetricSettings) -> float:
    reference: float = case.values[value.name].reference
    return abs(worst_number(reference, value.settings.range) - reference)


def _largest_error(_: Any, value: AnyValueKind) -> float | None:
    bounds = value.settings.range
    return None if bounds is None else float(bounds[1] - bounds[0])


MAE = CaseValueMetric(
    name="mae",
    definition="mean of |P - G| over the cases",
    compares=("number",),
    figure=Figure(title="MAE", direction="lower"),
    of=_absolute_error,
    lost=_lost_error,
    worst=_largest_error,
    tells=True,
    needed=" without a range of the value",
)


# Figures of all cases


def _filled(facts: Facts, settings: MetricSettings, value: AnyValueKind) -> tuple[Floats, Floats, Any]:
    """Predictions and references, and which cases count: a failed one is the worst within the range, unless `failed`
    gives a number or leaves it out."""
    reference = np.array([fact["reference"] for fact in facts], dtype=np.float64)
    prediction = np.array([fact["prediction"] for fact in facts], dtype=np.float64)
    missing = np.isnan(prediction)
    if settings.failed == "exclude":
        return prediction[~missing], reference[~missing], ~missing
    if missing.any():
        given = settings.failed
        instead = [
            given if isinstance(given, int | float) else worst_number(each, value.settings.range)
            for each in reference[missing].tolist()
        ]
        prediction[missing] = instead
    return prediction, reference, np.ones(len(reference), dtype=np.bool_)


def _of(function: Callable[..., Floats]) -> Callable[[str, MetricSettings, AnyValueKind], Compute]:
    def compute(_: str, settings: MetricSettings, value: AnyValueKind) -> Compute:
        def of(facts: Facts, resamples: Resamples) -> Floats:
            prediction, reference, kept = _filled(facts, settings, value)
            return function(prediction=prediction, reference=reference, resamples=resamples.only(kept))

        return of

    return compute


_number_metric = partial(CohortValueMetric, compares=("number",), check=_needs_a_range)
_correlation = partial(Figure, direction="higher", lowest=-1.0, highest=1.0)
NUMBER_METRICS = (
    MAE,
    _number_metric(
        name="rmse",
        definition="root of the mean of (P - G)^2 over the cases",
        figure=Figure(title="RMSE", direction="lower"),
        compute=_of(number.rmse),
    ),
    _number_metric(
        name="median_absolute_error",
        definition="median of |P - G|",
        figure=Figure(title="Median absolute error", direction="lower"),
        compute=_of(number.median_absolute_error),
    ),
    _number_metric(
        name="bias",
        definition="mean of P - G; 0 is best: rank by abs(bias), with its direction",
        figure=Figure(title="Bias", direction="lower", lowest=-math.inf),
        compute=_of(number.bias),
    ),
    _number_metric(
        name="r2",
        definition="1 - sum of (P - G)^2 / sum of (G - mean G)^2",
        figure=Figure(title="R2", direction="higher", lowest=-math.inf, highest=1.0),
        compute=_of(number.r2),
    ),
    _number_metric(
        name="pearson",
        definition="correlation of P and G",
        figure=_correlation(title="Pearson's r"),
        compute=_of(number.pearson),
    ),
    _number_metric(
        name="spearman",
        definition="correlation of the ranks of P and G",
        figure=_correlation(title="Spearman's rho"),
        compute=_of(number.spearman),
    ),
    _number_metric(
        name="icc",
        definition="ICC(2,1): two-way random, absolute agreement, single",
        figure=_correlation(title="ICC"),
        compute=_of(number.icc),
    ),
    _number_metric(
        name="ccc",
        definition="Lin's concordance correlation",
        figure=_correlation(title="CCC"),
        compute=_of(number.ccc),
    ),
)


def _c_index(_: str, settings: MetricSettings, __: AnyValueKind) -> Compute:
    def of(facts: Facts, resamples: Resamples) -> Floats:
        times = np.array([fact["time"] for fact in facts], dtype=np.float64)
        events = np.array([fact["event"] for fact in facts], dtype=np.int64) == 1
        risks = np.array([fact["prediction"] for fact in facts], dtype=np.float64)
        kept = ~np.isnan(risks)
        if settings.failed != "exclude":
            lowest, highest = (np.min(risks[kept]) - 1, np.max(risks[kept]) + 1) if kept.any() else (0.0, 0.0)
            worst = np.where(events, lowest, highest)  # an event that nobody expected, a survivor given up
            number = settings.failed if isinstance(settings.failed, int | float) else None
            risks = np.where(kept, risks, worst if number is None else number)
            kept = np.ones(len(risks), dtype=np.bool_)
        return c_index(prediction=risks[kept], times=times[kept], events=events[kept], resamples=resamples.only(kept))

    return of


C_INDEX = CohortValueMetric(
    name="c_index",
    definition="Harrell's C: the share of comparable pairs whose earlier event has the higher risk",
    compares=("survival",),
    figure=Figure(title="C-index", direction="higher", highest=1.0),
    compute=_c_index,
)
