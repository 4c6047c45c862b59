"""NIfTI: the binary header of a single-file NIfTI-1 image, plain or gzipped.

Pairs (`ni1`), Analyze 7.5 and the text variant make the library open a second file whose name the header or the
author chooses, so only the magic `n+1` passes. The library finds the byte order by dim[0], we by sizeof_hdr: both
must agree, which they do for 2 or 3 axes.
"""

import math
import struct
import sys
from dataclasses import replace
from functools import partial

from podium.errors import Refused
from podium.readers.files import SafeFile
from podium.readers.formats.headers import ImageFormat, ImageHeader, check_axes, check_channels, check_lengths
from podium.readers.inflate import unpacked_start

HEADER_BYTES = 348
FIRST_DATA_OFFSET = 352
MAX_DATA_OFFSET = 16 * 1024 * 1024
TRAILING_BYTES = 4096  # some tools pad their files
PIXEL_TYPES = {2: "u1", 4: "i2", 8: "i4", 16: "f4", 64: "f8", 256: "i1", 512: "u2", 768: "u4", 1024: "i8", 1280: "u8"}
"""The last character is the number of bytes."""
STARTS = tuple(struct.pack(order + "i", size) for order in "<>" for size in (HEADER_BYTES, 540))
"""The size of a NIfTI-1, Analyze or NIfTI-2 header, in either byte order."""
COMPLEX_TYPES = (32, 1792, 2048)
RGB_CHANNELS = {128: 3, 2304: 4}


def read_nifti_header(file: SafeFile, *, gzipped: bool) -> ImageHeader:
    """The declared image of a .nii (or, `gzipped`, .nii.gz) file."""
    with file.open() as stream:
        start = unpacked_start(stream, count=FIRST_DATA_OFFSET) if gzipped else stream.read(FIRST_DATA_OFFSET)
    _check_variant(file, start)
    order = "<" if start[:4] == struct.pack("<i", HEADER_BYTES) else ">"
    dim = struct.unpack_from(f"{order}8h", start, 40)
    check_axes(file, dim[0])
    shape = tuple(reversed(dim[1 : dim[0] + 1]))
    check_lengths(file, shape)
    pixel_type = _pixel_type(file, *struct.unpack_from(f"{order}2h", start, 70))
    (data_offset,) = struct.unpack_from(f"{order}f", start, 108)
    if not (FIRST_DATA_OFFSET <= data_offset <= MAX_DATA_OFFSET) or data_offset != int(data_offset):
        raise Refused(f"The vox_offset of '{file.name}' is not a position after its header.")
    scaling = _scaling(file, *struct.unpack_from(f"{order}2f", start, 112))
    (sform_code,) = struct.unpack_from(f"{order}h", start, 254)
    if sform_code and not all(map(math.isfinite, struct.unpack_from(f"{order}12f", start, 280))):
        # The library would search for its nearest rotation without end.
        raise Refused(f"The sform of '{file.name}' holds values that are not finite; save it again.")
    return ImageHeader(
        shape=shape,
        pixel_bytes=int(pixel_type[-1]),
        dtype=order + pixel_type,
        scaling=scaling,
        content_offset=0 if gzipped else int(data_offset),
        is_compressed=gzipped,
        data_offset=int(data_offset) if gzipped else 0,
        trailing_bytes=TRAILING_BYTES,
    )


def _check_variant(file: SafeFile, start: bytes) -> None:
    if len(start) < FIRST_DATA_OFFSET:
        raise Refused(f"'{file.name}' is too short to be a NIfTI image.")
    if start[:4] in (struct.pack("<i", 540), struct.pack(">i", 540)):
        raise Refused(f"'{file.name}' is a NIfTI-2 file; save it as NIfTI-1.")
    magic = start[344:348]
    if magic == b"ni1\0":
        raise Refused(f"'{file.name}' keeps its pixels in another file; save it as one .nii or .nii.gz file.")
    if magic != b"n+1\0":
        raise Refused(f"'{file.name}' is an Analyze or damaged NIfTI header; save it as one NIfTI-1 file.")


def _scaling(file: SafeFile, slope: float, intercept: float) -> tuple[float, float] | None:
    """Slope and intercept as SimpleITK understands them: no slope is 1, no intercept is 0."""
    if math.isinf(slope) or math.isinf(intercept) or (slope not in (0, 1) and math.isnan(intercept)):
        raise Refused(f"'{file.name}' scales its values by something that is not a number (scl_slope, scl_inter).")
    slope = slope if abs(slope) > sys.float_info.epsilon else 1.0
    intercept = intercept if abs(intercept) > sys.float_info.epsilon else 0.0
    return None if (slope, intercept) == (1.0, 0.0) else (slope, intercept)


def _pixel_type(file: SafeFile, datatype: int, bits: int) -> str:
    if datatype in RGB_CHANNELS:
        check_channels(file, RGB_CHANNELS[datatype])
    if datatype in COMPLEX_TYPES:
        raise Refused(f"'{file.name}' has complex pixels; send real values.")
    if datatype not in PIXEL_TYPES:
        raise Refused(f"'{file.name}' has the NIfTI datatype {datatype}; save it with a plain integer or float type.")
    if bits != 8 * int(PIXEL_TYPES[datatype][-1]):
        raise Refused(f"'{file.name}' contradicts itself: datatype {datatype} does not have {bits} bits.")
    return PIXEL_TYPES[datatype]


NIFTI = ImageFormat(
    name="NIfTI",
    endings=(".nii",),
    image_io="NiftiImageIO",
    matches=lambda start: start.startswith(STARTS),
    read_header=partial(read_nifti_header, gzipped=False),
    has_geometry=True,
)
GZIPPED_NIFTI = replace(
    NIFTI,
    name="gzipped NIfTI",
    endings=(".nii.gz",),
    read_header=partial(read_nifti_header, gzipped=True),
    gzipped=True,
)
