"""One region of one case on both sides, with what several metrics share of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from podium.challenges.declared.catalogue.base import DeclaredCase
from podium.challenges.declared.values import Compared
from podium.challenges.declared.values.labels import LabelImage
from podium.metrics.overlap import Mask, Region, VoxelCounts, count_voxels, find_regions, voxel_ml
from podium.metrics.surfaces import BoundaryKind, SurfaceDistances, measure_surfaces

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, eq=False)
class RegionPair:
    """One region of one case on both sides; without a usable prediction it is empty there.

    spacing      of the reference in array order, mm
    diagonal_mm  of the whole image
    image_voxels of the whole image
    """

    name: str
    region: Region
    spacing: tuple[float, ...]
    diagonal_mm: float
    image_voxels: int
    is_lost: bool
    cache: dict[Any, Any] = field(default_factory=dict)

    def once(self, key: Any, compute: Callable[[], T]) -> T:
        """What several metrics of a region share is computed once."""
        if key not in self.cache:
            self.cache[key] = compute()
        found: T = self.cache[key]
        return found

    def masks(self) -> tuple[Mask, Mask]:
        """Of prediction and reference, cut to what they cover; made when asked for and not kept."""
        prediction, reference = self.region.masks()
        return (np.zeros_like(reference) if self.is_lost else prediction), reference

    @property
    def counts(self) -> VoxelCounts:
        """Voxels of the two masks."""

        def counted() -> VoxelCounts:
            prediction, reference = self.masks()
            return count_voxels(prediction=prediction, reference=reference)

        return self.once("counts", counted)

    def surfaces(self, *, boundary: BoundaryKind, in_mm: bool) -> SurfaceDistances:
        """The distances of the two boundaries."""

        def measured() -> SurfaceDistances:
            prediction, reference = self.masks()
            spacing = self.spacing if in_mm else None
            return measure_surfaces(prediction=prediction, reference=reference, spacing=spacing, boundary=boundary)

        return self.once(("surfaces", boundary, in_mm), measured)

    @property
    def voxel_ml(self) -> float:
        """A picture is one slice of 1 mm."""
        return voxel_ml((*(1.0,) * (3 - len(self.spacing)), *self.spacing))


def region_pair(case: DeclaredCase, value: str, region: str) -> RegionPair:
    """One region of a case: all regions of a label image are found in one pass, for all metrics."""
    compared: Compared[LabelImage, LabelImage] = case.values[value]
    if "pairs" not in compared.cache:
        compared.cache["pairs"] = _all_pairs(compared)
    pair: RegionPair = compared.cache["pairs"][region]
    return pair


def _all_pairs(compared: Compared[LabelImage, LabelImage]) -> Mapping[str, RegionPair]:
    reference = compared.reference
    found = find_regions(
        prediction=reference.labels if compared.prediction is None else compared.prediction.labels,
        reference=reference.labels,
        regions={name: frozenset(values) for name, values in compared.cache["regions"].items()},
        ignore=compared.cache["ignore"],
    )
    return {
        name: RegionPair(
            name=name,
            region=region,
            spacing=reference.spacing,
            diagonal_mm=reference.diagonal_mm,
            image_voxels=reference.labels.size,
            is_lost=compared.is_lost,
        )
        for name, region in found.items()
    }
