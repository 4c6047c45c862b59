"""Archives and image files, built so that a test can change any byte of them."""

import gzip
import io
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from podium.errors import Refused, SubmissionError
from podium.readers.files import SafeFile
from podium.readers.formats import format_of
from podium.readers.formats.headers import ImageHeader


def tar_bytes(files: Mapping[str, bytes], kind: int = tarfile.GNU_FORMAT) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=kind) as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def tgz_bytes(files: Mapping[str, bytes]) -> bytes:
    return gzip.compress(tar_bytes(files))


def zip_bytes(files: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


# Image files, built byte by byte.

PIXELS = bytes(range(24))
"""Of the 4 x 6 (rows x columns) or 2 x 3 x 4 uint8 images below."""


def safe(folder: Path, name: str, content: bytes) -> SafeFile:
    (folder / name).write_bytes(content)
    return SafeFile.inside(folder, name)


def refusal(read: Callable[..., object], *arguments: Any, **options: Any) -> str:
    """The words in which something is refused: one printable line without the path of a file."""
    with pytest.raises((Refused, SubmissionError)) as caught:
        read(*arguments, **options)
    words = str(caught.value)
    assert words.isprintable()
    assert not [each for each in arguments if isinstance(each, SafeFile) and str(each.root) in words]
    return words


def header_of(file: SafeFile) -> ImageHeader:
    return format_of(file).read_header(file)


def mha_header(changes: Mapping[str, str | None] | None = None) -> bytes:
    """The header of a 4 x 6 uint8 image; `changes` replaces, adds (before the end) or, by None, removes fields."""
    fields: dict[str, str | None] = {
        "ObjectType": "Image",
        "NDims": "2",
        "BinaryData": "True",
        "BinaryDataByteOrderMSB": "False",
        "CompressedData": "False",
        "TransformMatrix": "1 0 0 1",
        "Offset": "10 20",
        "ElementSpacing": "0.5 0.25",
        "DimSize": "6 4",
        "ElementType": "MET_UCHAR",
    }
    end = "LOCAL"
    for key, value in (changes or {}).items():
        if key == "ElementDataFile":
            end = value or ""
        else:
            fields[key] = value
    lines = [f"{key} = {value}\n" for key, value in fields.items() if value is not None]
    return "".join([*lines, f"ElementDataFile = {end}\n"]).encode()


def mha(changes: Mapping[str, str | None] | None = None, pixels: bytes = PIXELS) -> bytes:
    return mha_header(changes) + pixels


def nifti(
    dims: tuple[int, ...] = (4, 3, 2),
    *,
    datatype: int = 2,
    bits: int = 8,
    order: str = "<",
    magic: bytes = b"n+1\0",
    offset: float = 352.0,
    slope: float = 0.0,
    intercept: float = 0.0,
    pixels: bytes = PIXELS,
) -> bytes:
    """A NIfTI-1 file; `dims` in the file's order (x, y, z)."""
    header = bytearray(352)
    struct.pack_into(f"{order}i", header, 0, 348)
    struct.pack_into(f"{order}8h", header, 40, len(dims), *dims, *([1] * (7 - len(dims))))
    struct.pack_into(f"{order}2h", header, 70, datatype, bits)
    struct.pack_into(f"{order}8f", header, 76, 1, 0.5, 0.25, 2, 1, 1, 1, 1)
    struct.pack_into(f"{order}3f", header, 108, offset, slope, intercept)
    struct.pack_into(f"{order}2h", header, 252, 1, 0)
    header[344:348] = magic
    return bytes(header) + pixels


TIFF_TAGS: dict[int, tuple[int, int, int]] = {
    256: (3, 1, 6),
    257: (3, 1, 4),
    258: (3, 1, 8),
    259: (3, 1, 1),
    262: (3, 1, 1),
    277: (3, 1, 1),
    278: (3, 1, 4),
    279: (4, 1, 24),
}


def tiff(*pages: Mapping[int, tuple[int, int, int] | None], pixels: bytes = PIXELS, order: str = "<") -> bytes:
    """A TIFF file of 4 x 6 uint8 pages, all with the same pixels; a page's mapping replaces, adds or removes tags."""
    pages = pages or ({},)
    content = struct.pack(f"{order}2sHI", b"II" if order == "<" else b"MM", 42, 8 + len(pixels)) + pixels
    for number, changes in enumerate(pages, start=1):
        wanted = {**TIFF_TAGS, 273: (4, 1, 8), **changes}
        tags = {tag: entry for tag, entry in sorted(wanted.items()) if entry is not None}
        end = len(content) + 2 + 12 * len(tags) + 4
        content += struct.pack(f"{order}H", len(tags))
        for tag, (kind, count, value) in tags.items():
            stored = struct.pack(f"{order}H2x", value) if kind == 3 else struct.pack(f"{order}I", value)
            content += struct.pack(f"{order}HHI", tag, kind, count) + stored
        content += struct.pack(f"{order}I", end if number < len(pages) else 0)
    return content


def png(
    *,
    width: int = 6,
    height: int = 4,
    bits: int = 8,
    colour: int = 0,
    pixels: bytes | None = None,
    extra: bytes = b"",
) -> bytes:
    """A 4 x 6 grey PNG unless told otherwise; `pixels` are the raw rows, each with its filter byte."""
    rows = b"".join(b"\0" + PIXELS[6 * row : 6 * row + 6] for row in range(4)) if pixels is None else pixels
    start = struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, 0)
    chunks = [png_chunk(b"IHDR", start), extra, png_chunk(b"IDAT", zlib.compress(rows)), png_chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def png_chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
