"""An HDF5 file that a decoder reads: small datasets come as arrays, of large fields only where their chunks are."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.readers.files import escape_for_display
from podium.readers.frames import FieldShape, FrameStream
from podium.readers.hdf5 import MAX_DATASET_BYTES
from podium.readers.hdf5_frames import UNPACKED_HERE, Cells, ChunkTable, FieldPlace, stream_field
from podium.readers.hdf5_storage import MAX_CHUNKS, most_stored_bytes
from podium.readers.images import Geometry
from podium.readers.volumes import FEW_VOXELS, LARGEST_LABEL, Volume, Voxels
from podium.sandbox.session import Answer, Session
from podium.sandbox.wire import Expected, ProtocolError, number_type

_TABLE_COLUMNS = 6


@dataclass(frozen=True)
class RemoteHdf5:
    """As `Hdf5Source`, with every answer checked."""

    session: Session
    file_bytes: int

    def names(self) -> tuple[str, ...]:
        return self._names("hdf5.names")

    def keys(self) -> tuple[str, ...]:
        return self._names("hdf5.keys")

    def has(self, name: str) -> bool:
        return self._value("hdf5.has", name=name) is True

    def label(self, name: str) -> str:
        return f"'{escape_for_display(name)}' in '{self.session.file.name}'"

    def shape(self, name: str) -> tuple[int, ...]:
        found = self._value("hdf5.shape", name=name)
        if not isinstance(found, list) or not all(type(length) is int and length > 0 for length in found):
            raise self.session.refusal("the decoder sent a shape that is none")
        return tuple(found)

    def read(
        self, name: str, *, shape: tuple[int, ...] | None = None, max_bytes: int = MAX_DATASET_BYTES
    ) -> NDArray[Any]:
        answer = self.session.ask(
            "hdf5.read",
            expected=Expected(shape=shape, max_bytes=max_bytes),
            file_bytes=self.file_bytes,
            name=name,
            shape=shape,
            max_bytes=max_bytes,
        )
        if answer.array is None:
            raise self.session.refusal("the decoder sent no array")
        return answer.array

    def frames(self, name: str, *, shape: FieldShape) -> FrameStream:
        expected = Expected(axes=(2,), types=("i8",), max_bytes=MAX_CHUNKS * _TABLE_COLUMNS * 8)
        answer = self.session.ask("hdf5.locate", expected=expected, file_bytes=self.file_bytes, name=name, shape=shape)
        try:
            place = checked_place(answer.value, answer.array, file_bytes=self.session.file.size)
            stream = stream_field(self.session.file, place, label=self.label(name), shape=shape)
            return stream or RemoteCells(self, name, place.dtype, shape, answer.value)
        except ProtocolError as lie:
            raise self.session.refusal(f"the decoder sent {lie}") from None

    def _value(self, reader: str, **options: Any) -> Any:
        return self.session.ask(reader, file_bytes=self.file_bytes, **options).value

    def _names(self, reader: str) -> tuple[str, ...]:
        found = self._value(reader)
        if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
            raise self.session.refusal("the decoder sent names that are none")
        return tuple(found)


class RemoteCells(Cells):
    """A field that only the library can read: the decoder sends it cell by cell."""

    def __init__(
        self, source: RemoteHdf5, name: str, dtype: np.dtype[Any], shape: FieldShape, located: dict[str, Any]
    ) -> None:
        self._source, self._name = source, name
        frames, pixels = _whole_numbers(located.get("cell"), count=2, least=1)
        super().__init__(
            source.session.file,
            label=source.label(name),
            dtype=dtype,
            shape=shape,
            frames_step=frames,
            pixels_step=pixels,
        )

    def cell(self, frames: range, pixels: range) -> NDArray[Any]:
        shape = (len(frames), self.shape[1], len(pixels))
        answer = self._source.session.ask(
            "hdf5.cell",
            expected=Expected(
                shape=shape, types=(self.dtype.str[1:],), max_bytes=math.prod(shape) * self.dtype.itemsize
            ),
            file_bytes=self._source.file_bytes,
            name=self._name,
            shape=self.shape,
            frames=(frames.start, frames.stop),
            pixels=(pixels.start, pixels.stop),
        )
        if answer.array is None:
            raise self._source.session.refusal("the decoder sent no array")
        return answer.array


def checked_place(located: Any, table: NDArray[Any] | None, *, file_bytes: int) -> FieldPlace:
    """Where a decoder says that a field is; ProtocolError where that cannot be."""
    if not isinstance(located, dict):
        raise ProtocolError("a place that is none")
    dtype = number_type(located.get("dtype"))
    if dtype.kind not in "fiu":
        raise ProtocolError("a field that holds no numbers")
    if "offset" in located:
        (offset,) = _whole_numbers([located["offset"]], count=1, least=0)
        return FieldPlace(dtype, offset=offset)
    if "chunk" not in located:
        return FieldPlace(dtype)
    frames, axes, pixels = _whole_numbers(located["chunk"], count=3, least=1)
    filters, fill = located.get("filters"), located.get("fill")
    if filters not in UNPACKED_HERE or not isinstance(fill, str) or len(fill) != 2 * dtype.itemsize:
        raise ProtocolError("chunks that are packed otherwise")
    places = np.zeros((0, _TABLE_COLUMNS), np.int64) if table is None else table
    if places.shape[1] != _TABLE_COLUMNS:
        raise ProtocolError("a table of chunks that is none")
    starts, stored = places[:, :3], places[:, 3:5]
    largest = most_stored_bytes(frames * axes * pixels * dtype.itemsize)
    # One comparison after the other: a sum of two numbers that lie could wrap round.
    sound = (starts >= 0).all() and (stored >= 0).all() and (stored[:, 1] <= largest).all()
    if not sound or (stored[:, 0] > file_bytes).any():
        raise ProtocolError("chunks that are not in the file")
    try:
        value = bytes.fromhex(fill)
    except ValueError:
        raise ProtocolError("a fill value that is none") from None
    return FieldPlace(dtype, table=ChunkTable((frames, axes, pixels), tuple(filters), value, places))


def _whole_numbers(found: Any, *, count: int, least: int) -> list[int]:
    if not isinstance(found, list) or len(found) != count:
        raise ProtocolError("a list of another length")
    if not all(type(number) is int and least <= number < 2**62 for number in found):
        raise ProtocolError("numbers that cannot be")
    return found


# Label volumes that a decoder reads: where their voxels are few, these alone are sent, each as one number: its place,
# and in a volume of several labels also its label.

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
    """The volume of an answer whose array, if there is one, has an expected type; ProtocolError where it is none."""
    value = answer.value
    if not isinstance(value, list) or len(value) != 4:
        raise ProtocolError("no geometry and no shape")
    geometry, found = checked_geometry(value[:3], axes=3), _checked_shape(value[3], shape, max_bytes)
    array = answer.array
    if array is not None and array.ndim == 3:
        if array.shape != found:
            raise ProtocolError("labels of another shape")
        if binary and array.max() > 1:
            raise ProtocolError("a mask with other values than 0 and 1")
        return Volume(found, geometry, array)
    if not as_voxels:
        raise ProtocolError("no labels")
    packed = np.zeros(0, np.uint32 if binary else np.uint64) if array is None else array
    return Volume(found, geometry, _unpacked(packed, places=math.prod(found), binary=binary))


def checked_geometry(found: Any, *, axes: int) -> Geometry:
    """Spacing, origin and direction; ProtocolError where they are none."""
    lengths = (axes, axes, axes * axes)
    if not isinstance(found, list) or len(found) != len(lengths):
        raise ProtocolError("no geometry")
    for numbers, length in zip(found, lengths, strict=True):
        if not isinstance(numbers, list) or len(numbers) != length or not all(type(each) is float for each in numbers):
            raise ProtocolError("a geometry that is none")
    spacing, origin, direction = (tuple(numbers) for numbers in found)
    return Geometry(spacing, origin, direction)


def _checked_shape(found: Any, expected: tuple[int, ...] | None, max_bytes: int) -> tuple[int, ...]:
    if not isinstance(found, list) or not all(type(length) is int and length > 0 for length in found):
        raise ProtocolError("a shape that is none")
    shape = tuple(found)
    if len(shape) != 3 or (expected is not None and shape != expected) or math.prod(shape) > max_bytes:
        raise ProtocolError("a volume of another shape")
    return shape


def _unpacked(packed: NDArray[Any], *, places: int, binary: bool) -> Voxels:
    indices = (packed if binary else packed >> np.uint64(_PLACE_FROM_BIT)).astype(np.int64)
    if not (indices[-1:] < places).all() or not (indices[1:] > indices[:-1]).all():
        raise ProtocolError("voxels that are not in the volume, or not in order")
    if binary:
        return Voxels(indices, np.ones(len(indices), np.uint8))
    labels = packed & np.uint64(LARGEST_LABEL)
    if not labels.all():
        raise ProtocolError("voxels of the background")
    return Voxels(indices, labels.astype(np.min_scalar_type(int(labels.max(initial=0)))))
