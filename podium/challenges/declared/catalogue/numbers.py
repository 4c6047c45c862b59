"""The catalogue of numbers and survival times."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.challenges.declared.catalogue.base import (
    CaseValueMetric,
    CohortValueMetric,
    Compute,
    DeclaredCase,
    Facts,
    Figure,
    MetricSettings,
)
from podium.challenges.declared.values import AnyValueKind, Compared
from podium.challenges.settings import Positive
from podium.errors import ValidationProblem
from podium.metrics import Floats, image_quality
from podium.metrics import regression as number
from podium.metrics.regression import c_index
from podium.metrics.resampling import Resamples
from podium.metrics.text import MAX_ORDER, NgramCounts, bleu_4, count_ngrams, meteor, tokens_of


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


# The catalogue of texts: BLEU-4 of all cases together, METEOR of every case; see docs/reports.md for their rules.


def _counts(compared: Compared[str, str], _: Any) -> Sequence[int]:
    """Matches and totals of every order, then the numbers of tokens; a lost text has none."""
    candidate, reference = tokens_of(compared.prediction or ""), tokens_of(compared.reference)
    found = count_ngrams(candidate=candidate, reference=reference)
    return [*found.matches, *found.totals, found.candidate_tokens, found.reference_tokens]


def _bleu(_: str, __: MetricSettings, ___: AnyValueKind) -> Compute:
    def of(facts: Facts, resamples: Resamples) -> Floats:
        totals = resamples.total(np.array(facts, dtype=np.float64))
        return np.array([bleu_4(_as_counts(row)) for row in totals.round().astype(np.int64).tolist()])

    return of


def _as_counts(row: Sequence[int]) -> NgramCounts:
    return NgramCounts(
        matches=tuple(row[:MAX_ORDER]),
        totals=tuple(row[MAX_ORDER : 2 * MAX_ORDER]),
        candidate_tokens=row[-2],
        reference_tokens=row[-1],
    )


def _meteor(case: DeclaredCase, value: AnyValueKind, _: MetricSettings) -> float:
    compared = case.values[value.name]
    return meteor(candidate=tokens_of(compared.found), reference=tokens_of(compared.reference))


TEXT_METRICS = (
    CohortValueMetric(
        name="bleu_4",
        definition="BLEU with n-grams up to 4, counts summed over all cases",
        compares=("text",),
        figure=Figure(title="BLEU-4", direction="higher", highest=1.0),
        fact=_counts,
        compute=_bleu,
    ),
    CaseValueMetric(
        name="meteor",
        definition="METEOR of exact and stem matches",
        compares=("text",),
        figure=Figure(title="METEOR", direction="higher", highest=1.0),
        of=_meteor,
        worst=lambda _, __: 0.0,
    ),
)


# The catalogue of continuous images.

_SAME_DB = 100.0  # of two equal images, whose PSNR is infinite
Pixels = NDArray[Any]


class RangedSettings(MetricSettings):
    """`data_range`: the difference of the highest and the lowest value that a pixel can have [that of the value's
    range]."""

    data_range: Positive | None = None


def _data_range(settings: RangedSettings, value: AnyValueKind) -> float:
    if settings.data_range is not None:
        return settings.data_range
    lowest, highest = value.settings.range
    return float(highest - lowest)


def _needs_a_data_range(settings: RangedSettings, value: AnyValueKind) -> Sequence[ValidationProblem]:
    if settings.data_range is None and value.settings.range is None:
        return [ValidationProblem(key=("data_range",), words=f"is missing, and the value '{value.name}' has no range")]
    return ()


def _sides(case: DeclaredCase, value: AnyValueKind) -> tuple[Pixels, Pixels, NDArray[np.bool_] | None]:
    """Both images, and where they count."""
    compared = case.values[value.name]
    within = value.settings.within
    mask = None if within is None else case.values[within].reference.labels != 0
    return compared.found.pixels, compared.reference.pixels, mask


def _confined(case: DeclaredCase, value: AnyValueKind) -> tuple[Pixels, Pixels, NDArray[np.bool_] | None]:
    """The same, clipped to the value's range where it has one, and the lowest value where they do not count."""
    prediction, reference, mask = _sides(case, value)
    if value.settings.range is None:
        return prediction, reference, mask
    lowest, highest = value.settings.range
    prediction, reference = (
        image_quality.confined(each, lowest=lowest, highest=highest, within=mask) for each in (prediction, reference)
    )
    return prediction, reference, mask


def _mae(case: DeclaredCase, value: AnyValueKind, _: MetricSettings) -> float | None:
    prediction, reference, within = _sides(case, value)
    return image_quality.mae(prediction=prediction, reference=reference, within=within)


def _rmse(case: DeclaredCase, value: AnyValueKind, _: MetricSettings) -> float | None:
    prediction, reference, within = _sides(case, value)
    return image_quality.rmse(prediction=prediction, reference=reference, within=within)


def _psnr(case: DeclaredCase, value: AnyValueKind, settings: RangedSettings) -> float | None:
    prediction, reference, within = _confined(case, value)
    found = image_quality.psnr(
        prediction=prediction, reference=reference, within=within, data_range=_data_range(settings, value)
    )
    return _SAME_DB if found == math.inf else found


def _ssim(case: DeclaredCase, value: AnyValueKind, settings: RangedSettings) -> float | None:
    prediction, reference, within = _confined(case, value)
    return image_quality.ssim(
        prediction=prediction, reference=reference, within=within, data_range=_data_range(settings, value)
    )


def _ms_ssim(case: DeclaredCase, value: AnyValueKind, settings: RangedSettings) -> float | None:
    prediction, reference, within = _confined(case, value)
    return image_quality.ms_ssim(
        prediction=prediction, reference=reference, within=within, data_range=_data_range(settings, value)
    )


def _lost_differences(case: DeclaredCase, value: AnyValueKind) -> Pixels:
    """Of the worst image there is: every pixel at the end of the range that is further off; without a range, of the
    reference's own range."""
    reference: Pixels = case.values[value.name].reference.pixels.astype(np.float64)
    within = value.settings.within
    if within is not None:
        reference = reference[case.values[within].reference.labels != 0]
    if not reference.size:
        return reference
    lowest, highest = value.settings.range or (reference.min(), reference.max())
    return np.asarray(np.maximum(np.abs(reference - lowest), np.abs(reference - highest)))


def _lost_mae(case: DeclaredCase, value: AnyValueKind, _: MetricSettings) -> float | None:
    differences = _lost_differences(case, value)
    return float(differences.mean()) if differences.size else None


def _lost_rmse(case: DeclaredCase, value: AnyValueKind, _: MetricSettings) -> float | None:
    differences = _lost_differences(case, value)
    return math.sqrt(float(np.square(differences).mean())) if differences.size else None


_OF_IMAGES = ("image",)
IMAGE_METRICS = (
    CaseValueMetric(
        name="mae",
        definition="mean of |P - G| over the pixels",
        compares=_OF_IMAGES,
        figure=Figure(title="MAE", direction="lower"),
        of=_mae,
        lost=_lost_mae,
    ),
    CaseValueMetric(
        name="rmse",
        definition="root of the mean of (P - G)^2 over the pixels",
        compares=_OF_IMAGES,
        figure=Figure(title="RMSE", direction="lower"),
        of=_rmse,
        lost=_lost_rmse,
    ),
    CaseValueMetric(
        name="psnr",
        definition="20 log10(data_range / RMSE); 100 for equal images",
        compares=_OF_IMAGES,
        settings_model=RangedSettings,
        figure=Figure(title="PSNR", direction="higher", lowest=-math.inf, unit="dB"),
        of=_psnr,
        worst=lambda _, __: 0.0,
        check=_needs_a_data_range,
    ),
    CaseValueMetric(
        name="ssim",
        definition="structural similarity, as scikit-image defines it (cube of 7 pixels)",
        compares=_OF_IMAGES,
        settings_model=RangedSettings,
        figure=Figure(title="SSIM", direction="higher", lowest=-1.0, highest=1.0),
        of=_ssim,
        worst=lambda _, __: -1.0,
        check=_needs_a_data_range,
    ),
    CaseValueMetric(
        name="ms_ssim",
        definition="structural similarity at five scales with MONAI's weights",
        compares=_OF_IMAGES,
        settings_model=RangedSettings,
        figure=Figure(title="MS-SSIM", direction="higher", highest=1.0),
        of=_ms_ssim,
        worst=lambda _, __: 0.0,
        check=_needs_a_data_range,
    ),
)
