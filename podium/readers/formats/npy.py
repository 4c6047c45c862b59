"""Arrays in NumPy's own format. Only the header is parsed, and only as data: no pickle is ever opened."""

import ast
import math
import struct
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.errors import Refused
from podium.readers.field_shapes import check_shape
from podium.readers.files import SafeFile
from podium.readers.frames import FieldShape, FrameStream, RawFrames, check_number_type

MAGIC = b"\x93NUMPY"
MAX_HEADER_BYTES = 10_000
MAX_ARRAY_BYTES = 64 * 1024 * 1024
"""Of an array that is read as a whole: landmarks and transforms, never a field."""

Read = Callable[[int], bytes]  # the next N bytes, fewer at the end


@dataclass(frozen=True)
class NpyHeader:
    """What an array announces, and the size of the header."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    fortran_order: bool
    size: int
    content: bytes  # the header itself, from the magic on

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


def read_npy_header(read: Read, label: str) -> NpyHeader:
    """The header, after which `read` gives the values."""
    start = read(8)
    if len(start) < 8 or not start.startswith(MAGIC):
        raise Refused(f"{label} is not a NumPy array (.npy).")
    length_form = {1: "<H", 2: "<I", 3: "<I"}.get(start[6])
    if length_form is None:
        raise Refused(f"{label} is of an unknown version of NumPy's format.")
    length_bytes = read(struct.calcsize(length_form))
    if len(length_bytes) < struct.calcsize(length_form):
        raise _damaged(label)
    (length,) = struct.unpack(length_form, length_bytes)
    if length > MAX_HEADER_BYTES:
        raise Refused(f"{label} has a header of {length:,} bytes; at most {MAX_HEADER_BYTES:,} are read.")
    text = read(length)
    if len(text) < length:
        raise _damaged(label)
    try:
        content = ast.literal_eval(text.decode("utf-8").strip())
        dtype, shape, order = content["descr"], content["shape"], content["fortran_order"]
        kind = np.dtype(dtype) if isinstance(dtype, str) else np.dtype(object if dtype == "O" else np.void)
    except Exception:  # a hostile literal can fail in many ways
        raise _damaged(label) from None
    check_number_type(label, kind)
    plain = isinstance(shape, tuple) and all(type(length) is int and length >= 0 for length in shape)
    if not plain or type(order) is not bool:
        raise _damaged(label)
    if 0 in shape:
        raise Refused(f"{label} is empty.")
    if math.prod(shape) > sys.maxsize:  # longer numbers could not even be written into a message
        raise Refused(f"{label} announces more values than any file has.")
    header = start + length_bytes + text
    return NpyHeader(kind, shape, order, len(header), header)


def whole_array(header: NpyHeader, read: Read, label: str, *, shape: tuple[int, ...] | None) -> NDArray[Any]:
    """The values behind a header, in the machine's byte order."""
    if shape is not None:
        check_shape(label, header.shape, shape)
    if header.nbytes > MAX_ARRAY_BYTES:
        raise Refused(f"{label} has {header.nbytes:,} bytes; at most {MAX_ARRAY_BYTES:,} are read.")
    data = read(header.nbytes)
    if len(data) < header.nbytes:
        raise Refused(f"{label} is cut short: the file ends before its last value.")
    values = np.frombuffer(data, header.dtype).reshape(header.shape, order="F" if header.fortran_order else "C")
    return values.astype(header.dtype.newbyteorder("="))


def check_field(label: str, header: NpyHeader, shape: FieldShape) -> None:
    """A field can only be streamed when its frames lie one after another."""
    check_shape(label, header.shape, shape)
    if header.fortran_order:
        raise Refused(f"{label} is stored in Fortran order; save np.ascontiguousarray of it.")


@dataclass(frozen=True)
class NpyFiles:
    """Arrays in .npy files, one each, by name."""

    files: Mapping[str, SafeFile]

    def names(self) -> tuple[str, ...]:
        return tuple(sorted(self.files))

    def has(self, name: str) -> bool:
        return name in self.files

    def label(self, name: str) -> str:
        return f"'{self.files[name].name}'"

    def shape(self, name: str) -> tuple[int, ...]:
        with self.files[name].open() as stream:
            return read_npy_header(stream.read, self.label(name)).shape

    def read(self, name: str, *, shape: tuple[int, ...] | None = None) -> NDArray[Any]:
        with self.files[name].open() as stream:
            header = read_npy_header(stream.read, self.label(name))
            return whole_array(header, stream.read, self.label(name), shape=shape)

    def frames(self, name: str, *, shape: FieldShape) -> FrameStream:
        file = self.files[name]
        with file.open() as stream:
            header = read_npy_header(stream.read, self.label(name))
        check_field(self.label(name), header, shape)
        return RawFrames(
            file,
            label=self.label(name),
            offset=header.size,
            dtype=header.dtype,
            shape=shape,
        )


def _damaged(label: str) -> Refused:
    return Refused(f"{label} has a damaged header; save it again with numpy.save.")
