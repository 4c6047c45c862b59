"""Outlines of prediction and reference for every label image of a case, for an organiser's report.

An image is `<case>.<ending>`, with several label images `<case>_<value>.<ending>`, or `<value>_img` in `<case>.h5`.
Of a volume, `slice_overlays` draws the slice with the most error.
"""

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from numpy.typing import NDArray

from podium.challenges.board import title_of
from podium.challenges.declared.files import HDF5_ENDINGS
from podium.challenges.declared.values import AnyValueKind, LabelImage, LabelsValue
from podium.challenges.ground_truth import Geometries, Shapes
from podium.challenges.pictures import LabelledVolume, Overlay, slice_overlays
from podium.platform.jobs import case_of
from podium.readers.files import SafeFile
from podium.readers.geometry import Geometry, Shape, differences
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
    overlays: list[Overlay] = []
    for name, value in _drawn(values).items():
        if name not in found or name not in expected:
            continue
        theirs, ours = found[name], expected[name]
        assert isinstance(theirs, LabelImage)
        assert isinstance(ours, LabelImage)
        image = _image(values, images, case=case, value=name, grid=(ours.labels.shape, ours.geometry))
        overlays += slice_overlays(
            LabelledVolume(
                title=title_of(value.title),
                image=image.array if isinstance(image, Image) else image,
                prediction=theirs.labels,
                reference=ours.labels,
                regions=value.regions,
                geometry=ours.geometry,
            )
        )
    return overlays


def differing_images(
    values: Values, case: str, shapes: Shapes, geometries: Geometries, images: Sequence[SafeFile]
) -> Sequence[Sequence[str]]:
    """For every image of a case the parts of its header that differ from the reference's."""
    drawn = [name for name in _drawn(values) if name in shapes]
    found = {
        name: _image(values, images, case=case, value=name, grid=(shapes[name], geometries.get(name))) for name in drawn
    }
    return [
        [*differences(image.geometry if isinstance(image, Image) else None, geometries.get(name))]
        for name, image in found.items()
        if image is not None
    ]


def _image(
    values: Values, images: Sequence[SafeFile], *, case: str, value: str, grid: tuple[Shape, Geometry | None]
) -> Image | NDArray[Any] | None:
    """The image that a value was drawn on, if the organiser's folder has it."""
    names = [f"{case}_{value}", case] if len(_drawn(values)) == 1 else [f"{case}_{value}"]
    for file in images:
        name = PurePosixPath(file.name).name
        if name.lower().endswith(HDF5_ENDINGS):
            if name.rpartition(".")[0] in (case, f"{case}_image"):
                with open_hdf5(file) as source:
                    if source.has(f"{value}_img"):
                        return source.read(f"{value}_img", shape=grid[0])
        elif case_of(name) in names:
            return read_image(file, shape=grid[0], onto=grid[1])
    return None
