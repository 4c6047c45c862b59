"""Deflate streams unpacked block by block, so that the caller decides when it is too much, and CRC-32.

The libraries that read our formats either grow their buffers as long as a stream continues, or leave the rest of a
buffer as it was when a stream ends early. The second is worse: that memory may hold a reference read before. So every
compressed stream is unpacked here first, by zlib or by ISA-L, which takes half to a quarter of zlib's time.
"""

import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

try:
    from isal import isal_zlib
except ImportError:  # it has no wheel for this machine, or this is the base install
    isal_zlib = None  # type: ignore[assignment]

IsalError: Any = isal_zlib.error if isal_zlib else None

BLOCK = 1 << 20
GZIP_MAGIC = b"\x1f\x8b"
ZLIB_OR_GZIP, GZIP, ZLIB, RAW = 47, 31, 15, -15
"""zlib's window codes: which header and checksum wrap a stream."""

MAX_MEMBERS = 20_000
"""Of one gzip file; each takes time even when it is empty."""

MOST_READ_FOR_A_START = 4
"""Blocks read to see how a compressed file begins, even when they unpack to nothing."""

_SMALL_BYTES = 24 * 1024
_GZIP_FIRST_BYTE = 0x1F  # of gzip's magic number; zlib's own header never begins so
_GZIP_RESERVED_FLAGS = 0xE0
_GZIP_HEADER_READ = 4  # bytes, the last being the flags
_LARGEST_ZLIB_WINDOW = 7
_REGISTER_BYTES = 8
_POLYNOMIAL = 0xEDB88320  # of the CRC-32 of zip, gzip and zlib, lowest power first
_ONE = 1 << 31  # the polynomial 1 in that order


class BadStreamError(Exception):
    """A compressed stream is corrupt, ends too early or is followed by something else; the text ends a sentence."""


class IsalMachine:
    """ISA-L as zlib's decompressobj, made to accept what zlib accepts. One stream; `wrapping` is zlib's window code.

    Left to itself ISA-L differs in three ways. It takes up to eight bytes into its registers and, at the end of a
    stream without gzip's trailer, does not give back those it had no use for, so that data after the stream would go
    unnoticed. It accepts headers that no standard defines. And it recognises the wrapping only where the first piece
    holds the whole header.
    """

    def __init__(self, wrapping: int) -> None:
        self._wrapping = wrapping
        self._start = b""
        self._machine: Any = None if wrapping == ZLIB_OR_GZIP else isal_zlib.decompressobj(wrapping)
        self._output_waits = False
        self.eof = False
        self.unused_data = b""
        """What follows the stream. Its first bytes may be missing where the stream is not gzip and more follows."""
        self.unconsumed_tail = b""

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """At most `max_length` bytes, which must not be 0; `unconsumed_tail` is to be given again."""
        self._examine_header(data)
        if self._machine is None:
            return b""
        if self._wrapping == GZIP:
            return self._feed(data, max_length)
        # The last bytes of every piece one by one: then no byte beyond the end of the stream is ever in a register.
        apart = max(0, len(data) - _REGISTER_BYTES)
        output = rest = b""
        if apart:
            output = self._feed(data[:apart], max_length)
            rest = self.unconsumed_tail
        position = apart
        while not self.eof and not rest and len(output) < max_length:
            if self._output_waits:
                output += self._feed(b"", max_length - len(output))
            elif position < len(data):
                output += self._feed(data[position : position + 1], max_length - len(output))
                rest = self.unconsumed_tail
                position += 1
            else:
                break
        if self.eof:
            self.unused_data += data[position:]
        else:
            self.unconsumed_tail = rest + data[position:]
        return output

    def _feed(self, data: bytes, max_length: int) -> bytes:
        output: bytes = self._machine.decompress(data, max_length)
        self._output_waits = len(output) == max_length
        self.eof = self._machine.eof
        self.unused_data, self.unconsumed_tail = self._machine.unused_data, self._machine.unconsumed_tail
        return output

    def _examine_header(self, data: bytes) -> None:
        if len(self._start) >= _GZIP_HEADER_READ or not data:
            return
        self._start += data[: _GZIP_HEADER_READ - len(self._start)]
        if self._machine is None:
            self._wrapping = GZIP if self._start[0] == _GZIP_FIRST_BYTE else ZLIB
            self._machine = isal_zlib.decompressobj(self._wrapping)
        if self._wrapping == ZLIB and self._start[0] >> 4 > _LARGEST_ZLIB_WINDOW:
            raise IsalError("the window is larger than zlib's largest")
        flags = self._start[_GZIP_HEADER_READ - 1 :]
        if self._wrapping == GZIP and flags and flags[0] & _GZIP_RESERVED_FLAGS:
            raise IsalError("reserved flags are set")


@dataclass(frozen=True)
class Library:
    """What unpacks. ISA-L also accepts a few streams that zlib does not, whose code tables have unused places."""

    name: str
    machine: Callable[[int], Any]
    error: type[Exception]


ZLIB_LIBRARY = Library("zlib", zlib.decompressobj, zlib.error)
ISAL_LIBRARY = Library("ISA-L", IsalMachine, IsalError) if isal_zlib else None
LIBRARY = ISAL_LIBRARY or ZLIB_LIBRARY
"""The faster one. Where a stream is only checked here, and unpacked by a library that uses zlib, zlib must check it."""


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
    started = False
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
            started = True
            try:
                block = machine.decompress(data, BLOCK)
            except library.error:
                raise BadStreamError("is corrupt") from None
            if block:
                yield block
            data = machine.unused_data if machine.eof else machine.unconsumed_tail
    # Output may still wait inside the library although all input is consumed.
    while started and not machine.eof:
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


def crc32(values: NDArray[Any], before: int = 0) -> int:
    """The CRC-32 of a contiguous array's bytes, continuing from `before`."""
    return zlib.crc32(values.view(np.uint8).data, before)


def combined_crc32(first: int, second: int, second_bytes: int) -> int:
    """The CRC-32 of two pieces in a row, so that pieces may be read in any order: the first times x^(8 n), modulo the
    polynomial, plus the second."""
    power, result = _ONE >> 8, _ONE  # x^8 is one byte further
    count = second_bytes
    while count:
        if count & 1:
            result = _product(power, result)
        power = _product(power, power)
        count >>= 1
    return _product(result, first) ^ second


def _product(one: int, other: int) -> int:
    """Of two polynomials over GF(2), modulo the CRC's."""
    result = 0
    for bit in range(31, -1, -1):
        if one >> bit & 1:
            result ^= other
        other = other >> 1 ^ (_POLYNOMIAL if other & 1 else 0)
    return result
