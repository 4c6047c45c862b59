"""Overlays of a submission's worst cases, for organisers: prediction and reference as outlines over the image.

This is the only part of a report that opens images.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from itertools import groupby
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from podium.challenges import load_challenge
from podium.challenges.base import Overlay
from podium.errors import UsageError
from podium.evaluation import Task, find_challenge, prepare
from podium.execution.executor import Executor
from podium.metrics.declaration import Metric
from podium.platform.privacy import pseudonym
from podium.platform.submission import open_submission
from podium.readers.files import SafeFile, list_files
from podium.sandbox.decoders import decoders
from podium.tools.ranking.wording import figure, on_one_line
from podium.tools.report.png import grey_levels, png_data_address, reduced

OVERLAYS = 4
"""How many of a submission's worst cases are drawn."""

MOST_BYTES = 3_000_000
"""All overlays of a ranking's report together: the page has to stay below 5 MB."""

_STEPS = {"right": (1, 0), "down": (0, 1), "left": (-1, 0), "up": (0, -1)}
# Where two outlines touch at a corner, turn right first, so that pixels that meet at a corner stay separate.
_TURNS: dict[str, tuple[str, ...]] = {
    "right": ("down", "right", "up"),
    "down": ("left", "down", "right"),
    "left": ("up", "left", "down"),
    "up": ("right", "up", "left"),
}
Corner = tuple[int, int]  # x, y


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
    """One case: panels (SVG) of its views, and the structures outlined in them."""

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
    shape = next(iter(overlay.layers.values())).reference.shape
    height, width = shape
    parts = []
    if overlay.image is not None:
        parts.append(
            element(
                "image",
                href=png_data_address(reduced(grey_levels(overlay.image))),
                width=width,
                height=height,
                preserveAspectRatio="none",
            )
        )
    for number, name in enumerate(layers, start=1):
        if name in overlay.layers:
            pair = overlay.layers[name]
            for mask, kind in ((pair.reference, "reference"), (pair.prediction, "prediction")):
                if path := outline_path(mask):
                    parts.append(element("path", d=path, class_="rim", vector_effect="non-scaling-stroke"))
                    parts.append(
                        element("path", d=path, class_=f"{kind} layer-{number}", vector_effect="non-scaling-stroke")
                    )
    described = ", ".join(
        f"{name}: {int(pair.prediction.sum())} pixels predicted, {int(pair.reference.sum())} in the reference, "
        f"{int((pair.prediction & pair.reference).sum())} shared"
        for name, pair in overlay.layers.items()
    )
    return element(
        "svg",
        element("title", escape(on_one_line(f"{case}, {overlay.title}"))),
        element("desc", escape(on_one_line(f"Outlines of prediction and reference. {described}."))),
        element("g", *parts, transform=f"scale(1 {overlay.aspect:g})" if overlay.aspect != 1 else None)
        if parts
        else "",
        viewBox=f"0 0 {width} {height * overlay.aspect:g}",
        role="img",
    )


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
    def open(cls, *, ground_truth: Path, images: Path, challenge: str, executor: Executor) -> Iterator["OverlaySource"]:
        """Read the ground truth of `challenge` and list the images; submissions are decoded in separate processes."""
        if not images.is_dir():
            raise UsageError("The folder given with --images does not exist.", detail=str(images))
        folder = find_challenge(ground_truth, challenge)
        loaded = load_challenge(folder)
        with decoders(libraries=loaded.format.libraries, logged=False):
            yield cls(prepare(folder, loaded, executor), list_files(images, trusted=True).files, executor)

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
                if challenge.overlays is None:
                    return None
                prediction, reference = collected.predictions[case], self.task.references[case]
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
        return pictures

    def _true_name(self, case: str, label: str) -> str:
        known = self.task.references
        found = next((name for name in known if case in (name, pseudonym(name, key=self.task.digest))), None)
        if found is None:
            raise UsageError(f"{label} has the case '{case}', which this ground truth does not have.")
        return found


# The outline of a mask along the edges of its pixels, as one SVG path: exact, and dashes continue around it.


def outline_path(mask: NDArray[np.bool_]) -> str:
    """`M x y h n v n ... z` for every closed outline, holes included; empty for an empty mask."""
    edges = _edges(mask)
    paths = []
    while edges:
        start = min(edges, key=lambda corner: (corner[1], corner[0]))
        paths.append(_path(start, _walk(start, edges)))
    return "".join(paths)


def _edges(mask: NDArray[np.bool_]) -> dict[Corner, set[str]]:
    """Every edge between mask and background, directed so that the mask is on its right, by its first corner."""
    padded = np.pad(mask, 1).astype(np.int8)
    across, along = np.diff(padded, axis=0)[:, 1:-1], np.diff(padded, axis=1)[1:-1]
    edges: dict[Corner, set[str]] = {}

    def add(places: NDArray[np.bool_], heading: str, shift: Corner) -> None:
        for y, x in np.argwhere(places).tolist():
            edges.setdefault((x + shift[0], y + shift[1]), set()).add(heading)

    add(across == 1, "right", (0, 0))
    add(across == -1, "left", (1, 0))
    add(along == 1, "up", (0, 1))
    add(along == -1, "down", (0, 0))
    return edges


def _walk(start: Corner, edges: dict[Corner, set[str]]) -> list[str]:
    """The headings of one closed outline from `start`, its top left corner; its edges are removed."""
    headings: list[str] = []
    wanted: tuple[str, ...]
    corner, wanted = start, ("right", "down")  # of a pixel or of a hole: only one of them leads on
    while not headings or corner != start:
        heading = next(each for each in wanted if each in edges[corner])
        edges[corner].discard(heading)
        if not edges[corner]:
            del edges[corner]
        headings.append(heading)
        dx, dy = _STEPS[heading]
        corner, wanted = (corner[0] + dx, corner[1] + dy), _TURNS[heading]
    return headings


def _path(start: Corner, headings: list[str]) -> str:
    runs = []
    for heading, run in groupby(headings):
        length = sum(1 for _ in run)
        dx, dy = _STEPS[heading]
        runs.append(f"h{dx * length}" if dx else f"v{dy * length}")
    return f"M{start[0]} {start[1]}{''.join(runs)}z"
