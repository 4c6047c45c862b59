"""Folders of DICOM files become volumes, and lose everything but their values."""

import locale
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import SimpleITK
from PIL import Image

from podium.errors import UsageError
from podium.tools.arena.images import find_cases, prepare


@pytest.fixture(autouse=True)
def _same_locale() -> Iterator[None]:
    """GDCM sets the C locale as it writes, in which text is ASCII: the tests after these must not notice."""
    before = locale.setlocale(locale.LC_ALL)
    yield
    locale.setlocale(locale.LC_ALL, before)


def write_series(folder: Path, *, uid: str = "1.2.3", ending: str = ".dcm", slices: int = 6) -> None:
    """Slices with a bright block on the patient's right; file names run against the positions."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(slices):
        values = np.full((20, 24), -1000, dtype=np.int16)
        values[4:8, 2:8] = 100 * number
        image = SimpleITK.GetImageFromArray(values)
        image.SetSpacing((0.5, 0.5))
        tags = {
            **{"0008|0060": "CT", "0010|0010": "Mustermann^Max", "0020|000e": uid, "0020|000d": "1.2"},
            **{"0020|0013": str(number), "0020|0032": f"0\\0\\{number * 1.5}", "0020|0037": "1\\0\\0\\0\\1\\0"},
            **{"0028|1052": "0", "0028|1053": "1", "0008|0018": f"{uid}.{number}"},
        }
        for tag, value in tags.items():
            image.SetMetaData(tag, value)
        writer = SimpleITK.ImageFileWriter()
        writer.KeepOriginalImageUIDOn()
        writer.SetImageIO("GDCMImageIO")
        name = folder / f"{uid}-{slices - number}.dcm"
        writer.SetFileName(str(name))
        writer.Execute(image)
        name.rename(name.with_name(name.name.removesuffix(".dcm") + ending))


@pytest.mark.parametrize("ending", [".dcm", "", ".IMA"])
def test_a_case_folder_of_dicom_files_is_one_volume(ending: str, tmp_path: Path) -> None:
    write_series(tmp_path / "cases/T001", ending=ending)
    images = find_cases(tmp_path / "cases")
    assert images == {"T001": (tmp_path / "cases/T001",)}
    prepared = prepare(images["T001"][0], tmp_path / "out")
    assert (prepared.is_volume, prepared.slices, prepared.width, prepared.height) == (True, 6, 24, 20)
    assert (prepared.pixel_mm, prepared.slice_mm) == (0.5, 1.5)
    assert (prepared.value_low, prepared.value_high) == (-1000, 500)
    top = np.asarray(Image.open(tmp_path / "out/5.png"))
    assert top[5, 4] > top[5, 20]  # by position, and the patient's right is on the left
    assert all(b"Mustermann" not in path.read_bytes() for path in (tmp_path / "out").iterdir())


def test_series_in_folders_of_a_case(tmp_path: Path) -> None:
    write_series(tmp_path / "T001/before", uid="1.2.3")
    write_series(tmp_path / "T001/after", uid="1.2.4")
    assert [path.name for path in find_cases(tmp_path)["T001"]] == ["after", "before"]


def test_two_series_in_one_folder_are_refused(tmp_path: Path) -> None:
    write_series(tmp_path / "T001", uid="1.2.3")
    write_series(tmp_path / "T001", uid="1.2.4")
    with pytest.raises(UsageError, match="holds 2 DICOM series; put one into each folder"):
        prepare(find_cases(tmp_path)["T001"][0], tmp_path / "out")


def test_files_that_only_are_called_dicom(tmp_path: Path) -> None:
    (tmp_path / "T001").mkdir()
    (tmp_path / "T001/a.dcm").write_bytes(b"nothing")
    with pytest.raises(UsageError, match="holds 0 DICOM series"):
        prepare(find_cases(tmp_path)["T001"][0], tmp_path / "out")
