"""Distances between the boundaries of two masks, measured once; NSD, Hausdorff and mean distances follow from them."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import product
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from podium.metrics import Floats, Mask

BoundaryKind = Literal["voxels", "surface"]
Combine = Literal["max", "pooled"]
Places = NDArray[np.int64]
_LEAF = 32  # larger than SciPy's 16: a tree is built for one query
_REACH = 3  # voxels: most elements have a neighbour within them, and looking there takes half of a tree's time
_FEW = 1000  # elements: below, the fixed cost of looking around is not worth it (an estimate)


@dataclass(frozen=True, eq=False, kw_only=True)
class DirectedDistances:
    """From every element of one boundary to the nearest element of the other; `weights` as in `Boundary`."""

    distances: Floats
    weights: Floats | None

    def total(self) -> float:
        return len(self.distances) if self.weights is None else float(self.weights.sum())

    def within(self, tolerance: float) -> float:
        """How many elements, or how much area, is within the tolerance."""
        if self.weights is None:
            # In single precision, as in MONAI: three voxels of 0.1 mm are within 0.3 mm, which they are not in
            # double precision.
            return int(np.count_nonzero(self.distances.astype(np.float32) <= np.float32(tolerance)))
        return float(self.weights[self.distances <= tolerance].sum())

    def mean(self) -> float:
        return float(np.average(self.distances, weights=self.weights))

    def percentile(self, percentile: float) -> float:
        """Linear between neighbours; with weights, the least distance that covers this share of the area (DeepMind)."""
        if self.weights is None:
            return float(np.percentile(self.distances, percentile))
        order = np.lexsort((self.weights, self.distances))  # DeepMind's order: the sums below are rounded as there
        covered = np.cumsum(self.weights[order]) / np.sum(self.weights[order])
        place = int(np.searchsorted(covered, percentile / 100))
        return float(self.distances[order[min(place, len(order) - 1)]])


@dataclass(frozen=True, eq=False, kw_only=True)
class SurfaceDistances:
    """The distances of two boundaries from each other, in the unit of the spacing. Only NSD is defined for empty masks:
    for the other figures, neither mask may be empty."""

    prediction: DirectedDistances  # from the prediction's boundary to the reference's
    reference: DirectedDistances

    def nsd(self, tolerance: float) -> float:
        """NSD = (P's boundary within the tolerance of G's + G's within the tolerance of P's) / (both boundaries).

        Between 0 and 1, higher is better; compared with `<=`. MONAI's `compute_surface_dice`, or for surface elements
        DeepMind's `compute_surface_dice_at_tolerance`. 1 where both masks are empty.
        """
        near = self.prediction.within(tolerance) + self.reference.within(tolerance)
        total = self.prediction.total() + self.reference.total()
        return near / total if total else 1.0

    def hausdorff(self, *, percentile: float = 95.0, combine: Combine = "max") -> float:
        """HD = a percentile of the boundary distances, the largest for 100; lower is better.

        "max": the larger of the two directions' percentiles (MONAI's `compute_hausdorff_distance`, DeepMind's
        `compute_robust_hausdorff`). "pooled": the percentile of all distances of both directions (MedPy's `hd95`).
        """
        if combine == "pooled":
            return self._pooled().percentile(percentile)
        return max(self.prediction.percentile(percentile), self.reference.percentile(percentile))

    def assd(self) -> float:
        """ASSD = the mean of all boundary distances of both directions, by area for surface elements; lower is better.

        MONAI's `compute_average_surface_distance` with `symmetric=True`.
        """
        return self._pooled().mean()

    def masd(self) -> float:
        """MASD = the mean of the two directions' mean distances; lower is better."""
        return (self.prediction.mean() + self.reference.mean()) / 2

    def _pooled(self) -> DirectedDistances:
        sides = (self.prediction, self.reference)
        weights = [side.weights for side in sides if side.weights is not None]
        return DirectedDistances(
            distances=np.concatenate([side.distances for side in sides]),
            weights=np.concatenate(weights) if weights else None,
        )


def measure_surfaces(
    *, prediction: Mask, reference: Mask, spacing: Sequence[float] | None = None, boundary: BoundaryKind = "voxels"
) -> SurfaceDistances:
    """Both boundaries and their distances, once for all figures.

    The masks should be cropped (`podium.metrics.overlap`): time and memory follow the size of the arrays. `spacing` is
    in the axes' order, in mm; without it distances are in voxels. `boundary` is "voxels" (MONAI) or "surface"
    (DeepMind, areas too).
    """
    scale = np.ones(reference.ndim) if spacing is None else np.asarray(spacing, np.float64)
    if boundary == "voxels":
        found, expected = boundary_voxels(prediction), boundary_voxels(reference)
    else:
        found, expected = (surface_elements(mask, scale.tolist()) for mask in (prediction, reference))
    return SurfaceDistances(
        prediction=DirectedDistances(distances=nearest_distances(found, expected, scale), weights=found.weights),
        reference=DirectedDistances(distances=nearest_distances(expected, found, scale), weights=expected.weights),
    )


def diagonal_mm(*, shape: Sequence[int], spacing_mm: Sequence[float]) -> float:
    """The length of an image's diagonal, sqrt of the sum of (size x spacing)²: the worst distance of the image."""
    return math.hypot(*(size * step for size, step in zip(shape, spacing_mm, strict=True)))


# The boundary of a mask in two definitions: MONAI's boundary voxels and DeepMind's surface elements.


@dataclass(frozen=True, eq=False, kw_only=True)
class Boundary:
    """The elements of one mask's boundary, on a grid that both masks share."""

    shape: tuple[int, ...]  # of the grid of elements: the voxels, or the corners between voxels
    places: NDArray[np.int64]  # flat indices into the grid, ascending
    weights: Floats | None = None  # area of every element in mm² (length in mm in 2-D); None where all count the same

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
    """(code, triangle, axis): DeepMind's table, as MONAI has it (the file names its source).

    Marching cubes are ambiguous for some codes (scikit-image's differ in 44), so the table is a part of the definition.
    """
    table = json.loads(files("podium.metrics").joinpath("triangle_normals.json").read_text(encoding="utf-8"))
    return np.array(table["eighths"], np.float64).reshape(256, 4, 3) / 8


# The distance of every element of one boundary from the nearest element of another.


def nearest_distances(start: Boundary, goal: Boundary, scale: Floats) -> Floats:
    """From every element of `start` to the nearest of `goal`, both on one grid with spacing `scale`; infinite where
    `goal` has none.

    Elements near the goal are found by looking at all places around them, the others by a KD-tree, which was three to
    four times as fast as a distance transform of the crop on organs of 10,000 boundary voxels. Distances come from
    differences of indices, so they do not depend on where in the image a pair is.
    """
    distances = np.full(len(start.places), np.inf)
    if len(goal.places) == 0 or len(start.places) == 0:
        return distances
    asked, goals = start.coordinates(), goal.coordinates()
    far = np.arange(len(asked))
    if len(asked) > _FEW:
        far = _look_around(asked, goals, goal.shape, scale, distances)
    if len(far):
        from scipy.spatial import cKDTree

        tree = cKDTree(goals * scale, leafsize=_LEAF, balanced_tree=False)
        _, found = tree.query(asked[far] * scale)
        distances[far] = np.sqrt((((asked[far] - goals[found]) * scale) ** 2).sum(axis=1))
    return distances


def _look_around(asked: Places, goals: Places, shape: tuple[int, ...], scale: Floats, distances: Floats) -> Places:
    """Sets the distances of elements that have a goal nearby; returns the others' numbers.

    The places around an element are visited in order of their distance, up to where a place out of reach may be nearer.
    """
    padded = tuple(length + 2 * _REACH for length in shape)
    grid = np.zeros(padded, np.bool_)
    grid[tuple((goals + _REACH).T)] = True
    flat = grid.reshape(-1)
    steps = np.indices((2 * _REACH + 1,) * len(shape)).reshape(len(shape), -1).T - _REACH
    lengths = np.sqrt(((steps * scale) ** 2).sum(axis=1))
    order = np.argsort(lengths, kind="stable")
    order = order[lengths[order] < (_REACH + 1) * scale.min()]
    strides = np.array(grid.strides)  # of one byte per place
    left, at = np.arange(len(asked)), (asked + _REACH) @ strides
    for offset, length in zip((steps[order] @ strides).tolist(), lengths[order].tolist(), strict=True):
        hit = flat[at + offset]
        if hit.any():
            distances[left[hit]] = length
            left, at = left[~hit], at[~hit]
    return left
