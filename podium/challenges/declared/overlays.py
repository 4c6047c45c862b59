"""Outlines of prediction and reference for every label image of a case, for an organiser's report.

An image is `<case>.<ending>`, with several label images `<case>_<value>.<ending>`, or `<value>_img` in `<case>.h5`.
Of a volume the slice with the largest reference is drawn.
"""

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.challenges.board import title_of
from podium.challenges.declared.files import HDF5_ENDINGS
from podium.challenges.declared.values import AnyValueKind, LabelImage, LabelsValue
from podium.challenges.ground_truth import Geometries, Shapes
from podium.challenges.pictures import LabelledVolume, Outlined, Overlay
from podium.platform.jobs import case_of
from podium.readers.files import SafeFile
from podium.readers.geometry import differences
from podium.readers.hdf5 import open_hdf5
from podium.readers.images import Image, read_image

Values = Mapping[str, AnyValueKind]


def _drawn(values: Values) -> Mapping[str, LabelsValue]:
    return {
        name: value for name, value in values.items() if isinstance(value, LabelsValue) and value.settings.is_predicted
    }


def draw_overlays(
    values: Values, case: str, found: Mapping[str, object], expected: Mapping[str, object], images: Sequence[SafeFile]
) -> Sequence[Overlay]:
    """The views of one case, from both of its sides."""
    overlays = []
    for name, value in _drawn(values).items():
        if name not in found:
            continue
        theirs, ours = found[name], expected[name]
        assert isinstance(theirs, LabelImage)
        assert isinstance(ours, LabelImage)
        found_image = _image(values, images, case=case, value=name, shape=ours.labels.shape)
        image = found_image.array if isinstance(found_image, Image) else found_image
        numbers = [number for each in value.regions.values() for number in each]
        at = _shown_slice(ours.labels, theirs.labels, numbers)
        shown = ... if at is None else at
        rows, columns = ours.spacing[-2:]
        whole = LabelledVolume(
            title=title_of(value.title),
            image=image,
            prediction=theirs.labels,
            reference=ours.labels,
            regions=value.regions,
            geometry=ours.geometry,
        )
        overlays.append(
            Overlay(
                title=f"{title_of(value.title)}{'' if at is None else f', slice {at + 1} of {len(ours.labels)}'}",
                image=None if image is None else image[shown],
                layers={
                    region: Outlined(
                        prediction=np.isin(theirs.labels[shown], numbers),
                        reference=np.isin(ours.labels[shown], numbers),
                    )
                    for region, numbers in value.regions.items()
                },
                aspect=rows / columns,
                pixel_mm=None if ours.geometry is None else columns,
                volume=None if at is None else whole,
            )
        )
    return overlays


def differing_images(
    values: Values, case: str, shapes: Shapes, geometries: Geometries, images: Sequence[SafeFile]
) -> Sequence[Sequence[str]]:
    """For every image of a case the parts of its header that differ from the reference's."""
    drawn = [name for name in _drawn(values) if name in shapes]
    found = {name: _image(values, images, case=case, value=name, shape=shapes[name]) for name in drawn}
    return [
        [*differences(image.geometry if isinstance(image, Image) else None, geometries.get(name))]
        for name, image in found.items()
        if image is not None
    ]


def _image(
    values: Values, images: Sequence[SafeFile], *, case: str, value: str, shape: tuple[int, ...]
) -> Image | NDArray[Any] | None:
    """The image that a value was drawn on, if the organiser's folder has it."""
    names = [f"{case}_{value}", case] if len(_drawn(values)) == 1 else [f"{case}_{value}"]
    for file in images:
        name = PurePosixPath(file.name).name
        if name.lower().endswith(HDF5_ENDINGS):
            if name.rpartition(".")[0] in (case, f"{case}_image"):
                with open_hdf5(file) as source:
                    if source.has(f"{value}_img"):
                        return source.read(f"{value}_img", shape=shape)
        elif case_of(name) in names:
            return read_image(file, shape=shape)
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
