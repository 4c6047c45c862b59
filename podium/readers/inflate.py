"""Deflate streams unpacked block by block, so that the caller decides when it is too much.

The libraries that read our formats either grow their buffers as long as a stream continues, or leave the rest of a
buffer as it was when a stream ends early. The second is worse: that memory may hold a reference read before. So every
compressed stream is unpacked here first.
"""

import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, BinaryIO

try:
    from podium.readers import isal_machine
except ImportError:  # isal is not installed: it has no wheel for this machine, or this is the base install
    isal_machine = None  # type: ignore[assignment]

BLOCK = 1 << 20
MAX_MEMBERS = 20_000
"""Of one gzip file; each takes time even when it is empty."""
MOST_READ_FOR_A_START = 4
"""Blocks read to see how a compressed file begins, even when they unpack to nothing."""

GZIP_MAGIC = b"\x1f\x8b"

ZLIB_OR_GZIP = 47
GZIP = 31
ZLIB = 15
RAW = -15


@dataclass(frozen=True)
class Library:
    """Who unpacks. ISA-L accepts what zlib accepts, and a few streams more whose code tables have unused places."""

    name: str
    machine: Callable[[int], Any]
    error: type[Exception]


ZLIB_LIBRARY = Library("zlib", zlib.decompressobj, zlib.error)
ISAL_LIBRARY = Library("ISA-L", isal_machine.IsalMachine, isal_machine.error) if isal_machine else None
LIBRARY = ISAL_LIBRARY or ZLIB_LIBRARY
"""ISA-L takes half to a quarter of zlib's time. Where a stream is only checked here, and unpacked by a library that
uses zlib, it must be checked by zlib."""

_SMALL_BYTES = 24 * 1024


class BadStreamError(Exception):
    """A compressed stream is corrupt, ends too early or is followed by something else; the text ends a sentence."""


def library_for(unpacked_bytes: int) -> Library:
    """The faster one: ISA-L is given the last bytes one by one, which costs more than it saves on a short stream."""
    return LIBRARY if unpacked_bytes > _SMALL_BYTES else ZLIB_LIBRARY


def pieces(stream: BinaryIO) -> Iterator[bytes]:
    """The rest of `stream` in blocks."""
    while block := stream.read(BLOCK):
        yield block


def inflate(
    compressed: Iterable[bytes], *, wrapping: int, many_members: bool = False, library: Library = LIBRARY
) -> Iterator[bytes]:
    """The unpacked content in blocks of at most 1 MiB.

    `wrapping` is zlib's window code (one of the constants above). `many_members` allows what gzip allows, and gzip
    alone: several streams after one another, padded with zeros. Anything else after the end raises BadStreamError.
    """
    assert not many_members or wrapping == GZIP
    machine = library.machine(wrapping)
    begun = False
    members = 1
    for piece in compressed:
        data = piece
        while data:
            if machine.eof:
                if not many_members:
                    raise BadStreamError("is followed by more data")
                data = data.lstrip(b"\0")
                if not data:
                    break
                machine = library.machine(wrapping)
                members += 1
                if members > MAX_MEMBERS:
                    raise BadStreamError("is made of too many pieces")
            begun = True
            try:
                block = machine.decompress(data, BLOCK)
            except library.error:
                raise BadStreamError("is corrupt") from None
            if block:
                yield block
            data = machine.unused_data if machine.eof else machine.unconsumed_tail
    # Output may still wait inside the library although all input is consumed.
    while begun and not machine.eof:
        try:
            block = machine.decompress(machine.unconsumed_tail, BLOCK)
        except library.error:
            raise BadStreamError("is corrupt") from None
        if not block:
            break
        yield block
    if not machine.eof:
        raise BadStreamError("ends too early")


def inflated_start(compressed: Iterable[bytes], *, count: int) -> bytes:
    """At most the first `count` bytes of a gzip file, fewer when it is damaged: enough to recognise a format."""
    start = b""
    try:
        for block in inflate(islice(compressed, MOST_READ_FOR_A_START), wrapping=GZIP, many_members=True):
            start += block[:count]
            if len(start) >= count:
                break
    except BadStreamError:
        pass
    return start[:count]
