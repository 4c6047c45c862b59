"""Images, read by SimpleITK only after their headers were read here.

The format is told by content, its extension must agree, and SimpleITK is given the one reader for it by name: it never
chooses among its forty formats, many of which open other files.
"""

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from podium.errors import Refused
from podium.extras import SimpleITK as sitk
from podium.readers.files import SafeFile
from podium.readers.formats.image_header import ACCEPTED, ImageHeader, with_crosses
from podium.readers.formats.metaimage import check_metaimage_pixels, is_metaimage, read_metaimage_header
from podium.readers.formats.nifti import (
    GZIP_MAGIC,
    check_nifti_pixels,
    is_nifti,
    read_nifti_header,
    unzipped_start,
)
from podium.readers.formats.png import is_png, read_png_header
from podium.readers.formats.tiff import is_tiff, read_tiff_header
from podium.readers.quiet import quiet_stderr

MAX_IMAGE_BYTES = 2 * 1024**3

FORMAT_OF_EXTENSION = {
    ".nii.gz": "gzipped NIfTI",
    ".nii": "NIfTI",
    ".mha": "MetaImage",
    ".tiff": "TIFF",
    ".tif": "TIFF",
    ".png": "PNG",
}
"""Longest extensions first."""

REFUSED_EXTENSIONS = {
    ".mhd": "a header without its pixels",
    ".nrrd": "an NRRD file",
    ".nhdr": "a header without its pixels",
    ".vtk": "a VTK file",
    ".gipl": "a GIPL file",
    ".gipl.gz": "a GIPL file",
    ".dcm": "a DICOM file",
    ".hdr": "a header without its pixels",
    ".img": "pixels without their header",
    ".img.gz": "pixels without their header",
    ".npy": "a numpy file",
    ".npz": "a numpy file",
}


@dataclass(frozen=True, eq=False)
class Image:
    """Pixels in numpy order (slices, rows, columns), geometry in SimpleITK's order (x, y, z)."""

    array: NDArray[Any]
    spacing: tuple[float, ...]
    origin: tuple[float, ...]
    direction: tuple[float, ...]


@dataclass(frozen=True)
class Geometry:
    """Where a volume lies, in SimpleITK's order (x, y, z); spacing and origin in mm."""

    spacing: tuple[float, ...]
    origin: tuple[float, ...]
    direction: tuple[float, ...]


def read_image(file: SafeFile, *, shape: tuple[int, ...] | None = None, max_bytes: int = MAX_IMAGE_BYTES) -> Image:
    """The image in `file`: one real value a pixel, 2-D or 3-D.

    A header that announces another shape than `shape`, or more than `max_bytes`, is refused before anything is
    allocated or unpacked.
    """
    header = read_header(file)
    check_size(file, header, shape=shape, max_bytes=max_bytes)
    if header.image_io == "MetaImageIO":
        check_metaimage_pixels(file, header)
    if header.image_io == "NiftiImageIO":
        check_nifti_pixels(file, header)
    return _read_with_simpleitk(file, header)


def read_header(file: SafeFile) -> ImageHeader:
    """What the file announces, its format told by content."""
    announced = _format_of_name(file)
    found = _format_of_content(file)
    if found is None:
        raise Refused(f"The content of '{file.name}' is not {announced}; send {ACCEPTED}.")
    if found != announced:
        raise Refused(f"'{file.name}' is named like {announced} but its content is {found}; rename or convert it.")
    if found == "MetaImage":
        return read_metaimage_header(file)
    if found == "TIFF":
        return read_tiff_header(file)
    if found == "PNG":
        return read_png_header(file)
    return read_nifti_header(file, compressed=found == "gzipped NIfTI")


def _format_of_name(file: SafeFile) -> str:
    name = file.name.lower()
    for extension, kind in FORMAT_OF_EXTENSION.items():
        if name.endswith(extension):
            return kind
    for extension, what in REFUSED_EXTENSIONS.items():
        if name.endswith(extension):
            raise Refused(f"'{file.name}' is {what}, which is not accepted; send {ACCEPTED}.")
    raise Refused(f"'{file.name}' is not named like an image; send {ACCEPTED}.")


def _format_of_content(file: SafeFile) -> str | None:
    start = file.first_bytes(512)
    if start.startswith(GZIP_MAGIC):
        return "gzipped NIfTI" if is_nifti(unzipped_start(file)) else None
    kinds = ((is_png, "PNG"), (is_tiff, "TIFF"), (is_nifti, "NIfTI"), (is_metaimage, "MetaImage"))
    return next((kind for matches, kind in kinds if matches(start)), None)


def check_size(file: SafeFile, header: ImageHeader, *, shape: tuple[int, ...] | None, max_bytes: int) -> None:
    """Refuses what is announced before anything is allocated for it."""
    if shape is not None:
        if len(header.shape) != len(shape):
            raise Refused(
                f"'{file.name}' has {len(header.shape)} axes ({with_crosses(header.shape)}), "
                f"expected {len(shape)} ({with_crosses(shape)})."
            )
        if header.shape != shape:
            raise Refused(f"'{file.name}' is {with_crosses(header.shape)}, expected {with_crosses(shape)}.")
    if header.data_bytes > max_bytes:
        raise Refused(f"'{file.name}' announces {header.data_bytes:,} bytes of pixels; at most {max_bytes:,} are read.")


def read_geometry(file: SafeFile, header: ImageHeader) -> Geometry:
    """Spacing, origin and direction as SimpleITK understands them; no pixel is read."""
    reader = _agreeing_reader(file, header)
    return Geometry(reader.GetSpacing(), reader.GetOrigin(), reader.GetDirection())


def _agreeing_reader(file: SafeFile, header: ImageHeader) -> Any:
    """SimpleITK's reader of the file, provided that it understands the header as we do."""
    reader = sitk.ImageFileReader()
    reader.SetImageIO(header.image_io)
    reader.SetFileName(str(file.path))
    with quiet_stderr():
        try:
            reader.ReadImageInformation()
        except RuntimeError as fault:
            raise _refusal_without_path(file, str(fault)) from None
    if tuple(reversed(reader.GetSize())) != header.shape or reader.GetNumberOfComponents() != 1:
        raise Refused(f"The header of '{file.name}' can be understood in two ways; save it again with a common tool.")
    return reader


def _read_with_simpleitk(file: SafeFile, header: ImageHeader) -> Image:
    """Read the pixels, provided that SimpleITK understands the header as we do."""
    reader = _agreeing_reader(file, header)
    with quiet_stderr():
        try:
            image = reader.Execute()
        except RuntimeError as fault:
            raise _refusal_without_path(file, str(fault)) from None
    return Image(sitk.GetArrayFromImage(image), image.GetSpacing(), image.GetOrigin(), image.GetDirection())


def _refusal_without_path(file: SafeFile, fault: str) -> Refused:
    """ITK's text names the path and its own sources; only the kind of fault is passed on."""
    if any(word in fault for word in ("orthonormal", "direction", "spacing")):
        return Refused(f"'{file.name}' has a spacing, origin or direction that is not usable.")
    return Refused(f"'{file.name}' is damaged: its pixels cannot be read.")
