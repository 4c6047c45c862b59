"""Photographs, radiographs and scans of paper: PNG, JPEG and TIFF as plain 8-bit pixels."""

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageCms, ImageOps, TiffImagePlugin

from podium.arena.images.grey_values import ValueRange, stretched
from podium.arena.images.prepared import PreparedImage, write_png
from podium.errors import UsageError
from podium.readers.files import quiet_stderr

_FORMATS = ("PNG", "JPEG", "TIFF")
_SUBFILE, _PHOTOMETRIC = 254, 262  # TIFF tags
_THUMBNAIL_OR_MASK = 0b101


def prepare_picture(path: Path, target: Path) -> PreparedImage:
    """Write the picture, or every page of a TIFF, into the folder `target`."""
    sizes: list[tuple[int, ...]] = []
    with _faults_in_words(path):
        picture = Image.open(path, formats=_FORMATS)
    with picture:
        # Other formats keep previews or films in further frames.
        frames = picture.n_frames if isinstance(picture, TiffImagePlugin.TiffImageFile) else 1
        for number in range(frames):
            with _faults_in_words(path):
                picture.seek(number)
                if number and _is_thumbnail_or_mask(picture):
                    continue
                pixels = _pixels(picture)
            write_png(pixels, target / f"{len(sizes)}.png")
            sizes.append(pixels.shape[:2])
    if len(set(sizes)) > 1:
        raise UsageError(f"'{path.name}' has pages of different sizes; save each as a picture of its own.")
    height, width = sizes[0]
    return PreparedImage(is_volume=False, slices=len(sizes), width=width, height=height)


@contextmanager
def _faults_in_words(path: Path) -> Iterator[None]:
    """Pillow's errors as one sentence; its warnings about metadata do not matter, since metadata is discarded."""
    with warnings.catch_warnings(), quiet_stderr():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        try:
            yield
        except (Image.DecompressionBombWarning, Image.DecompressionBombError):
            most = f"{Image.MAX_IMAGE_PIXELS:,}"
            raise UsageError(f"'{path.name}' has more than {most} pixels; save it smaller.") from None
        except (OSError, SyntaxError, ValueError, EOFError):
            raise UsageError(f"'{path.name}' cannot be read as a PNG, JPEG or TIFF picture.") from None


def _is_thumbnail_or_mask(picture: Image.Image) -> bool:
    return bool(_tag(picture, _SUBFILE) & _THUMBNAIL_OR_MASK)


def _tag(picture: Image.Image, tag: int, *, absent: int = 0) -> int:
    return int(picture.tag_v2.get(tag, absent)) if isinstance(picture, TiffImagePlugin.TiffImageFile) else absent


def _pixels(picture: Image.Image) -> NDArray[np.uint8]:
    """Upright, grey or RGB in sRGB, 8 bit."""
    profile = picture.info.get("icc_profile")
    white_is_zero = _tag(picture, _PHOTOMETRIC, absent=1) == 0
    upright = ImageOps.exif_transpose(picture)
    if upright.mode.startswith("I") or upright.mode == "F":
        greys = _stretched(np.asarray(upright))
        return 255 - greys if white_is_zero else greys  # up to 8 bit Pillow does it
    return np.asarray(_in_srgb(_flattened(upright), profile))


def _stretched(values: NDArray[np.generic]) -> NDArray[np.uint8]:
    """More than 8 bit: every detector uses its own part of the range."""
    span = ValueRange.over([values])
    if span is None:
        raise ValueError("No value is finite.")
    return stretched(values, span)


def _flattened(picture: Image.Image) -> Image.Image:
    """As L, RGB or CMYK; what is transparent lies on black."""
    if picture.has_transparency_data:
        black = Image.new("RGBA", picture.size, (0, 0, 0, 255))
        flat = Image.alpha_composite(black, picture.convert("RGBA")).convert("RGB")
        return flat.convert("L") if picture.mode in ("1", "L", "LA") else flat
    if picture.mode in ("L", "RGB", "CMYK"):
        return picture
    return picture.convert("L" if picture.mode == "1" else "RGB")


def _in_srgb(picture: Image.Image, profile: bytes | None) -> Image.Image:
    """By the embedded profile; one that is damaged, or made for other colours than these, is ignored."""
    shown_as = "L" if picture.mode == "L" else "RGB"
    if profile:
        try:
            embedded = ImageCms.ImageCmsProfile(io.BytesIO(profile))
            srgb = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB"))
            picture = ImageCms.profileToProfile(picture, embedded, srgb, outputMode="RGB") or picture
        except (ImageCms.PyCMSError, OSError):
            pass
    return picture.convert(shown_as)
