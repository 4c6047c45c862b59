"""ISA-L as zlib's decompressobj: several times faster, and made to accept exactly what zlib accepts.

Left to itself it differs in three ways. It takes up to eight bytes into its registers and, at the end of a stream
without gzip's trailer, does not give back those it had no use for, so that data behind the stream would go unnoticed.
It accepts headers that say what no standard defines. And it recognises the wrapping only where the first piece holds
the whole header.
"""

from typing import Any

from isal import isal_zlib

error: Any = isal_zlib.error

_GZIP_FIRST_BYTE = 0x1F  # of gzip's magic number; zlib's own header never begins so
_GZIP_RESERVED_FLAGS = 0xE0
_GZIP_HEADER_READ = 4  # bytes, the last being the flags
_LARGEST_ZLIB_WINDOW = 7
_REGISTER_BYTES = 8
_FROM_FIRST_BYTE, _GZIP, _ZLIB = 47, 31, 15  # zlib's window codes


class IsalMachine:
    """One stream; `wrapping` is zlib's window code."""

    def __init__(self, wrapping: int) -> None:
        self._wrapping = wrapping
        self._start = b""
        self._machine: Any = None if wrapping == _FROM_FIRST_BYTE else isal_zlib.decompressobj(wrapping)
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
        if self._wrapping == _GZIP:
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
            self._wrapping = _GZIP if self._start[0] == _GZIP_FIRST_BYTE else _ZLIB
            self._machine = isal_zlib.decompressobj(self._wrapping)
        if self._wrapping == _ZLIB and self._start[0] >> 4 > _LARGEST_ZLIB_WINDOW:
            raise error("the window is larger than zlib's largest")
        flags = self._start[_GZIP_HEADER_READ - 1 :]
        if self._wrapping == _GZIP and flags and flags[0] & _GZIP_RESERVED_FLAGS:
            raise error("reserved flags are set")
