"""Displacement fields of many gigabytes, read frame by frame into small buffers that are reused.

A field has the shape (frames, 3, pixels). Whatever the file, it is returned as tiles: some pixels of one frame,
all three components. Spans of frames may be read by several threads at once.
"""

import os
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from podium.errors import Refused
from podium.readers.files import SafeFile
from podium.readers.formats.headers import with_crosses
from podium.readers.inflate import crc32_combine

SPAN_BYTES = 128 * 1024 * 1024  # what one thread reads before it takes the next piece of work
HUGE_PAGES_BYTES = 1 << 22  # from this size on arrays have huge pages, into which copying takes less time
FieldShape = tuple[int, int, int]


@dataclass(frozen=True)
class Tile:
    """`values` (3, n) are the displacements of pixels start .. start+n-1; valid until the next tile is asked for."""

    frame: int
    start: int
    values: NDArray[Any]


class FrameStream(ABC):
    """One stored field, checked as far as that goes without reading it; `label` names it in messages."""

    label: str
    shape: FieldShape
    dtype: np.dtype[Any]

    @abstractmethod
    def spans(self) -> Sequence[range]:
        """Frames that are read together, in order; different spans may be read at the same time."""

    @abstractmethod
    def tiles(self, span: range) -> Iterator[Tile]:
        """Every pixel of the span's frames, each once."""

    def finish(self) -> None:  # noqa: B027  (most streams have nothing left to check)
        """Check what can be checked only when every span was read to its end."""

    @property
    def frame_bytes(self) -> int:
        return self.shape[1] * self.shape[2] * self.dtype.itemsize


class ArraySource(Protocol):
    """A file, or some files, that hold numeric arrays by name."""

    def names(self) -> tuple[str, ...]:
        """Sorted array names."""

    def has(self, name: str) -> bool:
        """Whether there is anything of that name; whether it can be used is only known when it is read."""

    def shape(self, name: str) -> tuple[int, ...]:
        """As declared; nothing of the values is read."""

    def read(self, name: str, *, shape: tuple[int, ...] | None = None) -> NDArray[Any]:
        """A small array as a whole; it is not read if its shape is not `shape`."""

    def frames(self, name: str, *, shape: FieldShape) -> FrameStream:
        """A large field as a stream; refused when it has another shape."""

    def label(self, name: str) -> str:
        """The name of the array in messages."""


@dataclass(eq=False, kw_only=True)
class RawFrames(FrameStream):
    """Values stored as they are, one after another: in .npy, in a stored member of an .npz, in contiguous HDF5.

    `offset` is the position of the first value. `before` (a checksum of what precedes it) and `expected` are given
    where the file has a CRC-32 over all of it.
    """

    file: SafeFile
    label: str
    offset: int
    dtype: np.dtype[Any]
    shape: FieldShape
    before: int = 0
    expected: int | None = None
    _checksums: dict[int, tuple[int, int]] = field(default_factory=dict)  # first frame of a span -> CRC-32, bytes

    def __post_init__(self) -> None:
        if self.file.size < self.offset + self.shape[0] * self.frame_bytes:
            raise truncated(self.label)

    def spans(self) -> Sequence[range]:
        frames, step = self.shape[0], max(1, SPAN_BYTES // self.frame_bytes)
        if self.expected is not None and crc32_combine is None:
            step = frames
        return [range(first, min(first + step, frames)) for first in range(0, frames, step)]

    def tiles(self, span: range) -> Iterator[Tile]:
        """Frames are read whole: one call per frame, in the order that a checksum needs."""
        block = np.empty(max(self.frame_bytes, HUGE_PAGES_BYTES), np.uint8)
        buffer = block[: self.frame_bytes].view(self.dtype).reshape(self.shape[1:])
        checksum = 0 if span.start else self.before
        with self.file.open() as stream:
            for frame in span:
                self._fill(stream.fileno(), buffer, self.offset + frame * self.frame_bytes)
                if self.expected is not None:
                    checksum = zlib.crc32(buffer.view(np.uint8).data, checksum)
                yield Tile(frame, 0, buffer)
        self._checksums[span.start] = (checksum, len(span) * self.frame_bytes)

    def _fill(self, descriptor: int, values: NDArray[Any], place: int) -> None:
        wanted = values.view(np.uint8).data.cast("B")
        while wanted.nbytes:
            count = os.preadv(descriptor, [wanted], place)
            if not count:
                raise truncated(self.label)
            wanted, place = wanted[count:], place + count

    def finish(self) -> None:
        if self.expected is None:
            return
        (checksum, _), *others = (self._checksums[start] for start in sorted(self._checksums))
        for other in others:
            checksum = crc32_combine(checksum, *other)
        if checksum != self.expected:
            raise Refused(f"{self.label} is damaged: its checksum is wrong.")


def truncated(label: str) -> Refused:
    """For an array whose file has too few bytes."""
    return Refused(f"{label} is truncated: the file ends before its last value.")


def check_number_type(label: str, dtype: np.dtype[Any]) -> None:
    """Floats and integers of at most 8 bytes."""
    if dtype.hasobject:
        raise Refused(f"{label} holds Python objects (dtype object); store plain numbers, such as float32.")
    if dtype.kind not in "fiu":
        what = {"c": "complex numbers", "b": "booleans", "V": "records"}.get(dtype.kind, "no numbers")
        raise Refused(f"{label} holds {what}; store plain numbers, such as float32.")
    if dtype.itemsize > 8:
        raise Refused(f"{label} holds numbers of {dtype.itemsize} bytes; store at most 8.")


def check_shape(label: str, found: tuple[int, ...], expected: tuple[int, ...]) -> None:
    """Exactly the expected shape: broadcasting would let a single number pass for a field."""
    if found != expected:
        raise Refused(f"{label} is {with_crosses(found)}, expected {with_crosses(expected)}{_hint(found, expected)}.")


def _hint(found: tuple[int, ...], expected: tuple[int, ...]) -> str:
    """The most likely mistake, where one is recognised."""
    if sorted(found) == sorted(expected):
        axes = {3: "(frame, component, pixel)", 2: "(component, landmark)"}.get(len(expected), "of the rules")
        return f"; the axes are {axes}: swap them"
    if found[1:] == expected[1:] and found[:1] == (expected[0] + 1,) and len(found) == 3:
        return "; the first frame has no displacement: leave it out"
    if len(found) == 4 and len(expected) == 3 and (*found[:2], found[2] * found[3]) == expected:
        return "; flatten the rows and columns of each frame, columns fastest"
    return ""
