"""The catalogue of numbers, survival times, continuous images and texts."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from podium.challenges.declared.catalogue.base import (
    CaseValueMetric,
    CohortArrays,
    CohortFacts,
    CohortValueMetric,
    DeclaredCase,
    MetricSettings,
)
from podium.challenges.declared.values import AnyValueKind
from podium.challenges.settings import Positive
from podium.errors import ValidationProblem
from podium.metrics import Floats, Mask, image_quality, regression
from podium.metrics.declaration import Figure
from podium.metrics.text import MAX_ORDER, NgramCounts, bleu_4, count_ngrams, meteor, tokens_of

Pixels = NDArray[Any]
_SAME_DB = 100.0  # of two equal images, whose PSNR is infinite


# Numbers


def _needs_a_range(settings: MetricSettings, value: AnyValueKind) -> Sequence[ValidationProblem]:
    if settings.failed in ("worst", "diagonal") and value.settings.range is None:
        words = (
            f"is missing: the value '{value.name}' has no range, so say which number a case without a usable "
            'prediction counts as, or "exclude"'
        )
        return [ValidationProblem(key=("failed",), words=words)]
    return ()


def _furthest(reference: float, bounds: tuple[float, float]) -> float:
    """The end of the range that is further from the reference."""
    return max(bounds, key=lambda end: abs(end - reference))


def _absolute_error(case: DeclaredCase, value: AnyValueKind, _: MetricSettings) -> float:
    compared = case.values[value.name]
    return float(abs(compared.found - compared.reference))


def _lost_error(case: DeclaredCase, value: AnyValueKind, _: MetricSettings) -> float:
    reference: float = case.values[value.name].reference
    return abs(_furthest(reference, value.settings.range) - reference)


def _largest_error(_: Any, value: AnyValueKind) -> float | None:
    bounds = value.settings.range
    return None if bounds is None else float(bounds[1] - bounds[0])


def _arrays(cohort: CohortFacts) -> CohortArrays:
    """Predictions and references of the cases that count.

    A failed case has the worst number within the range, unless `failed` gives a number or leaves the case out.
    """
    reference = np.array([fact["reference"] for fact in cohort.facts], dtype=np.float64)
    prediction = np.array([fact["prediction"] for fact in cohort.facts], dtype=np.float64)
    missing = np.isnan(prediction)
    if cohort.settings.failed == "exclude":
        kept = ~missing
        return {"prediction": prediction[kept], "reference": reference[kept], "resamples": cohort.resamples.only(kept)}
    if missing.any():
        given = cohort.settings.failed
        prediction[missing] = [
            given if isinstance(given, int | float) else _furthest(each, cohort.value.settings.range)
            for each in reference[missing].tolist()
        ]
    return {"prediction": prediction, "reference": reference, "resamples": cohort.resamples}


def _number_metric(
    of: Callable[..., Floats], definition: str, figure: Figure, no_value_if: str = ""
) -> CohortValueMetric:
    """A metric of all cases, named like its function."""
    return CohortValueMetric(
        name=of.__name__,
        definition=definition,
        compares=("number",),
        check=_needs_a_range,
        figure=figure,
        no_value_if=no_value_if,
        of=lambda cohort: of(**_arrays(cohort)),
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
        of=_absolute_error,
        lost=_lost_error,
        worst=_largest_error,
        tells=True,
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
    kept = np.asarray(~np.isnan(risks) | (failed != "exclude"))
    return regression.c_index(
        prediction=risks[kept] * (1 if cohort.value.settings.prediction == "risk" else -1),
        times=times[kept],
        events=events[kept],
        resamples=cohort.resamples.only(kept),
    )


_C_INDEX = CohortValueMetric(
    name="c_index",
    definition="Harrell's C: the share of comparable pairs whose earlier event has the higher risk, or the shorter "
    "predicted time; a missing case is wrong in all of its pairs",
    compares=("survival",),
    figure=Figure(title="C-index", direction="higher", highest=1.0),
    no_value_if="without an event that another case outlived",
    of=_c_index,
)


# Continuous images


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


class _Images(TypedDict):
    """Both images, and where they count: everywhere without a mask."""

    prediction: Pixels
    reference: Pixels
    within: Mask | None


def _images(case: DeclaredCase, value: AnyValueKind) -> _Images:
    compared = case.values[value.name]
    within = value.settings.within
    mask = None if within is None else case.values[within].reference.labels != 0
    return {"prediction": compared.found.pixels, "reference": compared.reference.pixels, "within": mask}


def _confined(case: DeclaredCase, value: AnyValueKind) -> _Images:
    """The same, clipped to the value's range where it has one, and the lowest value where they do not count."""
    images = _images(case, value)
    if value.settings.range is None:
        return images
    lowest, highest = value.settings.range
    within = images["within"]
    prediction, reference = (
        image_quality.confined(each, lowest=lowest, highest=highest, within=within)
        for each in (images["prediction"], images["reference"])
    )
    return {"prediction": prediction, "reference": reference, "within": within}


def _psnr(case: DeclaredCase, value: AnyValueKind, settings: RangedSettings) -> float | None:
    found = image_quality.psnr(**_confined(case, value), data_range=_data_range(settings, value))
    return _SAME_DB if found == math.inf else found


def _lost_differences(case: DeclaredCase, value: AnyValueKind) -> Pixels:
    """From the worst possible image: every pixel at the end of the range that is further off, of the value's range or
    else of the reference's."""
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


def _lost_psnr(case: DeclaredCase, value: AnyValueKind, settings: RangedSettings) -> float:
    """0 dB, or that of the worst possible image where it is lower still."""
    rmse = _lost_rmse(case, value, settings)
    return min(0.0, 20 * math.log10(_data_range(settings, value) / rmse)) if rmse else 0.0


_image_metric = partial(
    CaseValueMetric,
    compares=("image",),
    no_value_if=lambda value: "where the mask is empty in every case" if value.settings.within else "",
)


def _similarity(of: Callable[..., float | None], definition: str, figure: Figure) -> CaseValueMetric:
    """A metric of confined images, named like its function; the worst value is the lowest."""
    return _image_metric(
        name=of.__name__,
        definition=definition,
        settings_model=RangedSettings,
        figure=figure,
        of=lambda case, value, settings: of(**_confined(case, value), data_range=_data_range(settings, value)),
        worst=lambda _, __: figure.lowest,
        check=_needs_a_data_range,
    )


_IMAGE_METRICS = (
    _image_metric(
        name="mae",
        definition="mean of |P - G| over the pixels",
        figure=_error(title="MAE"),
        of=lambda case, value, _: image_quality.mae(**_images(case, value)),
        lost=_lost_mae,
    ),
    _image_metric(
        name="rmse",
        definition="root of the mean of (P - G)^2 over the pixels",
        figure=_error(title="RMSE"),
        of=lambda case, value, _: image_quality.rmse(**_images(case, value)),
        lost=_lost_rmse,
    ),
    _image_metric(
        name="psnr",
        definition="20 log10(data_range / RMSE); 100 for equal images",
        settings_model=RangedSettings,
        figure=Figure(title="PSNR", direction="higher", lowest=-math.inf, unit="dB"),
        of=_psnr,
        worst=lambda _, __: 0.0,
        lost=_lost_psnr,
        check=_needs_a_data_range,
    ),
    _similarity(
        image_quality.ssim,
        "structural similarity, as scikit-image defines it (cube of 7 pixels)",
        Figure(title="SSIM", direction="higher", lowest=-1.0, highest=1.0),
    ),
    _similarity(
        image_quality.ms_ssim,
        "structural similarity at five scales with MONAI's weights",
        Figure(title="MS-SSIM", direction="higher", highest=1.0),
    ),
)


# Texts: BLEU-4 of all cases together, METEOR of every case; see docs/reports.md for their rules.


def _ngram_counts(case: DeclaredCase, value: AnyValueKind, _: MetricSettings) -> Sequence[int]:
    """Matches and totals of every order, then the numbers of tokens; a lost text has none."""
    compared = case.values[value.name]
    candidate, reference = tokens_of(compared.prediction or ""), tokens_of(compared.reference)
    found = count_ngrams(candidate=candidate, reference=reference)
    return [*found.matches, *found.totals, found.candidate_tokens, found.reference_tokens]


def _bleu(cohort: CohortFacts) -> Floats:
    totals = cohort.resamples.total(np.array(cohort.facts, dtype=np.float64))
    summed = [
        NgramCounts(
            matches=tuple(row[:MAX_ORDER]),
            totals=tuple(row[MAX_ORDER:-2]),
            candidate_tokens=row[-2],
            reference_tokens=row[-1],
        )
        for row in totals.round().astype(np.int64).tolist()
    ]
    return np.array([bleu_4(each) for each in summed])


def _meteor(case: DeclaredCase, value: AnyValueKind, _: MetricSettings) -> float:
    compared = case.values[value.name]
    return meteor(candidate=tokens_of(compared.found), reference=tokens_of(compared.reference))


_TEXT_METRICS = (
    CohortValueMetric(
        name="bleu_4",
        definition="BLEU with n-grams up to 4, counts summed over all cases",
        compares=("text",),
        figure=Figure(title="BLEU-4", direction="higher", highest=1.0),
        fact=_ngram_counts,
        of=_bleu,
    ),
    CaseValueMetric(
        name="meteor",
        definition="METEOR of exact matches only, without stems and synonyms",
        compares=("text",),
        figure=Figure(title="METEOR", direction="higher", highest=1.0),
        of=_meteor,
        worst=lambda _, __: 0.0,
    ),
)

METRICS = (*_NUMBER_METRICS, *_IMAGE_METRICS, *_TEXT_METRICS, _C_INDEX)
