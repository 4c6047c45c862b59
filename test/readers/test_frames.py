"""Streams of frames: whatever the file and the cut, every value comes out once, at its place."""

import threading
import zlib
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from podium.errors import Refused
from podium.readers import frames as frames_module
from podium.readers.files import SafeFile
from podium.readers.formats.arrays import NpyFiles, open_npz
from podium.readers.frames import FrameStream
from podium.readers.hdf5 import open_hdf5


def gathered(stream: FrameStream) -> np.ndarray:
    """The whole field, put together from its tiles; every value must come exactly once."""
    field = np.full(stream.shape, np.nan)
    for span in stream.spans():
        for tile in stream.tiles(span):
            place = field[tile.frame, :, tile.start : tile.start + tile.values.shape[1]]
            assert np.isnan(place).all()
            place[:] = tile.values
    stream.finish()
    assert not np.isnan(field).any()
    return field


def values_of(shape: tuple[int, int, int], dtype: Any) -> np.ndarray:
    return (np.arange(np.prod(shape)).reshape(shape) % 2039 - 500).astype(dtype)


@pytest.mark.parametrize("span_bytes", [1, 500, 1 << 30])
@pytest.mark.parametrize("form", ["npy", "stored", "deflated", "h5"])
def test_tiles_cover_the_field(form: str, span_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames_module, "SPAN_BYTES", span_bytes)
    values = values_of((5, 3, 7), np.float32)
    path = tmp_path / f"x.{form}"
    with path.open("wb") as stream:
        if form == "h5":
            with h5py.File(stream, "w") as file:
                file["GP"] = values
        elif form == "npy":
            np.save(stream, values)
        else:
            (np.savez if form == "stored" else np.savez_compressed)(stream, GP=values)
    file = SafeFile.inside(tmp_path, path.name)
    opened = {"npy": lambda: nullcontext(NpyFiles({"GP": file})), "h5": lambda: open_hdf5(file)}
    with opened.get(form, lambda: open_npz(file, max_bytes=10_000))() as source:
        assert np.array_equal(gathered(source.frames("GP", shape=values.shape)), values)


lengths = st.integers(1, 9)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    shape=st.tuples(lengths, lengths),
    chunk=st.tuples(lengths, st.integers(1, 3), lengths),
    dtype=st.sampled_from(["<f4", ">f4", "<f8", "<f2", ">i2", "u1"]),
    packing=st.sampled_from(
        [
            {},
            {"compression": "gzip"},
            {"shuffle": True},
            {"shuffle": True, "compression": "gzip", "compression_opts": 1},
        ]
    ),
    written=st.integers(0, 9),
)
def test_any_chunks_and_filters_of_hdf5(  # noqa: PLR0917
    tmp_path: Path,
    shape: tuple[int, int],
    chunk: tuple[int, int, int],
    dtype: str,
    packing: dict[str, Any],
    written: int,
) -> None:
    """Also where only the first frames were written, the others being the fill value."""
    values = values_of((shape[0], 3, shape[1]), dtype)
    values[written:] = 7
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        growable = {"maxshape": (None, None, None)}
        dataset = file.create_dataset("GP", values.shape, dtype, chunks=chunk, fillvalue=7, **growable, **packing)
        dataset[:written] = values[:written]
    with open_hdf5(SafeFile.inside(tmp_path, "x.h5")) as source:
        found = gathered(source.frames("GP", shape=values.shape))
    assert np.array_equal(found, values)


def test_chunks_may_be_read_by_many_threads(tmp_path: Path) -> None:
    values = np.random.default_rng(1).normal(size=(40, 3, 2000)).astype(np.float32)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("GP", data=values, chunks=(1, 3, 2000), shuffle=True, compression=1)
    found = np.zeros_like(values)
    with open_hdf5(SafeFile.inside(tmp_path, "x.h5")) as source:
        stream = source.frames("GP", shape=values.shape)

        def read(spans: list[range]) -> None:
            for span in spans:
                for tile in stream.tiles(span):
                    found[tile.frame] = tile.values

        threads = [threading.Thread(target=read, args=(list(stream.spans())[first::4],)) for first in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert np.array_equal(found, values)


def test_chunks_of_too_many_frames_are_refused_before_they_are_read(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("GP", (200, 3, 100_000), "f4", chunks=(120, 3, 100_000), compression="gzip")
    words = (
        r"^'GP' in 'x.h5' is stored in chunks of 120 frames, 144,000,000 bytes at once; "
        r"save it with chunks of one frame\.$"
    )
    with open_hdf5(SafeFile.inside(tmp_path, "x.h5")) as source, pytest.raises(Refused, match=words):
        source.frames("GP", shape=(200, 3, 100_000))


def test_a_damaged_chunk_of_a_field_is_refused(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "x.h5", "w") as file:
        dataset = file.create_dataset("GP", (2, 3, 10), "f4", chunks=(1, 3, 10), compression="gzip")
        dataset.id.write_direct_chunk((1, 0, 0), zlib.compress(bytes(119)))
    with open_hdf5(SafeFile.inside(tmp_path, "x.h5")) as source, pytest.raises(Refused, match="chunk of 'GP'"):
        gathered(source.frames("GP", shape=(2, 3, 10)))


def test_fields_that_were_never_written_hold_the_fill_value(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("GP", (2, 3, 10), "f4", fillvalue=7)
    with open_hdf5(SafeFile.inside(tmp_path, "x.h5")) as source:
        assert (gathered(source.frames("GP", shape=(2, 3, 10))) == 7).all()


def test_fields_with_the_compact_layout_are_refused(tmp_path: Path) -> None:
    plan = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plan.set_layout(h5py.h5d.COMPACT)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        h5py.h5d.create(file.id, b"GP", h5py.h5t.IEEE_F32LE, h5py.h5s.create_simple((2, 3, 10)), plan)
    words = r"^'GP' in 'x.h5' has the compact layout; save it contiguous or in chunks\.$"
    with open_hdf5(SafeFile.inside(tmp_path, "x.h5")) as source, pytest.raises(Refused, match=words):
        source.frames("GP", shape=(2, 3, 10))


def test_a_file_that_shrinks_while_it_is_read(tmp_path: Path) -> None:
    np.save(tmp_path / "GP.npy", np.zeros((4, 3, 1000)))
    stream = NpyFiles({"GP": SafeFile.inside(tmp_path, "GP.npy")}).frames("GP", shape=(4, 3, 1000))
    with (tmp_path / "GP.npy").open("r+b") as file:
        file.truncate(50_000)
    with pytest.raises(Refused, match=r"^'GP.npy' is truncated: the file ends before its last value\.$"):
        gathered(stream)
