"""The catalogue of continuous images."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.challenges.declared.catalogue.base import DeclaredCase, Figure, MetricSettings
from podium.challenges.declared.catalogue.case_values import CaseValueMetric
from podium.challenges.declared.values import AnyValueKind
from podium.challenges.settings import Positive
from podium.errors import ValidationProblem
from podium.metrics import image_quality

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


def _needs_a_range(settings: RangedSettings, value: AnyValueKind) -> Sequence[ValidationProblem]:
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
        check=_needs_a_range,
    ),
    CaseValueMetric(
        name="ssim",
        definition="structural similarity, as scikit-image defines it (cube of 7 pixels)",
        compares=_OF_IMAGES,
        settings_model=RangedSettings,
        figure=Figure(title="SSIM", direction="higher", lowest=-1.0, highest=1.0),
        of=_ssim,
        worst=lambda _, __: -1.0,
        check=_needs_a_range,
    ),
    CaseValueMetric(
        name="ms_ssim",
        definition="structural similarity at five scales with MONAI's weights",
        compares=_OF_IMAGES,
        settings_model=RangedSettings,
        figure=Figure(title="MS-SSIM", direction="higher", highest=1.0),
        of=_ms_ssim,
        worst=lambda _, __: 0.0,
        check=_needs_a_range,
    ),
)
