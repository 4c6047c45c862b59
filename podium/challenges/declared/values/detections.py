"""Points, boxes and detection maps."""

import math
from typing import Any

import numpy as np

from podium.challenges.declared.located import Located
from podium.challenges.declared.value_settings import DetectionMapSettings, PointsSettings
from podium.challenges.declared.values.base import BYTES_PER_FILE, ExpectedPrediction, Value, compare_geometry
from podium.challenges.declared.values.images import ContinuousImage
from podium.challenges.format import Description
from podium.errors import Refused
from podium.metrics.components import find_lesions
from podium.readers.annotations import Annotations

_BYTES_PER_PIXEL = 8
_CONNECTIVITY = {2: {1: 4, 2: 8, 3: 8}, 3: {1: 6, 2: 18, 3: 26}}


class PointsValue(Value[PointsSettings, Annotations, Annotations]):
    """Points or boxes."""

    def read_reference(self, located: Located) -> Annotations:
        return self._kept(located.annotations(self.settings.kind))

    def read_prediction(self, located: Located, expected: ExpectedPrediction[Annotations]) -> Annotations:  # noqa: ARG002
        return self._kept(located.annotations(self.settings.kind))

    def references(self, reference: Annotations) -> int:
        """How many findings there are."""
        return len(reference)

    def describe(self, reference: Annotations) -> Description:
        return Description(shapes={}, figures={f"{self.name} (number)": len(reference)})

    def _kept(self, found: Annotations) -> Annotations:
        return found if self.settings.names is None else found.named(self.settings.names)


class DetectionMapValue(Value[DetectionMapSettings, ContinuousImage, ContinuousImage]):
    """An image of confidences; the reference is a label image."""

    def read_reference(self, located: Located) -> ContinuousImage:
        labels, geometry = located.labels(shape=None)
        return ContinuousImage(labels, geometry)

    def read_prediction(self, located: Located, expected: ExpectedPrediction[ContinuousImage]) -> ContinuousImage:
        pixels, geometry = located.image(shape=expected.shape)
        if expected.reference is not None:
            compare_geometry(located.label, geometry, expected.reference.geometry, self.settings, expected.warnings)
        if pixels.dtype.kind not in "buif" or not np.isfinite(pixels).all():
            raise Refused(f"'{located.label}' holds values that are no finite numbers.")
        if pixels.size and pixels.min() < 0:
            raise Refused(f"'{located.label}' holds negative values; confidences begin at 0.")
        return ContinuousImage(pixels, geometry)

    def shape(self, reference: ContinuousImage) -> tuple[int, ...]:
        return reference.pixels.shape

    def references(self, reference: ContinuousImage) -> int:
        """How many findings there are."""
        volume = reference.pixels if reference.pixels.ndim == 3 else reference.pixels[None]
        joined: Any = _CONNECTIVITY[3][self.settings.connectivity]
        return find_lesions(volume != 0, connectivity=joined).count

    def connectivity(self, reference: ContinuousImage) -> Any:
        """In numbers of neighbours."""
        return _CONNECTIVITY[reference.pixels.ndim][self.settings.connectivity]

    def prediction_bytes(self, shape: tuple[int, ...] | None) -> int:
        return BYTES_PER_FILE + _BYTES_PER_PIXEL * math.prod(shape or ())

    def describe(self, reference: ContinuousImage) -> Description:
        return Description(
            shapes={self.name: reference.pixels.shape},
            figures={f"{self.name} (findings)": self.references(reference)},
        )
