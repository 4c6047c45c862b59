"""Deflate streams, unpacked once and block by block, so that the caller stops as soon as it is too much.

The libraries of the formats cannot be trusted with this: ITK and tarfile accept truncated files silently, HDF5 and
MetaIO return other garbage in every run, and their buffers grow as long as a stream continues. So they give structure
and geometry only. Every stream is unpacked here, by ISA-L where it is installed: it takes half to a quarter of zlib's
time.
"""

import io
import zlib
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

try:
    from isal import igzip, isal_zlib
except ImportError:  # it has no wheel for this machine, or this is the base install
    import gzip

    GzipFile: Any = gzip.GzipFile
    decompressobj: Any = zlib.decompressobj
    crc32_combine: Any = None
    _FAULTS: Any = (zlib.error, gzip.BadGzipFile)
else:
    GzipFile, decompressobj, crc32_combine = igzip.IGzipFile, isal_zlib.decompressobj, isal_zlib.crc32_combine
    _FAULTS = (zlib.error, isal_zlib.error, igzip.BadGzipFile)

BLOCK = 1 << 20
GZIP_MAGIC = b"\x1f\x8b"
GZIP, ZLIB, RAW = 31, 15, -15  # zlib's window codes: which header and checksum wrap a stream
_READ_FOR_A_START = 1 << 16
_SHORT_BYTES = 24 * 1024


class BadStreamError(Exception):
    """A compressed stream is corrupt or ends too early; the text ends a sentence."""


def pieces(stream: BinaryIO) -> Iterator[bytes]:
    """The rest of `stream` in blocks."""
    while block := stream.read(BLOCK):
        yield block


def inflate(compressed: Iterable[bytes], *, wrapping: int, size: int | None = None) -> Iterator[bytes]:
    """The content of one stream in blocks of at most 1 MiB; what follows the stream is not read.

    Args:
        wrapping: zlib's window code, one of the constants above.
        size: of the content, where it is known: to set up ISA-L costs more than it saves on a short stream.
    """
    machine = (decompressobj if size is None or size > _SHORT_BYTES else zlib.decompressobj)(wrapping)
    for piece in compressed:
        data, is_output_waiting = piece, False
        while data or is_output_waiting:
            try:
                block = machine.decompress(data, BLOCK)
            except _FAULTS:
                raise BadStreamError("is corrupt") from None
            if block:
                yield block
            if machine.eof:
                return
            data, is_output_waiting = machine.unconsumed_tail, len(block) == BLOCK
    raise BadStreamError("ends too early")


def unpacked(stream: io.BufferedReader) -> Iterator[bytes]:
    """The content of a gzip file, also of several members padded with zeros, or of a zlib stream, in blocks of at most
    1 MiB."""
    if not stream.peek(2).startswith(GZIP_MAGIC):
        yield from inflate(pieces(stream), wrapping=ZLIB)
        return
    try:
        yield from pieces(GzipFile(fileobj=stream))
    except EOFError:
        raise BadStreamError("ends too early") from None
    except _FAULTS:
        raise BadStreamError("is corrupt") from None


class BlockReader:
    """Blocks, read by counts of bytes."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks, self._waiting = blocks, memoryview(b"")

    def parts(self, count: int) -> Iterator[memoryview]:
        """The next `count` bytes in pieces, fewer at the end."""
        while count:
            if not self._waiting:
                self._waiting = memoryview(next(self._blocks, b""))
                if not self._waiting:
                    return
            part, self._waiting = self._waiting[:count], self._waiting[count:]
            count -= len(part)
            yield part

    def read(self, count: int) -> bytes:
        """The next `count` bytes, fewer at the end."""
        return b"".join(self.parts(count))

    def rest(self) -> Iterator[bytes]:
        """All that was not read yet."""
        yield bytes(self._waiting)
        yield from self._blocks


def unpacked_start(stream: BinaryIO, *, count: int) -> bytes:
    """At most the first `count` bytes of a gzip file, fewer when it is damaged: enough to recognise a format."""
    data, start = stream.read(_READ_FOR_A_START), b""
    try:
        while data and len(start) < count:
            machine = decompressobj(GZIP)
            start += machine.decompress(data, count - len(start))
            data = machine.unused_data.lstrip(b"\0")
    except _FAULTS:
        pass
    return start
