"""Grey images as PNG files and inside a page, without an imaging library."""

import base64
import struct
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

LONGEST_SIDE_PX = 400
"""Of an image inside a page: larger ones would make the page too large."""


def smallest(data: bytes) -> bytes:
    return zlib.compress(data, 9)


def png_file(image: NDArray[np.uint8], *, compress: Callable[[bytes], bytes] = smallest) -> bytes:
    """The image as an 8-bit grey PNG, pixels stored as differences from their left neighbours; `compress` makes a zlib
    stream. There is no text, profile or date in it."""
    height, width = image.shape
    filtered = np.empty((height, width + 1), np.uint8)
    filtered[:, 0] = 1
    filtered[:, 1] = image[:, 0]
    np.subtract(image[:, 1:], image[:, :-1], out=filtered[:, 2:])
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    png = b"\x89PNG\r\n\x1a\n"
    for kind, data in ((b"IHDR", header), (b"IDAT", compress(filtered.tobytes())), (b"IEND", b"")):
        png += struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return png


def grey_window(values: NDArray[Any]) -> tuple[float, float]:
    """The values that are black and white: the 2nd and the 98th percentile, or the extremes where these coincide."""
    values = np.nan_to_num(np.asarray(values, dtype=np.float64), posinf=0.0, neginf=0.0)
    low, high = np.quantile(values, (0.02, 0.98))
    return (float(low), float(high)) if high > low else (float(values.min()), float(values.max()))


def grey_levels(image: NDArray[Any], window: tuple[float, float]) -> NDArray[np.uint8]:
    """The values of the window spread over 0..255; all are black where it has no width."""
    values = np.nan_to_num(np.asarray(image, dtype=np.float64), posinf=0.0, neginf=0.0)
    low, high = window
    if high <= low:
        return np.zeros(values.shape, np.uint8)
    return np.asarray(np.rint(np.clip((values - low) / (high - low), 0, 1) * 255), dtype=np.uint8)


def reduced(image: NDArray[np.uint8], longest: int = LONGEST_SIDE_PX) -> NDArray[np.uint8]:
    """The means of square blocks, as small as needed; an incomplete last block is the mean of what it has."""
    factor = -(-max(image.shape) // longest)
    if factor == 1:
        return image
    rows, columns = (np.arange(0, length, factor) for length in image.shape)
    sums = np.add.reduceat(np.add.reduceat(image.astype(np.int64), rows, axis=0), columns, axis=1)
    sizes = np.outer(np.diff([*rows, image.shape[0]]), np.diff([*columns, image.shape[1]]))
    return np.asarray(sums // sizes, dtype=np.uint8)


def data_address(png: bytes) -> str:
    """A PNG file as an address."""
    return "data:image/png;base64," + base64.b64encode(png).decode("ascii")
