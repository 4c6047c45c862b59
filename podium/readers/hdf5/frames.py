"""Fields in HDF5, streamed: contiguous ones read in place, chunked ones unpacked here, chunk by chunk.

Unpacking here has three reasons: the library holds one lock for all threads while it inflates, it would unpack every
chunk a second time after the check of its size, and its buffers grow with whatever a stream claims.

Chunks may have any shape. A cell is what the chunks of all three components at one place of the (frame, pixel) plane
hold; one cell is in memory at a time.
"""

import math
from collections.abc import Iterator, Sequence
from threading import local
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.errors import Refused
from podium.extras import h5py
from podium.readers.files import SafeFile
from podium.readers.frames import FieldShape, FrameStream, RawFrames, Tile
from podium.readers.hdf5.damage import damage_refused
from podium.readers.hdf5.storage import DEFLATE, SHUFFLE, PlainDataset
from podium.readers.inflate import ZLIB, BadStreamError, inflate

MAX_CELL_BYTES = 128 * 1024 * 1024
UNPACKED_HERE: tuple[list[int], ...] = ([], [SHUFFLE], [DEFLATE], [SHUFFLE, DEFLATE])


def stream_frames(file: SafeFile, dataset: PlainDataset, *, shape: FieldShape) -> FrameStream:
    """The field in a dataset whose layout, type and shape were checked."""
    layout = dataset.identifier.get_create_plist().get_layout()
    plain_type = h5py.h5t.py_create(dataset.identifier.dtype).equal(dataset.identifier.get_type())
    if layout == h5py.h5d.CHUNKED:
        by_us = plain_type and [code for code, _ in dataset.filters()] in UNPACKED_HERE
        return (_Chunks if by_us else _LibraryCells)(file, dataset, shape=shape)
    offset = dataset.identifier.get_offset() if layout == h5py.h5d.CONTIGUOUS else None
    if offset is None or not plain_type:
        return _LibraryCells(file, dataset, shape=shape)
    dataset.check_storage()
    return RawFrames(
        file,
        label=dataset.label,
        offset=offset,
        dtype=dataset.identifier.dtype,
        shape=shape,
    )


class _Cells(FrameStream):
    """A field read cell by cell; a span is a row of cells, a few frames."""

    def __init__(self, file: SafeFile, dataset: PlainDataset, *, shape: FieldShape) -> None:
        self.file, self.dataset, self.label = file, dataset, dataset.label
        self.shape = shape
        self.dtype = dataset.identifier.dtype
        self.frames_step, self.pixels_step = self._steps()
        cell = self.frames_step * self.shape[1] * self.pixels_step * self.dtype.itemsize
        if cell > MAX_CELL_BYTES:
            raise Refused(
                f"{self.label} is stored in chunks of {self.frames_step} frames, {cell:,} bytes at once; "
                "save it with chunks of one frame."
            )

    def _steps(self) -> tuple[int, int]:
        """Frames and pixels of a cell."""
        raise NotImplementedError

    def _cell(self, frames: range, pixels: range) -> NDArray[Any]:
        """The values (frames, 3, pixels) of a cell, without what is beyond the edge of the field."""
        raise NotImplementedError

    def spans(self) -> Sequence[range]:
        return [
            range(first, min(first + self.frames_step, self.shape[0]))
            for first in range(0, self.shape[0], self.frames_step)
        ]

    def tiles(self, span: range) -> Iterator[Tile]:
        for first in range(0, self.shape[2], self.pixels_step):
            with damage_refused(self.file):
                cell = self._cell(span, range(first, min(first + self.pixels_step, self.shape[2])))
            for frame, values in zip(span, cell, strict=True):
                yield Tile(frame, first, values)


class _Chunks(_Cells):
    """Chunks without a filter, shuffled, deflated or both: all that NumPy and zlib need to unpack."""

    def __init__(self, file: SafeFile, dataset: PlainDataset, *, shape: FieldShape) -> None:
        self._grid = dataset.chunk_grid()
        self._chunk = tuple(places.step for places in self._grid)
        self._chunk_bytes = dataset.chunk_bytes()
        self._filters = [code for code, _ in dataset.filters()]
        self._threads = local()
        super().__init__(file, dataset, shape=shape)
        self._index = dataset.chunk_index()
        if len(self._index) < math.prod(len(places) for places in self._grid):
            dataset.check_fill_value()

    def _steps(self) -> tuple[int, int]:
        return self._chunk[0], self._chunk[2]

    def _cell(self, frames: range, pixels: range) -> NDArray[Any]:
        chunk = self._buffer("chunk", self._chunk)
        cell = chunk
        if self._chunk[1] < self.shape[1]:
            cell = self._buffer("cell", (self._chunk[0], self.shape[1], self._chunk[2]))
        for component in self._grid[1]:
            self._read((frames.start, component, pixels.start), chunk)
            if cell is not chunk:
                part = cell[:, component : component + self._chunk[1]]
                part[:] = chunk[:, : part.shape[1]]
        return cell[: len(frames), : self.shape[1], : len(pixels)]

    def _buffer(self, name: str, shape: tuple[int, ...]) -> NDArray[Any]:
        """Memory of this thread, reused: allocating it takes as long as unpacking into it."""
        if not hasattr(self._threads, name):
            setattr(self._threads, name, np.empty(shape, self.dtype))
        buffer: NDArray[Any] = getattr(self._threads, name)
        return buffer

    def _read(self, place: tuple[int, int, int], target: NDArray[Any]) -> None:
        """One chunk into `target`, including what it stores beyond the edge of the field."""
        if place not in self._index:
            fill = np.zeros(1, self.dtype)
            self.dataset.identifier.get_create_plist().get_fill_value(fill)
            target[:] = fill[0]
            return
        skipped, content = self.dataset.stored_chunk(place)
        if content is None or len(content) != self._index[place]:
            raise self.dataset.damaged_index()
        used = [code for position, code in enumerate(self._filters) if not skipped >> position & 1]
        blocks = inflate([content], wrapping=ZLIB) if DEFLATE in used else iter([content])
        put = _put_shuffled if SHUFFLE in used else _put_plain
        what = f"A {'compressed ' if DEFLATE in used else ''}chunk of {self.label}"
        done = 0
        try:
            for block in blocks:
                if done + len(block) > self._chunk_bytes:
                    raise Refused(f"{what} unpacks to more than its {self._chunk_bytes:,} bytes.")
                put(block, done, target)
                done += len(block)
        except BadStreamError as fault:
            raise Refused(f"{what} {fault}.") from None
        if done < self._chunk_bytes:
            raise Refused(f"{what} holds fewer than its {self._chunk_bytes:,} bytes.")


class _LibraryCells(_Cells):
    """Whatever else HDF5 knows (LZF, Fletcher checksums, unusual floats, compact or unwritten data): checked in full
    first, then read by the library."""

    def __init__(self, file: SafeFile, dataset: PlainDataset, *, shape: FieldShape) -> None:
        super().__init__(file, dataset, shape=shape)
        dataset.check_storage()

    def _steps(self) -> tuple[int, int]:
        plan = self.dataset.identifier.get_create_plist()
        if plan.get_layout() != h5py.h5d.CHUNKED:
            return 1, self.shape[2]
        frames, _, pixels = self.dataset.chunk_grid()
        return frames.step, pixels.step

    def _cell(self, frames: range, pixels: range) -> NDArray[Any]:
        values = np.zeros((len(frames), self.shape[1], len(pixels)), self.dtype.newbyteorder("="))
        place = self.dataset.identifier.get_space()
        place.select_hyperslab((frames.start, 0, pixels.start), values.shape)
        self.dataset.identifier.read(h5py.h5s.create_simple(values.shape), place, values)
        return values


def _put_plain(block: bytes, position: int, target: NDArray[Any]) -> None:
    """Bytes as they are, from `position` on."""
    target.reshape(-1).view(np.uint8)[position : position + len(block)] = np.frombuffer(block, np.uint8)


def _put_shuffled(block: bytes, position: int, target: NDArray[Any]) -> None:
    """Bytes of HDF5's shuffle, which puts the first bytes of all values first, then all second bytes, and so on."""
    values = target.reshape(-1).view(np.uint8).reshape(-1, target.dtype.itemsize)
    waiting = np.frombuffer(block, np.uint8)
    while len(waiting):
        byte, first = divmod(position, len(values))
        part = waiting[: len(values) - first]
        values[first : first + len(part), byte] = part
        waiting, position = waiting[len(part) :], position + len(part)
