"""What the image formats share: the header that a file declares, what a format is, and stored pixels.

The libraries leave the rest of their buffer as they found it when a file holds fewer pixels than declared, and that
memory may hold a reference read before. So pixels are read in blocks, and their bytes are counted on the way.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from podium.errors import Refused
from podium.readers.files import SafeFile
from podium.readers.inflate import GZIP, LIBRARY, ZLIB_LIBRARY, BadStreamError, Library, inflate, pieces


@dataclass(frozen=True)
class ImageHeader:
    """The declared image. All formats are single-channel, real-valued, 2-D or 3-D: anything else was refused."""

    shape: tuple[int, ...]
    """In numpy order: (rows, columns) or (slices, rows, columns)."""

    pixel_bytes: int
    """Bytes of a pixel in the file."""

    dtype: str | None = None
    """NumPy's name of a stored pixel (`<f4`); None where the values are not simply the stored ones, in order."""

    content_offset: int = 0
    """Where in the file the content begins that is read, or unpacked, for the pixels."""

    wrapping: int | None = None
    """zlib's window code of a compressed content; None where it is stored as it is."""

    data_offset: int = 0
    """Where in the unpacked content the pixels begin."""

    trailing_bytes: int = 0
    """How many bytes may follow the pixels."""

    @property
    def data_bytes(self) -> int:
        """Declared bytes of all pixels, unpacked."""
        return self.pixel_bytes * math.prod(self.shape)


def with_crosses(shape: tuple[int, ...]) -> str:
    """A shape as text: '96 x 128'."""
    return " x ".join(str(length) for length in shape) or "a single value"


def check_expected_shape(label: str, found: tuple[int, ...], expected: tuple[int, ...] | None) -> None:
    """Refuse any other shape than `expected`, where there is one."""
    if expected is None or found == expected:
        return
    if len(found) != len(expected):
        raise Refused(
            f"{label} has {len(found)} axes ({with_crosses(found)}), "
            f"expected {len(expected)} ({with_crosses(expected)})."
        )
    raise Refused(f"{label} is {with_crosses(found)}, expected {with_crosses(expected)}.")


def check_axes(file: SafeFile, axes: int) -> None:
    """Only 2-D and 3-D images are read; a 4-D image is refused even when it has a single frame."""
    if axes == 4:
        raise Refused(f"'{file.name}' has 4 axes; send a 2-D or 3-D image, also when there is only one frame.")
    if axes not in (2, 3):
        raise Refused(f"'{file.name}' has {axes} axes; send a 2-D or 3-D image.")


def check_lengths(file: SafeFile, shape: tuple[int, ...]) -> None:
    """An axis without pixels has nothing to score, and confuses every library differently."""
    if min(shape) < 1:
        raise Refused(f"'{file.name}' declares an empty image ({with_crosses(shape)}).")


def check_channels(file: SafeFile, channels: int) -> None:
    """RGB, RGBA and vector images are not label maps."""
    if channels != 1:
        raise Refused(
            f"'{file.name}' has {channels} channels (RGB or vector pixels); send an image with one value per pixel."
        )


@dataclass(frozen=True)
class ImageFormat:
    """One accepted format. Each module of an image format defines its own; `IMAGE_FORMATS` lists them."""

    name: str
    """As messages write it."""

    endings: tuple[str, ...]
    """Of file names, in lower case."""

    image_io: str
    """SimpleITK's name of the one reader that may open the file."""

    matches: Callable[[bytes], bool]
    """Whether a file that begins with these bytes has this format."""

    read_header: Callable[[SafeFile], ImageHeader]
    """The declared image; anything the library could understand differently is refused."""

    check_pixels: Callable[[SafeFile, ImageHeader], None] | None = None
    """Checks that the file holds the declared pixels; None where the library itself does."""

    gzipped: bool = False
    """Whether the whole file is gzipped; `matches` is then given the first unpacked bytes."""

    has_geometry: bool = False
    """Whether the format stores the position of a volume in space."""


def check_pixels(file: SafeFile, header: ImageHeader) -> None:
    """Check that the file holds as many pixels as declared, for a library that reads it afterwards. Compressed ones
    are unpacked for that, block by block."""
    if header.wrapping is None:
        _check_size(file, header, file.size - header.content_offset)
        return
    for _ in pixel_blocks(file, header, library=ZLIB_LIBRARY):
        pass


def pixel_blocks(file: SafeFile, header: ImageHeader, *, library: Library = LIBRARY) -> Iterator[memoryview]:
    """The bytes of the pixels in the order of the file: exactly as many as declared, otherwise Refused."""
    if header.wrapping is None:
        check_pixels(file, header)  # before the first block: the size of the file tells
    size, end = 0, header.data_offset + header.data_bytes
    try:
        with file.open() as stream:
            stream.seek(header.content_offset)
            content = pieces(stream)
            if header.wrapping is not None:
                many_members = header.wrapping == GZIP
                content = inflate(content, wrapping=header.wrapping, many_members=many_members, library=library)
            for block in content:
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
    verb = "holds" if header.wrapping is None else "unpacks to"
    found, expected = max(0, size - header.data_offset), header.data_bytes
    if found < expected:
        raise Refused(
            f"'{file.name}' is truncated: it {verb} {found:,} bytes of pixels, but its header declares {expected:,}."
        )
    if found > expected + header.trailing_bytes:
        raise Refused(f"'{file.name}' {verb} more than the {expected:,} bytes of pixels its header declares.")
