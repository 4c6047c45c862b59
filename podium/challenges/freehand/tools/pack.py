"""One scan's .npy fields as the recommended HDF5: chunks of one frame, shuffled, gzip level 1.

The fields of a rigid motion become some fifteen times smaller; what participants upload shrinks with them. Everything
is checked on the way as the evaluation would check it. Fields of float64 are rounded to float32, in which they are
scored.
"""

import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.challenges.freehand.reading import (
    ARRAYS,
    LANDMARK_SETS,
    PIXEL_SETS,
    TRANSFORM_SETS,
    FreehandPrediction,
    check_finite,
    open_arrays,
    read_scan_prediction,
    run_in_order,
)
from podium.errors import UsageError, h5py
from podium.readers.files import SafeFile
from podium.readers.frames import FrameStream, Tile
from podium.readers.hdf5 import SIGNATURE

LEVEL = 1


@dataclass(frozen=True)
class Packed:
    """What became of one scan."""

    path: Path
    bytes_before: int
    bytes_after: int


def pack_scan(scan: Path, *, output: Path | None, threads: int) -> Packed:
    """Pack a folder of .npy files, or one .npz, into `<scan>.h5` beside it or in the folder `output`."""
    name = scan.name if scan.is_dir() else scan.stem
    target = (output or scan.parent) / f"{name}.h5"
    if target.exists():
        raise UsageError(f"{target} exists already; remove it, or name another folder with --output.")
    prediction, before = _source(scan)
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f".{target.name}.part")
    try:
        with open_arrays(prediction, None) as source:
            found = read_scan_prediction(source, None, name=scan.name)
            with h5py.File(unfinished, "w") as file:
                for level, stream in found.fields.items():
                    _write_field(file, PIXEL_SETS[level], stream, threads=threads)
                for array in (*LANDMARK_SETS.values(), *TRANSFORM_SETS.values()):
                    if source.has(array):
                        file.create_dataset(array, data=source.read(array), track_times=False)
        unfinished.rename(target)
    finally:
        with suppress(FileNotFoundError):
            unfinished.unlink()
    return Packed(target, before, target.stat().st_size)


def _source(scan: Path) -> tuple[FreehandPrediction, int]:
    """The scan's files, and how many bytes they are."""
    if scan.is_file():
        file = SafeFile.inside(scan.parent, scan.name)
        if file.first_bytes(len(SIGNATURE)) == SIGNATURE:
            raise UsageError(f"{scan} is HDF5 already; pack the .npy files or the .npz it was made from.")
        return FreehandPrediction(file), file.size
    files = {
        array: SafeFile.inside(scan.parent, f"{scan.name}/{array}.npy")
        for array in ARRAYS
        if (scan / f"{array}.npy").exists()
    }
    if not files:
        raise UsageError(f"{scan} holds no {ARRAYS[0]}.npy or any other array of a scan.")
    return FreehandPrediction(files), sum(file.size for file in files.values())


def _write_field(file: Any, name: str, stream: FrameStream, *, threads: int) -> None:
    """Compression takes most of the time, so frames are compressed by several threads and written by whoever is
    done."""
    frames, components, pixels = stream.shape
    dataset = file.create_dataset(
        name,
        (frames, components, pixels),
        np.float16 if stream.dtype == np.float16 else np.float32,
        chunks=(1, components, pixels),
        shuffle=True,
        compression="gzip",
        compression_opts=LEVEL,
        track_times=False,
    )
    writing = Lock()

    def piece(span: range) -> Callable[[], None]:
        def work() -> None:
            for tile in stream.tiles(span):
                packed = _compressed(stream, tile, dataset.dtype)
                with writing:
                    dataset.id.write_direct_chunk((tile.frame, 0, 0), packed)

        return work

    run_in_order([piece(span) for span in stream.spans()], threads=threads)
    stream.finish()


def _compressed(stream: FrameStream, tile: Tile, dtype: np.dtype[Any]) -> bytes:
    with np.errstate(over="ignore"):
        values: NDArray[Any] = tile.values.astype(dtype)
    check_finite(stream.label, Tile(tile.frame, tile.start, values))
    planes = values.reshape(-1).view(np.uint8).reshape(-1, dtype.itemsize).T
    return zlib.compress(planes.tobytes(), LEVEL)
