"""Stored pixels in blocks, counted on the way.

The libraries leave the rest of their buffer as they found it when a file holds fewer pixels than announced, and that
memory may hold a reference read before. So the number of bytes is checked here.
"""

from collections.abc import Iterator

from podium.errors import Refused
from podium.readers.files import SafeFile
from podium.readers.formats.image_header import ImageHeader
from podium.readers.inflate import GZIP, LIBRARY, ZLIB_LIBRARY, BadStreamError, Library, inflate, pieces


def check_pixels(file: SafeFile, header: ImageHeader) -> None:
    """The file holds as many pixels as announced, for a library that reads it afterwards. Compressed ones are unpacked
    for that, block by block."""
    if header.wrapping is None:
        _check_size(file, header, file.size - header.content_offset)
        return
    for _ in pixel_blocks(file, header, library=ZLIB_LIBRARY):
        pass


def pixel_blocks(file: SafeFile, header: ImageHeader, *, library: Library = LIBRARY) -> Iterator[memoryview]:
    """The bytes of the pixels in the order of the file: exactly as many as announced, otherwise Refused."""
    if header.wrapping is None:
        check_pixels(file, header)  # before the first block: the size of the file tells
    size, end = 0, header.data_offset + header.data_bytes
    try:
        with file.open() as stream:
            stream.seek(header.content_offset)
            content = pieces(stream)
            if header.wrapping is not None:
                many_members = header.wrapping == GZIP
                content = inflate(content, wrapping=header.wrapping, many_members=many_members, library=library)
            for block in content:
                start, size = size, size + len(block)
                if size > end + header.trailing_bytes:
                    break
                inside = memoryview(block)[max(0, header.data_offset - start) : max(0, end - start)]
                if inside:
                    yield inside
    except BadStreamError as fault:
        raise Refused(f"The compressed data of '{file.name}' {fault}.") from None
    _check_size(file, header, size)


def _check_size(file: SafeFile, header: ImageHeader, size: int) -> None:
    """`size` counts the unpacked bytes from `content_offset` on."""
    verb = "holds" if header.wrapping is None else "unpacks to"
    found, expected = max(0, size - header.data_offset), header.data_bytes
    if found < expected:
        raise Refused(
            f"'{file.name}' is cut short: it {verb} {found:,} bytes of pixels, its header announces {expected:,}."
        )
    if found > expected + header.trailing_bytes:
        raise Refused(f"'{file.name}' {verb} more than the {expected:,} bytes of pixels its header announces.")
