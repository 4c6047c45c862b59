"""Each known way to hand in the hidden reference as one's own prediction, built for real against a real hidden file.

The tests first prove that the trick works with the bare library (where one is needed), then that the readers refuse
it without a word of the hidden content.
"""

import io
import struct
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
import SimpleITK
from readers.made import mha_header, nifti, safe

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
    with pytest.raises(Refused) as refusal:
        read_image(safe(submission, name, METAIMAGE_TRICKS[trick](hidden)))
    assert str(hidden) not in str(refusal.value)


@pytest.mark.parametrize("name", ["a.nrrd", "a.nhdr", "a.mha"])
def test_nrrd_with_a_data_file_is_refused(hidden: Path, submission: Path, name: str) -> None:
    header = f"NRRD0004\ntype: uint8\ndimension: 2\nsizes: 6 4\nencoding: raw\ndata file: {hidden}/mask.raw\n\n"
    file = safe(submission, name, header.encode())
    if name == "a.nhdr":
        assert read_by_the_bare_library(file.path) == SECRET.tolist()
    with pytest.raises(Refused, match=r"send \.mha"):
        read_image(file)


def test_a_nifti_pair_is_refused(submission: Path, hidden: Path) -> None:
    (submission / "a.img").symlink_to(hidden / "mask.raw")
    with pytest.raises(Refused, match="keeps its pixels in another file"):
        read_image(safe(submission, "a.nii", nifti((6, 4), magic=b"ni1\0", pixels=b"")))


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
            with pytest.raises(Refused) as refusal:
                look("long_mask")
            assert words in str(refusal.value)
            assert str(hidden) not in str(refusal.value)


def test_a_path_through_an_external_group_is_refused(hidden: Path, submission: Path) -> None:
    with h5py.File(submission / "a.h5", "w") as file:
        soft_link_through_an_external_group(file, hidden)
    with (
        open_hdf5(SafeFile.inside(submission, "a.h5")) as source,
        pytest.raises(Refused, match=r"'group' in 'a.h5' is an external link"),
    ):
        source.read("group/long_mask")


def tar_with(kind: bytes, target: str, name: str = "a.h5") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        member = tarfile.TarInfo(name)
        member.type, member.linkname = kind, target
        archive.addfile(member)
    return buffer.getvalue()


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE])
def test_links_in_tars_are_left_out(hidden: Path, submission: Path, tmp_path: Path, kind: bytes) -> None:
    file = safe(submission, "s.tar", tar_with(kind, str(hidden / "case_label.h5")))
    left_out = extract_archive(file, tmp_path / "out")
    assert left_out == (("a.h5", "'a.h5' is a link in 's.tar'; put the file itself into the archive."),)
    assert list((tmp_path / "out").iterdir()) == []


def test_links_in_zips_are_left_out(hidden: Path, submission: Path, tmp_path: Path) -> None:
    member = zipfile.ZipInfo("a.h5")
    member.create_system, member.external_attr = 3, 0o120777 << 16
    with zipfile.ZipFile(submission / "s.zip", "w") as archive:
        archive.writestr(member, str(hidden / "case_label.h5"))
    left_out = extract_archive(SafeFile.inside(submission, "s.zip"), tmp_path / "out")
    assert left_out == (("a.h5", "'a.h5' is a link in 's.zip'; put the file itself into the archive."),)
    assert list((tmp_path / "out").iterdir()) == []


def test_links_in_the_submission_are_refused(hidden: Path, submission: Path) -> None:
    (submission / "a.h5").symlink_to(hidden / "case_label.h5")
    with pytest.raises(Refused, match=r"'a.h5' is a symbolic link or is reached through one"):
        SafeFile.inside(submission, "a.h5")


def test_pickled_numpy_files_are_not_images(submission: Path) -> None:
    np.save(submission / "a.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(Refused, match=r"'a.npy' is a numpy file, which is not accepted"):
        read_image(SafeFile.inside(submission, "a.npy"))


def test_memory_that_held_a_reference_is_not_handed_out(submission: Path) -> None:
    """The library leaves what a short stream does not fill; on a used heap that is what was read before."""
    packed = struct.pack(">BBH", 0x78, 0x01, 0)[:2] + b"\x03\x00" + b"\x00\x00\x00\x01"  # an empty zlib stream
    header = {"CompressedData": "True", "CompressedDataSize": str(len(packed)), "DimSize": "300 300"}
    with pytest.raises(Refused, match="unpacks to 0 bytes of pixels, but its header declares 90,000"):
        read_image(safe(submission, "a.mha", mha_header(header) + packed))
