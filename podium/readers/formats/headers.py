"""What the image formats share: the header that a file declares, what a format is, and stored pixels.

The libraries accept a file that holds fewer pixels than declared: the rest of the image is then whatever was in memory.
So stored pixels are read here, in blocks, and their bytes are counted on the way.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.errors import Refused
from podium.readers.files import SafeFile
from podium.readers.inflate import BadStreamError, pieces, unpacked


@dataclass(frozen=True)
class ImageHeader:
    """The declared image. All formats are single-channel, real-valued, 2-D or 3-D: anything else was refused."""

    shape: tuple[int, ...]  # in numpy order: (rows, columns) or (slices, rows, columns)
    pixel_bytes: int  # bytes of a pixel in the file
    dtype: str | None = None  # NumPy's name of a stored pixel (`<f4`); None where the library reads the pixels
    scaling: tuple[float, float] | None = None  # slope and intercept, where the values are not the stored ones
    content_offset: int = 0  # where in the file the content begins that is read, or unpacked, for the pixels
    is_compressed: bool = False  # whether the content is a gzip file or a zlib stream
    data_offset: int = 0  # where in the unpacked content the pixels begin
    trailing_bytes: int = 0  # how many bytes may follow the pixels

    @property
    def data_bytes(self) -> int:
        """Declared bytes of all pixels, unpacked."""
        return self.pixel_bytes * math.prod(self.shape)

    @property
    def value_type(self) -> np.dtype[Any]:
        """Of the values in memory: integers that are scaled become float32."""
        stored = np.dtype(self.dtype).newbyteorder("=")
        return np.dtype(np.float32) if self.scaling and stored.kind != "f" else stored


def with_crosses(lengths: Iterable[object]) -> str:
    """A shape as text: '96 x 128'."""
    return " x ".join(str(length) for length in lengths) or "a single value"


def check_expected_shape(label: str, found: tuple[int, ...], expected: tuple[int, ...] | None) -> None:
    """Refuse any other shape of an array than `expected`, where there is one. It is written as numpy and h5py do."""
    if expected is not None and found != expected:
        advice = ": your axes are reversed: transpose before saving" if found == expected[::-1] else ""
        raise Refused(f"{label} has the shape {found}, expected {expected}{advice}.")


def check_axes(file: SafeFile, axes: int) -> None:
    """Only 2-D and 3-D images are read; a 4-D image is refused even when it has a single frame."""
    if axes == 4:
        raise Refused(f"'{file.name}' has 4 axes; send a 2-D or 3-D image, also when there is only one frame.")
    if axes not in (2, 3):
        raise Refused(f"'{file.name}' has {axes} axes; send a 2-D or 3-D image.")


def check_lengths(file: SafeFile, shape: tuple[int, ...]) -> None:
    """An axis without pixels has nothing to score, and confuses every library differently."""
    if min(shape) < 1:
        raise Refused(f"'{file.name}' declares an empty image ({with_crosses(shape[::-1])}).")


def check_channels(file: SafeFile, channels: int) -> None:
    """RGB, RGBA and vector images are not label maps."""
    if channels != 1:
        raise Refused(
            f"'{file.name}' has {channels} channels (RGB or vector pixels); send an image with one value per pixel."
        )


@dataclass(frozen=True)
class ImageFormat:
    """One accepted format. Each module of an image format defines its own; `IMAGE_FORMATS` lists them."""

    name: str  # as messages write it
    endings: tuple[str, ...]  # of file names, in lower case
    image_io: str  # SimpleITK's name of the one reader that may open the file
    matches: Callable[[bytes], bool]  # whether a file that begins with these bytes has this format
    read_header: Callable[[SafeFile], ImageHeader]  # refuses what libraries might read differently
    gzipped: bool = False  # whether the whole file is gzipped; `matches` is then given the first unpacked bytes
    has_geometry: bool = False  # whether the format stores the position of a volume in space


def pixel_values(file: SafeFile, header: ImageHeader) -> Iterator[NDArray[Any]]:
    """The stored pixels of a header with a `dtype`, scaled, in the order of the file, in blocks.

    Raises:
        Refused: the file does not hold exactly as many as declared.
    """
    rest = b""
    for block in _pixel_bytes(file, header):
        data = rest + block if rest else block
        whole = len(data) // header.pixel_bytes
        if whole:
            values = np.frombuffer(data, header.dtype, count=whole).astype(header.value_type, copy=False)
            yield values if header.scaling is None else _scaled(values, *header.scaling)
        rest = bytes(data[whole * header.pixel_bytes :])


def _scaled(values: NDArray[Any], slope: float, intercept: float) -> NDArray[Any]:
    """In float64, then rounded to the type of `values`: bit for bit what SimpleITK computes."""
    with np.errstate(over="ignore"):
        return (values.astype(np.float64) * slope + intercept).astype(values.dtype)


def _pixel_bytes(file: SafeFile, header: ImageHeader) -> Iterator[memoryview]:
    if not header.is_compressed:
        _check_size(file, header, file.size - header.content_offset)  # before the first block
    size, end = 0, header.data_offset + header.data_bytes
    try:
        with file.open() as stream:
            stream.seek(header.content_offset)
            for block in unpacked(stream) if header.is_compressed else pieces(stream):
                start, size = size, size + len(block)
                if size > end + header.trailing_bytes:
                    break
                inside = memoryview(block)[max(0, header.data_offset - start) : max(0, end - start)]
                if inside:
                    yield inside
    except BadStreamError as fault:
        raise Refused(f"The compressed data of '{file.name}' {fault}.") from None
    _check_size(file, header, size)


def _check_size(file: SafeFile, header: ImageHeader, size: int) -> None:
    """`size` counts the unpacked bytes from `content_offset` on."""
    verb = "unpacks to" if header.is_compressed else "holds"
    found, expected = max(0, size - header.data_offset), header.data_bytes
    if found < expected:
        raise Refused(
            f"'{file.name}' is truncated: it {verb} {found:,} bytes of pixels, but its header declares {expected:,}."
        )
    if found > expected + header.trailing_bytes:
        raise Refused(f"'{file.name}' {verb} more than the {expected:,} bytes of pixels its header declares.")
