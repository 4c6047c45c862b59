"""Images and label maps. Headers are always read here first. Pixels that are simply stored, compressed or not, are read
here too, all others by SimpleITK.

SimpleITK is given the one reader for the file's format by name: it never chooses one itself. Label maps are whole,
non-negative numbers, whatever type they are stored in (`as_integer_labels`).
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.errors import Refused
from podium.packages import SimpleITK as sitk
from podium.readers.decoding import decoder_of
from podium.readers.files import SafeFile, escape_for_display, quiet_stderr
from podium.readers.formats import format_of
from podium.readers.formats.headers import ImageFormat, ImageHeader, pixel_values
from podium.readers.geometry import Geometry, Shape, Turn, check_grid, turned

MAX_IMAGE_BYTES = 2 * 1024**3
ROUNDING = 1e-6  # of labels that are stored as floats, relative to their size from 1 to 1000
PROBABILITY_SHARE = 0.01  # from this share of fractions on, values in 0..1 are probabilities, not a mistake
SMALLEST_PICTURE = 16  # a last axis of 3 or 4 means colours where the other axes are at least this long


@dataclass(frozen=True, eq=False)
class Image:
    """Pixels in numpy order (slices, rows, columns), and the geometry in the header."""

    array: NDArray[Any]
    geometry: Geometry


def read_image(
    file: SafeFile, *, shape: Shape | None = None, onto: Geometry | None = None, max_bytes: int = MAX_IMAGE_BYTES
) -> Image:
    """The image in `file`: one real value per pixel, 2-D or 3-D.

    The same grid as `onto` in another orientation is turned to it; the geometry stays the header's. A header that
    declares a shape other than `shape`, or more than `max_bytes`, is refused before anything is allocated or unpacked.
    """
    if (decoder := decoder_of(file)) is not None:
        return decoder.read_image(file, shape, onto, max_bytes)
    header, reader, geometry, turn = open_image(file, shape=shape, onto=onto, max_bytes=max_bytes)
    if header.dtype is None:  # a picture, which is not turned
        with quiet_stderr(), _faults_refused(file):
            return Image(sitk.GetArrayFromImage(reader.Execute()), geometry)
    pixels = np.empty(math.prod(header.shape), header.value_type)
    done = 0
    for values in pixel_values(file, header):
        pixels[done : done + len(values)] = values
        done += len(values)
    return Image(np.ascontiguousarray(turned(pixels.reshape(header.shape), turn)), geometry)


def open_image(
    file: SafeFile, *, shape: Shape | None, onto: Geometry | None, max_bytes: int
) -> tuple[ImageHeader, Any, Geometry, Turn | None]:
    """The header, SimpleITK's reader, the geometry and what turns the image to `onto`; no pixel is read."""
    image_format = format_of(file)
    header = image_format.read_header(file)
    if header.data_bytes > max_bytes and (shape is None or math.prod(shape) == math.prod(header.shape)):
        raise Refused(f"'{file.name}' declares {header.data_bytes:,} bytes of pixels; at most {max_bytes:,} are read.")
    reader, geometry = read_geometry(file, header, image_format)
    turn = None if shape is None else check_grid(file.name, header.shape, geometry, shape, onto)
    return header, reader, geometry, turn


def geometry_of(source: Any) -> Geometry:
    """The geometry of an image or a reader of SimpleITK."""
    return Geometry(source.GetSpacing(), source.GetOrigin(), source.GetDirection())


def read_geometry(file: SafeFile, header: ImageHeader, image_format: ImageFormat) -> tuple[Any, Geometry]:
    """SimpleITK's reader of the file, provided that it understands the header as we do, and spacing, origin and
    direction as it understands them; no pixel is read."""
    reader = sitk.ImageFileReader()
    reader.SetImageIO(image_format.image_io)
    reader.SetFileName(str(file.path))
    with quiet_stderr(), _faults_refused(file):
        reader.ReadImageInformation()
    if tuple(reversed(reader.GetSize())) != header.shape or reader.GetNumberOfComponents() != 1:
        raise Refused(f"The header of '{file.name}' is ambiguous; re-save it with a standard tool such as SimpleITK.")
    geometry = geometry_of(reader)
    pixel = sitk.Image([1] * len(header.shape), sitk.sitkUInt8)
    with _faults_refused(file):  # an image refuses what its file's header may say, but for these numbers
        if not np.isfinite(geometry.spacing + geometry.origin + geometry.direction).all():
            raise RuntimeError("direction")
        pixel.SetSpacing(geometry.spacing)
        pixel.SetOrigin(geometry.origin)
        pixel.SetDirection(geometry.direction)
    return reader, geometry if image_format.has_geometry else replace(geometry, origin=(), direction=())


@contextmanager
def _faults_refused(file: SafeFile) -> Iterator[None]:
    """ITK's text names the path and its own sources; only the kind of fault is passed on."""
    try:
        yield
    except RuntimeError as fault:
        if any(word in str(fault) for word in ("orthonormal", "direction", "spacing")):
            raise Refused(f"'{file.name}' has a spacing, origin or direction that is not usable.") from None
        raise Refused(f"'{file.name}' is damaged: its pixels cannot be read.") from None


def as_integer_labels(values: NDArray[Any], *, name: str) -> NDArray[Any]:
    """`values` as unsigned integers: integers and booleans without a copy, floats in the smallest type that holds them.

    Refuses NaN, infinite, negative and fractional values, and arrays that are not numbers, each with its own message;
    floats may differ from whole numbers by `ROUNDING`. `name` is the file (and dataset) as its author knows it.
    """
    label = f"'{escape_for_display(name)}'"
    kind = values.dtype.kind
    if kind == "c":
        raise Refused(f"{label} holds complex values; labels are whole numbers.")
    if kind not in "buif":
        raise Refused(f"{label} holds values of the type '{values.dtype}'; labels are whole numbers.")
    if values.ndim >= 3 and values.shape[-1] in (3, 4) and min(values.shape[:-1]) >= SMALLEST_PICTURE:
        raise Refused(
            f"{label} looks like an RGB image ({values.shape[-1]} values per pixel); send one label per pixel."
        )
    if kind == "b":
        return values.view(np.uint8)
    if kind == "u":
        return values
    if values.size == 0:
        return values.astype(np.uint8)
    largest = _largest_label(values, label)
    if kind == "i":
        return values.view(values.dtype.str.replace("i", "u"))  # none is negative: the bits mean the same
    labels = values.astype(np.min_scalar_type(largest))
    if not np.array_equal(values, labels):
        _check_whole(values, label)
        labels = np.rint(values).astype(labels.dtype)
    return labels


def _largest_label(values: NDArray[Any], label: str) -> int:
    # As Python numbers, which compare without overflow whatever their type was. NaN wins both, infinity one of them.
    smallest, largest = values.min().item(), values.max().item()
    if math.isnan(smallest):
        raise Refused(f"{label} holds NaN; every pixel needs a label.")
    if math.isinf(smallest) or math.isinf(largest):
        raise Refused(f"{label} holds infinite values; labels are whole numbers.")
    if smallest < -ROUNDING:
        raise Refused(f"{label} holds the negative value {_short(smallest)}; labels start at 0.")
    if largest >= 2**63:
        raise Refused(f"{label} holds the value {_short(largest)}, which is too large for a label.")
    return int(np.rint(largest))


def is_fractional(values: NDArray[Any]) -> NDArray[np.bool_]:
    return np.asarray(np.abs(values - np.rint(values)) > ROUNDING * np.clip(values, 1, 1000))


def _check_whole(values: NDArray[Any], label: str) -> None:
    fractional = is_fractional(values)
    count = np.count_nonzero(fractional)
    if not count:
        return
    example = values.flat[int(fractional.argmax())]
    if values.max() <= 1 and count >= PROBABILITY_SHARE * values.size:
        raise probability_map(label, example)
    raise Refused(f"{label} holds the fractional value {_short(example)}; labels are whole numbers.")


def probability_map(label: str, value: Any) -> Refused:
    """For fractions between 0 and 1 where labels are expected."""
    return Refused(
        f"{label} holds the fractional value {_short(value)}; this looks like a probability map: send labels, "
        "for example by applying a threshold."
    )


def _short(value: Any) -> str:
    """Six digits, or all where six hide that the number is not whole."""
    text = f"{float(value):g}"
    return str(value) if value % 1 and not float(text) % 1 else text
