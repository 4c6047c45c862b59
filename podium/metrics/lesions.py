"""Lesion by lesion: how many are found, how well, and what is invented, for 2-D and 3-D masks."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from podium.metrics.component_matching import (
    Floats,
    Mask,
    MatchingRule,
    Numbers,
    as_components,
    matching_pairs,
    merged_lesions,
    paired,
)
from podium.metrics.components import Lesions, Overlap, count_overlap, find_lesions
from podium.metrics.crop import bounding_box
from podium.metrics.detection import Detections
from podium.metrics.policy import distance_policy
from podium.metrics.surface_distances import BoundaryKind, Combine, measure_surfaces
from podium.metrics.volumes import voxel_ml


@dataclass(frozen=True, eq=False, kw_only=True)
class LesionMatches:
    """The lesions of a reference, the components of a prediction, and which belong together.

    All figures are per case. Where a formula divides 0 by 0, the figure is None.
    """

    overlap: Overlap
    components: Lesions
    lesion: Numbers
    """With `component`: the matched pairs, as numbers from 1."""

    component: Numbers
    counted_lesions: NDArray[np.bool_]
    """Whether each lesion is large enough to count."""

    wrong_components: NDArray[np.bool_]
    """Whether each component is a false positive."""

    counted_components: NDArray[np.bool_]
    spacing_mm: tuple[float, ...]
    planar: bool
    """Whether the masks were 2-D; they are kept with a first axis of length 1."""

    @cached_property
    def counts(self) -> Detections:
        """TP = lesions with a matching component, FN = without; FP = components that match no lesion."""
        found = int(np.count_nonzero(self._found & self.counted_lesions))
        return Detections(
            tp=found,
            fp=int(np.count_nonzero(self.wrong_components)),
            fn=int(np.count_nonzero(self.counted_lesions)) - found,
        )

    @property
    def rq(self) -> float | None:
        """Recognition quality TP / (TP + FP/2 + FN/2), which is F1 (Kirillov et al. 2019)."""
        return self.counts.f1

    @property
    def sq(self) -> float | None:
        """Segmentation quality, the mean IoU of the lesions found with what matches them; None where none is found."""
        shared, union = self._shared, self._sizes - self._shared
        quality = (shared / union)[self._found & self.counted_lesions]
        return math.fsum(quality) / len(quality) if len(quality) else None

    @property
    def pq(self) -> float | None:
        """Panoptic quality SQ x RQ, 0 where lesions or components are there and none is found."""
        return None if self.rq is None else (self.sq or 0.0) * self.rq

    @property
    def lesion_dice(self) -> float | None:
        """The mean over lesions and false positives of the Dice of a lesion with all that matches it, else 0.

        The lesion-wise Dice of BraTS. None where there are neither lesions nor false positives.
        """
        values = (2 * self._shared / self._sizes)[self._found & self.counted_lesions]
        return self._mean_with_misses(values.tolist(), miss=0.0)

    def lesion_hd95(
        self,
        *,
        miss_mm: float,
        percentile: float = 95.0,
        combine: Combine = "max",
        boundary: BoundaryKind = "voxels",
    ) -> float | None:
        """The mean over lesions and false positives of the HD95 of a lesion with all that matches it, else `miss_mm`.

        The lesion-wise HD95 of BraTS, where `boundary` is "surface" and `miss_mm` 374. None as in `lesion_dice`.
        """
        never = distance_policy(miss_mm)  # both masks of a pair have voxels
        values = []
        for lesion in np.flatnonzero(self._found & self.counted_lesions) + 1:
            found, expected = self._pair(int(lesion))
            spacing = self.spacing_mm[1:] if self.planar else self.spacing_mm
            distances = measure_surfaces(prediction=found, reference=expected, spacing=spacing, boundary=boundary)
            values.append(distances.hausdorff(percentile=percentile, combine=combine, policy=never) or 0.0)
        return self._mean_with_misses(values, miss=miss_mm)

    @property
    def fpv_ml(self) -> float:
        """The volume of the components that share no voxel with a lesion, in ml (autoPET)."""
        lonely = self.counted_components.copy()
        lonely[self.overlap.component - 1] = False
        return int(self.components.voxels[lonely].sum()) * voxel_ml(self.spacing_mm)

    @property
    def fnv_ml(self) -> float:
        """The volume of the lesions that share no voxel with the prediction, in ml (autoPET)."""
        lonely = self.counted_lesions.copy()
        lonely[self.overlap.lesion - 1] = False
        return int(self.overlap.lesions.voxels[lonely].sum()) * voxel_ml(self.spacing_mm)

    def _mean_with_misses(self, values: Sequence[float], *, miss: float) -> float | None:
        misses = self.counts.fn + self.counts.fp
        total = len(values) + misses
        return (math.fsum(values) + misses * miss) / total if total else None

    @cached_property
    def _found(self) -> NDArray[np.bool_]:
        found = np.zeros(self.overlap.lesions.count, np.bool_)
        found[self.lesion - 1] = True
        return found

    @cached_property
    def _shared(self) -> Floats:
        """The voxels each lesion shares with all components that match it."""
        among = np.isin(self._key(self.overlap.lesion, self.overlap.component), self._key(self.lesion, self.component))
        return self._sum_by_lesion(self.overlap.lesion[among], self.overlap.shared[among])

    @cached_property
    def _sizes(self) -> Floats:
        """The voxels of each lesion and of all components that match it, added."""
        matched = self._sum_by_lesion(self.lesion, self.components.voxels[self.component - 1])
        return matched + self.overlap.lesions.voxels

    def _key(self, lesion: Numbers, component: Numbers) -> Numbers:
        return np.asarray(lesion * (self.components.count + 1) + component)

    def _sum_by_lesion(self, lesion: Numbers, values: Numbers) -> Floats:
        return np.bincount(lesion - 1, weights=values, minlength=self.overlap.lesions.count).astype(np.float64)

    def _pair(self, lesion: int) -> tuple[Mask, Mask]:
        """The components that match a lesion, and the lesion, as masks of just their size."""
        matching = self.component[self.lesion == lesion]
        sides = (
            np.concatenate([self._component_voxels[number - 1] for number in matching]),
            self._lesion_voxels[lesion - 1],
        )
        places = [np.stack(np.unravel_index(side, self.components.shape), axis=1) for side in sides]
        low = np.min([place.min(axis=0) for place in places], axis=0)
        shape = np.max([place.max(axis=0) for place in places], axis=0) - low + 1
        masks = np.zeros((2, *shape), np.bool_)
        for mask, place in zip(masks, places, strict=True):
            mask[tuple((place - low).T)] = True
        return (masks[0][0], masks[1][0]) if self.planar else (masks[0], masks[1])

    @cached_property
    def _component_voxels(self) -> list[Numbers]:
        return _voxels_by_number(self.components)

    @cached_property
    def _lesion_voxels(self) -> list[Numbers]:
        return _voxels_by_number(self.overlap.lesions)


def match_components(
    *, prediction: Mask, reference: Mask, spacing_mm: Sequence[float], rule: MatchingRule
) -> LesionMatches:
    """The components of two 2-D or 3-D masks, matched by the rule. `spacing_mm` is in the axes' order.

    A 2-D image is one slice of 1 mm. Memory follows the voxels of the masks, not the image.
    """
    planar = reference.ndim == 2
    sides = [mask[None] if planar else mask for mask in (prediction, reference)]
    spacing = (1.0, *spacing_mm) if planar else tuple(spacing_mm)
    box = _box_around(sides)
    found, expected = (np.ascontiguousarray(mask[box]) for mask in sides)
    components = find_lesions(found.view(np.uint8), connectivity=rule.connectivity)
    lesions, grown = merged_lesions(expected, rule)
    overlap = count_overlap(as_components(components), lesions)
    pairs = matching_pairs(overlap, components, grown=grown, spacing_mm=np.asarray(spacing, np.float64), rule=rule)
    least = rule.min_voxels if rule.min_predicted_voxels is None else rule.min_predicted_voxels
    counted_lesions, counted_components = lesions.voxels >= rule.min_voxels, components.voxels >= least
    pairs = pairs.only(counted_components[pairs.component - 1])
    matched = paired(pairs.only(counted_lesions[pairs.lesion - 1]), rule)
    wrong = counted_components.copy()
    wrong[matched.component - 1] = False
    wrong[pairs.component[~counted_lesions[pairs.lesion - 1]] - 1] = False
    return LesionMatches(
        overlap=overlap,
        components=components,
        lesion=matched.lesion,
        component=matched.component,
        counted_lesions=counted_lesions,
        wrong_components=wrong,
        counted_components=counted_components,
        spacing_mm=spacing,
        planar=planar,
    )


def _box_around(masks: Sequence[Mask]) -> tuple[slice, ...]:
    """The box of all masks, empty where they are. Lesions that touch when grown beyond it also touch within it."""
    boxes = [box for mask in masks if (box := bounding_box(mask)) is not None]
    if not boxes:
        return (slice(0, 0),) * masks[0].ndim
    return tuple(
        slice(min(cut.start for cut in cuts), max(cut.stop for cut in cuts)) for cuts in zip(*boxes, strict=True)
    )


def _voxels_by_number(lesions: Lesions) -> list[Numbers]:
    """The flat indices of every lesion's voxels."""
    order = np.argsort(lesions.lesion, kind="stable")
    return np.split(lesions.places[order], np.cumsum(lesions.voxels)[:-1])
