"""NIfTI files: one file, one kind of header, all pixels present."""

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest
import SimpleITK
from readers.made import PIXELS, header_of, nifti, refusal, safe

from podium.readers.formats.nifti import PIXEL_TYPES
from podium.readers.images import read_image


def refused(folder: Path, content: bytes, name: str = "n.nii") -> str:
    return refusal(read_image, safe(folder, name, content))


@pytest.mark.parametrize("order", ["<", ">"])
def test_both_byte_orders_are_read(tmp_path: Path, order: str) -> None:
    pixels = np.arange(24, dtype=f"{order}u2").tobytes()
    image = read_image(safe(tmp_path, "n.nii", nifti(datatype=512, bits=16, order=order, pixels=pixels)))
    assert image.array.tolist() == np.arange(24).reshape(2, 3, 4).tolist()
    assert image.geometry.spacing == (0.5, 0.25, 2.0)


def test_gzipped_files_are_read_also_in_several_members(tmp_path: Path) -> None:
    content = nifti()
    packed = gzip.compress(content[:100]) + gzip.compress(content[100:]) + b"\0\0"
    assert read_image(safe(tmp_path, "n.nii.gz", packed)).array.tobytes() == PIXELS
    assert header_of(safe(tmp_path, "n.nii.gz", packed)).shape == (2, 3, 4)


def test_two_axes_are_read(tmp_path: Path) -> None:
    assert read_image(safe(tmp_path, "n.nii", nifti((6, 4)))).array.shape == (4, 6)


def test_scaled_values_are_scaled(tmp_path: Path) -> None:
    assert read_image(safe(tmp_path, "n.nii", nifti(slope=2.0, intercept=1.0))).array.max() == 2 * 23 + 1


NOT_A_NUMBER = float("nan")
SCALINGS = [(0.0, 5.0), (1.0, 5.0), (NOT_A_NUMBER, 5.0), (1.0, NOT_A_NUMBER), (1e-17, 3.0), (3e30, 1.0)]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(("datatype", "kind"), PIXEL_TYPES.items())
def test_values_are_scaled_bit_for_bit_as_simpleitk_scales_them(
    tmp_path: Path, datatype: int, kind: str, order: str
) -> None:
    random = np.random.default_rng(datatype)
    scalings = [*SCALINGS, *random.normal(size=(4, 2)).astype(np.float32).tolist()]
    for slope, intercept in scalings:
        values = np.frombuffer(random.bytes(24 * int(kind[-1])), order + kind)
        if kind[0] == "f":
            values = random.normal(scale=1e3, size=24).astype(order + kind)
        options = {"slope": slope, "intercept": intercept, "datatype": datatype, "bits": 8 * int(kind[-1])}
        file = safe(tmp_path, "n.nii", nifti(order=order, pixels=values.tobytes(), **options))
        expected = SimpleITK.GetArrayFromImage(SimpleITK.ReadImage(str(file.path)))
        found = read_image(file).array
        assert found.dtype == expected.dtype
        assert found.tobytes() == expected.tobytes(), options


def test_a_larger_offset_is_followed(tmp_path: Path) -> None:
    content = nifti(offset=368.0, pixels=bytes(16) + PIXELS)
    assert read_image(safe(tmp_path, "n.nii", content)).array.tobytes() == PIXELS


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (nifti(magic=b"ni1\0"), "'n.nii' keeps its pixels in another file; save it as one .nii or .nii.gz file."),
        (nifti(magic=b"\0\0\0\0"), "'n.nii' is an Analyze or damaged NIfTI header"),
        (nifti(magic=b"n+9\0"), "'n.nii' is an Analyze or damaged NIfTI header"),
        (struct.pack("<i", 540) + bytes(600), "'n.nii' is a NIfTI-2 file; save it as NIfTI-1."),
        (nifti()[:200], "'n.nii' is too short to be a NIfTI image."),
        (nifti((4, 3, 2, 1)), "'n.nii' has 4 axes; send a 2-D or 3-D image, also when there is only one frame."),
        (nifti((24,)), "'n.nii' has 1 axes"),
        (nifti((2, 2, 2, 1, 3)), "'n.nii' has 5 axes"),
        (nifti((4, 0, 2)), "'n.nii' declares an empty image (4 x 0 x 2)."),
        (nifti((4, -3, 2)), "'n.nii' declares an empty image (4 x -3 x 2)."),
        (nifti(datatype=128, bits=24), "'n.nii' has 3 channels (RGB or vector pixels)"),
        (nifti(datatype=2304, bits=32), "'n.nii' has 4 channels (RGB or vector pixels)"),
        (nifti(datatype=32, bits=64), "'n.nii' has complex pixels; send real values."),
        (nifti(datatype=1, bits=1), "'n.nii' has the NIfTI datatype 1;"),
        (nifti(datatype=1536, bits=128), "'n.nii' has the NIfTI datatype 1536;"),
        (nifti(bits=16), "'n.nii' contradicts itself: datatype 2 does not have 16 bits."),
        (nifti(offset=0.0), "The vox_offset of 'n.nii' is not a position after its header."),
        (nifti(offset=352.5), "The vox_offset of 'n.nii' is not a position after its header."),
        (nifti(offset=1e30), "The vox_offset of 'n.nii' is not a position after its header."),
        (nifti(offset=float("nan")), "The vox_offset of 'n.nii' is not a position after its header."),
        (nifti(slope=float("inf")), "'n.nii' scales its values by something that is not a number"),
        (nifti(slope=2.0, intercept=float("nan")), "'n.nii' scales its values by something that is not a number"),
        (nifti()[:-1], "'n.nii' is truncated: it holds 23 bytes of pixels, but its header declares 24."),
        (nifti() + bytes(5000), "'n.nii' holds more than the 24 bytes of pixels its header declares."),
    ],
)
def test_headers_are_refused_in_words(tmp_path: Path, content: bytes, words: str) -> None:
    assert words in refused(tmp_path, content)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (nifti() + bytes(3_000_000), "'n.nii.gz' unpacks to more than the 24 bytes of pixels its header declares."),
        (nifti()[:-4], "'n.nii.gz' is truncated: it unpacks to 20 bytes of pixels, but its header declares 24."),
    ],
    ids=["bomb", "truncated"],
)
def test_gzipped_pixels_are_as_many_as_declared(tmp_path: Path, content: bytes, words: str) -> None:
    assert refused(tmp_path, gzip.compress(content), "n.nii.gz") == words


def test_a_broken_checksum_is_refused(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(nifti((110, 100, 100), pixels=bytes(1_100_000))))
    packed[-8] ^= 1
    assert refused(tmp_path, bytes(packed), "n.nii.gz") == "The compressed data of 'n.nii.gz' is corrupt."
    packed = bytearray(gzip.compress(nifti()))  # ends within the bytes that the format is recognised by
    packed[-8] ^= 1
    assert refused(tmp_path, bytes(packed), "n.nii.gz").startswith("The compressed data of 'n.nii.gz' is corrupt")


def test_a_skewed_geometry_is_refused(tmp_path: Path) -> None:
    content = bytearray(nifti())
    struct.pack_into("<2h", content, 252, 0, 1)  # sform only
    struct.pack_into("<12f", content, 280, 1, 1, 0, 0, 0, 1, 1, 0, 1, 0, 0.5, 0)
    assert "has a spacing, origin or direction that is not usable" in refused(tmp_path, bytes(content))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_geometry_that_would_keep_the_library_busy_for_ever_is_refused(tmp_path: Path, value: float) -> None:
    content = bytearray(nifti())
    struct.pack_into("<h", content, 254, 1)
    struct.pack_into("<f", content, 280 + 4 * 9, value)
    assert refused(tmp_path, bytes(content)) == "The sform of 'n.nii' holds values that are not finite; save it again."
