"""Each known way to hand in the hidden reference as one's own prediction, built for real against a real hidden file.

The tests first prove that the trick works with the bare library (where one is needed), then that the readers refuse
it without a word of the hidden content.
"""

import io
import tarfile
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import h5py
import numpy as np
import pytest
import SimpleITK
from readers.made import mha_header, refusal, safe

from podium.errors import Refused
from podium.readers.archives import extract_archive
from podium.readers.files import SafeFile
from podium.readers.hdf5 import open_hdf5
from podium.readers.images import read_image

SECRET = np.full((4, 6), 77, np.uint8)


@pytest.fixture
def hidden(tmp_path: Path) -> Path:
    folder = tmp_path / "ground-truth"
    folder.mkdir()
    (folder / "mask.raw").write_bytes(SECRET.tobytes())
    SimpleITK.WriteImage(SimpleITK.GetImageFromArray(SECRET), str(folder / "mask.mha"))
    with h5py.File(folder / "case_label.h5", "w") as file:
        file["long_mask"] = SECRET
    return folder


@pytest.fixture
def submission(tmp_path: Path) -> Path:
    folder = tmp_path / "input"
    folder.mkdir()
    return folder


def read_by_the_bare_library(path: Path) -> list[list[int]]:
    values: list[list[int]] = SimpleITK.GetArrayFromImage(SimpleITK.ReadImage(str(path))).tolist()
    return values


METAIMAGE_TRICKS: dict[str, Callable[[Path], bytes]] = {
    "another file": lambda hidden: mha_header({"ElementDataFile": str(hidden / "mask.raw")}),
    "another file's end": lambda hidden: mha_header({"HeaderSize": "-1", "ElementDataFile": str(hidden / "mask.mha")}),
    "a list of files": lambda hidden: mha_header({"ElementDataFile": "LIST"}) + bytes(hidden / "mask.raw") + b"\n",
}


@pytest.mark.parametrize("trick", ["another file", "another file's end"])
def test_metaimage_tricks_work_on_the_bare_library(hidden: Path, submission: Path, trick: str) -> None:
    file = safe(submission, "a.mha", METAIMAGE_TRICKS[trick](hidden))
    assert read_by_the_bare_library(file.path) == SECRET.tolist()


@pytest.mark.parametrize("trick", METAIMAGE_TRICKS)
@pytest.mark.parametrize("name", ["a.mha", "a.mhd", "a.nii", "a.png"])
def test_metaimage_tricks_are_refused(hidden: Path, submission: Path, trick: str, name: str) -> None:
    assert str(hidden) not in refusal(read_image, safe(submission, name, METAIMAGE_TRICKS[trick](hidden)))


@pytest.mark.parametrize("name", ["a.nrrd", "a.nhdr", "a.mha"])
def test_nrrd_with_a_data_file_is_refused(hidden: Path, submission: Path, name: str) -> None:
    header = f"NRRD0004\ntype: uint8\ndimension: 2\nsizes: 6 4\nencoding: raw\ndata file: {hidden}/mask.raw\n\n"
    file = safe(submission, name, header.encode())
    if name == "a.nhdr":
        assert read_by_the_bare_library(file.path) == SECRET.tolist()
    with pytest.raises(Refused, match=r"send \.mha"):
        read_image(file)


def external_link(file: h5py.File, hidden: Path) -> None:
    file["long_mask"] = h5py.ExternalLink(str(hidden / "case_label.h5"), "/long_mask")


def soft_link_through_an_external_group(file: h5py.File, hidden: Path) -> None:
    file["group"] = h5py.ExternalLink(str(hidden / "case_label.h5"), "/")
    file["long_mask"] = h5py.SoftLink("/group/long_mask")


def external_storage(file: h5py.File, hidden: Path) -> None:
    file.create_dataset("long_mask", (4, 6), "u1", external=[(str(hidden / "mask.raw"), 0, 24)])


def virtual_dataset(file: h5py.File, hidden: Path) -> None:
    layout = h5py.VirtualLayout((4, 6), "u1")
    layout[...] = h5py.VirtualSource(str(hidden / "case_label.h5"), "long_mask", (4, 6))
    file.create_virtual_dataset("long_mask", layout)


@pytest.mark.parametrize(
    ("trick", "words"),
    [
        (external_link, "'long_mask' in 'a.h5' is an external link; store the dataset itself."),
        (soft_link_through_an_external_group, "'long_mask' in 'a.h5' is a soft link; store the dataset itself."),
        (external_storage, "'long_mask' in 'a.h5' keeps its values in another file (external storage)"),
        (virtual_dataset, "'long_mask' in 'a.h5' is a virtual dataset; store the values themselves."),
    ],
)
def test_hdf5_tricks_work_on_the_bare_library_and_are_refused(
    hidden: Path, submission: Path, trick: Callable[[h5py.File, Path], None], words: str
) -> None:
    with h5py.File(submission / "a.h5", "w") as file:
        trick(file, hidden)
    with h5py.File(submission / "a.h5") as file:
        assert file["long_mask"][...].tolist() == SECRET.tolist()
    with open_hdf5(SafeFile.inside(submission, "a.h5")) as source:
        for look in (source.read, source.shape):
            assert words in refusal(look, "long_mask")
            assert str(hidden) not in refusal(look, "long_mask")


def test_a_path_through_an_external_group_is_refused(hidden: Path, submission: Path) -> None:
    with h5py.File(submission / "a.h5", "w") as file:
        soft_link_through_an_external_group(file, hidden)
    with (
        open_hdf5(SafeFile.inside(submission, "a.h5")) as source,
        pytest.raises(Refused, match=r"'group' in 'a.h5' is an external link"),
    ):
        source.read("group/long_mask")


def tar_with(kind: bytes, target: str) -> bytes:
    member = tarfile.TarInfo("a.h5")
    member.type, member.linkname = kind, target
    return member.tobuf() + bytes(1024)


def zip_with_link(target: str) -> bytes:
    member = zipfile.ZipInfo("a.h5")
    member.create_system, member.external_attr = 3, 0o120777 << 16
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(member, target)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "packed", [partial(tar_with, tarfile.SYMTYPE), partial(tar_with, tarfile.LNKTYPE), zip_with_link]
)
def test_links_in_archives_are_left_out(
    hidden: Path, submission: Path, tmp_path: Path, packed: Callable[[str], bytes]
) -> None:
    file = safe(submission, "s.archive", packed(str(hidden / "case_label.h5")))
    left_out = extract_archive(file, tmp_path / "out")
    assert left_out == (("a.h5", "'a.h5' is a link in 's.archive'; put the file itself into the archive."),)
    assert list((tmp_path / "out").iterdir()) == []
