"""HDF5: plain local numbers in, everything else refused in words."""

import struct
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from numpy.typing import NDArray
from readers import made

from podium.readers import hdf5, hdf5_storage
from podium.readers.files import SafeFile
from podium.readers.hdf5 import open_hdf5

VALUES = np.arange(2400, dtype=np.uint16).reshape(60, 40) // 7
OTHER_TYPE = "'x' in 'a.h5' holds values of the HDF5 type"
FILTER = "'x' in 'a.h5' uses the filter"
TWICE = "'x' in 'a.h5' is compressed twice or before it is shuffled"


def written(folder: Path, write: Callable[[h5py.File], object]) -> SafeFile:
    with h5py.File(folder / "a.h5", "w") as file:
        write(file)
    return SafeFile.inside(folder, "a.h5")


def read(file: SafeFile, name: str = "x", **options: Any) -> NDArray[Any]:
    with open_hdf5(file) as source:
        return source.read(name, **options)


refusal = partial(made.refusal, read)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"chunks": (7, 11)},
        {"chunks": (7, 11), "compression": "gzip"},
        {"chunks": (7, 11), "compression": "gzip", "shuffle": True},
        {"chunks": (7, 11), "shuffle": True},
        {"chunks": True, "maxshape": (None, None)},
    ],
)
def test_plain_storage_is_read(tmp_path: Path, options: dict[str, Any]) -> None:
    file = written(tmp_path, lambda h5: h5.create_dataset("x", data=VALUES, **options))
    assert (read(file, shape=(60, 40)) == VALUES).all()


def test_a_chunk_whose_filter_was_skipped_is_read(tmp_path: Path) -> None:
    def write(h5: h5py.File) -> None:
        h5.create_dataset("x", (4,), "u1", chunks=(2,), compression="gzip")[:] = 7
        h5["x"].id.write_direct_chunk((2,), bytes([1, 2]), filter_mask=1)

    assert read(written(tmp_path, write)).tolist() == [7, 7, 1, 2]


def test_a_block_before_the_signature_is_skipped(tmp_path: Path) -> None:
    """As MATLAB writes it: all offsets in the file are meant from its start."""
    with h5py.File(tmp_path / "a.h5", "w", userblock_size=512) as h5:
        h5["x"] = VALUES
        h5.create_dataset("y", data=VALUES, chunks=(7, 11), compression="gzip")
    file = SafeFile.inside(tmp_path, "a.h5")
    assert (read(file, "x") == VALUES).all()
    assert (read(file, "y") == VALUES).all()


@pytest.mark.parametrize("kind", ["?", "i1", ">i4", "<u8", "f2", ">f4", "f8"])
def test_numbers_come_in_the_machines_byte_order(tmp_path: Path, kind: str) -> None:
    values = read(written(tmp_path, lambda h5: h5.create_dataset("x", data=np.array([0, 1, 1]).astype(kind))))
    assert values.tolist() == [0, 1, 1]
    assert values.dtype == np.dtype(kind).newbyteorder("=")


def test_a_single_value_is_an_array_without_axes(tmp_path: Path) -> None:
    file = written(tmp_path, lambda h5: h5.create_dataset("x", data=3))
    assert read(file).shape == ()
    assert read(file).item() == 3


def test_compact_storage_is_read(tmp_path: Path) -> None:
    def write(h5: h5py.File) -> None:
        plan = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plan.set_layout(h5py.h5d.COMPACT)
        space = h5py.h5s.create_simple((4,))
        h5py.h5d.create(h5.id, b"x", h5py.h5t.STD_U8LE, space, plan).write(
            h5py.h5s.ALL, h5py.h5s.ALL, np.array([1, 2, 3, 4], np.uint8)
        )

    assert read(written(tmp_path, write)).tolist() == [1, 2, 3, 4]


def test_what_was_never_written_is_the_fill_value(tmp_path: Path) -> None:
    def write(h5: h5py.File) -> None:
        h5.create_dataset("x", (4,), "u1", fillvalue=9)
        h5.create_dataset("y", (4,), "u1", chunks=(2,), fillvalue=9)[:2] = 1

    file = written(tmp_path, write)
    assert read(file, "x").tolist() == [9, 9, 9, 9]
    assert read(file, "y").tolist() == [1, 1, 9, 9]


@pytest.mark.parametrize("chunks", [None, (2,)])
def test_what_was_never_written_must_have_a_fill_value(tmp_path: Path, chunks: tuple[int] | None) -> None:
    def write(h5: h5py.File) -> None:
        h5.create_dataset("x", (4,), "u1", chunks=chunks, fill_time="never")

    assert refusal(written(tmp_path, write)) == "'x' in 'a.h5' was not written completely and has no fill value."


def test_names_has_and_shape_look_from_outside(tmp_path: Path) -> None:
    def write(h5: h5py.File) -> None:
        h5["b"] = VALUES
        h5["a"] = 1
        h5["g/c"] = [1, 2]
        h5["soft"] = h5py.SoftLink("/b")

    with open_hdf5(written(tmp_path, write)) as source:
        assert source.names() == ("a", "b")
        assert source.has("b")
        assert not source.has("z")
        assert source.shape("b") == (60, 40)
        assert source.shape("g/c") == (2,)


def test_shapes_are_checked_before_anything_is_read(tmp_path: Path) -> None:
    file = written(tmp_path, lambda h5: h5.create_dataset("x", (100, 90), "u1"))
    assert refusal(file, shape=(96, 128)) == "'x' in 'a.h5' has the shape (100, 90), expected (96, 128)."
    assert refusal(file, shape=(9000,)) == "'x' in 'a.h5' has the shape (100, 90), expected (9000,)."
    assert refusal(file, shape=(90, 100)).endswith(": your axes are reversed: transpose before saving.")
    assert refusal(file, max_bytes=8999) == "'x' in 'a.h5' has 9,000 bytes; at most 8,999 are read."
    assert read(file, max_bytes=9000).shape == (100, 90)


def test_a_huge_declared_dataset_is_not_allocated(tmp_path: Path) -> None:
    file = written(tmp_path, lambda h5: h5.create_dataset("x", (1 << 20, 1 << 20), "f8", chunks=(64, 64)))
    assert "at most 2,147,483,648 are read" in refusal(file)


def filtered(h5: h5py.File, *filters: int, chunk: tuple[int, ...] = (60, 40)) -> Any:
    plan = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plan.set_chunk(chunk)
    for code in filters:
        plan.set_filter(code, h5py.h5z.FLAG_OPTIONAL, (4,) if code == 1 else ())
    return h5py.h5d.create(h5.id, b"x", h5py.h5t.STD_U8LE, h5py.h5s.create_simple((60, 40)), plan)


def unusual_float(h5: h5py.File) -> None:
    """A 32-bit float with its exponent moved: the raw bytes would mean something else."""
    kind = h5py.h5t.IEEE_F32LE.copy()
    kind.set_fields(31, 22, 9, 0, 22)
    kind.set_ebias(255)
    h5py.h5d.create(h5.id, b"x", kind, h5py.h5s.create_simple((2,)))


def dataset(*arguments: Any, **options: Any) -> Callable[[h5py.File], object]:
    return lambda h5: h5.create_dataset("x", *arguments, **options)


REFUSED: dict[str, tuple[Callable[[h5py.File], object], str]] = {
    "missing": (lambda h5: h5.update({"y": 1, "z": 2}), "'a.h5' has no dataset 'x'; it holds: y and z."),
    "nothing": (lambda _: None, "'a.h5' has no dataset 'x'; it holds: no dataset."),
    "a group": (lambda h5: h5.update({"x/y": 1}), "'x' in 'a.h5' is not a dataset."),
    "no values": (dataset(data=h5py.Empty("f4")), "'x' in 'a.h5' is empty."),
    "no rows": (dataset(data=np.zeros((0, 4))), "'x' in 'a.h5' is empty."),
    "no columns": (dataset(data=np.zeros((3, 0))), "'x' in 'a.h5' is empty."),
    "text": (dataset(data="text"), f"{OTHER_TYPE} 'string'; store plain numbers."),
    "bytes": (dataset(data=np.array([b"abc"])), f"{OTHER_TYPE} 'string'; store plain numbers."),
    "records": (dataset(data=np.zeros(2, [("a", "i4")])), f"{OTHER_TYPE} 'compound'; store plain numbers."),
    "complex": (dataset(data=np.zeros(2, complex)), f"{OTHER_TYPE} 'compound'; store plain numbers."),
    "lists": (dataset((2,), h5py.vlen_dtype("i4")), f"{OTHER_TYPE} 'vlen'; store plain numbers."),
    "opaque": (dataset(data=np.zeros(2, "V5")), f"{OTHER_TYPE} 'opaque'; store plain numbers."),
    "names": (dataset((2,), h5py.enum_dtype({"A": 0, "B": 1}, "u1")), f"{OTHER_TYPE} 'enum'; store plain numbers."),
    "references": (dataset((2,), h5py.ref_dtype), f"{OTHER_TYPE} 'reference'; store plain numbers."),
    "arrays": (dataset((2,), np.dtype(("i4", (3,)))), f"{OTHER_TYPE} 'array'; store plain numbers."),
    "wide": (dataset(data=np.zeros(2, np.longdouble)), "'x' in 'a.h5' holds numbers of 16 bytes; store at most 8."),
    "unusual float": (
        unusual_float,
        "'x' in 'a.h5' holds numbers of an unusual format; store float32, float64 or plain integers.",
    ),
    "wrong booleans": (
        dataset(data=np.array([0, 1, 7], np.uint8).view(np.bool_)),
        "'x' in 'a.h5' holds booleans that are neither true nor false.",
    ),
    "other filter": (lambda h5: filtered(h5, 32015), f"{FILTER} 32015 (''); save it with gzip or without."),
    "offset": (dataset(data=VALUES, scaleoffset=0), f"{FILTER} 6 ('scaleoffset'); save it with gzip or without."),
    "LZF": (dataset(data=VALUES, compression="lzf"), f"{FILTER} 32000 ('lzf'); save it with gzip or without."),
    "checksum": (dataset(data=VALUES, fletcher32=True), f"{FILTER} 3 ('fletcher32'); save it with gzip or without."),
    "packed twice": (lambda h5: filtered(h5, 1, 1), f"{TWICE}; save it with gzip or without."),
    "packed first": (lambda h5: filtered(h5, 1, 2), f"{TWICE}; save it with gzip or without."),
}


@pytest.mark.parametrize("fault", REFUSED)
def test_datasets_are_refused_in_words(tmp_path: Path, fault: str) -> None:
    write, words = REFUSED[fault]
    assert refusal(written(tmp_path, write)) == words


def test_datasets_are_no_groups(tmp_path: Path) -> None:
    file = written(tmp_path, lambda h5: h5.update({"x/y": 1}))
    assert refusal(file, "x/y/z") == "'x/y' in 'a.h5' is not a group."


@pytest.mark.parametrize(
    ("stored", "words"),
    [
        (zlib.compress(bytes(4_000_000)), "A chunk of 'x' in 'a.h5' stores more than its 2,400 bytes."),
        (zlib.compress(bytes(2_000_000)), "A chunk of 'x' in 'a.h5' unpacks to more than its 2,400 bytes."),
        (zlib.compress(bytes(2401)), "A chunk of 'x' in 'a.h5' unpacks to more than its 2,400 bytes."),
        (zlib.compress(bytes(2399)), "A chunk of 'x' in 'a.h5' holds fewer than its 2,400 bytes."),
        (zlib.compress(bytes(2400))[:-2], "A compressed chunk of 'x' in 'a.h5' ends too early."),
        (b"not zlib at all", "A compressed chunk of 'x' in 'a.h5' is corrupt."),
    ],
)
def test_chunks_unpack_to_their_size(tmp_path: Path, stored: bytes, words: str) -> None:
    assert refusal(written(tmp_path, lambda h5: filtered(h5, 1).write_direct_chunk((0, 0), stored))) == words


@pytest.mark.parametrize("options", [{}, {"shuffle": True}, {"fillvalue": 7}], ids=str)
def test_deflated_values_are_those_that_were_written(tmp_path: Path, options: dict[str, Any]) -> None:
    """Chunks of zeros, of the fill value, never written, at the edge, and of anything else."""
    values = np.random.default_rng(5).integers(-9, 9, (50, 70)).astype(np.int16)
    values[:20, :30], values[20:40, :30] = 0, 7
    values[40:, 60:] = options.get("fillvalue", 0)

    def write(h5: h5py.File) -> None:
        dataset = h5.create_dataset("x", values.shape, "i2", chunks=(20, 30), compression="gzip", **options)
        dataset[:40], dataset[40:, :60] = values[:40], values[40:, :60]

    with open_hdf5(written(tmp_path, write)) as source:
        assert np.array_equal(source.read("x"), values)


def test_plain_chunks_have_their_size(tmp_path: Path) -> None:
    def write(h5: h5py.File) -> None:
        filtered(h5, 1).write_direct_chunk((0, 0), bytes(100), filter_mask=1)

    assert refusal(written(tmp_path, write)) == "A chunk of 'x' in 'a.h5' holds fewer than its 2,400 bytes."


def replace_once(file: SafeFile, old: bytes, new: bytes) -> None:
    content = file.path.read_bytes()
    assert content.count(old) == 1
    file.path.write_bytes(content.replace(old, new))


@pytest.mark.parametrize("size", [257, 8592])
def test_unfiltered_chunks_have_the_size_they_are_read_with(tmp_path: Path, size: int) -> None:
    """The index repeats a chunk's size; the library believes it: it writes past its buffer or leaves it unfilled."""
    file = written(tmp_path, lambda h5: h5.create_dataset("x", data=VALUES, chunks=(10, 10)))
    key = struct.pack("<IIQQQ", 200, 0, 20, 10, 0)  # size, skipped filters, place of one chunk
    replace_once(file, key, struct.pack("<I", size) + key[4:])
    assert refusal(file) == f"A chunk of 'x' in 'a.h5' holds {size:,} bytes instead of 200."


@pytest.mark.parametrize("options", [{}, {"compression": "gzip"}])
@pytest.mark.parametrize("place", [(20, 0), (2000, 10)])
def test_chunks_lie_where_they_should(tmp_path: Path, options: dict[str, str], place: tuple[int, int]) -> None:
    file = written(tmp_path, lambda h5: h5.create_dataset("x", data=VALUES, chunks=(10, 10), **options))
    replace_once(file, struct.pack("<IQQQ", 0, 20, 10, 0), struct.pack("<IQQQ", 0, *place, 0))
    assert refusal(file) == "'x' in 'a.h5' is damaged: its chunks are not where they should be."


def test_chunks_far_beyond_the_dataset_are_refused(tmp_path: Path) -> None:
    def write(h5: h5py.File) -> None:
        h5.create_dataset("x", (2, 2), "u1", chunks=(2000, 2000), maxshape=(None, None))
        h5.create_dataset("y", data=[1], maxshape=(None,), chunks=(1024,))

    file = written(tmp_path, write)
    assert refusal(file) == "'x' in 'a.h5' has chunks of 4,000,000 bytes, more than all its values together."
    assert read(file, "y").tolist() == [1]


def test_the_number_of_chunks_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hdf5_storage, "MAX_CHUNKS", 5)
    file = written(tmp_path, lambda h5: h5.update({"x": 1}) or h5.create_dataset("y", data=VALUES, chunks=(10, 40)))
    assert refusal(file, "y") == "'y' in 'a.h5' has more than 5 chunks; save it with larger ones."
    monkeypatch.setattr(hdf5_storage, "MAX_CHUNKS", 6)
    assert (read(file, "y") == VALUES).all()


@pytest.mark.parametrize("content", [b"", b"not HDF5", bytes(500) + b"\x89HDF\r\n\x1a\n"])
def test_other_content_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.h5").write_bytes(content)
    assert refusal(SafeFile.inside(tmp_path, "a.h5")) == "The content of 'a.h5' is not HDF5."


@pytest.mark.parametrize("share", [0.01, 0.3, 0.6, 0.95])
def test_cut_files_are_refused(tmp_path: Path, share: float) -> None:
    file = written(tmp_path, lambda h5: h5.create_dataset("x", data=VALUES, chunks=(10, 10), compression="gzip"))
    content = file.path.read_bytes()
    file.path.write_bytes(content[: max(8, int(share * len(content)))])
    assert refusal(file) == "'a.h5' is a damaged HDF5 file."


def test_the_size_of_a_file_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = written(tmp_path, lambda h5: h5.update({"x": 1}))
    monkeypatch.setattr(hdf5, "MAX_FILE_BYTES", file.size - 1)
    assert refusal(file) == f"'a.h5' is larger than {file.size - 1:,} bytes."


def test_an_error_of_the_caller_is_not_taken_for_damage(tmp_path: Path) -> None:
    file = written(tmp_path, lambda h5: h5.update({"x": 1}))
    with pytest.raises(KeyError), open_hdf5(file):
        raise KeyError("ours")


@pytest.mark.parametrize(
    ("offset", "size", "words"),
    [
        (5000, 4800, "'a.h5' is a damaged HDF5 file."),
        (2048, 4000, "'x' in 'a.h5' stores 4,000 bytes instead of 4,800."),
    ],
)
def test_contiguous_values_lie_in_the_file_as_a_whole(tmp_path: Path, offset: int, size: int, words: str) -> None:
    file = written(tmp_path, dataset(data=VALUES))
    replace_once(file, struct.pack("<QQ", 2048, 4800), struct.pack("<QQ", offset, size))
    assert refusal(file) == words


def test_chunks_beyond_the_end_of_the_file_are_refused(tmp_path: Path) -> None:
    file = written(tmp_path, dataset(data=VALUES, chunks=(60, 40)))
    place = file.path.read_bytes().index(VALUES.tobytes())
    replace_once(file, struct.pack("<Q", place), struct.pack("<Q", file.size - 100))
    assert refusal(file) == "'x' in 'a.h5' is damaged: its chunks are not where they should be."
