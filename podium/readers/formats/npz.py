"""Arrays in a zip file of .npy members (NumPy's .npz, or a plain .zip of them), stored or deflated.

A stored member is read in place. A deflated one can only be read from its start, by one thread; it is never unpacked to
more than the array it announces.
"""

import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.errors import Refused, SubmissionError
from podium.readers.archives.zip import STORED, ZipMember, member_content, zip_members
from podium.readers.files import SafeFile
from podium.readers.formats.npy import NpyHeader, check_field, read_npy_header, whole_array
from podium.readers.frames import FieldShape, FrameStream, RawFrames, Tile

MAX_MEMBERS = 100


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
            content.end()
            return values

    def frames(self, name: str, *, shape: FieldShape) -> FrameStream:
        member = self.members[name]
        with self._open(name) as (header, _):
            check_field(self.label(name), header, shape)
        if member.info.compress_type != STORED:
            return _DeflatedFrames(self, name, shape=shape, dtype=header.dtype)
        return RawFrames(
            self.file,
            label=self.label(name),
            offset=member.data_start + header.size,
            dtype=header.dtype,
            shape=shape,
            before=zlib.crc32(header.content),
            expected=member.info.CRC,
        )

    @contextmanager
    def _open(self, name: str) -> Iterator[tuple[NpyHeader, "_Content"]]:
        """A member's header, and its content right behind that."""
        member = self.members[name]
        with _submission_refused(), self.file.open() as plain:
            content = _Content(member_content(self.file, plain, member))
            header = read_npy_header(content.read, self.label(name))
            if member.info.file_size != header.size + header.nbytes:
                raise Refused(
                    f"{self.label(name)} has {member.info.file_size - header.size:,} bytes of values, "
                    f"its header announces {header.nbytes:,}."
                )
            yield header, content


class _Content:
    """Blocks of a member as something that can be read from."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._waiting = memoryview(b"")

    def read(self, count: int) -> bytes:
        """The next `count` bytes, fewer at the end."""
        found = bytearray(count)
        return bytes(found[: self.fill(memoryview(found))])

    def fill(self, target: memoryview) -> int:
        """As many of the next bytes as fit into `target`; how many that were."""
        done = 0
        while done < len(target):
            if not self._waiting:
                self._waiting = memoryview(next(self._blocks, b""))
                if not self._waiting:
                    break
            part = self._waiting[: len(target) - done]
            target[done : done + len(part)] = part
            self._waiting = self._waiting[len(part) :]
            done += len(part)
        return done

    def end(self) -> None:
        """Read on to the end, where the checksum is compared with the content."""
        for _ in self._blocks:
            pass


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
                if content.fill(target) < len(target):
                    raise Refused(f"{self.label} is cut short: the file ends before its last value.")
                yield Tile(frame, 0, buffer)
            content.end()


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
