"""What holds for all image formats: the format is told by content, sizes are bounded first."""

import gzip
from pathlib import Path

import pytest
import SimpleITK
from readers.image_files import header_of, mha, mha_header, nifti, png, safe, tiff

from podium.errors import Refused
from podium.readers import images
from podium.readers.formats.headers import ImageHeader
from podium.readers.images import read_image

CONTENTS = {"mha": mha(), "nii": nifti(), "nii.gz": gzip.compress(nifti()), "tif": tiff(), "png": png()}
KINDS = {"mha": "MetaImage", "nii": "NIfTI", "nii.gz": "gzipped NIfTI", "tif": "TIFF", "png": "PNG"}


@pytest.mark.parametrize("name", CONTENTS)
@pytest.mark.parametrize("content", CONTENTS)
def test_name_and_content_must_agree(tmp_path: Path, name: str, content: str) -> None:
    file = safe(tmp_path, f"i.{name}", CONTENTS[content])
    if name == content:
        assert read_image(file).array.size == 24
        return
    with pytest.raises(Refused) as refusal:
        read_image(file)
    named, found = KINDS[name], KINDS[content]
    assert str(refusal.value) == f"'i.{name}' is named like {named} but its content is {found}; rename or convert it."


@pytest.mark.parametrize("name", CONTENTS)
@pytest.mark.parametrize(
    "content",
    [b"", b"NRRD0004\ndata file: x\n", gzip.compress(b"NRRD0004", mtime=0), b"<nifti_image", b"\x1f\x8b"],
    ids=["nothing", "NRRD", "gzipped NRRD", "NIfTI as text", "the start of gzip"],
)
def test_content_of_no_known_format_is_refused(tmp_path: Path, name: str, content: bytes) -> None:
    with pytest.raises(Refused) as refusal:
        read_image(safe(tmp_path, f"i.{name}", content))
    assert str(refusal.value).startswith(f"The content of 'i.{name}' is not {KINDS[name]}; send .mha, .nii")


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
def test_other_formats_are_told_what_to_send(tmp_path: Path, extension: str, what: str) -> None:
    with pytest.raises(Refused) as refusal:
        header_of(safe(tmp_path, f"i.{extension}", mha()))
    sentence = f"'i.{extension}' is {what}, which is not accepted; send .mha, .nii, .nii.gz, .tif, .tiff or .png."
    assert str(refusal.value) == sentence


def test_a_name_without_a_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"'image' is not named like an image; send .mha"):
        read_image(safe(tmp_path, "image", mha()))


def test_another_shape_is_refused_before_the_pixels_are_looked_at(tmp_path: Path) -> None:
    file = safe(tmp_path, "i.mha", mha_header({"DimSize": "90 100"}))  # no pixel at all
    with pytest.raises(Refused) as refusal:
        read_image(file, shape=(96, 128))
    assert str(refusal.value) == "'i.mha' is 100 x 90, expected 96 x 128."


def test_another_number_of_axes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused) as refusal:
        read_image(safe(tmp_path, "i.nii", nifti((6, 4, 1))), shape=(4, 6))
    assert str(refusal.value) == "'i.nii' has 3 axes (1 x 4 x 6), expected 2 (4 x 6)."


def test_the_announced_size_is_bounded(tmp_path: Path) -> None:
    file = safe(tmp_path, "i.mha", mha())
    assert read_image(file, max_bytes=24).array.size == 24
    with pytest.raises(Refused, match=r"'i.mha' declares 24 bytes of pixels; at most 23 are read"):
        read_image(file, max_bytes=23)


def test_a_header_of_many_terabytes_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="bytes of pixels; at most 2,147,483,648 are read"):
        read_image(safe(tmp_path, "i.mha", mha({"DimSize": "4000000000 4000000000"})))


def test_simpleitk_must_understand_the_header_as_we_do(tmp_path: Path) -> None:
    file = safe(tmp_path, "i.png", png())
    assert images._read_with_simpleitk(file, ImageHeader((4, 6), 1), image_io="PNGImageIO").array.shape == (4, 6)
    with pytest.raises(Refused, match=r"The header of 'i.png' is ambiguous"):
        images._read_with_simpleitk(file, ImageHeader((6, 4), 1), image_io="PNGImageIO")


def test_simpleitk_runs_in_one_thread() -> None:
    assert SimpleITK.ProcessObject.GetGlobalDefaultNumberOfThreads() == 1


def test_the_array_outlives_the_reader(tmp_path: Path) -> None:
    arrays = [read_image(safe(tmp_path, "i.mha", mha(pixels=bytes([value] * 24)))).array for value in (1, 2, 3)]
    assert [int(array.sum()) for array in arrays] == [24, 48, 72]
