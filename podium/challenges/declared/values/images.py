"""Continuous images, and maps of confidences whose connected components are candidates."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import StrictBool

from podium.challenges.declared.files import ExpectedPrediction, Located
from podium.challenges.declared.values import LARGEST_VALUE, MaxCandidates, Range, Value, ValueSettings
from podium.challenges.ground_truth import Description, doubts_about_geometry
from podium.challenges.samples import CaseImage
from podium.challenges.settings import FigureName
from podium.errors import Refused
from podium.readers.geometry import GeometryRule


class ImageSettings(ValueSettings):
    """A continuous image. `range` are the values that its pixels may have; it counts where the reference of the labels
    value `within` is not 0. That value need not be predicted: without socket, file and table it is a mask of the
    organiser's."""

    sockets = ("Image", "Heat Map")
    ending, is_image = ".mha", True
    words = "an image of real numbers, of the size of the reference"

    kind: Literal["image"]
    range: Range | None = None
    within: FigureName | None = None
    geometry: GeometryRule = "warn"


class DetectionMapSettings(ValueSettings):
    """Confidences whose connected components above 0 are candidates; the reference's components are the findings, or
    with `reference_instances` its labels, touching or not."""

    sockets = ("Heat Map",)
    ending, is_image = ".mha", True
    words = "an image of confidences from 0: every connected component above 0 is a candidate"

    kind: Literal["detection_map"]
    connectivity: Literal[1, 2, 3] = 3
    reference_instances: StrictBool = False
    max_candidates: MaxCandidates = 1000
    geometry: GeometryRule = "warn"

    @property
    def neighbours(self) -> Literal[6, 18, 26]:
        from podium.metrics.components import as_connectivity

        return as_connectivity(self.connectivity)


class ImageValue(Value[ImageSettings, CaseImage, CaseImage]):
    """One continuous image per case, of the size of the reference."""

    def read_prediction(self, located: Located, expected: ExpectedPrediction) -> CaseImage:
        pixels, geometry = located.image(expected)
        return CaseImage(self._checked(pixels, located.label), geometry)

    def answers(self, reference: CaseImage) -> Sequence[CaseImage]:
        return [reference, replace(reference, pixels=np.roll(reference.pixels, 1, axis=-1))]

    def describe(self, reference: CaseImage) -> Description:
        return Description(
            figures={f"{self.name} (mean)": float(reference.pixels.mean(dtype=np.float64))},
            doubts=doubts_about_geometry(self.name, reference.geometry, self.settings),
        )

    def _checked(self, pixels: NDArray[Any], name: str) -> NDArray[Any]:
        if pixels.dtype.kind not in "buif":
            raise Refused(f"'{name}' holds values of the type '{pixels.dtype}'; pixels are real numbers.")
        if pixels.dtype.kind == "f" and not np.isfinite(pixels).all():
            raise Refused(f"'{name}' holds NaN or infinite values.")
        lowest, highest = self.settings.range or (-LARGEST_VALUE, LARGEST_VALUE)
        found, most = (pixels.min(), pixels.max()) if pixels.size else (lowest, highest)
        if found < lowest or most > highest:
            raise Refused(
                f"'{name}' holds values from {found:g} to {most:g}; they must be between {lowest:g} and {highest:g}."
            )
        return pixels


class DetectionMapValue(Value[DetectionMapSettings, CaseImage, CaseImage]):
    """An image of confidences; the reference is a label image."""

    def read_reference(self, located: Located) -> CaseImage:
        return CaseImage(*located.labels(ExpectedPrediction()))

    def read_prediction(self, located: Located, expected: ExpectedPrediction) -> CaseImage:
        pixels, geometry = located.image(expected)
        if pixels.dtype.kind not in "buif" or not np.isfinite(pixels).all():
            raise Refused(f"'{located.label}' holds values that are not finite numbers.")
        if pixels.size and pixels.min() < 0:
            raise Refused(f"'{located.label}' holds negative values; confidences start at 0.")
        self._warn_about_many(pixels, expected.warnings)
        return CaseImage(pixels, geometry)

    def _warn_about_many(self, confidences: NDArray[Any], warnings: list[str]) -> None:
        from podium.metrics.components import label_components

        most = self.settings.max_candidates
        if np.count_nonzero(confidences) <= most:
            return
        volume = confidences if confidences.ndim == 3 else confidences[None]
        candidates = label_components(volume > 0, connectivity=self.settings.neighbours).count
        if candidates > most:
            warnings.append(f"{candidates:,} candidates were found; only the {most:,} most confident count.")

    def answers(self, reference: CaseImage) -> Sequence[CaseImage]:
        found = reference.pixels != 0
        if self.settings.reference_instances:  # a gap keeps findings apart that touch
            from scipy.ndimage import maximum_filter

            found &= maximum_filter(reference.pixels, size=3) == reference.pixels
        return [replace(reference, pixels=found * np.float32(sure)) for sure in (1, 0)]

    def references(self, reference: CaseImage) -> int:
        """How many findings there are."""
        from podium.metrics.components import find_lesions, instances_of

        if self.settings.reference_instances:
            return instances_of(reference.pixels).count
        volume = reference.pixels if reference.pixels.ndim == 3 else reference.pixels[None]
        return find_lesions(volume != 0, connectivity=self.settings.neighbours).count

    def describe(self, reference: CaseImage) -> Description:
        return Description(
            figures={f"{self.name} (findings)": self.references(reference)},
            doubts=[*doubts_about_geometry(self.name, reference.geometry, self.settings), *self._doubts(reference)],
        )

    def _doubts(self, reference: CaseImage) -> Sequence[str]:
        is_known = self.settings.reference_instances
        labels = [] if is_known else [each for each in np.unique(reference.pixels).tolist() if each]
        apart = [self.references(replace(reference, pixels=reference.pixels == each)) for each in labels]
        if len(labels) < 2 or sum(apart) == self.references(reference):
            return ()
        return [f"Findings of '{self.name}' with different labels touch: voxels that touch are one finding."]


KINDS = {"image": (ImageSettings, ImageValue), "detection_map": (DetectionMapSettings, DetectionMapValue)}
