"""The boundary of a mask in two definitions: MONAI's boundary voxels and DeepMind's surface elements."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False, kw_only=True)
class Boundary:
    """The elements of one mask's boundary, on a grid that both masks share."""

    shape: tuple[int, ...]
    """Of the grid of elements: the voxels, or the corners between voxels."""

    places: NDArray[np.int64]
    """Flat indices into the grid, ascending."""

    weights: Floats | None = None
    """Area of every element in mm² (length in mm in 2-D); None where all count the same."""

    def coordinates(self) -> NDArray[np.int64]:
        """One row per element, in the axes' order."""
        return np.stack(np.unravel_index(self.places, self.shape), axis=1)


def boundary_voxels(mask: Mask) -> Boundary:
    """The voxels that a mask's erosion by faces removes: mask xor erosion, with background beyond the image.

    MONAI's `get_mask_edges`. A voxel is inside where all of its 4 (2-D) or 6 (3-D) neighbours are in the mask.
    """
    inside = mask.copy()
    for axis in range(mask.ndim):
        here, there = np.moveaxis(inside, axis, 0), np.moveaxis(mask, axis, 0)
        here[1:] &= there[:-1]
        here[:-1] &= there[1:]
        here[:1] = False
        here[-1:] = False
    return Boundary(shape=mask.shape, places=np.flatnonzero(mask ^ inside))


def surface_elements(mask: Mask, spacing_mm: Sequence[float]) -> Boundary:
    """The pieces of surface that marching cubes lays through a mask, each at a corner between voxels, with its area.

    DeepMind's definition (Nikolov et al. 2018, arXiv:1809.04430): the 2^n voxels around a corner make a code, and the
    code has an area for the given spacing. A corner has a piece unless all of its voxels are alike.
    """
    padded = np.pad(mask, 1).view(np.uint8)
    corners = tuple(length + 1 for length in mask.shape)
    codes = np.zeros(corners, np.uint8)
    for corner in product((0, 1), repeat=mask.ndim):
        around = tuple(slice(step, step + length) for step, length in zip(corner, corners, strict=True))
        codes <<= 1
        codes |= padded[around]
    del padded
    full = (1 << 2**mask.ndim) - 1
    places = np.flatnonzero(codes - np.uint8(1) < full - 1)  # neither 0, which becomes 255, nor full
    return Boundary(shape=corners, places=places, weights=_areas(spacing_mm)[codes.reshape(-1)[places]])


def _areas(spacing_mm: Sequence[float]) -> Floats:
    """The area in mm² (length in mm in 2-D) of every code, the voxel first in C order being the highest bit."""
    if len(spacing_mm) == 3:
        # A triangle's normal has its area as length; it grows along an axis with the two other axes' spacings.
        normals = _triangle_normals() * (np.prod(spacing_mm) / np.asarray(spacing_mm, np.float64))
        return np.asarray(np.linalg.norm(normals, axis=2).sum(axis=1))
    height, width = spacing_mm
    cut = float(np.hypot(height, width)) / 2  # the line that cuts one corner off
    straight = {0b0011: width, 0b1100: width, 0b0101: height, 0b1010: height, 0b0000: 0.0, 0b1111: 0.0}
    opposite = {0b0110: 2 * cut, 0b1001: 2 * cut}
    return np.array([{**straight, **opposite}.get(code, cut) for code in range(16)])


@cache
def _triangle_normals() -> Floats:
    """(code, triangle, axis): MONAI's copy of DeepMind's table.

    Marching cubes are ambiguous for some codes (scikit-image's differ in 44), so the table is a part of the definition.
    Taken from MONAI's own table because what it derives from it is in single precision.
    """
    from monai.metrics.utils import _get_neighbour_code_to_normals_table

    return np.asarray(_get_neighbour_code_to_normals_table().numpy(), np.float64)
