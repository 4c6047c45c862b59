"""Continuous images."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.challenges.declared.located import Located
from podium.challenges.declared.value_settings import ImageSettings
from podium.challenges.declared.values.base import BYTES_PER_FILE, ExpectedPrediction, Value, compare_geometry
from podium.challenges.format import Description
from podium.errors import Refused
from podium.figures import LARGEST_FIGURE
from podium.readers.images import Geometry

_BYTES_PER_PIXEL = 8


@dataclass(frozen=True, eq=False)
class ContinuousImage:
    """Pixels in numpy order."""

    pixels: NDArray[Any]
    geometry: Geometry | None


class ImageValue(Value[ImageSettings, ContinuousImage, ContinuousImage]):
    """One continuous image per case, of the size of the reference."""

    def read_reference(self, located: Located) -> ContinuousImage:
        pixels, geometry = located.image(shape=None)
        return ContinuousImage(self._checked(pixels, located.label), geometry)

    def read_prediction(self, located: Located, expected: ExpectedPrediction[ContinuousImage]) -> ContinuousImage:
        pixels, geometry = located.image(shape=expected.shape)
        if expected.reference is not None:
            compare_geometry(located.label, geometry, expected.reference.geometry, self.settings, expected.warnings)
        return ContinuousImage(self._checked(pixels, located.label), geometry)

    def shape(self, reference: ContinuousImage) -> tuple[int, ...]:
        return reference.pixels.shape

    def prediction_bytes(self, shape: tuple[int, ...] | None) -> int:
        return BYTES_PER_FILE + _BYTES_PER_PIXEL * math.prod(shape or ())

    def describe(self, reference: ContinuousImage) -> Description:
        return Description(
            shapes={self.name: reference.pixels.shape},
            figures={f"{self.name} (mean)": float(reference.pixels.mean(dtype=np.float64))},
        )

    def _checked(self, pixels: NDArray[Any], name: str) -> NDArray[Any]:
        if pixels.dtype.kind not in "buif":
            raise Refused(f"'{name}' holds values of the type '{pixels.dtype}'; pixels are real numbers.")
        if pixels.dtype.kind == "f" and not np.isfinite(pixels).all():
            raise Refused(f"'{name}' holds NaN or infinite values.")
        if pixels.dtype.itemsize == 8 and pixels.dtype.kind == "f" and np.abs(pixels).max(initial=0) > LARGEST_FIGURE:
            raise Refused(f"'{name}' holds values beyond {LARGEST_FIGURE:g}.")
        return pixels
