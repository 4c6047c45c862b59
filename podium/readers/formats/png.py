"""The fixed first chunk of a PNG file."""

import os
import struct

from podium.errors import Refused
from podium.readers.files import SafeFile
from podium.readers.formats.image_format import ImageFormat
from podium.readers.formats.image_header import ImageHeader, check_channels, check_lengths

SIGNATURE = b"\x89PNG\r\n\x1a\n"

GREY, PALETTE = 0, 3
_CHUNK_START = struct.Struct(">I4s")  # length of the data, type
_CHECKSUM_BYTES = 4
CHANNELS = {2: 3, 4: 2, 6: 4}


def is_png(start: bytes) -> bool:
    return start.startswith(SIGNATURE)


def read_png_header(file: SafeFile) -> ImageHeader:
    """Grey images of 8 or 16 bits. Fewer bits are refused since the library would stretch their values to 0..255."""
    start = file.first_bytes(29)
    if len(start) < 29 or start[8:16] != struct.pack(">I4s", 13, b"IHDR"):
        raise Refused(f"'{file.name}' is a damaged PNG file.")
    width, height, bits, colour = struct.unpack_from(">IIBB", start, 16)
    shape = (height, width)
    check_lengths(file, shape)
    if colour == PALETTE:
        raise Refused(f"'{file.name}' has a colour palette; save it as a grey image whose pixels are the values.")
    if colour != GREY:
        check_channels(file, CHANNELS.get(colour, 0))
    if bits not in (8, 16):
        raise Refused(f"'{file.name}' has {bits} bits per pixel; save it with 8 or 16.")
    _check_chunks(file)
    return ImageHeader(shape=shape, pixel_bytes=bits // 8)


def _check_chunks(file: SafeFile) -> None:
    """Every chunk up to the last must lie within the file: the library would allocate what a chunk announces."""
    with file.open() as stream:
        stream.seek(len(SIGNATURE))
        while len(start := stream.read(_CHUNK_START.size)) == _CHUNK_START.size:
            length, kind = _CHUNK_START.unpack(start)
            if kind == b"IEND":
                return
            if stream.tell() + length + _CHECKSUM_BYTES > file.size:
                raise Refused(f"'{file.name}' is damaged: it announces a part of {length:,} bytes and ends before.")
            stream.seek(length + _CHECKSUM_BYTES, os.SEEK_CUR)


PNG = ImageFormat(
    name="PNG",
    endings=(".png",),
    image_io="PNGImageIO",
    matches=is_png,
    read_header=read_png_header,
)
