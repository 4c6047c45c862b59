"""Label volumes that a decoder reads: where their voxels are few, these alone are sent, each as one number: its place,
and in a volume of several labels also its label."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.readers.images import Geometry
from podium.readers.volumes import FEW_VOXELS, LARGEST_LABEL, Volume, Voxels
from podium.sandbox.messages import LyingError
from podium.sandbox.session import Answer
from podium.sandbox.wire import Expected

_PLACE_FROM_BIT = 32  # below it the label; the largest volume has fewer places than 2**32


def expected_voxels(*, binary: bool) -> Expected:
    """What `packed_voxels` gives."""
    size = 4 if binary else 8
    return Expected(axes=(1,), types=(f"u{size}",), max_bytes=size * FEW_VOXELS)


def packed_voxels(voxels: Voxels, *, binary: bool) -> NDArray[Any]:
    """Every voxel as one number; all labels of a `binary` volume are 1."""
    if binary:
        return voxels.places.astype(np.uint32)
    return voxels.places.astype(np.uint64) << np.uint64(_PLACE_FROM_BIT) | voxels.labels.astype(np.uint64)


def checked_volume(
    answer: Answer, *, shape: tuple[int, ...] | None, max_bytes: int, binary: bool, as_voxels: bool
) -> Volume:
    """The volume of an answer whose array, if there is one, has an expected type; LyingError where it is none."""
    value = answer.value
    if not isinstance(value, list) or len(value) != 4:
        raise LyingError("no geometry and no shape")
    geometry, found = checked_geometry(value[:3], axes=3), _checked_shape(value[3], shape, max_bytes)
    array = answer.array
    if array is not None and array.ndim == 3:
        if array.shape != found:
            raise LyingError("labels of another shape")
        if binary and array.max() > 1:
            raise LyingError("a mask with other values than 0 and 1")
        return Volume(found, geometry, array)
    if not as_voxels:
        raise LyingError("no labels")
    packed = np.zeros(0, np.uint32 if binary else np.uint64) if array is None else array
    return Volume(found, geometry, _unpacked(packed, places=math.prod(found), binary=binary))


def checked_geometry(found: Any, *, axes: int) -> Geometry:
    """Spacing, origin and direction; LyingError where they are none."""
    lengths = (axes, axes, axes * axes)
    if not isinstance(found, list) or len(found) != len(lengths):
        raise LyingError("no geometry")
    for numbers, length in zip(found, lengths, strict=True):
        if not isinstance(numbers, list) or len(numbers) != length or not all(type(each) is float for each in numbers):
            raise LyingError("a geometry that is none")
    spacing, origin, direction = (tuple(numbers) for numbers in found)
    return Geometry(spacing, origin, direction)


def _checked_shape(found: Any, expected: tuple[int, ...] | None, max_bytes: int) -> tuple[int, ...]:
    if not isinstance(found, list) or not all(type(length) is int and length > 0 for length in found):
        raise LyingError("a shape that is none")
    shape = tuple(found)
    if len(shape) != 3 or (expected is not None and shape != expected) or math.prod(shape) > max_bytes:
        raise LyingError("a volume of another shape")
    return shape


def _unpacked(packed: NDArray[Any], *, places: int, binary: bool) -> Voxels:
    indices = (packed if binary else packed >> np.uint64(_PLACE_FROM_BIT)).astype(np.int64)
    if not (indices[-1:] < places).all() or not (indices[1:] > indices[:-1]).all():
        raise LyingError("voxels that are not in the volume, or not in order")
    if binary:
        return Voxels(indices, np.ones(len(indices), np.uint8))
    labels = packed & np.uint64(LARGEST_LABEL)
    if not labels.all():
        raise LyingError("voxels of the background")
    return Voxels(indices, labels.astype(np.min_scalar_type(int(labels.max(initial=0)))))
