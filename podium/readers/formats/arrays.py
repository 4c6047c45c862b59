"""Arrays in NumPy's own format: .npy files, or a zip file of them (.npz), stored or deflated.

Only the header is parsed, and only as data: no pickle is ever opened. A stored member of a zip file is read in place. A
deflated one can only be read from its start, by one thread; it is never unpacked to more than the array it declares.
"""

import ast
import math
import struct
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.errors import Refused, SubmissionError
from podium.readers.archives import STORED, ZipMember, member_content, zip_members
from podium.readers.files import SafeFile
from podium.readers.frames import FieldShape, FrameStream, RawFrames, Tile, check_number_type, check_shape, truncated
from podium.readers.inflate import BlockReader

MAGIC = b"\x93NUMPY"
MAX_HEADER_BYTES = 10_000
MAX_ARRAY_BYTES = 64 * 1024 * 1024  # of an array that is read as a whole: landmarks and transforms, never a field
MAX_MEMBERS = 100  # of a zip file
Read = Callable[[int], bytes]  # the next N bytes, fewer at the end


@dataclass(frozen=True)
class NpyHeader:
    """What an array declares, and the header itself."""

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
        raise Refused(f"{label} declares an impossibly large array.")
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
        raise truncated(label)
    values = np.frombuffer(data, header.dtype).reshape(header.shape, order="F" if header.fortran_order else "C")
    return values.astype(header.dtype.newbyteorder("="))


def check_field(label: str, header: NpyHeader, shape: FieldShape) -> None:
    """A field can only be streamed when its frames are stored one after another."""
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
        return RawFrames(file=file, label=self.label(name), offset=header.size, dtype=header.dtype, shape=shape)


def _damaged(label: str) -> Refused:
    return Refused(f"{label} has a damaged header; save it again with numpy.save.")


@dataclass(frozen=True)
class NpzSource:
    """An .npz file whose directory was checked: `members` by the names of their arrays."""

    file: SafeFile
    members: dict[str, ZipMember]

    def names(self) -> tuple[str, ...]:
        return tuple(sorted(self.members))

    def has(self, name: str) -> bool:
        return name in self.members

    def label(self, name: str) -> str:
        return f"'{name}' in '{self.file.name}'"

    def shape(self, name: str) -> tuple[int, ...]:
        with self._open(name) as (header, _):
            return header.shape

    def read(self, name: str, *, shape: tuple[int, ...] | None = None) -> NDArray[Any]:
        with self._open(name) as (header, content):
            values = whole_array(header, content.read, self.label(name), shape=shape)
            _read_to_end(content)
            return values

    def frames(self, name: str, *, shape: FieldShape) -> FrameStream:
        member = self.members[name]
        with self._open(name) as (header, _):
            check_field(self.label(name), header, shape)
        if member.info.compress_type != STORED:
            return _DeflatedFrames(self, name, shape=shape, dtype=header.dtype)
        return RawFrames(
            file=self.file,
            label=self.label(name),
            offset=member.data_start + header.size,
            dtype=header.dtype,
            shape=shape,
            before=zlib.crc32(header.content),
            expected=member.info.CRC,
        )

    @contextmanager
    def _open(self, name: str) -> Iterator[tuple[NpyHeader, BlockReader]]:
        """A member's header, and its content after that."""
        member = self.members[name]
        with _submission_refused(), self.file.open() as plain:
            content = BlockReader(member_content(self.file, plain, member))
            header = read_npy_header(content.read, self.label(name))
            if member.info.file_size != header.size + header.nbytes:
                raise Refused(
                    f"{self.label(name)} has {member.info.file_size - header.size:,} bytes of values, "
                    f"but its header declares {header.nbytes:,}."
                )
            yield header, content


class _DeflatedFrames(FrameStream):
    def __init__(self, source: NpzSource, name: str, *, shape: FieldShape, dtype: np.dtype[Any]) -> None:
        self._source, self._name, self.label = source, name, source.label(name)
        self.shape, self.dtype = shape, dtype

    def spans(self) -> Sequence[range]:
        return [range(self.shape[0])]

    def tiles(self, span: range) -> Iterator[Tile]:
        buffer = np.empty(self.shape[1:], self.dtype)
        target = buffer.view(np.uint8).data.cast("B")
        with self._source._open(self._name) as (_, content):
            for frame in span:
                done = 0
                for part in content.parts(len(target)):
                    target[done : done + len(part)] = part
                    done += len(part)
                if done < len(target):
                    raise truncated(self.label)
                yield Tile(frame, 0, buffer)
            _read_to_end(content)


def _read_to_end(content: BlockReader) -> None:
    """At the end the checksum is compared with the content."""
    for _ in content.rest():
        pass


@contextmanager
def open_npz(file: SafeFile, *, max_bytes: int) -> Iterator[NpzSource]:
    """The arrays of `file`; refused when they unpack to more than `max_bytes` together."""
    with _submission_refused(), file.open() as plain:
        members = zip_members(file, plain, max_files=MAX_MEMBERS, max_bytes=max_bytes)
    named: dict[str, ZipMember] = {}
    for member in members:
        last = member.name.rsplit("/", 1)[-1]
        if not last.endswith(".npy") or member.name.startswith("__MACOSX/"):
            continue
        name = last.removesuffix(".npy")
        if name in named:
            raise Refused(f"'{file.name}' holds two arrays '{name}'.")
        named[name] = member
    yield NpzSource(file, named)


@contextmanager
def _submission_refused() -> Iterator[None]:
    """To the archive reader a bad archive is a bad submission; here it is one file of many."""
    try:
        yield
    except SubmissionError as fault:
        raise Refused(str(fault)) from None
