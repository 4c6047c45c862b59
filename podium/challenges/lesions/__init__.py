"""autoPET V: interactive PET/CT lesion segmentation (Dice and DMM over the steps of an interaction).

One case is a sequence of masks, one after every scribble; see docs/lesions.md for the rules and their sources.
"""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.challenges.base import Challenge, Kind, LabelledVolume, Outlined, Overlay, Overlays
from podium.challenges.format import Geometries, Shapes, differing_parts
from podium.challenges.lesions.format import VOLUME, LesionsFormat, LesionsPrediction, LesionsSettings
from podium.challenges.lesions.scoring import LesionsScorer, computed_by, ranking_rule, scoreboard
from podium.challenges.settings import CasesSettings
from podium.errors import Refused
from podium.metrics.overlap import dice
from podium.platform.jobs import case_of
from podium.readers.files import SafeFile
from podium.readers.images import read_image
from podium.readers.volumes import read_label_volume, read_mask_volume

_CHANNELS = ("_0001", "", "_0000")  # PET, where lesions are bright, else any other image


class LesionsOverlays(Overlays[LesionsPrediction, SafeFile]):
    """A case's last step over the PET image `<case>_0001`, or `<case>` or `<case>_0000` (CT), as an axial slice and as
    a projection from the front, and the projection after every step.

    The prediction is empty if there is none.
    """

    def __init__(self, format: LesionsFormat) -> None:  # noqa: A002  (the part's name everywhere)
        self._format = format

    def draw(
        self, case: str, prediction: LesionsPrediction, reference: SafeFile, images: Sequence[SafeFile]
    ) -> Sequence[Overlay]:
        """The first slice with the most wrong voxels, or with the most lesion voxels if none is wrong."""
        volume = read_label_volume(reference)
        expected = volume.labels != 0
        mask, steps = np.zeros_like(expected), []
        for step in self._format.expected_steps(prediction):
            mask = np.zeros_like(expected)
            with suppress(Refused):  # a missing or unreadable step found nothing, as in scoring
                if step in prediction.steps:
                    found = read_mask_volume(prediction.steps[step].file(), shape=expected.shape)
                    mask = found.labels.view(np.bool_)
            agreed = dice(prediction=mask, reference=expected)
            steps.append((f"step {step}, Dice {'undefined' if agreed is None else f'{agreed:.3f}'}", mask))
        wrong = (mask ^ expected).sum(axis=(1, 2))
        at = int(np.argmax(wrong if wrong.any() else expected.sum(axis=(1, 2))))
        image = _image(images, case=case, shape=expected.shape)
        x, y, z = volume.geometry.spacing

        def view(title: str, found: NDArray[np.bool_], true: NDArray[np.bool_], **more: Any) -> Overlay:
            layers = {"lesions": Outlined(prediction=found, reference=true)}
            return Overlay(title=title, layers=layers, **{"image": None, **more})

        def front(values: NDArray[Any]) -> NDArray[Any]:
            """Seen from the front; slices are stored from the feet upwards."""
            return np.asarray(values.max(axis=1)[::-1])

        shown = {} if image is None else {"image": image[at]}
        projected = {} if image is None else {"image": front(image)}
        title = f"axial slice {at + 1} of {len(expected)}, last step"
        whole = LabelledVolume(
            title="last step",
            image=image,
            prediction=mask,
            reference=expected,
            regions={"lesions": [1]},
            geometry=volume.geometry,
        )
        return [
            view(title, mask[at], expected[at], aspect=y / x, pixel_mm=x, volume=whole, **shown),
            view("maximum projection, last step", front(mask), front(expected), aspect=z / x, pixel_mm=x, **projected),
            *(view(words, front(each), front(expected), aspect=z / x, small=True) for words, each in steps),
        ]

    def check_images(
        self, case: str, shapes: Shapes, geometries: Geometries, images: Sequence[SafeFile]
    ) -> Sequence[Sequence[str]]:
        names = {case + channel for channel in _CHANNELS}
        found = [read_image(file, shape=shapes[VOLUME]) for file in images if case_of(file.name) in names]
        return [differing_parts(image.geometry, geometries.get(VOLUME)) for image in found]


def _image(images: Sequence[SafeFile], *, case: str, shape: tuple[int, ...]) -> NDArray[np.generic] | None:
    by_name = {case_of(PurePosixPath(file.name).name): file for file in images}
    found = next((by_name[case + channel] for channel in _CHANNELS if case + channel in by_name), None)
    return None if found is None else read_image(found, shape=shape).array


def build(
    name: str, cases: CasesSettings, settings: LesionsSettings
) -> Challenge[LesionsSettings, LesionsPrediction, SafeFile]:
    """The challenge with its settings."""
    files = LesionsFormat(cases, settings)
    return Challenge(
        name=name,
        kind=LESIONS.name,
        cases=cases,
        settings=settings,
        format=files,
        scorer=LesionsScorer(files, settings),
        scoreboard=scoreboard(settings),
        ranking=ranking_rule(settings),
        overlays=LesionsOverlays(files),
        computed_by=computed_by(settings),
        # They reveal where the lesions are, how large they are and how many there are.
        confidential=(
            *("lesions", "final_detections", "final_centroid_hits"),
            *("steps.tp", "steps.fn", "steps.voxels", "steps.pairs"),
        ),
    )


LESIONS = Kind(
    name="lesions",
    settings_model=LesionsSettings,
    build=build,
    format_settings={"regime": "clinician"},  # accepts any number of steps
)
