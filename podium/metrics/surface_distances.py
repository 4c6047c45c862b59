"""Distances between the boundaries of two masks, measured once; NSD, Hausdorff and mean distances follow from them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from podium.metrics.boundaries import boundary_voxels, surface_elements
from podium.metrics.nearest import nearest_distances
from podium.metrics.policy import AGREEMENT, Policy

BoundaryKind = Literal["voxels", "surface"]
Combine = Literal["max", "pooled"]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


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
            # In single precision, as MONAI has it: three voxels of 0.1 mm are within 0.3 mm, which they are not in
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
    """The distances of two boundaries from each other, in the unit of the spacing; measured where both have elements.

    Where a mask is empty, every figure follows its policy.
    """

    prediction: DirectedDistances
    """From the prediction's boundary to the reference's."""

    reference: DirectedDistances
    prediction_elements: int
    reference_elements: int

    def nsd(self, tolerance: float, *, policy: Policy = AGREEMENT) -> float | None:
        """NSD = (P's boundary within the tolerance of G's + G's within the tolerance of P's) / (both boundaries).

        Between 0 and 1, higher is better; compared with `<=`. MONAI's `compute_surface_dice`, or for surface elements
        DeepMind's `compute_surface_dice_at_tolerance`.
        """
        if self._is_up_to(policy):
            return self._value_by(policy)
        near = self.prediction.within(tolerance) + self.reference.within(tolerance)
        return near / (self.prediction.total() + self.reference.total())

    def hausdorff(self, *, percentile: float = 95.0, combine: Combine = "max", policy: Policy) -> float | None:
        """HD = a percentile of the boundary distances, the largest for 100; lower is better.

        "max": the larger of the two directions' percentiles (MONAI's `compute_hausdorff_distance`, DeepMind's
        `compute_robust_hausdorff`). "pooled": the percentile of all distances of both directions (MedPy's `hd95`).
        """
        if self._is_up_to(policy):
            return self._value_by(policy)
        if combine == "pooled":
            return self._pooled().percentile(percentile)
        return max(self.prediction.percentile(percentile), self.reference.percentile(percentile))

    def assd(self, *, policy: Policy) -> float | None:
        """ASSD = the mean of all boundary distances of both directions, by area for surface elements; lower is better.

        MONAI's `compute_average_surface_distance` with `symmetric=True`.
        """
        return self._value_by(policy) if self._is_up_to(policy) else self._pooled().mean()

    def masd(self, *, policy: Policy) -> float | None:
        """MASD = the mean of the two directions' mean distances; lower is better."""
        if self._is_up_to(policy):
            return self._value_by(policy)
        return (self.prediction.mean() + self.reference.mean()) / 2

    def _pooled(self) -> DirectedDistances:
        sides = (self.prediction, self.reference)
        weights = [side.weights for side in sides if side.weights is not None]
        return DirectedDistances(
            distances=np.concatenate([side.distances for side in sides]),
            weights=np.concatenate(weights) if weights else None,
        )

    def _is_up_to(self, policy: Policy) -> bool:
        return policy.applies(prediction=self.prediction_elements, reference=self.reference_elements)

    def _value_by(self, policy: Policy) -> float | None:
        return policy.value(prediction=self.prediction_elements, reference=self.reference_elements)


def measure_surfaces(
    *, prediction: Mask, reference: Mask, spacing: Sequence[float] | None = None, boundary: BoundaryKind = "voxels"
) -> SurfaceDistances:
    """Both boundaries and their distances, once for all figures.

    The masks should be cropped (`podium.metrics.regions`): time and memory follow the size of the arrays. `spacing` is
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
        prediction_elements=len(found.places),
        reference_elements=len(expected.places),
    )


def diagonal_mm(*, shape: Sequence[int], spacing_mm: Sequence[float]) -> float:
    """The length of an image's diagonal, sqrt of the sum of (size x spacing)²: the worst distance of the image."""
    return float(np.linalg.norm(np.asarray(shape) * np.asarray(spacing_mm, np.float64)))
