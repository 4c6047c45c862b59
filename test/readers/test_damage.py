"""Random damage: whatever bytes come, a reader answers with values or with a refusal, never with another error."""

import gzip
import io
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import h5py
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from properties import examples
from readers.made import PIXELS, header_of, mha, nifti, png, safe, tar_bytes, tiff, zip_bytes

from podium.errors import Refused, SubmissionError
from podium.readers.archives import extract_archive
from podium.readers.files import SafeFile
from podium.readers.hdf5 import open_hdf5
from podium.readers.images import read_image
from podium.readers.text import parse_json

FILES = {
    "a.mha": mha(),
    "a.nii": nifti(),
    "a.nii.gz": gzip.compress(nifti()),
    "a.tif": tiff({}, {}),
    "a.png": png(),
}

Damage = list[tuple[float, int]]
damages = st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=8)


def damaged(content: bytes, damage: Damage) -> bytes:
    changed = bytearray(content)
    for place, value in damage:
        changed[int(place * len(changed))] = value
    return bytes(changed)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("damage")


def refused_or_read(read: Callable[[], object]) -> None:
    sentence = "Read."
    try:
        read()
    except (Refused, SubmissionError) as refusal:
        sentence = str(refusal)
    assert sentence.endswith(".")
    assert sentence.isprintable()


@pytest.mark.parametrize("name", [*FILES, "a.h5", "a.json"])
@examples(15)
@given(content=st.binary(max_size=600))
@example(content=b"ObjectType = Image\n")
@example(content=b"\x89PNG\r\n\x1a\n" + bytes(40))
@example(content=b"II*\0\x08\0\0\0\xff\xff")
@example(content=b"\x5c\x01\0\0" + bytes(400))
@example(content=b"\x89HDF\r\n\x1a\n" + bytes(600))
def test_random_bytes(folder: Path, name: str, content: bytes) -> None:
    file = safe(folder, name, content)
    if name == "a.h5":
        refused_or_read(lambda: read_hdf5(file))
    elif name == "a.json":
        refused_or_read(lambda: parse_json(content, name=name))
    else:
        refused_or_read(lambda: read_image(file))
        refused_or_read(lambda: header_of(file))


@pytest.mark.parametrize("name", FILES)
@examples(25)
@given(damage=damages)
def test_damaged_images(folder: Path, name: str, damage: Damage) -> None:
    file = safe(folder, name, damaged(FILES[name], damage))
    refused_or_read(lambda: read_image(file, max_bytes=1_000_000))


@examples(25)
@given(damage=damages)
def test_damaged_nifti_headers_inside_gzip(folder: Path, damage: Damage) -> None:
    file = safe(folder, "a.nii.gz", gzip.compress(damaged(nifti(), damage)))
    refused_or_read(lambda: read_image(file, max_bytes=1_000_000))


HIDDEN = bytes([77]) * 200
DATA_KEYS = ["ElementDataFile", "elementDataFile", " ElementDataFile", "ElementDataFile ", "HeaderSize"]
OTHER_KEYS = ["DimSize", "NDims", "ElementType", "CompressedData", "ElementNumberOfChannels", "BinaryData", "Key"]
DATA_VALUES = ["LOCAL", "Local", "LIST", "hidden.raw", "%s.raw 1 2 1", "-1", ""]
OTHER_VALUES = ["2", "6 4", "12 2", "MET_UCHAR", "True"]
LINES = st.builds(
    "{}{}{}".format,
    st.sampled_from(DATA_KEYS + OTHER_KEYS),
    st.sampled_from([" = ", "=", " : ", " =", " =\r"]),
    st.sampled_from(DATA_VALUES + OTHER_VALUES),
)
Edit = tuple[str, int, str]
EDITS = st.lists(st.tuples(st.sampled_from(["insert", "replace", "delete", "swap", "join"]), st.integers(0, 20), LINES))


def edited(content: bytes, edits: list[Edit]) -> bytes:
    header, pixels = content[: -len(PIXELS)].decode(), content[-len(PIXELS) :]
    lines = header.split("\n")[:-1]
    for verb, position, line in edits:
        place = position % max(len(lines), 1)
        if verb == "insert" or not lines:
            lines.insert(place, line)
        elif verb == "replace":
            lines[place] = line
        elif verb == "delete":
            del lines[place]
        elif verb == "swap":
            lines[place], lines[0] = lines[0], lines[place]
        else:
            lines[place] += line
    return ("\n".join(lines) + "\n").encode() + pixels


@examples(100)
@given(edits=EDITS)
@example(edits=[("insert", 9, "ElementDataFile = hidden.raw")])
@example(edits=[])
def test_edited_metaimage_headers_show_their_own_pixels_or_none(folder: Path, edits: list[Edit]) -> None:
    (folder / "hidden.raw").write_bytes(HIDDEN)
    file = safe(folder, "a.mha", edited(mha(), edits))
    try:
        image = read_image(file, max_bytes=1_000_000)
    except Refused:
        assert edits, "the unedited header must pass"
    else:
        assert image.array.tobytes() == PIXELS


def hdf5_bytes() -> bytes:
    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        file.create_dataset("x", data=np.arange(400, dtype=np.uint8).reshape(20, 20), chunks=(7, 7), compression="gzip")
        file["y"] = np.arange(10)
    return buffer.getvalue()


def read_hdf5(file: SafeFile) -> None:
    with open_hdf5(file) as source:
        for name in source.names():
            refused_or_read(lambda name=name: source.read(name, max_bytes=1_000_000))  # type: ignore[misc]


# The same examples every time: a file that breaks the library itself ends its process (the runner contains that), and
# must not end other people's test runs by chance.
@settings(derandomize=True, max_examples=40)
@given(damage=damages)
def test_damaged_hdf5(folder: Path, damage: Damage) -> None:
    file = safe(folder, "a.h5", damaged(hdf5_bytes(), damage))
    refused_or_read(lambda: read_hdf5(file))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.zip", zip_bytes({"a": b"abc" * 50, "b/c": b"", "d": b"x"})),
        ("a.tar", tar_bytes({"a": b"abc" * 50, "b/" + "c" * 120: b"", "d": b"x"})),
        ("a.tgz", gzip.compress(tar_bytes({"a": b"abc" * 50}))),
    ],
    ids=["zip", "tar", "tgz"],
)
@examples(25)
@given(damage=damages)
def test_damaged_archives_stay_in_their_folder(folder: Path, name: str, content: bytes, damage: Damage) -> None:
    out = folder / uuid4().hex / "out"
    file = safe(folder, name, damaged(content, damage))
    refused_or_read(lambda: extract_archive(file, out))
    if out.exists():
        assert list(out.parent.iterdir()) == [out]
        assert not any(path.is_symlink() for path in out.rglob("*"))
