"""Overlays: what a team predicted and what was true, as outlines over the image they are about."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class OverlayPicture:
    """One case: panels (SVG) of its views, and the structures outlined in them."""

    title: str
    caption: str
    layers: Sequence[str]
    panels: Sequence[str]
