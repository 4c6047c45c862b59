"""What an image file announces before a pixel is read."""

from dataclasses import dataclass

from podium.errors import Refused
from podium.readers.files import SafeFile


@dataclass(frozen=True)
class ImageHeader:
    """The announced image. All formats are single-channel, real-valued, 2-D or 3-D: anything else was refused."""

    shape: tuple[int, ...]
    """In numpy order: (rows, columns) or (slices, rows, columns)."""

    pixel_bytes: int
    """Bytes of a pixel in the file."""

    dtype: str | None = None
    """How numpy spells a stored pixel (`<f4`); None where the values are not simply the stored ones, in order."""

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
        """Announced bytes of all pixels, unpacked."""
        size = self.pixel_bytes
        for length in self.shape:
            size *= length
        return size


def with_crosses(shape: tuple[int, ...]) -> str:
    """A shape in words: '96 x 128'."""
    return " x ".join(str(length) for length in shape) or "a single value"


def check_axes(file: SafeFile, axes: int) -> None:
    """Only 2-D and 3-D images are read; a 4-D image is refused even when it has a single frame."""
    if axes == 4:
        raise Refused(f"'{file.name}' has 4 axes; send a 2-D or 3-D image, also when there is only one frame.")
    if axes not in (2, 3):
        raise Refused(f"'{file.name}' has {axes} axes; send a 2-D or 3-D image.")


def check_lengths(file: SafeFile, shape: tuple[int, ...]) -> None:
    """An axis without pixels has nothing to score, and confuses every library differently."""
    if min(shape) < 1:
        raise Refused(f"'{file.name}' announces an empty image ({with_crosses(shape)}).")


def check_channels(file: SafeFile, channels: int) -> None:
    """RGB, RGBA and vector images are not label maps."""
    if channels != 1:
        raise Refused(
            f"'{file.name}' has {channels} channels (RGB or vector pixels); send an image with one value per pixel."
        )
