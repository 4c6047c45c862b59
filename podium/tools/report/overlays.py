"""Overlays of a submission's worst cases, for organisers: errors and the reference's outline over the image.

This is the only part of a report that opens images.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from podium.challenges import load_challenge
from podium.challenges.base import Overlay
from podium.challenges.freehand.format import FreehandFormat
from podium.challenges.freehand.reading import FreehandPrediction, FreehandReference
from podium.errors import UsageError
from podium.evaluation import Task, find_challenge, prepare
from podium.execution.executor import Executor
from podium.metrics.declaration import Metric
from podium.platform.privacy import pseudonym
from podium.platform.submission import open_submission
from podium.readers.files import SafeFile, list_files
from podium.sandbox.decoders import decoders
from podium.tools.ranking.wording import figure, on_one_line
from podium.tools.report.png import data_address, grey_levels, grey_window, png_file, reduced

OVERLAYS = 4
"""How many of a submission's worst cases are drawn."""

MOST_BYTES = 3_000_000
"""All overlays of a ranking's report together: the page has to stay below 5 MB."""

_BARS_MM = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)


@dataclass(frozen=True, kw_only=True)
class ScoredCases:
    """One submission's scored cases by one metric: case to value."""

    metric: Metric
    values: Mapping[str, float]

    def worst_first(self) -> list[str]:
        """The cases in order, equals by name."""
        sign = 1 if self.metric.direction == "higher" else -1
        return sorted(self.values, key=lambda case: (sign * self.values[case], case))


@dataclass(frozen=True, kw_only=True)
class OverlayPicture:
    """One case: panels (HTML with SVG) of its views, and the structures outlined in them. `row` is its name in the
    results, which may be a pseudonym."""

    row: str = ""
    title: str
    caption: str
    layers: Sequence[str]
    panels: Sequence[str]

    @property
    def size(self) -> int:
        """Its share of the HTML file, in characters."""
        return sum(map(len, self.panels))


def overlay_picture(overlays: Sequence[Overlay], *, title: str, caption: str) -> OverlayPicture:
    """The views of one case side by side."""
    layers = list(dict.fromkeys(name for overlay in overlays for name in overlay.layers))
    panels = [_panel(overlay, case=title, layers=layers) for overlay in overlays]
    return OverlayPicture(title=title, caption=caption, layers=layers, panels=panels)


def _panel(overlay: Overlay, *, case: str, layers: Sequence[str]) -> str:
    """A picture that a click enlarges, without a script, and what it shows."""
    height, width = next(iter(overlay.layers.values())).reference.shape
    parts, words = [], [overlay.title]
    if overlay.image is not None:
        address = data_address(png_file(reduced(grey_levels(overlay.image))))
        parts.append(element("image", href=address, width=width, height=height, preserveAspectRatio="none"))
        words.append("window {} to {}".format(*map(figure, grey_window(overlay.image))))
    for number, name in enumerate(layers, start=1):
        if pair := overlay.layers.get(name):
            wrong = {
                "false-positive": pair.prediction & ~pair.reference,
                "false-negative": pair.reference & ~pair.prediction,
            }
            parts += [element("path", d=fill_path(mask), class_=kind) for kind, mask in wrong.items() if mask.any()]
            if path := outline_path(pair.reference):
                for kind in ("rim", f"reference layer-{number}"):
                    parts.append(element("path", d=path, class_=kind, vector_effect="non-scaling-stroke"))
    bars = [bar for bar in _BARS_MM if overlay.pixel_mm and bar / overlay.pixel_mm <= width / 3]
    if overlay.pixel_mm and bars:
        place = f"M{width * 0.04:g} {height * 0.96:g}h{bars[-1] / overlay.pixel_mm:g}"
        parts.append(element("path", d=place, class_="scale", vector_effect="non-scaling-stroke"))
        words.append(f"bar {bars[-1]:g} mm")
    described = ", ".join(
        f"{name}: {int(pair.prediction.sum())} pixels predicted, {int(pair.reference.sum())} in the reference, "
        f"{int((pair.prediction & pair.reference).sum())} shared"
        for name, pair in overlay.layers.items()
    )
    picture = element(
        "svg",
        element("title", escape(on_one_line(f"{case}, {overlay.title}"))),
        element("desc", escape(on_one_line(f"Errors of the prediction over the reference. {described}."))),
        element("g", *parts, transform=f"scale(1 {overlay.aspect:g})" if overlay.aspect != 1 else None),
        viewBox=f"0 0 {width} {height * overlay.aspect:g}",
        role="img",
    )
    return _enlargeable(picture, f"{case}, {overlay.title}", said=", ".join(words), small=overlay.small)


def _enlargeable(picture: str, title: str, *, said: str, small: bool = False) -> str:
    enlarge = element("input", type="checkbox", aria_label=on_one_line(f"Enlarge {title}"))
    label = element("span", escape(on_one_line(said)))
    return element("label", enlarge, picture, label, class_="panel small" if small else "panel")


def _trajectory_picture(
    files: FreehandFormat, case: str, prediction: FreehandPrediction, reference: FreehandReference, caption: str
) -> OverlayPicture:
    """The 3-D path of a scan and its errors over the frames, as `podium freehand plot` draws them."""
    from podium.tools.freehand import draw_trajectory, scan_trajectory  # not in the image, which has other pages

    found = scan_trajectory(files.read_reference(reference), prediction, grid=files.grid, threads=1)
    image = element("image", href=data_address(draw_trajectory(found, title=case)), width=1200, height=600)
    title = element("title", escape(on_one_line(f"{case}, trajectory")))
    picture = element("svg", title, image, viewBox="0 0 1200 600", role="img")
    panel = _enlargeable(picture, f"{case}, trajectory", said="trajectory and errors over the frames")
    return OverlayPicture(title=case, caption=caption, layers=(), panels=[panel])


def element(tag: str, *children: str, **attributes: object) -> str:
    """`<tag attributes>children</tag>`; children are markup, attribute values are not.

    A trailing underscore is dropped and the others become hyphens: `class_="axis", text_anchor="end"`.
    """
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    return f"<{tag}{written}>{''.join(children)}</{tag}>" if children else f"<{tag}{written}/>"


def worst_captions(scored: ScoredCases | None) -> dict[str, str]:
    """The worst cases, each with the figure that makes it one."""
    if scored is None:
        return {}
    return {case: f"{scored.metric.title} {figure(scored.values[case])}" for case in scored.worst_first()[:OVERLAYS]}


@dataclass(frozen=True)
class OverlaySource:
    """The ground truth and the images, checked once for any number of submissions."""

    task: Task
    images: Sequence[SafeFile]
    executor: Executor

    @classmethod
    @contextmanager
    def open(
        cls, *, ground_truth: Path, images: Path | None, challenge: str, executor: Executor
    ) -> Iterator["OverlaySource"]:
        """Read the ground truth of `challenge` and list the images; submissions are decoded in separate processes."""
        if images is not None and not images.is_dir():
            raise UsageError("The folder given with --images does not exist.", detail=str(images))
        folder = find_challenge(ground_truth, challenge)
        loaded = load_challenge(folder)
        with decoders(libraries=loaded.format.libraries, logged=False):
            listed = list_files(images, trusted=True).files if images else ()
            yield cls(prepare(folder, loaded, executor), listed, executor)

    def draw(self, scored: ScoredCases | None, submission: Path, *, label: str) -> list[OverlayPicture]:
        """The worst cases of one team's submission; `label` names the file that `scored` comes from.

        Pseudonyms are resolved with the ground truth.
        """
        captions = {self._true_name(case, label): caption for case, caption in worst_captions(scored).items()}
        challenge = self.task.challenge
        limit = challenge.format.submission_bytes(list(self.task.shapes.values()))
        with open_submission(submission, max_bytes=limit, shape=self.task.folder.common.submission) as opened:
            collected = challenge.format.collect(opened, self.task.references.keys())
            lost = sorted(set(captions) - set(collected.predictions))
            if lost:
                raise UsageError(
                    f"{submission} has no prediction for '{lost[0]}', which is scored in {label}; "
                    "give the submission that this file was made from."
                )

            def draw(case: str) -> OverlayPicture | None:
                prediction, reference = collected.predictions[case], self.task.references[case]
                if isinstance(challenge.format, FreehandFormat):
                    return _trajectory_picture(challenge.format, case, prediction, reference, captions[case])
                if challenge.overlays is None:
                    return None
                views = challenge.overlays.draw(case, prediction, reference, self.images)
                return overlay_picture(views, title=case, caption=captions[case]) if views else None

            outcomes = self.executor.run(list(captions), draw, label="drawing")
        pictures = []
        for case, outcome in outcomes.items():
            if outcome.error is not None:
                words = f"{captions[case]}. No picture: {outcome.error.removesuffix('.')}"
                pictures.append(overlay_picture((), title=case, caption=words))
            elif outcome.value is not None:
                pictures.append(outcome.value)
        rows = {self._true_name(case, label): case for case in worst_captions(scored)}
        return [replace(picture, row=rows[picture.title]) for picture in pictures]

    def _true_name(self, case: str, label: str) -> str:
        known = self.task.references
        found = next((name for name in known if case in (name, pseudonym(name, key=self.task.digest))), None)
        if found is None:
            raise UsageError(f"{label} has the case '{case}', which this ground truth does not have.")
        return found


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
