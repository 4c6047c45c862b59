"""Connected components of two masks and how they overlap: labelled once, counted once, everything else derived.

The reference of a case is turned into `Lesions` once and serves all of its steps. A prediction is labelled and looked
up at the reference's voxels: what is background is never visited twice, and there is no loop over lesions.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from podium.metrics import Mask
from podium.metrics.aggregation import harmonic_mean
from podium.metrics.overlap import Box, VoxelCounts, bounding_box

Connectivity = Literal[6, 18, 26]
Places = NDArray[np.int64]  # flat indices of voxels in C order, ascending
SPARSE_VOXELS = 1 << 22  # up to this many voxels are labelled one by one: more than any lesion mask, and little memory
# The number of labels widened at once: a volume full of prediction must not need eight times its size.
_SLAB_VOXELS = 1 << 24
# Whole planes are labelled in place; a smaller box is a copy first, and must save more than that.
_WORTH_A_COPY = 4 / 3
_AT_A_TIME = 8  # voxels in a word


class Components(ABC):
    """The connected components of a mask, numbered from 1 to `count`."""

    count: int

    @abstractmethod
    def labels_at(self, places: Places) -> NDArray[np.int64]:
        """The component at each of the voxels, 0 for none."""

    @abstractmethod
    def sizes(self, wanted: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
        """The sizes of the wanted components (sorted numbers), and of all of them together, in voxels."""


@dataclass(frozen=True, eq=False)
class SparseComponents(Components):
    """Few voxels in a large volume: each with its component."""

    shape: tuple[int, ...]
    places: Places  # flat indices of all voxels, ascending
    labels: NDArray[np.int64]  # the component's number, for every one of these voxels
    count: int

    def labels_at(self, places: Places) -> NDArray[np.int64]:
        if len(self.places) == 0:
            return np.zeros(len(places), np.int64)
        nearest = np.minimum(np.searchsorted(self.places, places), len(self.places) - 1)
        return np.where(self.places[nearest] == places, self.labels[nearest], 0)

    def sizes(self, wanted: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
        return np.bincount(self.labels, minlength=self.count + 1)[wanted], len(self.labels)


@dataclass(frozen=True, eq=False)
class Lesions(SparseComponents):
    """A reference as its lesions, numbered from 1 in the order of `ids`."""

    ids: NDArray[np.int64]  # what a lesion is called: its integer in an instance map, else its number

    @cached_property
    def voxels(self) -> NDArray[np.int64]:
        """A lesion's size."""
        return np.bincount(self.labels, minlength=self.count + 1)[1:]

    @property
    def total_voxels(self) -> int:
        return len(self.labels)

    def centroids(self) -> NDArray[np.float64]:
        """The mean index of every lesion's voxels, in the axes' order; one row per lesion."""
        axes = np.unravel_index(self.places, self.shape)
        sums = [np.bincount(self.labels, weights=axis, minlength=self.count + 1)[1:] for axis in axes]
        return np.stack(sums, axis=1) / self.voxels[:, None]


@dataclass(frozen=True, eq=False)
class DenseComponents(Components):
    """A volume full of prediction: a label for every voxel inside `box`, background everywhere else."""

    shape: tuple[int, ...]
    labels: NDArray[Any]
    box: Box
    count: int

    def labels_at(self, places: Places) -> NDArray[np.int64]:
        coordinates = np.unravel_index(places, self.shape)
        found = np.zeros(len(places), np.int64)
        inside = np.ones(len(places), np.bool_)
        for place, cut in zip(coordinates, self.box, strict=True):
            inside &= (place >= cut.start) & (place < cut.stop)
        local = tuple(place[inside] - cut.start for place, cut in zip(coordinates, self.box, strict=True))
        found[inside] = self.labels[local]
        return found

    def sizes(self, wanted: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
        # Only the wanted ones are distinguished: a prediction of millions of specks costs no more than one of a few.
        rank = np.zeros(self.count + 1, np.uint32)
        rank[wanted] = np.arange(1, len(wanted) + 1)
        sizes = np.zeros(len(wanted) + 1, np.int64)
        for slab in _slabs(self.labels):
            sizes += np.bincount(rank[slab[slab > 0]], minlength=len(wanted) + 1)
        return sizes[1:], int(sizes.sum())


@dataclass(frozen=True, eq=False)
class Overlap:
    """The contingency count of one prediction against one reference; all sizes in voxels.

    The four arrays run over the pairs (lesion, component) that share at least one voxel, ordered by lesion.
    """

    lesions: Lesions
    component_count: int
    predicted_voxels: int
    touching_voxels: int  # size of all components that share a voxel with any lesion
    lesion: NDArray[np.int64]
    component: NDArray[np.int64]
    shared: NDArray[np.int64]
    iou: NDArray[np.float64]

    @property
    def counts(self) -> VoxelCounts:
        """Of the two masks as wholes."""
        return VoxelCounts(
            prediction=self.predicted_voxels, reference=self.lesions.total_voxels, shared=int(self.shared.sum())
        )

    @property
    def untouched_component_voxels(self) -> int:
        """Size of all components that share no voxel with any lesion."""
        return self.predicted_voxels - self.touching_voxels

    @property
    def untouched_lesion_voxels(self) -> int:
        """Size of all lesions that share no voxel with the prediction."""
        return self.lesions.total_voxels - int(self.lesions.voxels[np.unique(self.lesion) - 1].sum())


def as_connectivity(value: int) -> Connectivity:
    """1, 2 or 3 (as in scikit-image: faces, also edges, also corners) or the number of neighbours as 6, 18 or 26.

    Of an image with two axes 4 and 8 are meant by 1 and 2, and also by 6 and 18 or 26.
    """
    neighbours: dict[int, Connectivity] = {1: 6, 2: 18, 3: 26, 4: 6, 6: 6, 8: 26, 18: 18, 26: 26}
    if value not in neighbours:
        raise ValueError(f"connectivity is one of {sorted(neighbours)}, not {value}")
    return neighbours[value]


def label_components(mask: NDArray[np.bool_], *, connectivity: Connectivity) -> Components:
    """The connected components of a 3-D mask.

    Connectivity 6 joins voxels that share a face, 18 also an edge, 26 also a corner (scikit-image's 1, 2 and 3). A
    sparse mask is labelled by its voxels, a dense one by connected-components-3d, which visits all of its box.
    """
    mask = np.ascontiguousarray(mask)
    places = sparse_places(mask, limit=SPARSE_VOXELS)
    if places is None:
        return label_densely(mask, connectivity=connectivity)
    return label_voxels(places, mask.shape, connectivity=connectivity)


def label_voxels(places: Places, shape: tuple[int, ...], *, connectivity: Connectivity) -> SparseComponents:
    """The connected components of a mask that is given by its voxels."""
    labels, count = label_places(places, shape, connectivity=connectivity)
    return SparseComponents(shape, places, labels, count)


def label_densely(mask: NDArray[np.bool_], *, connectivity: Connectivity) -> DenseComponents:
    """The connected components of a mask by connected-components-3d, in bounded memory for any mask."""
    import cc3d

    box = bounding_box(mask)
    if box is None:
        return DenseComponents(mask.shape, np.zeros((0,) * mask.ndim, np.uint16), (slice(0, 0),) * mask.ndim, 0)
    slab = (box[0], *(slice(0, length) for length in mask.shape[1:]))
    if _volume(slab) < _WORTH_A_COPY * _volume(box):
        box = slab
    # Given bytes rather than booleans, cc3d picks its label type by the labels needed, not by the voxels there are.
    labels, count = cc3d.connected_components(
        np.ascontiguousarray(mask[box]).view(np.uint8), connectivity=connectivity, return_N=True
    )
    return DenseComponents(mask.shape, labels, box, int(count))


def find_lesions(labels: NDArray[Any], *, connectivity: Connectivity) -> Lesions:
    """The lesions of a reference: the labels of an instance map, else the connected components of a binary mask.

    A map with only one non-zero value is a binary mask. In an instance map the integers decide, also
    where a lesion is in pieces or two lesions touch; gaps in the numbering are no lesions.
    """
    labels = np.ascontiguousarray(labels)
    are_bytes = labels.dtype == np.uint8  # then no second volume is needed
    places = sparse_places(labels.view(np.bool_) if are_bytes else labels != 0, limit=SPARSE_VOXELS)
    if places is not None:
        return find_lesions_at(places, labels.reshape(-1)[places], labels.shape, connectivity=connectivity)
    places = np.flatnonzero(labels)
    values = labels.reshape(-1)[places]
    if _differ(values):
        return _instances(places, values, labels.shape)
    mask = labels.view(np.bool_) if are_bytes and 1 in values[:1] else labels != 0
    components = label_densely(mask, connectivity=connectivity)
    numbers = np.arange(1, components.count + 1)
    return Lesions(labels.shape, places, components.labels_at(places), components.count, numbers)


def find_lesions_at(
    places: Places, values: NDArray[Any], shape: tuple[int, ...], *, connectivity: Connectivity
) -> Lesions:
    """The lesions of a reference that is given by its voxels and their labels."""
    if _differ(values):
        return _instances(places, values, shape)
    labels, count = label_places(places, shape, connectivity=connectivity)
    return Lesions(shape, places, labels, count, np.arange(1, count + 1))


def instances_of(labels: NDArray[Any]) -> Lesions:
    """Every label of a map but 0 is one object, in pieces or not, touching others or not."""
    places = np.flatnonzero(labels)
    return _instances(places, np.ascontiguousarray(labels).reshape(-1)[places], labels.shape)


def _differ(values: NDArray[Any]) -> bool:
    return len(values) > 0 and bool(values.min() < values.max())


def _instances(places: Places, values: NDArray[Any], shape: tuple[int, ...]) -> Lesions:
    ids, inverse = np.unique(values, return_inverse=True)
    return Lesions(shape, places, inverse.astype(np.int64) + 1, len(ids), ids.astype(np.int64))


def count_overlap(prediction: Components, reference: Lesions) -> Overlap:
    """Every overlap, size and IoU of a prediction's components and a reference's lesions.

    IoU(g, p) = |g ∩ p| / |g ∪ p|, for the pairs with at least one voxel in common.
    """
    at_lesions = prediction.labels_at(reference.places)
    hit = at_lesions > 0
    # A pair is one integer, so that one sort counts them all.
    pair, shared = np.unique(reference.labels[hit] * (prediction.count + 1) + at_lesions[hit], return_counts=True)
    lesion, component = np.divmod(pair, prediction.count + 1)
    touching = np.unique(component)
    sizes, predicted = prediction.sizes(touching)
    component_voxels = sizes[np.searchsorted(touching, component)]
    union = reference.voxels[lesion - 1] + component_voxels - shared
    return Overlap(
        lesions=reference,
        component_count=prediction.count,
        predicted_voxels=predicted,
        touching_voxels=int(sizes.sum()),
        lesion=lesion,
        component=component,
        shared=shared.astype(np.int64),
        iou=shared / union,
    )


def masks_at(one: Places, other: Places, shape: tuple[int, ...]) -> tuple[Mask, Mask]:
    """Two masks that are given by their voxels, cut to the box around both."""
    sides = [np.stack(np.unravel_index(places, shape)) for places in (one, other)]
    low = np.min([side.min(axis=1) for side in sides], axis=0)
    size = np.max([side.max(axis=1) for side in sides], axis=0) - low + 1
    masks = np.zeros((2, *size), np.bool_)
    for mask, side in zip(masks, sides, strict=True):
        mask[tuple(side - low[:, None])] = True
    return masks[0], masks[1]


def _volume(box: Box) -> int:
    return math.prod(cut.stop - cut.start for cut in box)


def _slabs(labels: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """Pieces of a label array along its first axis."""
    if labels.size == 0:
        return
    planes = max(1, _SLAB_VOXELS // (labels.size // len(labels)))
    for start in range(0, len(labels), planes):
        yield labels[start : start + planes]


# Whether two masks have the same centre lines and the same number of pieces.


def cldice(*, prediction: Mask, reference: Mask) -> float:
    """clDice = 2 Tp Ts / (Tp + Ts), between 0 and 1, higher is better (Shit et al. 2021).

    Tp is the share of the prediction's centre line within the reference, Ts the share of the reference's centre line
    within the prediction. Centre lines are scikit-image's `skeletonize`, 2-D (Zhang) or 3-D (Lee); of some masks, such
    as a cube of 2x2x2 voxels, Lee's method leaves nothing, and such a mask is its own centre line. clDice is 0 where
    neither line meets the other mask. Neither mask may be empty.
    """
    return harmonic_mean(_covered_line(prediction, by=reference), _covered_line(reference, by=prediction))


def component_error(*, prediction: Mask, reference: Mask, connectivity: Connectivity) -> int:
    """|components of P - components of G|, 0 is best (the error in the Betti number 0). 2-D or 3-D."""
    return abs(_count(prediction, connectivity) - _count(reference, connectivity))


def _covered_line(mask: Mask, *, by: Mask) -> float:
    from skimage.morphology import skeletonize

    # Background all round: of a mask that fills an image of one slice Lee's method keeps another line than of the same
    # mask in a larger image, from which it may have been cut.
    line = skeletonize(mask) if mask.ndim == 2 else skeletonize(np.pad(mask, 1))[1:-1, 1:-1, 1:-1]
    if not line.any():
        line = mask
    return int(np.count_nonzero(line & by)) / int(np.count_nonzero(line))


def _count(mask: Mask, connectivity: Connectivity) -> int:
    return label_components(mask[None] if mask.ndim == 2 else mask, connectivity=connectivity).count


# Connected components of a sparse mask, from its voxels alone: the empty rest of the volume is scanned once.
#
# Lesions are some ten thousand of fifty million voxels. The mask is scanned eight voxels at a time; what is found is
# joined into runs along the last axis, runs of neighbouring rows that touch are linked, and the components of that
# graph are the components of the mask.


def sparse_places(mask: NDArray[np.bool_], *, limit: int) -> Places | None:
    """The voxels of a contiguous mask, None where they may be more than `limit`."""
    flat = mask.reshape(-1).view(np.uint8)
    whole = flat.size - flat.size % _AT_A_TIME
    words = np.flatnonzero(flat[:whole].view(np.uint64) != 0)
    if len(words) * _AT_A_TIME > limit:
        return None
    candidates = (words[:, None] * _AT_A_TIME + np.arange(_AT_A_TIME)).reshape(-1)
    candidates = np.concatenate([candidates, np.arange(whole, flat.size)])
    found: Places = candidates[flat[candidates] != 0]
    return found


def label_places(places: Places, shape: tuple[int, ...], *, connectivity: int) -> tuple[NDArray[np.int64], int]:
    """The component (from 1) of every voxel of a 3-D mask, and how many components there are."""
    if len(places) == 0:
        return np.zeros(0, np.int64), 0
    _, height, width = shape
    row, column = np.divmod(places, width)
    begins = np.ones(len(places), np.bool_)
    begins[1:] = (np.diff(places) != 1) | (np.diff(row) != 0)
    first = np.flatnonzero(begins)
    last = np.append(first[1:], len(places)) - 1
    runs = (row[first], column[first], column[last])
    pairs = list(_touching(runs, height=height, width=width, connectivity=connectivity))
    one, other = (np.concatenate(side) for side in zip(*pairs, strict=True))
    component, count = _joined(len(first), one, other)
    return np.repeat(component, last - first + 1), count


def _joined(count: int, one: NDArray[np.int64], other: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """The component (from 1, in the order of their first members) of each of `count` things, given the pairs that are
    linked, and how many components there are.

    Everything points to a member of its component that is not behind it, in the end to the first one. In every round
    the ends of the chains that a pair still keeps apart are linked, and all chains are followed to their ends. SciPy's
    csgraph does the same; importing it takes longer than everything else here.
    """
    first = np.arange(count)
    while True:
        low, high = first[one], first[other]
        apart = low != high
        if not apart.any():
            break
        one, other = one[apart], other[apart]
        low, high = low[apart], high[apart]
        np.minimum.at(first, np.maximum(low, high), np.minimum(low, high))
        while not np.array_equal(further := first[first], first):
            first = further
    number = np.cumsum(first == np.arange(count))
    return number[first], int(number[-1])


def _touching(
    runs: tuple[Places, Places, Places], *, height: int, width: int, connectivity: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Pairs of runs that touch, for every kind of neighbouring row that comes later in the volume.

    A run is neighbouring voxels of a row (a line along the last axis): the row, the first and the last column.
    """
    row, first, last = runs
    most = {6: 1, 18: 2, 26: 3}[connectivity]  # axes along which neighbours may differ at once
    # A free column on either side of every row: a search that reaches one beyond a run cannot meet another row's run.
    starts, ends = (row * (width + 2) + column + 1 for column in (first, last))
    y = row % height
    for rows_on, differing, allowed in (
        (1, 1, y < height - 1),
        (height, 1, None),
        (height - 1, 2, y > 0),
        (height + 1, 2, y < height - 1),
    ):
        if differing > most:
            continue
        reach = 1 if differing < most else 0
        shift = rows_on * (width + 2)
        asked = np.arange(len(y)) if allowed is None else np.flatnonzero(allowed)
        low = np.searchsorted(ends, starts[asked] + shift - reach, side="left")
        high = np.searchsorted(starts, ends[asked] + shift + reach, side="right")
        hits = np.maximum(high - low, 0)
        one = np.repeat(asked, hits)
        offsets = np.arange(len(one)) - np.repeat(np.cumsum(hits) - hits, hits)
        yield one, np.repeat(low, hits) + offsets
