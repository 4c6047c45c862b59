"""What holds for all image formats: the format is told by content, sizes are bounded first."""

import gzip
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import SimpleITK
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray
from readers.made import header_of, mha, mha_header, nifti, png, refusal, safe, tiff

from podium.errors import Refused
from podium.readers import images
from podium.readers.formats import format_of
from podium.readers.formats.headers import ImageHeader
from podium.readers.images import as_integer_labels, read_image

CONTENTS = {"mha": mha(), "nii": nifti(), "nii.gz": gzip.compress(nifti()), "tif": tiff(), "png": png()}
KINDS = {"mha": "MetaImage", "nii": "NIfTI", "nii.gz": "gzipped NIfTI", "tif": "TIFF", "png": "PNG"}


@pytest.mark.parametrize("name", CONTENTS)
@pytest.mark.parametrize("content", CONTENTS)
def test_name_and_content_must_agree(tmp_path: Path, name: str, content: str) -> None:
    file = safe(tmp_path, f"i.{name}", CONTENTS[content])
    if name == content:
        assert read_image(file).array.size == 24
        return
    words = f"'i.{name}' is named like {KINDS[name]} but its content is {KINDS[content]}; rename or convert it."
    assert refusal(read_image, file) == words


@pytest.mark.parametrize("name", CONTENTS)
@pytest.mark.parametrize(
    "content",
    [b"NRRD0004\ndata file: x\n", gzip.compress(b"NRRD0004", mtime=0), b"<nifti_image", b"\x1f\x8b"],
    ids=["NRRD", "gzipped NRRD", "NIfTI as text", "the start of gzip"],
)
def test_content_of_no_known_format_is_refused(tmp_path: Path, name: str, content: bytes) -> None:
    words = f"The content of 'i.{name}' is not {KINDS[name]}; send .mha, .nii, .nii.gz, .tif, .tiff or .png."
    if (name, content) == ("nii.gz", b"\x1f\x8b"):
        words = "The compressed data of 'i.nii.gz' is corrupt or empty."
    assert refusal(read_image, safe(tmp_path, f"i.{name}", content)) == words


@pytest.mark.parametrize("name", CONTENTS)
def test_an_empty_file_is_called_empty(tmp_path: Path, name: str) -> None:
    with pytest.raises(Refused, match=rf"^'i\.{name}' is empty; send \.mha, \.nii"):
        read_image(safe(tmp_path, f"i.{name}", b""))


@pytest.mark.parametrize(
    ("extension", "what"),
    [
        ("mhd", "a header without its pixels"),
        ("nrrd", "an NRRD file"),
        ("nhdr", "a header without its pixels"),
        ("vtk", "a VTK file"),
        ("gipl", "a GIPL file"),
        ("dcm", "a DICOM file"),
        ("hdr", "a header without its pixels"),
        ("img", "pixels without their header"),
        ("img.gz", "pixels without their header"),
        ("npy", "a numpy file"),
    ],
)
def test_other_formats_are_refused_with_those_that_are_accepted(tmp_path: Path, extension: str, what: str) -> None:
    sentence = f"'i.{extension}' is {what}, which is not accepted; send .mha, .nii, .nii.gz, .tif, .tiff or .png."
    assert refusal(header_of, safe(tmp_path, f"i.{extension}", mha())) == sentence


@pytest.mark.parametrize("name", ["image", "png", "x.gz", "x.mha.txt"])
def test_a_name_without_a_format_is_refused(tmp_path: Path, name: str) -> None:
    words = f"'{name}' is not named like an image; send "
    assert refusal(read_image, safe(tmp_path, name, mha())).startswith(words)


@pytest.mark.parametrize("name", ["x.MHA", "1.2.mha"])
def test_letter_case_and_further_dots_of_a_name_do_not_matter(tmp_path: Path, name: str) -> None:
    assert read_image(safe(tmp_path, name, mha())).array.size == 24


@pytest.mark.parametrize(
    ("content", "options", "words"),
    [
        (mha_header({"DimSize": "90 100"}), {"shape": (96, 128)}, "is 90 x 100, expected 128 x 96 (x, y)."),  # no pixel
        (mha(), {"shape": (1, 4, 6)}, "is 6 x 4, expected 6 x 4 x 1 (x, y, z)."),
        (mha(), {"max_bytes": 23}, "declares 24 bytes of pixels; at most 23 are read."),
        (
            mha({"DimSize": "4000000000 4000000000"}),
            {},
            "declares 16,000,000,000,000,000,000 bytes of pixels; at most 2,147,483,648 are read.",
        ),
    ],
    ids=["shape", "axes", "bytes", "terabytes"],
)
def test_sizes_are_checked_before_pixels(tmp_path: Path, content: bytes, options: dict[str, Any], words: str) -> None:
    assert refusal(read_image, safe(tmp_path, "i.mha", content), **options) == f"'i.mha' {words}"


def test_the_largest_allowed_size_is_read(tmp_path: Path) -> None:
    assert read_image(safe(tmp_path, "i.mha", mha()), max_bytes=24).array.size == 24


def test_simpleitk_must_understand_the_header_as_we_do(tmp_path: Path) -> None:
    file = safe(tmp_path, "i.png", png())
    assert images.read_geometry(file, ImageHeader((4, 6), 1), format_of(file))[1].spacing == (1.0, 1.0)
    with pytest.raises(Refused, match=r"The header of 'i.png' is ambiguous"):
        images.read_geometry(file, ImageHeader((6, 4), 1), format_of(file))


def test_simpleitk_runs_in_one_thread() -> None:
    assert SimpleITK.ProcessObject.GetGlobalDefaultNumberOfThreads() == 1


def test_the_array_outlives_the_reader(tmp_path: Path) -> None:
    arrays = [read_image(safe(tmp_path, "i.mha", mha(pixels=bytes([value] * 24)))).array for value in (1, 2, 3)]
    assert [int(array.sum()) for array in arrays] == [24, 48, 72]


# Whole numbers from whatever type they were stored in.


@pytest.mark.parametrize("kind", ["?", "u1", "u8", "i1", ">i4", "f2", "f4", "f8"])
def test_whole_numbers_of_any_type_are_labels(kind: str) -> None:
    labels = as_integer_labels(np.array([[0, 1], [1, 0]]).astype(kind), name="m")
    assert labels.tolist() == [[0, 1], [1, 0]]
    assert labels.dtype.kind == "u"


@pytest.mark.parametrize(("largest", "kind"), [(255, np.uint8), (256, np.uint16), (65536, np.uint32)])
def test_floats_become_the_smallest_type(largest: int, kind: type) -> None:
    labels = as_integer_labels(np.array([0.0, largest]), name="m")
    assert labels.dtype == kind
    assert labels.tolist() == [0, largest]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.array([1.0000001, 0.9999999], "f4"), [1, 1]),
        (np.array([-1e-7, 1e-6, 254.9999, 255.0000001, 255.9999]), [0, 0, 255, 255, 256]),
        (np.array([0, 3, 254], "f4") * np.float32(0.00392157) / np.float32(0.00392157), [0, 3, 254]),
        (np.array([999.9995, 65535.0005]), [1000, 65535]),
    ],
)
def test_floats_may_be_off_by_the_rounding_of_their_storage(values: NDArray[Any], expected: list[int]) -> None:
    """By 1e-6, of labels above 1 relative to their size up to 1000."""
    labels = as_integer_labels(values, name="m")
    assert labels.tolist() == expected
    assert labels.dtype.kind == "u"


@pytest.mark.parametrize("kind", ["?", "u1", "u2", "i2", "i8"])
def test_integers_are_not_copied(kind: str) -> None:
    values = np.ones((3, 4), kind)
    assert np.shares_memory(as_integer_labels(values, name="m"), values)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (np.array([0, np.nan]), "'m' holds NaN; every pixel needs a label."),
        (np.array([np.nan, np.inf]), "'m' holds NaN; every pixel needs a label."),
        (np.array([0, np.inf]), "'m' holds infinite values; labels are whole numbers."),
        (np.array([0, -np.inf]), "'m' holds infinite values; labels are whole numbers."),
        (np.array([0, -2]), "'m' holds the negative value -2; labels start at 0."),
        (np.array([0, -0.5]), "'m' holds the negative value -0.5; labels start at 0."),
        (np.array([0, 1, 1.5]), "'m' holds the fractional value 1.5; labels are whole numbers."),
        (np.array([0, 1.000002]), "'m' holds the fractional value 1.000002; labels are whole numbers."),
        (np.array([0, 2.0000038], "f4"), "'m' holds the fractional value 2.0000038; labels are whole numbers."),
        (np.array([0, 1234567.5]), "'m' holds the fractional value 1234567.5; labels are whole numbers."),
        (np.array([0, -2e-6]), "'m' holds the negative value -2e-06; labels start at 0."),
        (np.array([0, 1e30]), "'m' holds the value 1e+30, which is too large for a label."),
        (
            np.linspace(0, 1, 50),
            "'m' holds the fractional value 0.0204082; this looks like a probability map: send labels, "
            "for example by applying a threshold.",
        ),
        (
            np.array([0.5] + [0.0] * 999),
            "'m' holds the fractional value 0.5; labels are whole numbers.",
        ),
        (np.array([1j]), "'m' holds complex values; labels are whole numbers."),
        (np.array(["a"]), "'m' holds values of the type '<U1'; labels are whole numbers."),
        (np.array([None]), "'m' holds values of the type 'object'; labels are whole numbers."),
        (
            np.zeros((64, 64, 3), np.uint8),
            "'m' looks like an RGB image (3 values per pixel); send one label per pixel.",
        ),
        (
            np.zeros((64, 64, 4), np.float32),
            "'m' looks like an RGB image (4 values per pixel); send one label per pixel.",
        ),
    ],
)
def test_anything_else_is_refused_in_words(values: NDArray[Any], words: str) -> None:
    assert refusal(as_integer_labels, values, name="m") == words


def test_a_small_volume_is_no_rgb_image() -> None:
    assert as_integer_labels(np.zeros((5, 5, 3), np.uint8), name="m").shape == (5, 5, 3)


def test_no_pixels_are_no_labels() -> None:
    assert as_integer_labels(np.zeros((0, 3)), name="m").shape == (0, 3)


@given(arrays.arrays(st.sampled_from([np.float16, np.float32, np.float64, np.int16, np.int64]), st.integers(1, 20)))
def test_labels_equal_their_values_or_are_refused(values: NDArray[Any]) -> None:
    try:
        labels = as_integer_labels(values, name="m")
    except Refused:
        with np.errstate(all="ignore"):
            assert not (np.isfinite(values) & (values >= 0) & (values < 2.0**63) & (values == np.floor(values))).all()
    else:
        assert labels.dtype.kind == "u"
        exact = [Fraction(value.item()) for value in values]
        assert [int(label) for label in labels] == [round(value) for value in exact]
        assert all(abs(value - round(value)) <= Fraction(1.1e-6) * max(1, min(value, 1000)) for value in exact)
