"""The catalogue of continuous images."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from podium.challenges.declared.catalogue.base import CaseValueMetric, DeclaredCase, MetricSettings, length_of_range
from podium.challenges.declared.values import AnyValueKind, Range
from podium.challenges.settings import Positive
from podium.errors import ValidationProblem
from podium.metrics import Mask, image_quality
from podium.metrics.declaration import Figure, Reason

Pixels = NDArray[Any]
_SAME_DB = 100.0  # of two equal images, whose PSNR is infinite


class RangedSettings(MetricSettings):
    """`data_range`: the lowest and the highest value that count, to which both images are clipped, or only their
    difference [the value's range]."""

    data_range: Positive | Range | None = None


def _bounds(settings: MetricSettings, value: AnyValueKind) -> tuple[float, float] | None:
    """The lowest and the highest value that count, where that is known."""
    own, bounds = getattr(settings, "data_range", None), value.settings.range
    return own if isinstance(own, tuple) else bounds


def _data_range(settings: RangedSettings, value: AnyValueKind) -> float:
    if isinstance(settings.data_range, float):
        return settings.data_range
    bounds = _bounds(settings, value)
    assert bounds is not None, "checked by _needs_a_data_range"
    return bounds[1] - bounds[0]


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
    mask = None if within is None else case.values[within].reference.pixels != 0
    return {"prediction": compared.found.pixels, "reference": compared.reference.pixels, "within": mask}


def _confined(case: DeclaredCase, value: AnyValueKind, settings: RangedSettings) -> _Images:
    """Both images, clipped to what counts where that is known, and the lowest value where they do not count."""
    images = _images(case, value)
    bounds = _bounds(settings, value)
    if bounds is None:
        return images
    lowest, highest = bounds
    within = images["within"]
    prediction, reference = (
        image_quality.confined(each, lowest=lowest, highest=highest, within=within)
        for each in (images["prediction"], images["reference"])
    )
    return {"prediction": prediction, "reference": reference, "within": within}


def _psnr(case: DeclaredCase, value: AnyValueKind, settings: RangedSettings) -> float | None:
    found = image_quality.psnr(**_confined(case, value, settings), data_range=_data_range(settings, value))
    return _SAME_DB if found == math.inf else found


def _missing_differences(case: DeclaredCase, value: AnyValueKind, settings: MetricSettings) -> Pixels:
    """From the worst possible image: every pixel at the end of what counts that is further off."""
    reference: Pixels = case.values[value.name].reference.pixels.astype(np.float64)
    within = value.settings.within
    if within is not None:
        reference = reference[case.values[within].reference.pixels != 0]
    bounds = _bounds(settings, value)
    assert bounds is not None, "without a range, `failed` is required"
    reference = np.clip(reference, *bounds)
    return np.asarray(np.maximum(*(np.abs(reference - end) for end in bounds)))


def _missing_mae(case: DeclaredCase, value: AnyValueKind, settings: MetricSettings) -> float:
    return float(_missing_differences(case, value, settings).mean())


def _missing_rmse(case: DeclaredCase, value: AnyValueKind, settings: MetricSettings) -> float:
    return math.sqrt(float(np.square(_missing_differences(case, value, settings)).mean()))


def _missing_psnr(case: DeclaredCase, value: AnyValueKind, settings: RangedSettings) -> float:
    """0 dB, or that of the worst possible image where it is lower still."""
    rmse = _missing_rmse(case, value, settings)
    return min(0.0, 20 * math.log10(_data_range(settings, value) / rmse)) if rmse else 0.0


def _without_voxels(case: DeclaredCase, value: AnyValueKind) -> Reason | None:
    within = value.settings.within
    is_empty = within is not None and not case.values[within].reference.pixels.any()
    return "reference_empty" if is_empty else None


_image_metric = partial(
    CaseValueMetric,
    compares=("image",),
    undefined=_without_voxels,
    needed=" without a range of the value",
    undefined_when=lambda value: "where the mask is empty in every case" if value.settings.within else "",
)


def _similarity(compute: Callable[..., float | None], definition: str, figure: Figure) -> CaseValueMetric:
    """A metric of confined images, named like its function; the worst value is the lowest."""
    return _image_metric(
        name=compute.__name__,
        definition=definition,
        settings_model=RangedSettings,
        figure=figure,
        compute=lambda case, value, settings: compute(
            **_confined(case, value, settings), data_range=_data_range(settings, value)
        ),
        worst=lambda _, __: figure.lowest,
        check=_needs_a_data_range,
    )


METRICS = (
    _image_metric(
        name="mae",
        definition="mean of |P - G| over the pixels",
        figure=Figure(title="MAE", direction="lower"),
        compute=lambda case, value, _: image_quality.mae(**_images(case, value)),
        worst=length_of_range,
        when_missing=_missing_mae,
    ),
    _image_metric(
        name="rmse",
        definition="root of the mean of (P - G)^2 over the pixels",
        figure=Figure(title="RMSE", direction="lower"),
        compute=lambda case, value, _: image_quality.rmse(**_images(case, value)),
        worst=length_of_range,
        when_missing=_missing_rmse,
    ),
    _image_metric(
        name="psnr",
        definition="20 log10(data_range / RMSE); 100 for equal images",
        settings_model=RangedSettings,
        figure=Figure(title="PSNR", direction="higher", lowest=-math.inf, unit="dB"),
        compute=_psnr,
        worst=lambda settings, value: _bounds(settings, value) and -math.inf,
        when_missing=_missing_psnr,
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
