"""CRC-32 of a whole from the CRC-32 of its parts, so that parts may be read in any order."""

import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

POLYNOMIAL = 0xEDB88320  # of zip, gzip and zlib, lowest power first
ONE = 1 << 31  # the polynomial 1 in that order


def crc32(values: NDArray[Any], before: int = 0) -> int:
    """Of a contiguous array's bytes, continuing from `before`."""
    return zlib.crc32(values.view(np.uint8).data, before)


def combined_crc32(first: int, second: int, second_bytes: int) -> int:
    """The CRC-32 of two pieces in a row: the first times x^(8 n), modulo the polynomial, plus the second."""
    power, result = ONE >> 8, ONE  # x^8 is one byte further
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
        other = other >> 1 ^ (POLYNOMIAL if other & 1 else 0)
    return result
