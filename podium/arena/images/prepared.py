"""A case image prepared for the page: pixels and a few numbers, nothing else."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

MESH_FILE = "mesh.mz3.gz"
MeshPart: TypeAlias = Literal["upper", "lower", "scan"]
_PNG_COMPRESSION = 4  # 6 takes a third more time and saves a hundredth


@dataclass(frozen=True, kw_only=True)
class PreparedImage:
    """The files `0.png` ... in one folder, and for a volume `0.u16.gz` ... beside them.

    slices                   of a volume, or the pages of a picture that has several
    width, height            of a slice, in pixels
    pixel_aspect             height of a pixel / width of a pixel
    pixel_mm, slice_mm       width of a pixel, and distance of slices, in mm
    value_low, value_high    what 0 and 65535 in the raw slices stand for, in the volume's own unit
    window_low, window_high  which values are black and white in the PNGs
    mesh_part                of a mesh: which jaw, or "scan"; its PNGs show it from all around, `mesh.mz3.gz` is itself
    """

    is_volume: bool
    slices: int
    width: int
    height: int
    pixel_aspect: float = 1.0
    pixel_mm: float = 1.0
    slice_mm: float = 1.0
    value_low: float = 0.0
    value_high: float = 255.0
    window_low: float = 0.0
    window_high: float = 255.0
    mesh_part: MeshPart | Literal[""] = ""

    @property
    def is_mesh(self) -> bool:
        return self.mesh_part != ""

    def files(self) -> Iterator[str]:
        """The names of all files of this image."""
        for number in range(self.slices):
            yield f"{number}.png"
            if self.is_volume:
                yield f"{number}.u16.gz"
        if self.is_mesh:
            yield MESH_FILE


def write_png(pixels: NDArray[np.uint8], path: Path) -> None:
    """An 8-bit PNG, grey (rows, columns) or RGB (rows, columns, 3): a fresh image carries no text, profile or date."""
    from PIL import Image  # only `init` needs it

    Image.fromarray(pixels).save(path, "PNG", compress_level=_PNG_COMPRESSION)
