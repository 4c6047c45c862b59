"""Overlap and volumes of two masks, and the regions of two label images that the masks are cut from.

Dice, IoU and volume differences need only numbers of voxels. Two empty masks agree; a metric may declare another value
for empty masks, which is then decided before these functions are called.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.metrics import Floats, Mask

Box = tuple[slice, ...]
Labels = NDArray[np.integer[Any]]
_MARGIN = 1
# Values are looked up in a table of this many labels; a region with another value is searched in the whole image.
_LABELS_IN_ONE_PASS = 1 << 16
# Up to this many values are searched for one by one, which is faster than one pass that looks at every voxel.
_LABELS_SEARCHED = 6
# One comparison per value is faster than a table up to about this many values.
_VALUES_COMPARED = 8


@dataclass(frozen=True, kw_only=True)
class VoxelCounts:
    """|P|, |G| and |P∩G|: all that overlap and volume metrics need to know of two masks."""

    prediction: int
    reference: int
    shared: int

    def dice(self) -> float:
        """DSC = 2|P∩G| / (|P| + |G|), between 0 and 1, higher is better; 1 where both are empty.

        The quotient of whole numbers is rounded once, as MONAI's `compute_dice` does for float64 masks.
        """
        total = self.prediction + self.reference
        return 2 * self.shared / total if total else 1.0

    def iou(self) -> float:
        """IoU = |P∩G| / |P∪G| (Jaccard), between 0 and 1, higher is better; 1 where both are empty."""
        union = self.prediction + self.reference - self.shared
        return self.shared / union if union else 1.0


def count_voxels(*, prediction: Mask, reference: Mask) -> VoxelCounts:
    """The counts of two masks of one shape."""
    return VoxelCounts(
        prediction=int(np.count_nonzero(prediction)),
        reference=int(np.count_nonzero(reference)),
        shared=int(np.count_nonzero(prediction & reference)),
    )


# Volumes, from numbers of voxels.


def voxel_ml(spacing_mm: Sequence[float]) -> float:
    """The volume of one voxel in ml, from its sizes in mm; a 2-D image is one slice of 1 mm."""
    return math.prod(spacing_mm) / 1000


def volume_difference_ml(*, prediction: int, reference: int, spacing_mm: Sequence[float]) -> float:
    """|Vp - Vg| in ml of two numbers of voxels; 0 is best. An empty mask has the volume 0."""
    return abs(prediction - reference) * voxel_ml(spacing_mm)


def relative_volume_difference(*, prediction: int, reference: int) -> float | None:
    """|Vp - Vg| / Vg of two numbers of voxels; 0 is best, there is no upper bound, and an empty prediction has 1. None
    where the reference is empty."""
    return abs(prediction - reference) / reference if reference else None


def volume_similarity(*, prediction: int, reference: int) -> float:
    """1 - |Vp - Vg| / (Vp + Vg) of two numbers of voxels, between 0 and 1, higher is better (Taha and Hanbury 2015); 1
    where both are empty."""
    total = prediction + reference
    return 1 - abs(prediction - reference) / total if total else 1.0


def volume_rmse_ml(*, squares: Floats, cases: Floats) -> Floats:
    """The root of the mean of (Vp - Vg)^2 over the cases of each replicate, in ml; lower is better.

    `squares` are the sums of the squared differences, `cases` the numbers of cases. NaN where a replicate has none.
    """
    return np.asarray(np.sqrt(squares / cases))


# Regions: sets of label values. A metric needs only the part of the images where one of the two has the region, so
# nothing of the size of the image is made per region.


@dataclass(frozen=True, eq=False, kw_only=True)
class Region:
    """Where one region is, in the prediction or the reference; `masks` cuts both out."""

    values: frozenset[int]
    box: Box | None
    """The bounding box of both masks together plus one voxel, within the image; None where both are empty.

    It may be wider where `ignore` removes voxels, or where a value is not a label from 1 to 65535.
    """

    prediction_labels: Labels
    reference_labels: Labels
    ignore: int | None = None

    def masks(self) -> tuple[Mask, Mask]:
        """The region in the prediction and in the reference, both cut to the box; without a box, of no voxels.

        Voxels whose reference is `ignore` are in neither.
        """
        box = self.box or (slice(0, 0),) * self.reference_labels.ndim
        labels = self.reference_labels[box]
        prediction = _mask(self.prediction_labels[box], self.values)
        reference = _mask(labels, self.values)
        if self.ignore is not None:
            counted = labels != self.ignore
            prediction &= counted
            reference &= counted
        return prediction, reference


def find_regions(
    *, prediction: Labels, reference: Labels, regions: Mapping[str, frozenset[int]], ignore: int | None = None
) -> dict[str, Region]:
    """Every named region with its box, in the order of `regions`. The images are 2-D or 3-D and of one shape.

    Labels may have any integer type. Values that belong to no region are background.
    """
    if prediction.shape != reference.shape:
        raise ValueError(f"the prediction has shape {prediction.shape}, the reference {reference.shape}")
    wanted = {value for values in regions.values() for value in values}
    found = [_label_boxes(labels, wanted) for labels in (prediction, reference)]
    whole = tuple(slice(0, length) for length in reference.shape)
    return {
        name: Region(
            values=values,
            box=_around([box for boxes in found for value in values if (box := boxes.get(value, whole))], whole),
            prediction_labels=prediction,
            reference_labels=reference,
            ignore=ignore,
        )
        for name, values in regions.items()
    }


def damaged_labels(labels: Labels) -> list[Labels]:
    """Copies of a label image with the faults of predictions: moved by one voxel along the last axis, without the outer
    voxels of every region, and without its largest value."""
    moved = np.zeros_like(labels)
    moved[..., 1:] = labels[..., :-1]
    thinner = labels.copy()
    for axis in range(labels.ndim):
        here, kept = np.moveaxis(labels, axis, 0), np.moveaxis(thinner, axis, 0)
        differs = here[1:] != here[:-1]
        kept[1:][differs] = 0
        kept[:-1][differs] = 0
    fewer = np.where(labels == labels.max(), 0, labels).astype(labels.dtype)
    return [moved, thinner, fewer]


def _label_boxes(labels: Labels, wanted: set[int]) -> dict[int, Box | None]:
    """The bounding box of every wanted label from 1 to 65535, None where the image has none of it."""
    listed = {value for value in wanted if 0 < value < _LABELS_IN_ONE_PASS}
    if len(listed) <= _LABELS_SEARCHED:
        return {value: bounding_box(labels == value) for value in listed}
    from scipy.ndimage import find_objects

    boxes: Sequence[Box | None] = find_objects(labels, max_label=max(listed))
    return {value: boxes[value - 1] for value in listed}


def _around(boxes: Sequence[Box], whole: Box) -> Box | None:
    """The box around all boxes plus the margin, as far as the image reaches."""
    if not boxes:
        return None
    return tuple(
        slice(max(0, min(cut.start for cut in cuts) - _MARGIN), min(end.stop, max(cut.stop for cut in cuts) + _MARGIN))
        for *cuts, end in zip(*boxes, whole, strict=True)
    )


def _mask(labels: Labels, values: frozenset[int]) -> Mask:
    """Whether each voxel has one of the values."""
    limits = np.iinfo(labels.dtype)
    possible = [value for value in values if limits.min <= value <= limits.max]
    mask = np.zeros(labels.shape, np.bool_)
    if len(possible) > _VALUES_COMPARED and labels.dtype.itemsize <= 2:
        unsigned = np.dtype(f"u{labels.dtype.itemsize}")
        table = np.zeros(np.iinfo(unsigned).max + 1, np.bool_)
        table[np.array(possible, labels.dtype).view(unsigned)] = True
        for plane, inside in zip(labels.view(unsigned), mask, strict=True):
            np.take(table, plane, out=inside, mode="clip")  # numpy widens the plane to eight bytes per voxel first
        return mask
    for value in possible:
        mask |= labels == value
    return mask


def bounding_box(mask: NDArray[Any]) -> Box | None:
    """The smallest box that holds every non-zero voxel, None where there is none."""
    box: list[slice] = []
    rest = mask
    for axis in range(mask.ndim):
        # Each axis is cut before the next is looked at, so the later ones see less and less.
        covered = np.flatnonzero(rest.any(axis=tuple(other for other in range(mask.ndim) if other != axis)))
        if covered.size == 0:
            return None
        box.append(slice(int(covered[0]), int(covered[-1]) + 1))
        rest = mask[tuple(box)]
    return tuple(box)
