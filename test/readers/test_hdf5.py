"""HDF5: plain local numbers in, everything else refused in words."""

import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from numpy.typing import NDArray

from podium.errors import Refused
from podium.readers import hdf5, hdf5_storage
from podium.readers.files import SafeFile
from podium.readers.hdf5 import open_hdf5
from podium.readers.inflate import LIBRARY, ZLIB_LIBRARY, library_for

VALUES = np.arange(2400, dtype=np.uint16).reshape(60, 40) // 7


def written(folder: Path, write: Callable[[h5py.File], object]) -> SafeFile:
    with h5py.File(folder / "a.h5", "w") as file:
        write(file)
    return SafeFile.inside(folder, "a.h5")


def read(file: SafeFile, name: str = "x", **options: Any) -> NDArray[Any]:
    with open_hdf5(file) as source:
        return source.read(name, **options)


def refusal(file: SafeFile, name: str = "x", **options: Any) -> str:
    with pytest.raises(Refused) as caught:
        read(file, name, **options)
    assert str(file.root) not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"chunks": (7, 11)},
        {"chunks": (7, 11), "compression": "gzip"},
        {"chunks": (7, 11), "compression": "gzip", "shuffle": True, "fletcher32": True},
        {"chunks": (7, 11), "compression": "lzf"},
        {"chunks": (7, 11), "compression": "lzf", "shuffle": True, "fletcher32": True},
        {"chunks": (7, 11), "fletcher32": True},
        {"chunks": True, "maxshape": (None, None)},
    ],
)
def test_plain_storage_is_read(tmp_path: Path, options: dict[str, Any]) -> None:
    file = written(tmp_path, lambda h5: h5.create_dataset("x", data=VALUES, **options))
    assert (read(file, shape=(60, 40)) == VALUES).all()


def test_chunks_that_would_not_shrink_are_read(tmp_path: Path) -> None:
    noise = np.random.default_rng(1).integers(0, 256, (64, 64), dtype=np.uint8)
    options = {"chunks": (16, 16), "compression": "lzf"}
    file = written(tmp_path, lambda h5: h5.create_dataset("x", data=noise, **options))
    with h5py.File(file.path) as h5:
        assert h5["x"].id.read_direct_chunk((0, 0))[0] == 1  # the filter was skipped
    assert (read(file) == noise).all()


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

    words = "'x' in 'a.h5' was not written completely and has no fill value."
    assert refusal(written(tmp_path, write)) == words


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


def test_a_missing_dataset_is_told_what_is_there(tmp_path: Path) -> None:
    file = written(tmp_path, lambda h5: h5.update({"y": 1, "x": 2}))
    assert refusal(file, "long_mask") == "'a.h5' has no dataset 'long_mask'; it holds: x, y."


def test_a_missing_dataset_in_an_empty_file(tmp_path: Path) -> None:
    assert refusal(written(tmp_path, lambda _: None)) == "'a.h5' has no dataset 'x'; it holds: no dataset."


def test_at_most_ten_names_are_told(tmp_path: Path) -> None:
    file = written(tmp_path, lambda h5: h5.update({f"d{n:02}": n for n in range(12)}))
    assert refusal(file).endswith("d08, d09 and 2 more.")


def test_groups_are_no_datasets(tmp_path: Path) -> None:
    file = written(tmp_path, lambda h5: h5.update({"x/y": 1}))
    assert refusal(file, "x") == "'x' in 'a.h5' is not a dataset."
    assert refusal(file, "x/y/z") == "'x/y' in 'a.h5' is not a group."


def test_shapes_are_checked_before_anything_is_read(tmp_path: Path) -> None:
    file = written(tmp_path, lambda h5: h5.create_dataset("x", (100, 90), "u1"))
    assert refusal(file, shape=(96, 128)) == "'x' in 'a.h5' is 100 x 90, expected 96 x 128."
    assert refusal(file, shape=(9000,)) == "'x' in 'a.h5' has 2 axes (100 x 90), expected 1 (9000)."
    assert refusal(file, max_bytes=8999) == "'x' in 'a.h5' has 9,000 bytes; at most 8,999 are read."
    assert read(file, max_bytes=9000).shape == (100, 90)


def test_a_huge_announced_dataset_is_not_allocated(tmp_path: Path) -> None:
    file = written(tmp_path, lambda h5: h5.create_dataset("x", (1 << 20, 1 << 20), "f8", chunks=(64, 64)))
    assert "at most 2,147,483,648 are read" in refusal(file)


@pytest.mark.parametrize("data", [h5py.Empty("f4"), np.zeros((0, 4)), np.zeros((3, 0))])
def test_empty_datasets_are_refused(tmp_path: Path, data: Any) -> None:
    assert refusal(written(tmp_path, lambda h5: h5.create_dataset("x", data=data))) == "'x' in 'a.h5' is empty."


@pytest.mark.parametrize(
    ("data", "dtype", "what"),
    [
        ("text", None, "text"),
        (np.array([b"abc"]), None, "text"),
        (np.zeros(2, [("a", "i4"), ("b", "f4")]), None, "compound or complex values"),
        (np.zeros(2, complex), None, "compound or complex values"),
        (np.array([1, 0], object), h5py.vlen_dtype("i4"), "variable-length values"),
        (np.zeros(2, "V5"), None, "opaque values"),
        (np.array([0, 1], "u1"), h5py.enum_dtype({"A": 0, "B": 1}, "u1"), "an enumeration"),
    ],
)
def test_other_kinds_of_values_are_refused(tmp_path: Path, data: Any, dtype: Any, what: str) -> None:
    def write(h5: h5py.File) -> None:
        if what == "variable-length values":
            h5.create_dataset("x", (2,), dtype)
        else:
            h5.create_dataset("x", data=data, dtype=dtype)

    assert refusal(written(tmp_path, write)) == f"'x' in 'a.h5' holds {what}; store plain numbers."


def test_references_are_refused(tmp_path: Path) -> None:
    file = written(tmp_path, lambda h5: h5.create_dataset("x", data=h5.ref, dtype=h5py.ref_dtype))
    assert refusal(file) == "'x' in 'a.h5' holds references; store plain numbers."


def test_arrays_as_values_are_refused(tmp_path: Path) -> None:
    file = written(tmp_path, lambda h5: h5.create_dataset("x", (2,), np.dtype(("i4", (3,)))))
    assert refusal(file) == "'x' in 'a.h5' holds arrays as values; store plain numbers."


def test_wide_numbers_are_refused(tmp_path: Path) -> None:
    file = written(tmp_path, lambda h5: h5.create_dataset("x", data=np.zeros(2, np.longdouble)))
    assert refusal(file) == "'x' in 'a.h5' holds numbers of 16 bytes; store at most 8."


def test_booleans_are_true_or_false(tmp_path: Path) -> None:
    def write(h5: h5py.File) -> None:
        h5.create_dataset("x", data=np.array([0, 1, 7], np.uint8).view(np.bool_))

    assert refusal(written(tmp_path, write)) == "'x' in 'a.h5' holds booleans that are neither true nor false."


@pytest.mark.parametrize("options", [{"scaleoffset": 0}, {"compression": 32015, "allow_unknown_filter": True}])
def test_other_filters_are_refused(tmp_path: Path, options: dict[str, Any]) -> None:
    def write(h5: h5py.File) -> None:
        if "compression" not in options:
            h5.create_dataset("x", data=VALUES, **options)
            return
        plan = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plan.set_chunk((60, 40))
        plan.set_filter(32015, h5py.h5z.FLAG_OPTIONAL, ())
        h5py.h5d.create(h5.id, b"x", h5py.h5t.STD_U16LE, h5py.h5s.create_simple((60, 40)), plan)

    message = refusal(written(tmp_path, write))
    assert message.startswith("'x' in 'a.h5' uses the filter ")
    assert message.endswith("save it with gzip or without.")


def filtered(h5: h5py.File, *filters: int, chunk: tuple[int, ...] = (60, 40)) -> Any:
    plan = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plan.set_chunk(chunk)
    for code in filters:
        plan.set_filter(code, h5py.h5z.FLAG_OPTIONAL, (4,) if code == 1 else ())
    return h5py.h5d.create(h5.id, b"x", h5py.h5t.STD_U8LE, h5py.h5s.create_simple((60, 40)), plan)


@pytest.mark.parametrize("filters", [(1, 1), (1, 32000)])
def test_double_compression_is_refused(tmp_path: Path, filters: tuple[int, ...]) -> None:
    file = written(tmp_path, lambda h5: filtered(h5, *filters))
    assert refusal(file) == "'x' in 'a.h5' is compressed twice; save it with gzip or without."


@pytest.mark.parametrize(
    ("stored", "filters", "words"),
    [
        (zlib.compress(bytes(4_000_000)), (1,), "A chunk of 'x' in 'a.h5' stores more than its 2,400 bytes."),
        (zlib.compress(bytes(2_000_000)), (1,), "A chunk of 'x' in 'a.h5' unpacks to more than its 2,400 bytes."),
        (zlib.compress(bytes(2401)), (1,), "A chunk of 'x' in 'a.h5' unpacks to more than its 2,400 bytes."),
        (zlib.compress(bytes(2399)), (1,), "A chunk of 'x' in 'a.h5' holds fewer than its 2,400 bytes."),
        (zlib.compress(bytes(2400))[:-2], (1,), "A compressed chunk of 'x' in 'a.h5' ends too early."),
        (b"not zlib at all", (1,), "A compressed chunk of 'x' in 'a.h5' is corrupt."),
        (zlib.compress(bytes(2400)) + b"x", (1,), "A compressed chunk of 'x' in 'a.h5' is followed by more data."),
        (b"\x00a", (32000,), "A chunk of 'x' in 'a.h5' holds fewer than its 2,400 bytes."),
        (b"\x00a" + b"\xe0\xff\x00" * 10, (32000,), "A chunk of 'x' in 'a.h5' unpacks to more than its 2,400 bytes."),
        (b"\xe0\xff\x00", (32000,), "A compressed chunk of 'x' in 'a.h5' is corrupt."),
        (b"\x05ab", (32000,), "A compressed chunk of 'x' in 'a.h5' ends too early."),
        (b"\x00a\xe0", (32000,), "A compressed chunk of 'x' in 'a.h5' ends too early."),
        (bytes(10), (3,), "A chunk of 'x' in 'a.h5' holds fewer than its 2,400 bytes."),
        (bytes(2), (3, 1), "A compressed chunk of 'x' in 'a.h5' is corrupt."),
    ],
)
@pytest.mark.parametrize("small_bytes", [0, 1 << 20], ids=["ISA-L", "zlib"])
def test_chunks_unpack_to_their_size(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    small_bytes: int,
    stored: bytes,
    filters: tuple[int, ...],
    words: str,
) -> None:
    monkeypatch.setattr("podium.readers.inflate._SMALL_BYTES", small_bytes)
    file = written(tmp_path, lambda h5: filtered(h5, *filters).write_direct_chunk((0, 0), stored))
    assert refusal(file) == words


@pytest.mark.parametrize("small_bytes", [0, 1 << 20], ids=["ISA-L", "zlib"])
@pytest.mark.parametrize("options", [{}, {"shuffle": True}, {"fillvalue": 7}], ids=str)
def test_deflated_values_are_the_same_whoever_unpacks_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_bytes: int, options: dict[str, Any]
) -> None:
    """Chunks of zeros, of the fill value, never written, at the edge, and of anything else."""
    monkeypatch.setattr("podium.readers.inflate._SMALL_BYTES", small_bytes)
    values = np.random.default_rng(5).integers(-9, 9, (50, 70)).astype(np.int16)
    values[:20, :30], values[20:40, :30] = 0, 7
    values[40:, 60:] = options.get("fillvalue", 0)

    def write(h5: h5py.File) -> None:
        dataset = h5.create_dataset("x", values.shape, "i2", chunks=(20, 30), compression="gzip", **options)
        dataset[:40], dataset[40:, :60] = values[:40], values[40:, :60]

    with open_hdf5(written(tmp_path, write)) as source:
        assert np.array_equal(source.read("x"), values)


def test_short_streams_are_for_zlib() -> None:
    assert library_for(8192) is ZLIB_LIBRARY
    assert library_for(1 << 20) is LIBRARY


def test_plain_chunks_have_their_size(tmp_path: Path) -> None:
    def write(h5: h5py.File) -> None:
        filtered(h5, 1).write_direct_chunk((0, 0), bytes(100), filter_mask=1)

    assert refusal(written(tmp_path, write)) == "A chunk of 'x' in 'a.h5' holds fewer than its 2,400 bytes."


@pytest.mark.parametrize("size", [257, 8592])
def test_unfiltered_chunks_have_the_size_they_are_read_with(tmp_path: Path, size: int) -> None:
    """The index repeats a chunk's size; the library believes it: it writes past its buffer or leaves it unfilled."""
    file = written(tmp_path, lambda h5: h5.create_dataset("x", data=VALUES, chunks=(10, 10)))
    key = struct.pack("<IIQQQ", 200, 0, 20, 10, 0)  # size, skipped filters, place of one chunk
    content = file.path.read_bytes()
    assert content.count(key) == 1
    file.path.write_bytes(content.replace(key, struct.pack("<I", size) + key[4:]))
    assert refusal(file) == f"A chunk of 'x' in 'a.h5' holds {size:,} bytes instead of 200."


@pytest.mark.parametrize("options", [{}, {"compression": "gzip"}])
@pytest.mark.parametrize("place", [(20, 0), (2000, 10)])
def test_chunks_lie_where_they_should(tmp_path: Path, options: dict[str, str], place: tuple[int, int]) -> None:
    file = written(tmp_path, lambda h5: h5.create_dataset("x", data=VALUES, chunks=(10, 10), **options))
    key = struct.pack("<IQQQ", 0, 20, 10, 0)
    content = file.path.read_bytes()
    assert content.count(key) == 1
    file.path.write_bytes(content.replace(key, struct.pack("<IQQQ", 0, *place, 0)))
    assert refusal(file) == "'x' in 'a.h5' is damaged: its chunks are not where they should be."


def test_chunks_far_beyond_the_dataset_are_refused(tmp_path: Path) -> None:
    def write(h5: h5py.File) -> None:
        h5.create_dataset("x", (2, 2), "u1", chunks=(2000, 2000), maxshape=(None, None))
        h5.create_dataset("y", data=[1], maxshape=(None,), chunks=(1024,))

    file = written(tmp_path, write)
    message = "'x' in 'a.h5' has chunks of 4,000,000 bytes, more than all its values together."
    assert refusal(file) == message
    assert read(file, "y").tolist() == [1]


def test_the_number_of_chunks_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hdf5_storage, "MAX_CHUNKS", 5)
    file = written(tmp_path, lambda h5: h5.update({"x": 1}) or h5.create_dataset("y", data=VALUES, chunks=(10, 40)))
    assert refusal(file, "y") == "'y' in 'a.h5' is cut into more than 5 chunks; save it with larger ones."
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
