"""Arrays in .npy and .npz files: plain numbers of the expected shape, everything else refused in words."""

import io
import os
import zipfile
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from numpy.typing import NDArray
from readers import made
from readers.made import safe, zip_bytes

from podium.readers.files import SafeFile
from podium.readers.formats.arrays import MAX_ARRAY_BYTES, NpyFiles, open_npz
from podium.readers.hdf5 import open_hdf5

VALUES = np.arange(120, dtype=np.float32).reshape(2, 3, 20)
MARKS = np.arange(12, dtype=np.float64).reshape(3, 4)
FORMS = ["npy", "npz", "h5"]


def npy_bytes(values: NDArray[Any]) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, values)
    return buffer.getvalue()


def read_all(source: Any, shape: tuple[int, ...] | None) -> NDArray[Any]:
    """`x` as a stream of frames where a field is expected, else as a whole."""
    if shape is None or len(shape) != 3:
        values: NDArray[Any] = source.read("x", shape=shape)
        return values
    stream = source.frames("x", shape=shape)
    frames = [tile.values.copy() for span in stream.spans() for tile in stream.tiles(span)]
    stream.finish()
    return np.stack(frames)


def read(file: SafeFile, shape: tuple[int, ...] | None = None, *, max_bytes: int = 10_000_000) -> NDArray[Any]:
    if file.name.endswith(".npy"):
        return read_all(NpyFiles({"x": file}), shape)
    with open_hdf5(file) if file.name.endswith(".h5") else open_npz(file, max_bytes=max_bytes) as source:
        return read_all(source, shape)


refusal = partial(made.refusal, read)


def written(folder: Path, form: str, values: NDArray[Any]) -> tuple[SafeFile, str]:
    """A file of that form that holds `values` as `x`, and how the array is called in messages."""
    if form == "h5":
        with h5py.File(folder / "a.h5", "w") as file:
            file["x"] = values
        return SafeFile.inside(folder, "a.h5"), "'x' in 'a.h5'"
    if form == "npy":
        return safe(folder, "x.npy", npy_bytes(values)), "'x.npy'"
    return safe(folder, "a.npz", zip_bytes({"x.npy": npy_bytes(values)})), "'x' in 'a.npz'"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("values", [VALUES, MARKS, MARKS.astype(">i2"), np.asfortranarray(MARKS)], ids=range(4))
def test_arrays_are_read(tmp_path: Path, form: str, values: NDArray[Any]) -> None:
    file, _ = written(tmp_path, form, values)
    assert np.array_equal(read(file, values.shape), values)
    assert np.array_equal(read(file), values)


WRONG_SHAPES: list[tuple[NDArray[Any], tuple[int, ...], str]] = [
    (VALUES[:1], (2, 3, 20), "is 1 x 3 x 20, expected 2 x 3 x 20."),
    (VALUES[:1, :1, :1], (2, 3, 20), "is 1 x 1 x 1, expected 2 x 3 x 20."),
    (VALUES[0], (2, 3, 20), "is 3 x 20, expected 2 x 3 x 20."),
    (VALUES[:, :, :1].copy(), (2, 3, 20), "is 2 x 3 x 1, expected 2 x 3 x 20."),
    (np.array(0.0), (2, 3, 20), "is a single value, expected 2 x 3 x 20."),
    (
        VALUES.transpose(0, 2, 1).copy(),
        (2, 3, 20),
        "is 2 x 20 x 3, expected 2 x 3 x 20; the axes are (frame, component, pixel): swap them.",
    ),
    (
        np.concatenate([VALUES, VALUES[:1]]),
        (2, 3, 20),
        "is 3 x 3 x 20, expected 2 x 3 x 20; the first frame has no displacement: leave it out.",
    ),
    (
        VALUES.reshape(2, 3, 4, 5),
        (2, 3, 20),
        "is 2 x 3 x 4 x 5, expected 2 x 3 x 20; flatten the rows and columns of each frame, columns fastest.",
    ),
]
WRONG_MARKS: list[tuple[NDArray[Any], tuple[int, ...], str]] = [
    (MARKS.T.copy(), (3, 4), "is 4 x 3, expected 3 x 4; the axes are (component, landmark): swap them."),
    (MARKS[:, :1].copy(), (3, 4), "is 3 x 1, expected 3 x 4."),
]


@pytest.mark.parametrize(
    ("values", "shape", "words", "form"),
    [
        *[(*row, form) for row in WRONG_SHAPES for form in FORMS],
        *[(*row, form) for row in WRONG_MARKS for form in ("npy", "npz")],
    ],
)
def test_wrong_shapes(tmp_path: Path, values: NDArray[Any], shape: tuple[int, ...], words: str, form: str) -> None:
    file, label = written(tmp_path, form, values)
    assert refusal(file, shape) == f"{label} {words}"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (VALUES.astype(object), "holds Python objects (dtype object); store plain numbers, such as float32."),
        (VALUES.astype(complex), "holds complex numbers; store plain numbers, such as float32."),
        (VALUES > 0, "holds booleans; store plain numbers, such as float32."),
        (VALUES.astype("U5"), "holds no numbers; store plain numbers, such as float32."),
        (np.zeros(3, [("a", "f4"), ("b", "f4")]), "holds records; store plain numbers, such as float32."),
        (VALUES.astype(np.longdouble), "holds numbers of 16 bytes; store at most 8."),
        (np.zeros((0, 3)), "is empty."),
    ],
    ids=["objects", "complex", "booleans", "text", "records", "long", "empty"],
)
@pytest.mark.parametrize("form", ["npy", "npz"])
def test_values_that_are_no_plain_numbers(tmp_path: Path, values: NDArray[Any], words: str, form: str) -> None:
    file, label = written(tmp_path, form, values)
    assert refusal(file) == f"{label} {words}"
    assert refusal(file, (2, 3, 20)) == f"{label} {words}"


def test_a_pickle_is_never_opened(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return os.mkdir, (str(tmp_path / "opened"),)

    for form in ("npy", "npz"):
        file, label = written(tmp_path, form, np.array([Trap()], dtype=object))
        words = "holds Python objects (dtype object); store plain numbers, such as float32."
        assert refusal(file) == f"{label} {words}"
    assert not (tmp_path / "opened").exists()


@pytest.mark.parametrize("form", ["npy", "npz"])
def test_a_field_in_fortran_order_cannot_be_streamed(tmp_path: Path, form: str) -> None:
    file, label = written(tmp_path, form, np.asfortranarray(VALUES))
    assert refusal(file, VALUES.shape) == f"{label} is stored in Fortran order; save np.ascontiguousarray of it."


@pytest.mark.parametrize("shape", [None, VALUES.shape])
def test_a_truncated_npy(tmp_path: Path, shape: tuple[int, ...] | None) -> None:
    file = safe(tmp_path, "x.npy", npy_bytes(VALUES)[:-1])
    assert refusal(file, shape) == "'x.npy' is truncated: the file ends before its last value."


def header_bytes(header: bytes, *, version: bytes = b"\x01\x00") -> bytes:
    return b"\x93NUMPY" + version + len(header).to_bytes(2, "little") + header


PLAIN = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, 20)}"
DAMAGED = "'x.npy' has a damaged header; save it again with numpy.save."


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "'x.npy' is not a NumPy array (.npy)."),
        (b"\x93NUMPX\x01\x00", "'x.npy' is not a NumPy array (.npy)."),
        (header_bytes(PLAIN, version=b"\x09\x00"), "'x.npy' is of an unknown version of NumPy's format."),
        (b"\x93NUMPY\x01\x00\x05", DAMAGED),
        (header_bytes(PLAIN)[:-1], DAMAGED),
        (header_bytes(b" " * 10_001), "'x.npy' has a header of 10,001 bytes; at most 10,000 are read."),
        (header_bytes(PLAIN[:-1]), DAMAGED),
        (header_bytes(b"__import__('os').system('true')"), DAMAGED),
        (header_bytes(b"[" * 5_000), DAMAGED),
        (header_bytes(PLAIN.replace(b"False", b"0")), DAMAGED),
        (header_bytes(PLAIN.replace(b"20", b"True")), DAMAGED),
        (header_bytes(PLAIN.replace(b"3", b"-3")), DAMAGED),
        (header_bytes(PLAIN.replace(b"<f4", b"<f99")), DAMAGED),
        (
            header_bytes(PLAIN.replace(b"20", b"20000000")),
            f"'x.npy' has 480,000,000 bytes; at most {MAX_ARRAY_BYTES:,} are read.",
        ),
        (header_bytes(PLAIN.replace(b"20", b"9" * 4_000)), "'x.npy' declares an impossibly large array."),
        (header_bytes(PLAIN.replace(b"20", b"9" * 5_000)), DAMAGED),
        (
            header_bytes(PLAIN.replace(b"20", b"9" * 4_000 + b", " + b"9" * 4_000)),
            "'x.npy' declares an impossibly large array.",
        ),
    ],
    ids=range(17),
)
def test_headers_are_refused_in_words(tmp_path: Path, content: bytes, words: str) -> None:
    assert refusal(safe(tmp_path, "x.npy", content + bytes(480 if content.endswith(b"}") else 0))) == words


def test_an_incomplete_npz(tmp_path: Path) -> None:
    content = zip_bytes({"x.npy": npy_bytes(VALUES)})
    file = safe(tmp_path, "a.npz", content[: len(content) * 2 // 3])
    assert refusal(file) == "'a.npz' is a damaged or incomplete zip archive; pack it again."


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        (VALUES.shape, "'x' in 'a.npz' is damaged: its checksum is wrong."),
        (None, "'x.npy' in 'a.npz' is damaged; pack it again."),
    ],
)
def test_a_flipped_bit_in_a_stored_npz(tmp_path: Path, shape: tuple[int, ...] | None, words: str) -> None:
    content = bytearray(zip_bytes({"x.npy": npy_bytes(VALUES)}, zipfile.ZIP_STORED))
    content[400] ^= 1
    assert refusal(safe(tmp_path, "a.npz", bytes(content)), shape) == words


@pytest.mark.parametrize("shape", [None, VALUES.shape])
def test_a_flipped_bit_in_a_deflated_npz(tmp_path: Path, shape: tuple[int, ...] | None) -> None:
    content = bytearray(zip_bytes({"x.npy": npy_bytes(VALUES)}))
    content[200] ^= 1
    assert refusal(safe(tmp_path, "a.npz", bytes(content)), shape).startswith(
        ("'x' in 'a.npz' ", "'x.npy' in 'a.npz' ")
    )


@pytest.mark.parametrize("extra", [1, -1])
def test_an_npz_that_holds_another_size_than_its_header_declares(tmp_path: Path, extra: int) -> None:
    file = safe(tmp_path, "a.npz", zip_bytes({"x.npy": header_bytes(PLAIN) + bytes(480 + extra)}))
    words = f"'x' in 'a.npz' has {480 + extra} bytes of values, but its header declares 480."
    assert refusal(file) == refusal(file, VALUES.shape) == words


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"x.npy": npy_bytes(VALUES), "y.npy": bytes(10_000)}, "unpacks to more than 10,000 bytes."),
        ({f"{number}.npy": b"" for number in range(101)}, "holds more than 100 files."),
        ({"a/x.npy": b"", "b/x.npy": b""}, "holds two arrays 'x'."),
    ],
    ids=["bytes", "members", "one name twice"],
)
def test_the_members_of_an_npz_are_bounded(tmp_path: Path, members: dict[str, bytes], words: str) -> None:
    assert refusal(safe(tmp_path, "a.npz", zip_bytes(members)), max_bytes=10_000) == f"'a.npz' {words}"


def test_what_is_no_array_is_passed_over(tmp_path: Path) -> None:
    members = {"deep/x.npy": npy_bytes(MARKS), "__MACOSX/x.npy": b"", "notes.txt": b""}
    with open_npz(safe(tmp_path, "a.npz", zip_bytes(members)), max_bytes=10_000) as source:
        assert source.names() == ("x",)
        assert source.shape("x") == (3, 4)
        assert source.has("x")
        assert not source.has("notes")
