"""PNG and TIFF pictures: grey images, whose headers are checked before SimpleITK reads the pixels.

Of a PNG file the fixed first chunk is read, and the lengths of all chunks. A TIFF file has one directory per page; many
equal pages make a 3-D image. ITK trusts the first page for the size of all, and turns tiles, palettes and rotated pages
into RGBA. So every page is read here: all must be equal, plain, grey and in strips.
"""

import struct
from dataclasses import dataclass
from typing import BinaryIO

from podium.errors import Refused
from podium.readers.files import SafeFile
from podium.readers.formats.headers import ImageFormat, ImageHeader, check_channels, check_lengths

SIGNATURE = b"\x89PNG\r\n\x1a\n"
GREY, PALETTE = 0, 3
PNG_CHANNELS = {2: 3, 4: 2, 6: 4}
_CHUNK_START = struct.Struct(">I4s")  # length of the data, type
_CHECKSUM_BYTES = 4

MAX_PAGES = 10_000
MAX_TAGS = 500

SUBFILE, WIDTH, HEIGHT, BITS, COMPRESSION, PHOTOMETRIC = 254, 256, 257, 258, 259, 262
ORIENTATION, TIFF_CHANNELS, TILE_WIDTH, TILE_LENGTH, SUB_DIRECTORIES, FORMAT = 274, 277, 322, 323, 330, 339

DEFAULTS = {SUBFILE: 0, BITS: 1, COMPRESSION: 1, PHOTOMETRIC: -1, ORIENTATION: 1, TIFF_CHANNELS: 1, FORMAT: 1}
INTERESTING = frozenset((*DEFAULTS, WIDTH, HEIGHT, TILE_WIDTH, TILE_LENGTH))
INTEGER_TYPES = {1: "B", 3: "H", 4: "I", 16: "Q"}

LOSSLESS = (1, 5, 8, 32946, 32773)  # None, LZW, deflate in both its codes, PackBits

UNSIGNED, SIGNED, FLOAT = 1, 2, 3
PIXEL_BYTES = {(bits, kind): bits // 8 for bits in (8, 16, 32) for kind in (UNSIGNED, SIGNED)} | {(32, FLOAT): 4}


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
        check_channels(file, PNG_CHANNELS.get(colour, 0))
    if bits not in (8, 16):
        raise Refused(f"'{file.name}' has {bits} bits per pixel; save it with 8 or 16.")
    _check_chunks(file, bits=bits)
    return ImageHeader(shape=shape, pixel_bytes=bits // 8)


def _check_chunks(file: SafeFile, *, bits: int) -> None:
    """Every chunk up to the last must be within the file: the library fills as much memory as a chunk declares, 2 GB
    for a file of 200 bytes. None may change the values."""
    with file.open() as stream:
        stream.seek(len(SIGNATURE))
        while len(start := stream.read(_CHUNK_START.size)) == _CHUNK_START.size:
            length, kind = _CHUNK_START.unpack(start)
            if kind == b"IEND":
                return
            end = stream.tell() + length + _CHECKSUM_BYTES
            if end > file.size:
                raise Refused(
                    f"'{file.name}' is truncated: a chunk declares {length:,} bytes, but the file ends first."
                )
            # The library would shift the values to these bits: a mask of 0 and 1 would become empty.
            if kind == b"sBIT" and stream.read(1) != bytes([bits]):
                raise Refused(f"'{file.name}' has an sBIT chunk, which changes its values; save it without.")
            if kind == b"tRNS":  # the library would add a channel
                raise Refused(f"'{file.name}' has a transparent colour (a tRNS chunk); save it without.")
            stream.seek(end)


PNG = ImageFormat(
    name="PNG",
    endings=(".png",),
    image_io="PNGImageIO",
    matches=lambda start: start.startswith(SIGNATURE),
    read_header=read_png_header,
)


@dataclass(frozen=True)
class _Layout:
    """Field widths of the two TIFF variants."""

    order: str
    offset: str
    count: str
    first: int

    @property
    def value_bytes(self) -> int:
        return struct.calcsize(self.offset)

    @property
    def entry_bytes(self) -> int:
        return 4 + 2 * self.value_bytes


def read_tiff_header(file: SafeFile) -> ImageHeader:
    """The declared image: (rows, columns) for one page, (pages, rows, columns) for more."""
    with file.open() as stream:
        layout = _layout(file, stream)
        pages = _pages(file, stream, layout)
    first = pages[0]
    for number, page in enumerate(pages, start=1):
        if page != first:
            raise Refused(f"Page {number} of '{file.name}' differs from its first page; all must be alike.")
    _check_page(file, first)
    page_shape = (first[HEIGHT], first[WIDTH])
    check_lengths(file, page_shape)
    pixel_bytes = PIXEL_BYTES.get((first[BITS], first[FORMAT]))
    if pixel_bytes is None:
        raise Refused(f"'{file.name}' has {first[BITS]}-bit pixels of an unsupported type; save 8, 16 or 32 bits.")
    shape = page_shape if len(pages) == 1 else (len(pages), *page_shape)
    return ImageHeader(shape=shape, pixel_bytes=pixel_bytes)


def _layout(file: SafeFile, stream: BinaryIO) -> _Layout:
    start = stream.read(16).ljust(16, b"\0")
    order = "<" if start[:2] == b"II" else ">"
    if start[2:4] in (b"*\0", b"\0*"):
        return _Layout(order, "I", "H", struct.unpack_from(f"{order}I", start, 4)[0])
    if struct.unpack_from(f"{order}HH", start, 4) != (8, 0):
        raise _damaged(file)
    return _Layout(order, "Q", "Q", struct.unpack_from(f"{order}Q", start, 8)[0])


def _pages(file: SafeFile, stream: BinaryIO, layout: _Layout) -> list[dict[int, int]]:
    pages: list[dict[int, int]] = []
    visited = set()
    offset = layout.first
    while offset:
        if offset in visited or offset >= file.size:
            raise _damaged(file)
        if len(pages) == MAX_PAGES:
            raise Refused(f"'{file.name}' has more than {MAX_PAGES:,} pages.")
        visited.add(offset)
        page, offset = _page(file, stream, layout, offset)
        pages.append(page)
    if not pages:
        raise _damaged(file)
    return pages


def _page(file: SafeFile, stream: BinaryIO, layout: _Layout, offset: int) -> tuple[dict[int, int], int]:
    """The interesting tags of the page at `offset`, and where the next page begins (0: nowhere)."""
    stream.seek(offset)
    (tags,) = _unpack(file, stream, layout.order + layout.count)
    if not 0 < tags <= MAX_TAGS:
        raise _damaged(file)
    entries = stream.read(tags * layout.entry_bytes)  # cut short, the next line finds nothing to read
    (following,) = _unpack(file, stream, layout.order + layout.offset)
    page = dict(DEFAULTS)
    seen = set()
    for position in range(0, len(entries), layout.entry_bytes):
        tag, kind, count = struct.unpack_from(f"{layout.order}HH{layout.offset}", entries, position)
        if tag in seen:
            raise Refused(f"'{file.name}' has the TIFF tag {tag} twice.")
        seen.add(tag)
        if tag in (BITS, FORMAT):
            check_channels(file, count)  # one value per channel
        if tag == SUB_DIRECTORIES:
            raise Refused(f"'{file.name}' is a pyramid; save the full image alone.")
        if tag in INTERESTING:
            if kind not in INTEGER_TYPES or count != 1:
                raise _damaged(file)
            place = position + 4 + layout.value_bytes
            (page[tag],) = struct.unpack_from(layout.order + INTEGER_TYPES[kind], entries, place)
    if WIDTH not in page or HEIGHT not in page:
        raise _damaged(file)
    return page, following


def _check_page(file: SafeFile, page: dict[int, int]) -> None:
    check_channels(file, page[TIFF_CHANNELS])
    if page[PHOTOMETRIC] == 3:
        raise Refused(f"'{file.name}' has a colour palette; save it as a grey image whose pixels are the values.")
    if page[PHOTOMETRIC] not in (0, 1):
        raise Refused(f"'{file.name}' is not a grey image; save it as one.")
    if TILE_WIDTH in page or TILE_LENGTH in page:
        raise Refused(f"'{file.name}' is tiled; save it in strips, or as .mha.")
    if page[ORIENTATION] != 1:
        raise Refused(f"'{file.name}' has a rotated or mirrored orientation; save it with the default one.")
    if page[SUBFILE] not in (0, 2):
        raise Refused(f"'{file.name}' holds a thumbnail or a transparency mask; save the full image alone.")
    if page[COMPRESSION] not in LOSSLESS:
        raise Refused(f"'{file.name}' uses an unsupported compression; save it with deflate, LZW or none.")


def _unpack(file: SafeFile, stream: BinaryIO, form: str) -> tuple[int, ...]:
    size = struct.calcsize(form)
    data = stream.read(size)
    if len(data) != size:
        raise _damaged(file)
    return struct.unpack(form, data)


def _damaged(file: SafeFile) -> Refused:
    return Refused(f"'{file.name}' is a damaged TIFF file.")


TIFF = ImageFormat(
    name="TIFF",
    endings=(".tif", ".tiff"),
    image_io="TIFFImageIO",
    matches=lambda start: start[:4] in (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"),
    read_header=read_tiff_header,
)
