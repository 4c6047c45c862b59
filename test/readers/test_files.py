"""Which files may be opened at all."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from readers.made import refusal, safe

from podium.errors import Refused, SubmissionError
from podium.readers import files
from podium.readers.files import SafeFile, escape_for_display, list_files, open_beneath, open_step_by_step


def test_a_regular_file_is_known_by_its_relative_name(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.txt").write_bytes(b"content")
    file = SafeFile.inside(tmp_path, "a/b.txt")
    assert (file.name, file.size, file.read_bytes(7)) == ("a/b.txt", 7, b"content")
    assert file.path == tmp_path.resolve() / "a" / "b.txt"


def test_a_folder_in_place_of_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.nii.gz").mkdir()
    (tmp_path / "jobs").mkdir()
    (tmp_path / "v1.0").mkdir()
    (tmp_path / "v1.0" / "b.nii.gz").touch()
    assert refusal(SafeFile.inside, tmp_path, "a.nii.gz") == "'a.nii.gz' is a folder, not a file."
    listing = list_files(tmp_path)
    assert [file.name for file in listing.files] == ["v1.0/b.nii.gz"]
    assert listing.refused == (("a.nii.gz", "'a.nii.gz' is an empty folder, not a file."),)


@pytest.mark.parametrize("name", ["/etc/passwd", "../b", "a/../../b", "", ".", "a\0b"])
def test_names_that_lead_elsewhere_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(Refused, match="is not a path inside the submission"):
        SafeFile.inside(tmp_path, name)


@pytest.mark.parametrize("name", ["x" * 5000, "a/" * 3000, "nothing.h5"])
def test_what_is_not_there_does_not_exist(tmp_path: Path, name: str) -> None:
    with pytest.raises(Refused, match="does not exist") as refusal:
        SafeFile.inside(tmp_path, name)
    assert str(tmp_path) not in str(refusal.value)
    assert len(str(refusal.value)) < 300


def test_a_name_cannot_forge_a_line_of_the_log(tmp_path: Path) -> None:
    (tmp_path / "a\nScore: 100").write_bytes(b"")
    with pytest.raises(Refused, match="unprintable characters") as refusal:
        SafeFile.inside(tmp_path, "a\nScore: 100")
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("name", ["link", "linked/a", "inner/a"])
def test_links_are_refused_at_every_level(root: Path, name: str) -> None:
    words = f"'{name}' is a symbolic link or is reached through one; send the file itself."
    assert refusal(SafeFile.inside, root, name) == words


def test_folders_and_fifos_are_no_files(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "fifo")
    for name, what in (("folder", "a folder, not a file"), ("fifo", "not a regular file")):
        with pytest.raises(Refused, match=f"'{name}' is {what}"):
            SafeFile.inside(tmp_path, name)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (os.mkfifo, "'a' is not a regular file."),  # and it does not block
        (lambda path: path.symlink_to("../elsewhere/a"), "'a' cannot be opened."),
    ],
    ids=["FIFO", "link"],
)
def test_a_file_that_became_something_else_is_not_read(root: Path, change: Callable[[Path], None], words: str) -> None:
    file = safe(root, "a", b"{}")
    file.path.unlink()
    change(file.path)
    assert refusal(file.read_bytes, 10) == words


def test_reading_is_bounded(tmp_path: Path) -> None:
    file = safe(tmp_path, "a.json", b"12345")
    assert file.read_bytes(5) == b"12345"
    assert file.first_bytes(2) == b"12"
    with pytest.raises(Refused, match=r"'a.json' is larger than 4 bytes"):
        file.read_bytes(4)


def test_a_listing_is_sorted_and_names_what_it_refuses(root: Path) -> None:
    for name in ("b.h5", "a.h5"):
        (root / name).write_bytes(b"")
    os.mkfifo(root / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        place = os.open(root, os.O_RDONLY)
        listener.bind(f"/proc/self/fd/{place}/socket")
        os.close(place)
    listing = list_files(root)
    assert [file.name for file in listing.files] == ["a.h5", "b.h5", "folder/a"]
    assert listing.refused == (
        ("fifo", "'fifo' is not a regular file."),
        *((name, f"'{name}' is a symbolic link; send the file itself.") for name in ("inner", "link", "linked")),
        ("socket", "'socket' is not a regular file."),
    )


def test_names_that_are_no_text_are_refused_not_raised(tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.h5")).write_bytes(b"")
    listing = list_files(tmp_path)
    assert listing.files == ()
    assert listing.refused == (("\\udcff.h5", "'\\udcff.h5' has unprintable characters in its name; rename it."),)


def test_macos_junk_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "__MACOSX").mkdir()
    for name in ("__MACOSX/a.h5", ".DS_Store", "._a.h5", "a.h5"):
        (tmp_path / name).write_bytes(b"")
    assert [file.name for file in list_files(tmp_path).files] == ["a.h5"]


def test_depth_is_bounded(tmp_path: Path) -> None:
    deepest_allowed = tmp_path.joinpath(*["d"] * 15)
    deepest_allowed.mkdir(parents=True)
    (deepest_allowed / "a").write_bytes(b"")
    assert len(list_files(tmp_path).files) == 1
    (deepest_allowed / "d").mkdir()
    with pytest.raises(SubmissionError, match="nested deeper than 16 folders"):
        list_files(tmp_path)


def test_the_number_of_entries_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_ENTRIES", 3)
    for name in ("a", "b", "c"):
        (tmp_path / name).write_bytes(b"")
    assert len(list_files(tmp_path).files) == 3
    (tmp_path / "d").mkdir()
    with pytest.raises(SubmissionError, match="more than 3 files and folders"):
        list_files(tmp_path)


def test_long_names_are_cut_in_the_middle() -> None:
    assert escape_for_display("a" * 200) == "a" * 200
    assert escape_for_display("a" * 150 + "b" * 150) == "a" * 100 + "..." + "b" * 100
    assert escape_for_display("a\x1b[31m\u202e") == "a\\x1b[31m\\u202e"


# Files are opened below their folder; no link is followed, also one that was put there after every check.


def step_by_step(root: Path, name: str) -> int:
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        return open_step_by_step(folder, name)
    finally:
        os.close(folder)


@pytest.fixture(params=[open_beneath, step_by_step])
def opened(request: pytest.FixtureRequest) -> Callable[[Path, str], int]:
    found: Callable[[Path, str], int] = request.param
    return found


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "outside").write_text("the truth")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "a").write_text("the truth")
    (tmp_path / "root" / "folder").mkdir(parents=True)
    (tmp_path / "root" / "folder" / "a").write_text("mine")
    (tmp_path / "root" / "link").symlink_to(tmp_path / "outside")
    (tmp_path / "root" / "linked").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "root" / "inner").symlink_to("folder")
    return tmp_path / "root"


def test_a_file_below_is_opened(opened: Callable[[Path, str], int], root: Path) -> None:
    with os.fdopen(opened(root, "folder/a"), "rb") as stream:
        assert stream.read() == b"mine"


@pytest.mark.parametrize(
    "name", ["link", "linked/a", "inner/a", "../outside", "folder/../../outside", "/etc/hostname", "missing"]
)
def test_what_leads_elsewhere_is_not_opened(opened: Callable[[Path, str], int], root: Path, name: str) -> None:
    with pytest.raises(OSError):  # noqa: PT011  (which one differs between kernels)
        opened(root, name)
