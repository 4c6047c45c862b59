"""A name written into an image file in any place is in none of the bytes that the page can fetch."""

import gzip
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import SimpleITK as sitk
from PIL import Image, ImageCms
from PIL.PngImagePlugin import PngInfo

from podium.tools.arena.images import prepare

NAME = "Quixote^Dolores"
PIXELS = np.random.default_rng(5).integers(0, 256, (20, 30), dtype=np.uint8)
VOLUME = np.random.default_rng(6).integers(-1000, 3000, (4, 5, 6)).astype(np.int16)


def exif() -> Image.Exif:
    tags = Image.Exif()
    tags[270] = tags[315] = NAME  # ImageDescription, Artist
    return tags


def png(path: Path) -> None:
    text = PngInfo()
    text.add_text("Patient", NAME)
    text.add_text("Packed", NAME, zip=True)
    text.add_itxt("Patient", NAME, lang="en")
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes() + NAME.encode()
    Image.fromarray(PIXELS).save(path, pnginfo=text, exif=exif(), icc_profile=profile, compress_level=0)


def jpeg(path: Path) -> None:
    Image.fromarray(PIXELS).save(path, exif=exif(), comment=NAME)


def tiff(path: Path) -> None:
    Image.fromarray(PIXELS).save(path, tiffinfo={270: NAME, 315: NAME, 65000: NAME})


def mha(path: Path) -> None:
    image = sitk.GetImageFromArray(VOLUME)
    sitk.WriteImage(image, str(path))
    path.write_bytes(path.read_bytes().replace(b"ElementType", f"Comment = {NAME}\nElementType".encode(), 1))


def nifti(path: Path) -> None:
    """In `descrip`, `aux_file` and `db_name`."""
    sitk.WriteImage(sitk.GetImageFromArray(VOLUME), str(path))
    content = bytearray(path.read_bytes())
    for offset in (148, 228, 14):
        struct.pack_into("16s", content, offset, NAME.encode())
    path.write_bytes(content)


def nifti_gz(path: Path) -> None:
    nifti(path.with_suffix(""))
    with path.open("wb") as file, gzip.GzipFile(filename=f"{NAME}.nii", mode="wb", fileobj=file) as packed:
        packed.write(path.with_suffix("").read_bytes())


@pytest.mark.parametrize(
    ("write", "ending"),
    [(png, "png"), (jpeg, "jpg"), (tiff, "tif"), (mha, "mha"), (nifti, "nii"), (nifti_gz, "nii.gz")],
)
def test_a_planted_name_is_gone(tmp_path: Path, write: Callable[[Path], None], ending: str) -> None:
    source = tmp_path / f"{NAME}.{ending}"
    write(source)
    planted = source.read_bytes() + (gzip.decompress(source.read_bytes()) if ending == "nii.gz" else b"")
    assert NAME.encode() in planted
    prepare(source, tmp_path / "prepared")
    written = sorted((tmp_path / "prepared").iterdir())
    assert written
    for path in written:
        content = path.read_bytes()
        assert NAME not in path.name
        assert NAME.encode() not in content
        if path.suffix == ".png":
            assert set(png_chunks(content)) == {b"IHDR", b"IDAT", b"IEND"}
        else:
            flags, seconds = struct.unpack_from("<BI", content, 3)
            assert (flags, seconds) == (0, 0)  # neither a file's name nor a date
            assert NAME.encode() not in gzip.decompress(content)


def png_chunks(content: bytes) -> list[bytes]:
    kinds = []
    place = 8
    while place < len(content):
        (length,) = struct.unpack_from(">I", content, place)
        kinds.append(content[place + 4 : place + 8])
        place += 12 + length
    return kinds
