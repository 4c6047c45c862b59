"""PNG and TIFF files: grey, in one piece, and every way in which they are refused."""

import struct
import zlib
from pathlib import Path

import pytest
from readers.made import PIXELS, header_of, png, png_chunk, refusal, safe, tiff

from podium.readers.formats import pictures
from podium.readers.images import read_image


def test_grey_pixels_are_read(tmp_path: Path) -> None:
    file = safe(tmp_path, "p.png", png())
    assert header_of(file).shape == (4, 6)
    assert read_image(file).array.tobytes() == PIXELS


def test_all_bits_may_be_significant(tmp_path: Path) -> None:
    assert read_image(safe(tmp_path, "p.png", png(extra=png_chunk(b"sBIT", b"\x08")))).array.tobytes() == PIXELS


def test_sixteen_bits_are_read(tmp_path: Path) -> None:
    rows = b"".join(b"\0" + bytes([1, 2] * 6) for _ in range(4))
    assert set(read_image(safe(tmp_path, "p.png", png(bits=16, pixels=rows))).array.ravel()) == {258}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (png(colour=3), "'p.png' has a colour palette; save it as a grey image whose pixels are the values."),
        (png(colour=2), "'p.png' has 3 channels (RGB or vector pixels)"),
        (png(colour=4), "'p.png' has 2 channels (RGB or vector pixels)"),
        (png(colour=6), "'p.png' has 4 channels (RGB or vector pixels)"),
        (png(bits=1), "'p.png' has 1 bits per pixel; save it with 8 or 16."),
        (png(bits=4), "'p.png' has 4 bits per pixel; save it with 8 or 16."),
        (png(width=0), "'p.png' declares an empty image (0 x 4)."),
        (png()[:20], "'p.png' is a damaged PNG file."),
        (png().replace(b"IHDR", b"IDAT", 1), "'p.png' is a damaged PNG file."),
        (png(pixels=b"\0" + PIXELS[:6]), "'p.png' is damaged: its pixels cannot be read."),
        (png()[:-20], "'p.png' is truncated: a chunk declares "),
        (
            png(extra=b"\x7f\xff\xff\xfftEXt" + bytes(100)),
            "'p.png' is truncated: a chunk declares 2,147,483,647 bytes, but the file ends first.",
        ),
        (png(extra=png_chunk(b"sBIT", b"\1")), "'p.png' has an sBIT chunk, which changes its values; save it without."),
        (png(extra=png_chunk(b"tRNS", b"\0\1")), "'p.png' has a transparent colour (a tRNS chunk); save it without."),
    ],
)
def test_files_are_refused_in_words(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], content: bytes, words: str
) -> None:
    assert words in refusal(read_image, safe(tmp_path, "p.png", content))
    assert capfd.readouterr().err == ""


# TIFF files: grey pages in strips, all alike.


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("name", ["t.tif", "t.tiff", "T.TIF"])
def test_one_page_has_two_axes(tmp_path: Path, order: str, name: str) -> None:
    file = safe(tmp_path, name, tiff(order=order))
    assert header_of(file).shape == (4, 6)
    assert read_image(file).array.tobytes() == PIXELS


def test_pages_make_the_third_axis(tmp_path: Path) -> None:
    image = read_image(safe(tmp_path, "t.tif", tiff({}, {}, {})), shape=(3, 4, 6))
    assert image.array.shape == (3, 4, 6)
    assert image.array.tobytes() == 3 * PIXELS


def test_deflate_is_read(tmp_path: Path) -> None:
    packed = zlib.compress(PIXELS)
    content = tiff({259: (3, 1, 8), 279: (4, 1, len(packed))}, pixels=packed)
    assert read_image(safe(tmp_path, "t.tif", content)).array.tobytes() == PIXELS


def test_a_big_tiff_is_read(tmp_path: Path) -> None:
    tags = {256: 6, 257: 4, 258: 8, 259: 1, 262: 1, 273: 16, 277: 1, 278: 4, 279: 24}
    content = struct.pack("<2sHHHQ", b"II", 43, 8, 0, 16 + 24) + PIXELS + struct.pack("<Q", len(tags))
    for tag, value in tags.items():
        content += struct.pack("<HHQHxxxxxx", tag, 3, 1, value)
    assert read_image(safe(tmp_path, "t.tif", content + bytes(8))).array.tobytes() == PIXELS


PAGES: list[tuple[dict[int, tuple[int, int, int] | None], str]] = [
    ({277: (3, 1, 3)}, "'t.tif' has 3 channels (RGB or vector pixels)"),
    ({258: (3, 3, 8)}, "'t.tif' has 3 channels (RGB or vector pixels)"),
    ({262: (3, 1, 3)}, "'t.tif' has a colour palette"),
    ({262: (3, 1, 2)}, "'t.tif' is not a grey image; save it as one."),
    ({262: None}, "'t.tif' is not a grey image; save it as one."),
    ({322: (3, 1, 16), 323: (3, 1, 16)}, "'t.tif' is tiled; save it in strips, or as .mha."),
    ({274: (3, 1, 3)}, "'t.tif' has a rotated or mirrored orientation; save it with the default one."),
    ({254: (4, 1, 1)}, "'t.tif' holds a thumbnail or a transparency mask"),
    ({330: (4, 1, 8)}, "'t.tif' is a pyramid; save the full image alone."),
    ({259: (3, 1, 7)}, "'t.tif' uses an unsupported compression"),
    ({258: (3, 1, 1)}, "'t.tif' has 1-bit pixels of an unsupported type"),
    ({258: (3, 1, 64), 339: (3, 1, 3)}, "'t.tif' has 64-bit pixels of an unsupported type"),
    ({339: (3, 1, 6)}, "'t.tif' has 8-bit pixels of an unsupported type"),
    ({256: (3, 1, 0)}, "'t.tif' declares an empty image (0 x 4)."),
    ({256: None}, "'t.tif' is a damaged TIFF file."),
    ({257: (11, 1, 4)}, "'t.tif' is a damaged TIFF file."),
    ({257: (3, 2, 4)}, "'t.tif' is a damaged TIFF file."),
    ({273: (4, 1, 999_999)}, "'t.tif' is damaged: its pixels cannot be read."),
    ({259: (3, 1, 8)}, "'t.tif' is damaged: its pixels cannot be read."),
    ({259: (3, 1, 5)}, "'t.tif' is damaged: its pixels cannot be read."),
]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        *((tiff(changes), words) for changes, words in PAGES),
        (tiff({}, {256: (3, 1, 3)}), "Page 2 of 't.tif' differs from its first page; all must be alike."),
        (
            tiff().replace(struct.pack("<HHI", 259, 3, 1), struct.pack("<HHI", 258, 3, 1), 1),
            "'t.tif' has the TIFF tag 258 twice.",
        ),
        (tiff()[:-4] + struct.pack("<I", 8 + 24), "'t.tif' is a damaged TIFF file."),  # a ring of pages
        *((tiff()[:length], "'t.tif' is a damaged TIFF file.") for length in (4, 8, 33, 50, 100)),
    ],
)
def test_pages_are_refused_in_words(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], content: bytes, words: str
) -> None:
    assert words in refusal(read_image, safe(tmp_path, "t.tif", content))
    assert capfd.readouterr().err == ""


def test_the_number_of_pages_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "MAX_PAGES", 2)
    assert header_of(safe(tmp_path, "t.tif", tiff({}, {}))).shape == (2, 4, 6)
    assert refusal(header_of, safe(tmp_path, "t.tif", tiff({}, {}, {}))) == "'t.tif' has more than 2 pages."
