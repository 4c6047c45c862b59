"""One slice of a lesions case for a report: the axial slice where the last step is most wrong."""

from collections.abc import Sequence
from pathlib import PurePosixPath

import numpy as np
from numpy.typing import NDArray

from podium.challenges.overlay import Outlined, Overlay
from podium.platform.names import case_of
from podium.readers.files import SafeFile
from podium.readers.images import read_image

_CHANNELS = ("_0001", "", "_0000")  # PET, where lesions are bright; else what there is


def lesion_overlay(
    case: str,
    *,
    prediction: NDArray[np.bool_],
    reference: NDArray[np.bool_],
    spacing: Sequence[float],  # x, y, z
    images: Sequence[SafeFile],
) -> Overlay:
    """The slice with the most voxels that differ, or the most lesion where none does; the first of equals."""
    wrong = (prediction ^ reference).sum(axis=(1, 2))
    at = int(np.argmax(wrong if wrong.any() else reference.sum(axis=(1, 2))))
    image = _image(images, case=case, shape=reference.shape)
    return Overlay(
        title=f"axial slice {at + 1} of {len(reference)}, last step",
        image=None if image is None else image[at],
        layers={"lesions": Outlined(prediction=prediction[at], reference=reference[at])},
        aspect=spacing[1] / spacing[0],
    )


def _image(images: Sequence[SafeFile], *, case: str, shape: tuple[int, ...]) -> NDArray[np.generic] | None:
    by_name = {case_of(PurePosixPath(file.name).name): file for file in images}
    found = next((by_name[case + channel] for channel in _CHANNELS if case + channel in by_name), None)
    return None if found is None else read_image(found, shape=shape).array
