"""The binary header of a single-file NIfTI-1 image, plain or gzipped.

Pairs (`ni1`), Analyze 7.5 and the text variant make the library open a second file whose name the header or the
author chooses, so only the magic `n+1` passes. The library tells the byte order by dim[0], we by sizeof_hdr: both
must agree, which they do for 2 or 3 axes.
"""

import math
import struct

from podium.errors import Refused
from podium.readers.files import SafeFile
from podium.readers.formats.image_header import ImageHeader, check_axes, check_channels, check_lengths
from podium.readers.inflate import GZIP, BadStreamError, inflated_size, inflated_start, pieces

HEADER_BYTES = 348
FIRST_DATA_OFFSET = 352
MAX_DATA_OFFSET = 16 * 1024 * 1024
TRAILING_SLACK = 4096

GZIP_MAGIC = b"\x1f\x8b"

PIXEL_TYPES = {
    2: "u1",
    4: "i2",
    8: "i4",
    16: "f4",
    64: "f8",
    256: "i1",
    512: "u2",
    768: "u4",
    1024: "i8",
    1280: "u8",
}
"""The last character is the number of bytes."""
COMPLEX_TYPES = (32, 1792, 2048)
RGB_CHANNELS = {128: 3, 2304: 4}


def is_nifti(start: bytes) -> bool:
    """By content: the size of a NIfTI-1, Analyze or NIfTI-2 header, in either byte order."""
    return any(start[:4] == struct.pack(order + "i", size) for order in "<>" for size in (348, 540))


def unzipped_start(file: SafeFile) -> bytes:
    """The first bytes inside a gzip file, enough for a header; fewer when they cannot be unpacked."""
    with file.open() as stream:
        return inflated_start(pieces(stream), wrapping=GZIP, count=FIRST_DATA_OFFSET)


def read_nifti_header(file: SafeFile, *, compressed: bool) -> ImageHeader:
    """The announced image of a .nii (or, `compressed`, .nii.gz) file."""
    start = unzipped_start(file) if compressed else file.first_bytes(FIRST_DATA_OFFSET)
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
    slope, intercept = struct.unpack_from(f"{order}2f", start, 112)
    if math.isinf(slope) or math.isinf(intercept) or (slope not in (0, 1) and math.isnan(intercept)):
        raise Refused(f"'{file.name}' scales its values by something that is not a number (scl_slope, scl_inter).")
    scaled = slope not in (0, 1) or intercept != 0
    dtype = None if scaled else order + pixel_type
    return ImageHeader("NiftiImageIO", shape, int(pixel_type[-1]), int(data_offset), compressed, dtype)


def check_nifti_pixels(file: SafeFile, header: ImageHeader) -> None:
    """The file holds the announced pixels, no fewer (the library fills up in silence) and not many bytes more."""
    limit = header.data_offset + header.data_bytes + TRAILING_SLACK
    check_nifti_size(file, header, _unzipped_size(file, limit) if header.compressed else file.size)


def check_nifti_size(file: SafeFile, header: ImageHeader, size: int) -> None:
    """The same for a size that is known: bytes of header and pixels together, unpacked."""
    expected = header.data_offset + header.data_bytes
    if size < expected:
        raise Refused(f"'{file.name}' is cut short: it holds {size:,} bytes, its header announces {expected:,}.")
    if size > expected + TRAILING_SLACK:
        verb = "unpacks to" if header.compressed else "holds"
        raise Refused(f"'{file.name}' {verb} more than the {expected:,} bytes its header announces.")


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


def _unzipped_size(file: SafeFile, limit: int) -> int:
    with file.open() as stream:
        try:
            return inflated_size(pieces(stream), wrapping=GZIP, limit=limit, many_members=True)
        except BadStreamError as fault:
            raise Refused(f"The compressed data of '{file.name}' {fault}.") from None
