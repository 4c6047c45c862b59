"""Pictures of a submission's worst cases, for organisers: errors and the reference's outline over the image, and whole
volumes for a viewer.

This is the only part of a report that opens images.
"""

import gzip
import math
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.challenges import load_challenge
from podium.challenges.freehand.challenge import FreehandChallenge
from podium.challenges.freehand.reading import FreehandPrediction, FreehandReference
from podium.challenges.pictures import LabelledVolume, Overlay
from podium.errors import UsageError
from podium.evaluation import Task, find_challenge, prepare
from podium.execution.executor import Executor
from podium.metrics.overlap import bounding_box
from podium.platform.privacy import pseudonym
from podium.platform.submission import open_submission
from podium.readers.files import SafeFile, list_files
from podium.readers.formats.headers import with_crosses
from podium.sandbox.client import decoders
from podium.tools.ranking.wording import count, figure
from podium.tools.report.png import data_address, grey_levels, grey_window, png_file, reduced

_MOST_CHARACTERS = 3_000_000  # of all pictures of a page, which has to stay below 5 MB
_MOST_IN_VIEWER = 12_000_000  # characters of all volumes of a page
_MOST_VOXELS = 1_500_000  # of one volume
_MARGIN = 12  # voxels around the labels
_BARS_MM = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)
_LARGEST_CT_MINIMUM = -200  # an image of CT numbers has fat and air
WINDOWS: Mapping[str, tuple[float, float]] = {
    "liver": (60, 160),
    "lung": (-600, 1500),
    "bone": (400, 1800),
    "brain": (40, 80),
    "pet": (5, 10),
}
"""Level and width: of CT numbers, and of SUV for PET."""

Window = str | tuple[float, float]  # one of `WINDOWS`, or level and width
_NOTHING_DRAWN = "this case has no label image"
_NO_PICTURES = "No pictures: the file has no row of a scored case that lost anything."
_NO_VOLUMES = (
    "There is no 3-D viewer: these cases are not label volumes. A two-dimensional image is shown whole in its picture."
)


@dataclass(frozen=True, kw_only=True)
class View:
    """A picture as the template draws it: an image below paths, each with its CSS class. `caption` is shown below it,
    `described` is for those who cannot see it; `aspect` is the height of a pixel over its width;
    `letters` are the patient's sides at the left, right, upper and lower edge."""

    title: str
    caption: str
    described: str = ""
    width: int
    height: int
    aspect: float = 1.0
    image: str = ""
    paths: Sequence[tuple[str, str]] = ()
    letters: str = ""
    small: bool = False


@dataclass(frozen=True, kw_only=True)
class OverlayPicture:
    """One case: its views, and the structures outlined in them. `row` is its name in the results, which may be a
    pseudonym; `volumes` are what the viewer's script reads."""

    row: str
    title: str
    caption: str
    layers: Sequence[str] = ()
    views: Sequence[View] = ()
    volumes: Sequence[Mapping[str, Any]] = ()

    @property
    def size(self) -> int:
        """Its share of the HTML file, in characters, without the volumes."""
        return sum(len(view.image) + sum(len(path) for _, path in view.paths) for view in self.views)


@dataclass(frozen=True, kw_only=True)
class CasePictures:
    """The pictures of every team's worst cases, what readers should know about them, and the scripts of the viewer."""

    by_team: Mapping[str, Sequence[OverlayPicture]] = field(default_factory=dict)
    notes: Sequence[str] = ()
    scripts: Sequence[str] = ()

    def of(self, team: str) -> Sequence[OverlayPicture]:
        return self.by_team.get(team, ())


def with_views(
    picture: OverlayPicture, overlays: Sequence[Overlay], *, window: Window | None = None, has_viewer: bool = False
) -> OverlayPicture:
    """The picture with the views of its case, and with volumes where there is a viewer."""
    layers = list(dict.fromkeys(name for overlay in overlays for name in overlay.layers))
    views = [_view(overlay, layers, window) for overlay in overlays]
    wholes = {id(each.whole): each.whole for each in overlays if has_viewer and each.whole is not None}
    volumes = [packed_volume(whole, window) for whole in wholes.values() if whole.reference.ndim == 3]
    return replace(picture, layers=layers, views=views, volumes=volumes)


def shown_window(
    image: NDArray[Any], near: NDArray[Any] | None, wanted: Window | None
) -> tuple[tuple[float, float], str]:
    """The values that are black and white, and this in words: those of the labelled region and its surroundings
    (`near`), unless a window is wanted and, if by name, the image has values of its modality."""
    if isinstance(wanted, str):
        is_right, unit = (
            (image.min() >= 0, "SUV") if wanted == "pet" else (image.min() < _LARGEST_CT_MINIMUM, "CT numbers")
        )
        level, width = WINDOWS[wanted]
        if is_right:
            return (level - width / 2, level + width / 2), f"window {wanted} (level {level}, width {width})"
        refused = f": the image has no {unit} for '{wanted}'"
    elif wanted is not None:
        level, width = wanted
        return (level - width / 2, level + width / 2), f"window level {level:g}, width {width:g}"
    else:
        refused = ""
    ends = grey_window(image if near is None else near)
    return ends, "window {} to {}".format(*map(figure, ends)) + refused


def _view(overlay: Overlay, layers: Sequence[str], window: Window | None) -> View:
    height, width = next(iter(overlay.layers.values())).reference.shape
    address, paths, words = "", [], [part for part in (overlay.title, overlay.caption) if part]
    if overlay.image is not None:
        whole = overlay.whole
        image = overlay.image if whole is None or whole.image is None else whole.image
        ends, window_words = shown_window(image, None if whole is None else whole.surroundings, window)
        address = data_address(png_file(reduced(grey_levels(overlay.image, ends))))
        words.append(window_words)
    for number, name in enumerate(layers, start=1):
        if pair := overlay.layers.get(name):
            outline = outline_path(pair.reference)
            paths += [
                ("false-positive", fill_path(pair.prediction & ~pair.reference)),
                ("false-negative", fill_path(pair.reference & ~pair.prediction)),
                ("rim", outline),
                (f"reference layer-{number}", outline),
            ]
    bars = [bar for bar in _BARS_MM if overlay.pixel_mm and bar / overlay.pixel_mm <= width / 3]
    if overlay.pixel_mm and bars:
        paths.append(("scale", f"M{width * 0.04:g} {height * 0.96:g}h{bars[-1] / overlay.pixel_mm:g}"))
        words.append(f"bar {bars[-1]:g} mm")
    described = ", ".join(
        f"{name}: {int(pair.prediction.sum())} pixels predicted, {int(pair.reference.sum())} in the reference, "
        f"{int((pair.prediction & pair.reference).sum())} shared"
        for name, pair in overlay.layers.items()
    )
    return View(
        title=overlay.title,
        caption=", ".join(words),
        described=f"Errors of the prediction over the reference. {described}.",
        width=width,
        height=height,
        aspect=overlay.aspect,
        image=address,
        paths=[(kind, path) for kind, path in paths if path],
        letters=overlay.letters,
        small=overlay.small,
    )


def _trajectory(
    files: FreehandChallenge, case: str, prediction: FreehandPrediction, reference: FreehandReference
) -> list[View]:
    """The 3-D path of a scan and its errors over the frames, as `podium freehand plot` draws them."""
    from podium.tools.freehand import draw_trajectory, scan_trajectory  # not in the image, which has other pages

    found = scan_trajectory(files.read_reference(reference), prediction, grid=files.grid, threads=1)
    address = data_address(draw_trajectory(found, title=case))
    caption = "trajectory and errors over the frames"
    return [View(title="trajectory", caption=caption, width=1200, height=600, image=address)]


@dataclass(frozen=True)
class OverlaySource:
    """The ground truth and the images, checked once for any number of submissions; `viewer` are the viewer's scripts,
    where one is wanted."""

    task: Task
    images: Sequence[SafeFile]
    executor: Executor
    viewer: Sequence[str] = ()
    window: Window | None = None

    @classmethod
    @contextmanager
    def open(  # noqa: PLR0913  (what is drawn, and how)
        cls,
        *,
        ground_truth: Path,
        images: Path | None,
        challenge: str,
        executor: Executor,
        viewer: Sequence[str] = (),
        window: Window | None = None,
    ) -> Iterator["OverlaySource"]:
        """Read the ground truth of `challenge` and list the images; submissions are decoded in separate processes."""
        if images is not None and not images.is_dir():
            raise UsageError("The folder given with --images does not exist.", detail=str(images))
        folder = find_challenge(ground_truth, challenge)
        loaded = load_challenge(folder)
        with decoders(libraries=loaded.libraries, logged=False):
            listed = list_files(images, trusted=True).files if images else ()
            yield cls(prepare(folder, loaded, executor), listed, executor, viewer, window)

    def draw_all(
        self, worst: Mapping[str, Mapping[str, str]], submissions: Mapping[str, Path], *, label: str
    ) -> CasePictures:
        """The worst cases of every team (case to caption), for as long as the page stays small."""
        found: dict[str, Sequence[OverlayPicture]] = {}
        has_volumes: list[bool] = []  # of every pictured case with a volume: whether the viewer shows it
        room, viewer_room = _MOST_CHARACTERS, _MOST_IN_VIEWER
        for team, captions in worst.items():
            pictures = self.draw(captions, submissions[team], label=label)
            room -= sum(picture.size for picture in pictures)
            if room < 0:
                break
            for number, picture in enumerate(pictures):
                if picture.volumes:
                    viewer_room -= sum(len(each["image"]) + len(each["labels"]) for each in picture.volumes)
                    has_volumes.append(viewer_room >= 0)
                    pictures[number] = picture if viewer_room >= 0 else replace(picture, volumes=())
            found[team] = pictures
        notes = [] if any(worst.values()) else [_NO_PICTURES]
        if len(found) < len(worst):
            notes.append(f"{len(found)} of {len(worst)} teams have pictures: more would make the page too large.")
        if self.viewer and not has_volumes:
            notes.append(_NO_VOLUMES)
        elif self.viewer:
            shown = f"The 3-D viewer shows {sum(has_volumes)} of {count(len(has_volumes), 'pictured case')}"
            notes.append(shown + ("." if all(has_volumes) else ": more would make the page too large."))
        return CasePictures(by_team=found, notes=notes, scripts=self.viewer if any(has_volumes) else ())

    def draw(self, captions: Mapping[str, str], submission: Path, *, label: str) -> list[OverlayPicture]:
        """These cases of one team's submission; `label` names the file that they come from.

        Pseudonyms are resolved with the ground truth.
        """
        rows = {}
        for row in captions:
            names = (name for name in self.task.references if row in (name, pseudonym(name, key=self.task.digest)))
            case = next(names, None)
            if case is None:
                raise UsageError(f"{label} has the case '{row}', which this ground truth does not have.")
            rows[case] = row
        challenge = self.task.challenge
        limit = challenge.submission_bytes([each.shapes for each in self.task.checked.values()])
        with open_submission(submission, max_bytes=limit, shape=self.task.folder.common.submission) as opened:
            collected = challenge.pair(opened, self.task.references.keys())
            missing = sorted(set(rows) - set(collected.predictions))
            if missing:
                raise UsageError(
                    f"{submission} has no prediction for '{missing[0]}', which is scored in {label}; "
                    "give the submission that this file was made from."
                )

            def draw(case: str) -> OverlayPicture:
                prediction, reference = collected.predictions[case], self.task.references[case]
                picture = OverlayPicture(row=rows[case], title=case, caption=captions[rows[case]])
                if isinstance(challenge, FreehandChallenge):
                    return replace(picture, views=_trajectory(challenge, case, prediction, reference))
                overlays = challenge.overlays(case, prediction, reference, self.images)
                if not overlays:
                    return replace(picture, caption=f"{picture.caption}. No picture: {_NOTHING_DRAWN}")
                return with_views(picture, overlays, window=self.window, has_viewer=bool(self.viewer))

            outcomes = self.executor.run(list(rows), draw, label="drawing")
        pictures = []
        for case, outcome in outcomes.items():
            if outcome.error is not None:
                caption = f"{captions[rows[case]]}. No picture: {outcome.error.removesuffix('.')}"
                pictures.append(OverlayPicture(row=rows[case], title=case, caption=caption))
            elif outcome.value is not None:
                pictures.append(outcome.value)
        return pictures


# Volumes for the viewer.


def packed_volume(volume: LabelledVolume, window: Window | None = None) -> dict[str, Any]:
    """The part of a volume around all labels, thinned along its finest axes where it would be too large.

    size     columns, rows, slices
    matrix   three rows from a voxel to mm, to the right, to the front and up
    image    its grey levels, black and white at the ends of `window`; "" where there is no image
    labels   prediction and reference, one after the other
    regions  the codes of every structure in `labels`
    part     which part it is, in words
    axial    as in the pictures: the number of the lowest slice, what the next one's differs by, and how many there are
    """
    members: dict[tuple[str, ...], list[int]] = {}  # label values that are in the same structures share a code
    labels = sorted({number for numbers in volume.regions.values() for number in numbers})
    for number in labels:
        members.setdefault(tuple(name for name, each in volume.regions.items() if number in each), []).append(number)
    shape, geometry = volume.reference.shape, volume.geometry
    spacing = np.array(geometry.spacing[::-1] if geometry else (1.0,) * 3)
    labelled = bounding_box(np.isin(volume.prediction, labels) | np.isin(volume.reference, labels))
    box = labelled or tuple(slice(0, length) for length in shape)
    margins = [(side.start - _MARGIN, side.stop + _MARGIN) for side in box]
    ends = [(max(0, start), min(length, stop)) for (start, stop), length in zip(margins, shape, strict=True)]
    steps = np.ones(3, int)
    while math.prod(-(-(stop - start) // step) for (start, stop), step in zip(ends, steps, strict=True)) > _MOST_VOXELS:
        steps[np.argmin(spacing * steps)] += 1
    part = tuple(slice(start, stop, int(step)) for (start, stop), step in zip(ends, steps, strict=True))
    codes = np.zeros((2, *volume.reference[part].shape), np.uint8)
    for code, numbers in enumerate(members.values(), start=1):
        codes[np.isin([volume.prediction[part], volume.reference[part]], numbers)] = code
    image, ends_shown = None, (0.0, 1.0)
    if volume.image is not None:
        image, (ends_shown, _) = volume.image[part], shown_window(volume.image, volume.surroundings, window)
    axes = geometry.axes * geometry.spacing if geometry else np.eye(3)
    first = np.array([start for start, _ in reversed(ends)])
    corner = np.array((geometry and geometry.origin) or (0.0,) * 3) + axes @ first
    to_ras = np.array([[-1], [-1], [1]])  # ITK's axes run to the left and to the back
    matrix = np.column_stack([axes * steps[::-1], corner]) * to_ras
    cropped, every = (with_crosses(sizes[::-1]) for sizes in ([stop - start for start, stop in ends], shape))
    words = [f"{cropped} of {every} voxels around all labels"] if cropped != every else []
    if steps.max() > 1:
        words.append(f"one of every {with_crosses(steps[::-1])}")
    start, step = ends[0][0], int(steps[0])
    return {
        "title": volume.title,
        "size": list(codes.shape[:0:-1]),
        "matrix": matrix.round(6).tolist(),
        "window": list(ends_shown),
        "image": _packed(grey_levels(image, ends_shown)) if image is not None else "",
        "labels": _packed(codes),
        "regions": {
            name: [code for code, names in enumerate(members, start=1) if name in names] for name in volume.regions
        },
        "part": ", ".join(words),
        "axial": [*((shape[0] - start, -step) if volume.is_placed else (start + 1, step)), shape[0]],
    }


def _packed(values: NDArray[np.uint8]) -> str:
    return b64encode(gzip.compress(values.tobytes(), 9, mtime=0)).decode("ascii")


# Masks as SVG paths along the edges of their pixels: exact at any size.


def fill_path(mask: NDArray[np.bool_]) -> str:
    """Every run of pixels in a row as a rectangle."""
    return "".join(f"M{x} {y}h{length}v1h-{length}z" for y, x, length in _runs(mask))


def outline_path(mask: NDArray[np.bool_]) -> str:
    """The edges between the mask and its surroundings, holes included, as straight lines."""
    padded = np.pad(mask, 1)
    across, along = np.diff(padded, axis=0)[:, 1:-1], np.diff(padded, axis=1)[1:-1]
    lines = [f"M{x} {y}h{length}" for y, x, length in _runs(across)]
    return "".join([*lines, *(f"M{x} {y}v{length}" for x, y, length in _runs(along.T))])


def _runs(flags: NDArray[np.bool_]) -> Iterator[tuple[int, int, int]]:
    """Row, start and length of every run of set flags."""
    steps = np.diff(np.pad(flags, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    for (row, start), (_, end) in zip(np.argwhere(steps == 1).tolist(), np.argwhere(steps == -1).tolist(), strict=True):
        yield row, start, end - start
