"""The regions of a pair of label images: found in one pass over each image, cut out one at a time.

A region is a set of label values. Every metric of a region needs only the part of the images where one of the two
has it, so nothing of the size of the image is made per region.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.metrics.crop import Box, bounding_box

Labels = NDArray[np.integer[Any]]
Mask = NDArray[np.bool_]

_MARGIN = 1
# Values are looked up in a table of this many labels; a region with another value is searched in the whole image.
_LABELS_IN_ONE_PASS = 1 << 16
# Up to this many values are searched for one by one, which is faster than one pass that looks at every voxel.
_LABELS_SEARCHED = 6
# One comparison per value is faster than a table up to about this many values.
_VALUES_COMPARED = 8


@dataclass(frozen=True, eq=False, kw_only=True)
class Region:
    """Where one region is, in the prediction or the reference; `masks` cuts both out."""

    values: frozenset[int]
    box: Box | None
    """The bounding box of both masks together plus one voxel, within the image; None where both are empty.

    It may be wider where `ignore` removes voxels, or where a value is no label from 1 to 65535.
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
    *,
    prediction: Labels,
    reference: Labels,
    regions: Mapping[str, frozenset[int]],
    ignore: int | None = None,
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
