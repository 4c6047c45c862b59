"""Outlines of prediction and reference for every label image of a declared challenge."""

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.challenges.base import Overlays
from podium.challenges.declared.format import DeclaredFormat, Sources
from podium.challenges.declared.located import HDF5_ENDINGS
from podium.challenges.declared.values.labels import LabelImage, LabelsValue
from podium.challenges.figure_names import title_of
from podium.challenges.format import Shapes
from podium.challenges.overlay import Outlined, Overlay
from podium.platform.jobs import case_of
from podium.readers.files import SafeFile
from podium.readers.hdf5 import open_hdf5
from podium.readers.images import read_image


class DeclaredOverlays(Overlays[Sources, Sources]):
    """An image is `<case>.<ending>`, with several label images `<case>_<value>.<ending>`, or `<value>_img` in
    `<case>.h5`. Of a volume the slice with the largest reference is drawn."""

    def __init__(self, format: DeclaredFormat) -> None:  # noqa: A002  (the part's name everywhere)
        self._format = format
        self._values = {
            name: value
            for name, value in format.values.items()
            if isinstance(value, LabelsValue) and value.settings.is_predicted
        }

    def draw(self, case: str, prediction: Sources, reference: Sources, images: Sequence[SafeFile]) -> Sequence[Overlay]:
        expected = self._format.read_reference(reference)
        found = self._format.read(prediction, expected, [])
        overlays = []
        for name, value in self._values.items():
            theirs, ours = found[name], expected[name]
            assert isinstance(theirs, LabelImage)
            assert isinstance(ours, LabelImage)
            image = self._image(images, case=case, value=name, shape=ours.labels.shape)
            at = _shown_slice(
                ours.labels, theirs.labels, [number for each in value.regions.values() for number in each]
            )
            rows, columns = ours.spacing[-2:]
            overlays.append(
                Overlay(
                    title=f"{title_of(value.title)}{'' if at is None else f', slice {at}'}",
                    image=None if image is None else image if at is None else image[at],
                    layers={
                        region: Outlined(
                            prediction=np.isin(_sliced(theirs.labels, at), numbers),
                            reference=np.isin(_sliced(ours.labels, at), numbers),
                        )
                        for region, numbers in value.regions.items()
                    },
                    aspect=rows / columns,
                )
            )
        return overlays

    def check_images(self, case: str, shapes: Shapes, images: Sequence[SafeFile]) -> int:
        found = [self._image(images, case=case, value=name, shape=shapes[name]) for name in self._values]
        return sum(image is not None for image in found)

    def _image(
        self, images: Sequence[SafeFile], *, case: str, value: str, shape: tuple[int, ...]
    ) -> NDArray[Any] | None:
        """The image that a value was drawn on, if the organiser's folder has it."""
        names = [f"{case}_{value}", case] if len(self._values) == 1 else [f"{case}_{value}"]
        for file in images:
            name = PurePosixPath(file.name).name
            if name.lower().endswith(HDF5_ENDINGS):
                if name.rpartition(".")[0] in (case, f"{case}_image"):
                    with open_hdf5(file) as source:
                        if source.has(f"{value}_img"):
                            return source.read(f"{value}_img", shape=shape)
            elif case_of(name) in names:
                return read_image(file, shape=shape).array
        return None


def _shown_slice(reference: NDArray[Any], prediction: NDArray[Any], numbers: Sequence[int]) -> int | None:
    """Of a volume, the slice where the reference is largest, else the prediction; None for a picture."""
    if reference.ndim == 2:
        return None
    for labels in (reference, prediction):
        areas = [int(np.count_nonzero(np.isin(part, numbers))) for part in labels]
        if any(areas):
            return areas.index(max(areas))
    return len(reference) // 2


def _sliced(labels: NDArray[Any], at: int | None) -> NDArray[Any]:
    return labels if at is None else labels[at]
