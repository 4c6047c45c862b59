"""Both views of a carotid case for a report."""

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

from numpy.typing import NDArray

from podium.challenges.base import Overlays, Shapes
from podium.challenges.carotid.format import STRUCTURES, VIEWS, CarotidFormat, CarotidPrediction
from podium.challenges.overlay import Outlined, Overlay
from podium.platform.names import case_of
from podium.readers.files import SafeFile
from podium.readers.hdf5.file import open_hdf5
from podium.readers.images import read_image

_VIEW_TITLES = {"long": "Longitudinal view", "trans": "Transverse view"}


class CarotidOverlays(Overlays[CarotidPrediction, SafeFile]):
    """An image is `<case>_long.png` (or another image format), or `long_img` in `<case>.h5`."""

    def __init__(self, format: CarotidFormat) -> None:  # noqa: A002  (the part's name everywhere)
        self._format = format

    def draw(
        self, case: str, prediction: CarotidPrediction, reference: SafeFile, images: Sequence[SafeFile]
    ) -> Sequence[Overlay]:
        expected = self._format.read_reference(reference)
        found = self._format.read(prediction, expected.shapes)
        return [
            Overlay(
                title=title,
                image=_view_image(images, case=case, view=view, shape=expected.shapes[VIEWS[view]]),
                layers={
                    structure: Outlined(
                        prediction=found.masks[view, structure], reference=expected.masks[view, structure]
                    )
                    for structure in reversed(STRUCTURES)
                },
            )
            for view, title in _VIEW_TITLES.items()
        ]

    def check_images(self, case: str, shapes: Shapes, images: Sequence[SafeFile]) -> int:
        found = [_view_image(images, case=case, view=view, shape=shapes[VIEWS[view]]) for view in VIEWS]
        return sum(image is not None for image in found)


def _view_image(images: Sequence[SafeFile], *, case: str, view: str, shape: tuple[int, ...]) -> NDArray[Any] | None:
    """The ultrasound image of one view, if the organiser's folder has it."""
    for file in images:
        name = PurePosixPath(file.name).name
        if case_of(name) == f"{case}_{view}":
            return read_image(file, shape=shape).array
        if name in (f"{case}.h5", f"{case}_image.h5"):
            with open_hdf5(file) as source:
                if source.has(f"{view}_img"):
                    return source.read(f"{view}_img", shape=shape)
    return None
