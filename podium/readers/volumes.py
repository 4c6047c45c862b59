"""Label volumes, unpacked once and block by block: whole-body scans are too large to be held as stored.

A 512 x 512 x 1024 prediction saved as float32 is 1 GB unpacked; its mask is a quarter of that, and its lesions are some
ten thousand voxels. So a volume can be read as its voxels alone, where these are few. Every byte is checked on the way
as for any other image.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.errors import Refused
from podium.readers.decoding import decoder_of
from podium.readers.files import SafeFile
from podium.readers.formats.headers import pixel_values
from podium.readers.geometry import Geometry, Shape, Turn, turned
from podium.readers.images import (
    MAX_IMAGE_BYTES,
    as_integer_labels,
    is_fractional,
    open_image,
    probability_map,
    read_image,
)

LARGEST_LABEL = 2**32 - 1
FEW_VOXELS = 1 << 22  # up to this many voxels are kept alone: more than any lesion mask has, and little memory
_WORD_BYTES = 8
_SPARSE_SHARE = 0.1  # of a block: up to here, values are picked out of it


@dataclass(frozen=True, eq=False)
class Voxels:
    """The voxels of a volume that are not background: flat indices in C order, ascending, and their labels, never 0."""

    places: NDArray[np.int64]
    labels: NDArray[Any]


@dataclass(frozen=True, eq=False)
class Volume:
    """Labels in numpy order (slices, rows, columns), and the geometry in the header."""

    shape: Shape
    geometry: Geometry
    content: Voxels | NDArray[Any]  # its voxels, where these were requested and are few, else a label for every place

    @property
    def voxels(self) -> Voxels | None:
        return self.content if isinstance(self.content, Voxels) else None

    @cached_property
    def labels(self) -> NDArray[Any]:
        """A label for every place, in the smallest unsigned type that holds them."""
        if not isinstance(self.content, Voxels):
            return self.content
        labels = np.zeros(self.shape, self.content.labels.dtype)
        labels.reshape(-1)[self.content.places] = self.content.labels
        return labels


def read_mask_volume(
    file: SafeFile, *, shape: Shape | None = None, onto: Geometry | None = None, max_bytes: int = MAX_IMAGE_BYTES
) -> Volume:
    """A 3-D volume of labels as a mask: 1 where the label is not 0; as voxels where these are few. Probabilities are
    refused, never thresholded."""
    return read_volume(file, shape=shape, onto=onto, max_bytes=max_bytes, binary=True, as_voxels=True)


def read_volume(  # noqa: PLR0913  (which volume, and what of it)
    file: SafeFile,
    *,
    shape: Shape | None = None,
    onto: Geometry | None = None,
    max_bytes: int = MAX_IMAGE_BYTES,
    binary: bool = False,
    as_voxels: bool = False,
) -> Volume:
    """A 3-D volume of labels, or as a mask (`binary`); `as_voxels`: as voxels where these are few. It is turned to
    `onto` as `read_image` does."""
    if (decoder := decoder_of(file)) is not None:
        return decoder.read_volume(file, shape, onto, max_bytes, binary=binary, as_voxels=as_voxels)
    header, _, geometry, turn = open_image(file, shape=shape, onto=onto, max_bytes=max_bytes)
    if len(header.shape) != 3:
        raise Refused(f"'{file.name}' has {len(header.shape)} axes; send a 3-D volume.")
    gathered = _Gathered(file.name, math.prod(header.shape), binary=binary, as_voxels=as_voxels)
    if header.dtype is None:
        gathered.add(read_image(file, shape=shape, max_bytes=max_bytes).array.reshape(-1))
    else:
        for values in pixel_values(file, header):
            gathered.add(values)
    content = _turned(gathered.content(header.shape), header.shape, turn)
    return Volume(header.shape if shape is None else shape, geometry, content)


def _turned(content: Voxels | NDArray[Any], shape: Shape, turn: Turn | None) -> Voxels | NDArray[Any]:
    if turn is None:
        return content
    if not isinstance(content, Voxels):
        return np.ascontiguousarray(turned(content, turn))
    at = np.unravel_index(content.places, shape)
    indices = [shape[axis] - 1 - at[axis] if is_flipped else at[axis] for axis, is_flipped in turn]
    places = np.ravel_multi_index(indices, [shape[axis] for axis, _ in turn])
    order = np.argsort(places)
    return Voxels(places[order], content.labels[order])


class _Gathered:
    """The labels read so far: voxels as long as these are few, then a label for every place, in a type that grows."""

    def __init__(self, name: str, size: int, *, binary: bool, as_voxels: bool) -> None:
        self.name, self.size, self.binary = name, size, binary
        self.done = self.count = 0
        self.parts: list[tuple[NDArray[np.int64], NDArray[Any]]] = []
        self.every_place: NDArray[Any] | None = None if as_voxels else np.zeros(size, np.uint8)

    def add(self, values: NDArray[Any]) -> None:
        start, self.done = self.done, self.done + len(values)
        places = _few_labels(values)
        if places is None and self.every_place is None:
            places = np.flatnonzero(values)
        if places is None:
            self._put(slice(start, self.done), self._checked(values))
            return
        if not len(places):
            return
        labels = self._checked(values[places])
        if self.every_place is not None:
            self._put(start + places, labels)
            return
        found = labels != 0
        self.parts.append((start + places[found], labels[found]))
        self.count += len(self.parts[-1][0])
        if self.count > FEW_VOXELS:
            self.every_place = np.zeros(self.size, np.uint8)
            for part in self.parts:
                self._put(*part)
            self.parts.clear()

    def content(self, shape: tuple[int, ...]) -> Voxels | NDArray[Any]:
        if self.every_place is not None:
            return self.every_place.reshape(shape)
        if not self.parts:
            return Voxels(np.zeros(0, np.int64), np.zeros(0, np.uint8))
        places, labels = (np.concatenate(side) for side in zip(*self.parts, strict=True))
        return Voxels(places, labels)

    def _checked(self, values: NDArray[Any]) -> NDArray[Any]:
        """The values as labels, in the smallest type."""
        _refuse_probabilities(values, self.name)
        labels = as_integer_labels(values, name=self.name)
        if self.binary:
            mask: NDArray[Any] = labels != 0
            return mask.view(np.uint8)
        largest = int(labels.max())
        if largest > LARGEST_LABEL:
            raise Refused(f"'{self.name}' holds the label {largest}; labels go up to {LARGEST_LABEL}.")
        return labels.astype(np.min_scalar_type(largest), copy=False)

    def _put(self, target: Any, labels: NDArray[Any]) -> None:
        assert self.every_place is not None
        if labels.dtype.itemsize > self.every_place.dtype.itemsize:
            self.every_place = self.every_place.astype(labels.dtype)
        self.every_place[target] = labels


def _few_labels(values: NDArray[Any]) -> NDArray[np.intp] | None:
    """The places of all values whose bits are not all 0, and of some beside them; None where these are many. The
    background, which is most of a volume, is not looked at further, and no page of the labels is touched for it."""
    size = values.dtype.itemsize
    together = 1 if size > 1 or len(values) % _WORD_BYTES else _WORD_BYTES
    filled = values.view(f"u{size * together}") != 0
    if np.count_nonzero(filled) > _SPARSE_SHARE * len(filled):
        return None
    words = np.flatnonzero(filled)
    return words if together == 1 else (words[:, None] * together + np.arange(together)).reshape(-1)


def _refuse_probabilities(values: NDArray[Any], name: str) -> None:
    """Fractions between 0 and 1 in a mask are probabilities, however few of them are not 0."""
    if values.dtype.kind != "f" or not (values.min() >= 0 and values.max() <= 1):
        return
    fractional = is_fractional(values)
    if fractional.any():
        raise probability_map(f"'{name}'", values[fractional.argmax()])
