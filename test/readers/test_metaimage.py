"""The .mha header: what passes, and every way in which it must not be bent."""

import zlib
from pathlib import Path

import numpy as np
import pytest
import SimpleITK
from readers.made import PIXELS, header_of, mha, mha_header, refusal, safe

from podium.readers.geometry import Geometry
from podium.readers.images import read_image


def refused(folder: Path, content: bytes) -> str:
    return refusal(read_image, safe(folder, "m.mha", content))


def test_pixels_and_geometry_come_through(tmp_path: Path) -> None:
    image = read_image(safe(tmp_path, "m.mha", mha()))
    assert image.array.tolist() == np.arange(24).reshape(4, 6).tolist()
    assert image.array.dtype == np.uint8
    assert image.geometry == Geometry((0.5, 0.25), (10, 20), (1, 0, 0, 1))


def test_the_shape_comes_from_the_header_alone(tmp_path: Path) -> None:
    assert header_of(safe(tmp_path, "m.mha", mha_header())).shape == (4, 6)


def test_other_metadata_is_harmless(tmp_path: Path) -> None:
    content = mha({"0008|0060": "US", "MyKey": "", "Comment": "ElementDataFile = /etc/passwd"})
    assert read_image(safe(tmp_path, "m.mha", content)).array.sum() == sum(PIXELS)


@pytest.mark.parametrize(
    "end", ["local", "Local", "LOCAL ", " LOCAL", "LIST", "LIST 2", "hidden.raw", "/x/%03d.raw 1 3 1", ""]
)
def test_only_local_pixels_are_read(tmp_path: Path, end: str) -> None:
    assert "points to pixels outside itself" in refused(tmp_path, mha({"ElementDataFile": end}))


@pytest.mark.parametrize("spelling", ["elementdatafile", "ELEMENTDATAFILE", "dimsize", "Headersize", "ndims"])
def test_a_known_key_in_another_case_is_refused(tmp_path: Path, spelling: str) -> None:
    assert f"as '{spelling}'" in refused(tmp_path, mha({spelling: "1"}))


def test_a_nifti_that_simpleitk_turned_into_mha_is_read(tmp_path: Path) -> None:
    """What most segmentation pipelines do last; the header then keeps every NIfTI field, `dim[0]` among them."""
    values = np.arange(60).reshape(3, 4, 5).astype(np.uint8)
    SimpleITK.WriteImage(SimpleITK.GetImageFromArray(values), str(tmp_path / "n.nii.gz"))
    SimpleITK.WriteImage(SimpleITK.ReadImage(str(tmp_path / "n.nii.gz")), str(tmp_path / "w.mha"), True)
    content = (tmp_path / "w.mha").read_bytes()
    assert b"dim[0] = 3" in content
    assert (read_image(safe(tmp_path, "w.mha", content)).array == values).all()


@pytest.mark.parametrize(
    "line",
    [
        "ElementDataFile=hidden",
        "ElementDataFile : hidden",
        " ElementDataFile = x",
        "ElementDataFile  = x",
        "ElementDataFile\t= x",
        "Key = a\rElementDataFile = x",
        "Key = \x0b",
        "\0",
        "",
    ],
)
def test_lines_that_could_be_read_otherwise_are_refused(tmp_path: Path, line: str) -> None:
    content = mha().replace(b"NDims", line.encode() + b"\nNDims", 1)
    assert "has a line that is not 'Key = value'" in refused(tmp_path, content)


@pytest.mark.parametrize("content", [mha_header()[:-6], b"ObjectType = " + b"x" * 9000, b"NDims = 2\n", b"NDims = 2"])
def test_a_header_without_end_is_refused(tmp_path: Path, content: bytes) -> None:
    assert "does not end with 'ElementDataFile = LOCAL'" in refused(tmp_path, content)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"DimSize": f"{'9' * 4000} 4"}, "The DimSize of 'm.mha' is not 2 whole numbers."),
        ({"HeaderSize": "-1"}, "The header of 'm.mha' has a HeaderSize; save it without."),
        ({"NDims": None}, "The header of 'm.mha' has no 'NDims'."),
        ({"Modality": " "}, "The header of 'm.mha' gives no value for 'Modality'."),
        ({"NDims": None, "DimSize": "6 4", "Foo": "1"}, "has no 'NDims'"),
        ({"ObjectType": "Tube"}, "'m.mha' holds a MetaIO 'Tube', not an Image."),
        ({"NDims": "4"}, "'m.mha' has 4 axes; send a 2-D or 3-D image, also when there is only one frame."),
        ({"NDims": "1"}, "'m.mha' has 1 axes; send a 2-D or 3-D image."),
        ({"NDims": "two"}, "The NDims of 'm.mha' is not a whole number."),
        ({"NDims": "+2"}, "The NDims of 'm.mha' is not a whole number."),
        ({"BinaryData": "False"}, "'m.mha' stores its pixels as text; save it with BinaryData = True."),
        ({"BinaryData": "true"}, "must say True or False for 'BinaryData'"),
        ({"CompressedData": "1"}, "must say True or False for 'CompressedData'"),
        ({"ElementByteOrderMSB": "True"}, "gives two different byte orders"),
        ({"DimSize": "6"}, "The DimSize of 'm.mha' is not 2 whole numbers."),
        ({"DimSize": "6 4 1"}, "The DimSize of 'm.mha' is not 2 whole numbers."),
        ({"DimSize": "6 -4"}, "The DimSize of 'm.mha' is not 2 whole numbers."),
        ({"DimSize": "6 0"}, "'m.mha' declares an empty image (6 x 0)."),
        ({"ElementNumberOfChannels": "3"}, "'m.mha' has 3 channels (RGB or vector pixels)"),
        ({"ElementType": "MET_LONG"}, "'m.mha' has the ElementType 'MET_LONG'"),
        ({"ElementType": "MET_UCHAR_ARRAY"}, "'m.mha' has the ElementType 'MET_UCHAR_ARRAY'"),
        ({"ElementSpacing": "1"}, "The ElementSpacing of 'm.mha' is not 2 finite numbers."),
        ({"Offset": "nan 1"}, "The Offset of 'm.mha' is not 2 finite numbers."),
        ({"Offset": "1e999 1"}, "The Offset of 'm.mha' is not 2 finite numbers."),
        ({"TransformMatrix": "1 0 0"}, "The TransformMatrix of 'm.mha' is not 4 finite numbers."),
        ({"TransformMatrix": "1 1 1 1"}, "'m.mha' has a spacing, origin or direction that is not usable."),
        ({"ElementSpacing": "0 1"}, "'m.mha' has a spacing, origin or direction that is not usable."),
    ],
)
def test_fields_are_refused_in_words(tmp_path: Path, changes: dict[str, str | None], words: str) -> None:
    assert words in refused(tmp_path, mha(changes))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (mha({"NDims": None}).replace(b"ElementType", b"NDims = 2\nElementType", 1), "before 'NDims'"),
        (mha_header().replace(b"\n", b"\r\n") + PIXELS, "has a line that is not 'Key = value'"),
        (mha().replace(b"DimSize", b"DimSize = 2 2\nDimSize", 1), "The header of 'm.mha' has 'DimSize' twice."),
    ],
    ids=["an order MetaIO cannot read", "line ends of Windows", "a key twice"],
)
def test_headers_are_refused_in_words(tmp_path: Path, content: bytes, words: str) -> None:
    assert words in refused(tmp_path, content)


def test_both_byte_orders_are_read(tmp_path: Path) -> None:
    changes = {"ElementType": "MET_USHORT", "BinaryDataByteOrderMSB": "True"}
    image = read_image(safe(tmp_path, "m.mha", mha(changes, pixels=np.arange(24, dtype=">u2").tobytes())))
    assert image.array.tolist() == np.arange(24).reshape(4, 6).tolist()


def compressed(packed: bytes, **changes: str | None) -> bytes:
    return mha({"CompressedData": "True", "CompressedDataSize": str(len(packed)), **changes}, pixels=packed)


STREAM = zlib.compress(PIXELS)


def test_compressed_pixels_are_read(tmp_path: Path) -> None:
    assert read_image(safe(tmp_path, "m.mha", compressed(STREAM))).array.tobytes() == PIXELS


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (mha(pixels=b""), "'m.mha' is truncated: it holds 0 bytes of pixels, but its header declares 24."),
        (mha(pixels=bytes(23)), "'m.mha' is truncated: it holds 23 bytes of pixels, but its header declares 24."),
        (mha(pixels=bytes(25)), "'m.mha' holds more than the 24 bytes of pixels its header declares."),
        (compressed(STREAM, CompressedDataSize=None), "The header of 'm.mha' has no 'CompressedDataSize'."),
        (
            compressed(STREAM, CompressedDataSize="5"),
            f"'m.mha' holds {len(STREAM)} compressed bytes, but its header declares 5.",
        ),
        (
            compressed(zlib.compress(PIXELS[:5])),
            "'m.mha' is truncated: it unpacks to 5 bytes of pixels, but its header declares 24.",
        ),
        (
            compressed(zlib.compress(bytes(3_000_000))),
            "'m.mha' unpacks to more than the 24 bytes of pixels its header declares.",
        ),
        (compressed(STREAM[:-3]), "The compressed data of 'm.mha' ends too early."),
        (compressed(b""), "The compressed data of 'm.mha' ends too early."),
        (compressed(b"no zlib"), "The compressed data of 'm.mha' is corrupt."),
    ],
)
def test_pixels_are_as_many_as_declared(tmp_path: Path, content: bytes, words: str) -> None:
    assert refused(tmp_path, content) == words
