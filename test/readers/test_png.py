"""PNG files: grey, 8 or 16 bits."""

from pathlib import Path

import pytest
from readers.image_files import PIXELS, header_of, png, png_chunk, safe

from podium.errors import Refused
from podium.readers.images import read_image


def refusal(folder: Path, content: bytes) -> str:
    with pytest.raises(Refused) as caught:
        read_image(safe(folder, "p.png", content))
    assert str(folder) not in str(caught.value)
    return str(caught.value)


def test_grey_pixels_are_read(tmp_path: Path) -> None:
    file = safe(tmp_path, "p.png", png())
    assert header_of(file).shape == (4, 6)
    assert read_image(file).array.tobytes() == PIXELS


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
        (png(width=0), "'p.png' declares an empty image (4 x 0)."),
        (png()[:20], "'p.png' is a damaged PNG file."),
        (png().replace(b"IHDR", b"IDAT", 1), "'p.png' is a damaged PNG file."),
        (png(pixels=b"\0" + PIXELS[:6]), "'p.png' is damaged: its pixels cannot be read."),
        (png()[:-20], "'p.png' is truncated: a chunk declares "),
        (
            png(extra=b"\x7f\xff\xff\xfftEXt" + bytes(100)),
            "'p.png' is truncated: a chunk declares 2,147,483,647 bytes, but the file ends first.",
        ),
        (png(extra=png_chunk(b"tRNS", b"\0\1")), "'p.png' is damaged: its pixels cannot be read."),
    ],
)
def test_files_are_refused_in_words(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], content: bytes, words: str
) -> None:
    assert words in refusal(tmp_path, content)
    assert capfd.readouterr().err == ""
