"""The accepted image formats, one module each, and which of them a file has.

The format is recognised by content and the name must agree: SimpleITK would otherwise choose among forty formats, many
of which open other files.
"""

from podium.errors import Refused, listed
from podium.readers.files import SafeFile
from podium.readers.formats.headers import ImageFormat
from podium.readers.formats.metaimage import METAIMAGE
from podium.readers.formats.nifti import GZIPPED_NIFTI, NIFTI
from podium.readers.formats.pictures import PNG, TIFF
from podium.readers.inflate import GZIP_MAGIC, unpacked_start

IMAGE_FORMATS = (METAIMAGE, NIFTI, GZIPPED_NIFTI, TIFF, PNG)

IMAGE_ENDINGS = tuple(ending for image_format in IMAGE_FORMATS for ending in image_format.endings)
VOLUME_ENDINGS = tuple(
    ending for image_format in IMAGE_FORMATS if image_format.has_geometry for ending in image_format.endings
)

REFUSED_ENDINGS = {
    **dict.fromkeys((".mhd", ".nhdr", ".hdr"), "a header without its pixels"),
    **dict.fromkeys((".img", ".img.gz"), "pixels without their header"),
    **dict.fromkeys((".gipl", ".gipl.gz"), "a GIPL file"),
    **dict.fromkeys((".npy", ".npz"), "a numpy file"),
    ".nrrd": "an NRRD file",
    ".vtk": "a VTK file",
    ".dcm": "a DICOM file",
}

_ACCEPTED = listed(IMAGE_ENDINGS, before_last="or")
_START_BYTES = 512


def format_of(file: SafeFile) -> ImageFormat:
    """The format of an image, by its content; refused when the name says something else."""
    lowered = file.name.lower()
    declared = next((each for each in IMAGE_FORMATS if lowered.endswith(each.endings)), None)
    if declared is None:
        what = next((what for refused, what in REFUSED_ENDINGS.items() if lowered.endswith(refused)), None)
        if what is not None:
            raise Refused(f"'{file.name}' is {what}, which is not accepted; send {_ACCEPTED}.")
        raise Refused(f"'{file.name}' is not named like an image; send {_ACCEPTED}.")
    found = _format_of_content(file, declared)
    if found is None:
        raise Refused(f"The content of '{file.name}' is not {declared.name}; send {_ACCEPTED}.")
    if found != declared:
        raise Refused(
            f"'{file.name}' is named like {declared.name} but its content is {found.name}; rename or convert it."
        )
    return found


def _format_of_content(file: SafeFile, declared: ImageFormat) -> ImageFormat | None:
    with file.open() as stream:
        start = stream.read(_START_BYTES)
        if not start:
            raise Refused(f"'{file.name}' is empty; send {_ACCEPTED}.")
        gzipped = start.startswith(GZIP_MAGIC)
        if gzipped:
            stream.seek(0)
            start = unpacked_start(stream, count=_START_BYTES)
            if not start and declared.gzipped:
                raise Refused(f"The compressed data of '{file.name}' is corrupt or empty.")
    return next((each for each in IMAGE_FORMATS if each.gzipped == gzipped and each.matches(start)), None)
