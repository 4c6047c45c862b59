"""Which files are the images of which case."""

from pathlib import Path

import pytest
from samples.reports_cases import CASES

from podium.errors import UsageError
from podium.tools.arena.images import find_cases, prepare

SAMPLES = Path(__file__).resolve().parents[1] / "arena-cases"


def touch(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder


def test_files_and_folders_of_every_kind(tmp_path: Path) -> None:
    names = ["B3.JPEG", "a1.png", "b2.jpg", "c4.tif", "d5.tiff", "e6.mha", "f7.nii", "g8.nii.gz", "1.2.840.png"]
    folder = touch(tmp_path, *names, "h9/2.png", "h9/1.nii.gz", "h9/.DS_Store", ".hidden")
    found = find_cases(folder)
    assert list(found) == ["1.2.840", "B3", "a1", "b2", "c4", "d5", "e6", "f7", "g8", "h9"]
    assert found["g8"] == (folder / "g8.nii.gz",)
    assert found["h9"] == (folder / "h9/1.nii.gz", folder / "h9/2.png")


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        ([], "The folder {folder} contains no case images."),
        (
            ["a.png", "a.nii"],
            "{folder}/a.nii and {folder}/a.png are both the case 'a'; put its images into one folder.",
        ),
        (["A.png", "a/1.png"], "{folder}/A.png and {folder}/a are both the case 'a'; put its images into one folder."),
        (["a.png", "b/.hidden"], "The folder {folder}/b contains no image of its case."),
        *(
            (
                ["a.png", name],
                "{folder}/" + bad + " is not an image of a case; these are named <case>.png, jpg, jpeg, tif, ",
            )
            for name, bad in (("b.dcm", "b.dcm"), ("b/notes.txt", "b/notes.txt"), ("b/c/1.png", "b/c"))
        ),
    ],
)
def test_what_could_lose_a_case_is_refused(tmp_path: Path, names: list[str], sentence: str) -> None:
    with pytest.raises(UsageError) as error:
        find_cases(touch(tmp_path, *names))
    assert str(error.value).startswith(sentence.format(folder=tmp_path))


def test_the_endings_are_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"<case>\.png, jpg, jpeg, tif, tiff, mha, nii, nii\.gz, stl, ply or obj\.$"):
        find_cases(touch(tmp_path, "readme"))


def test_a_folder_named_like_an_image_is_a_case(tmp_path: Path) -> None:
    assert list(find_cases(touch(tmp_path, "a.png/1.jpg"))) == ["a.png"]


def test_no_such_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as error:
        find_cases(tmp_path / "none")
    assert str(error.value) == f"There is no folder {tmp_path / 'none'} with the images of the cases."


def test_the_sample_images_are_those_of_the_sample_reports(tmp_path: Path) -> None:
    cases = find_cases(SAMPLES)
    assert list(cases) == sorted(CASES)
    radiograph, scan = (prepare(cases[case][0], tmp_path / case) for case in ("B003", "T001"))
    assert (radiograph.is_volume, radiograph.width, radiograph.height) == (False, 480, 320)
    assert (scan.slices, scan.value_low, scan.value_high, scan.pixel_aspect) == (48, -1000, 3000, 1)
