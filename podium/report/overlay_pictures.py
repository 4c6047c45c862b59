"""Overlays: a team's prediction and the reference, as outlines over the image."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from podium.challenges.base import Overlay
from podium.report.outlines import outline_path
from podium.report.png import grey_levels, png_data_address, reduced
from podium.report.svg import element
from podium.report.words import on_one_line


@dataclass(frozen=True, kw_only=True)
class OverlayPicture:
    """One case: panels (SVG) of its views, and the structures outlined in them."""

    title: str
    caption: str
    layers: Sequence[str]
    panels: Sequence[str]

    @property
    def size(self) -> int:
        """How much of the file it takes."""
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
