"""What an image format is to the rest of the readers."""

from collections.abc import Callable
from dataclasses import dataclass

from podium.readers.files import SafeFile
from podium.readers.formats.image_header import ImageHeader


@dataclass(frozen=True)
class ImageFormat:
    """One accepted format. Each module of an image format declares its own; `registry.py` lists them."""

    name: str
    """As it is written in messages."""

    endings: tuple[str, ...]
    """Of file names, in lower case."""

    image_io: str
    """SimpleITK's name of the one reader that may open the file."""

    matches: Callable[[bytes], bool]
    """Whether a file that begins with these bytes has this format."""

    read_header: Callable[[SafeFile], ImageHeader]
    """The announced image; anything the library could understand differently is refused."""

    check_pixels: Callable[[SafeFile, ImageHeader], None] | None = None
    """Checks that the file holds the announced pixels; None where the library itself does."""

    gzipped: bool = False
    """Whether the whole file is gzipped; `matches` is then given the first unpacked bytes."""

    has_geometry: bool = False
    """Whether the format stores where a volume lies in space."""
