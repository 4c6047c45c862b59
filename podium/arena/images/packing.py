"""Slices are packed once and by the hundred: ISA-L takes a quarter of zlib's time for a fifteenth more bytes."""

import gzip
import zlib

try:
    from isal import isal_zlib
except ImportError:  # it has no wheel for this machine
    isal_zlib = None  # type: ignore[assignment]

_ISAL_LEVEL = 3
_ZLIB_LEVEL = 2  # noise hardly packs any better at higher ones
_GZIP = 31  # zlib's window code


def zlib_stream(data: bytes) -> bytes:
    return zlib.compress(data, _ZLIB_LEVEL) if isal_zlib is None else isal_zlib.compress(data, _ISAL_LEVEL)


def gzip_file(data: bytes) -> bytes:
    """Without a name or a date."""
    if isal_zlib is None:
        return gzip.compress(data, _ZLIB_LEVEL, mtime=0)
    return isal_zlib.compress(data, _ISAL_LEVEL, _GZIP)
