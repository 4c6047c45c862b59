"""Why streams are unpacked here: the libraries accept truncated files silently, and what they return is not the file's.

Each test reads one truncated file twice: by the library, which raises nothing, and by our reader, which refuses it.
Should a library refuse such a file one day, its reason for our own code is gone.
"""

import gzip
import io
import tarfile
import zlib
from pathlib import Path

import h5py
import numpy as np
import pytest
import SimpleITK
from readers.made import mha, nifti, safe, tar_bytes

from podium.errors import Refused, SubmissionError
from podium.readers.archives import extract_archive
from podium.readers.hdf5 import open_hdf5
from podium.readers.images import read_image

NOISE = np.random.default_rng(0).integers(0, 256, 24_000, dtype=np.uint8).tobytes()
NIFTI = nifti((40, 30, 20), pixels=NOISE)
CUT = zlib.compress(NOISE)[:-2000]
MHA = {"NDims": "3", "DimSize": "40 30 20", "TransformMatrix": None, "Offset": None, "ElementSpacing": "1 1 1"}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.nii", NIFTI[:-2000]),
        ("a.nii.gz", gzip.compress(NIFTI)[:-2000]),
        ("a.nii.gz", gzip.compress(NIFTI[:-2000])),
        ("a.mha", mha({**MHA, "CompressedData": "True", "CompressedDataSize": str(len(CUT))}, pixels=CUT)),
    ],
    ids=["nii", "nii.gz, the stream", "nii.gz, the pixels", "mha"],
)
def test_images_that_itk_accepts(tmp_path: Path, name: str, content: bytes) -> None:
    file = safe(tmp_path, name, content)
    found = SimpleITK.GetArrayFromImage(SimpleITK.ReadImage(str(file.path)))
    assert found.size == len(NOISE)
    assert found.tobytes() != NOISE
    with pytest.raises(Refused, match=r"ends too early|is truncated"):
        read_image(file)


def test_a_chunk_that_hdf5_accepts(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        dataset = file.create_dataset("x", (len(NOISE),), "u1", chunks=(len(NOISE),), compression="gzip")
        dataset.id.write_direct_chunk((0,), zlib.compress(NOISE[:-2000]))
    with h5py.File(tmp_path / "a.h5") as file:
        assert file["x"][:].tobytes() != NOISE
    safe_file = safe(tmp_path, "a.h5", (tmp_path / "a.h5").read_bytes())
    with open_hdf5(safe_file) as source, pytest.raises(Refused, match="holds fewer than"):
        source.read("x")


@pytest.mark.parametrize("packed", [False, True], ids=["tar", "tar.gz"])
def test_archives_that_tarfile_accepts(tmp_path: Path, *, packed: bool) -> None:
    content = tar_bytes({"a": bytes(5000), "b": bytes(5000)})[:6000]  # in the middle of the second header
    content = gzip.compress(content) if packed else content
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        assert archive.getnames() == ["a"]
    with pytest.raises(SubmissionError, match="ends too early"):
        extract_archive(safe(tmp_path, "s.tar", content), tmp_path / "out")
