"""Fields in HDF5, streamed: contiguous ones read in place, chunked ones unpacked here, chunk by chunk.

There are three reasons to unpack here: the library holds one lock for all threads while it inflates, it would unpack
every chunk a second time after the check of its size, and its buffers grow with whatever a stream claims.

Chunks may have any shape. A cell is what the chunks of all three components at one place of the (frame, pixel) plane
hold; one cell is in memory at a time.
"""

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from threading import local
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.errors import Refused, h5py
from podium.readers.files import SafeFile
from podium.readers.frames import FieldShape, FrameStream, RawFrames, Tile
from podium.readers.hdf5_storage import DEFLATE, SHUFFLE, PlainDataset, damage_refused
from podium.readers.inflate import ZLIB, BadStreamError, inflate

MAX_CELL_BYTES = 128 * 1024 * 1024
UNPACKED_HERE: tuple[list[int], ...] = ([], [SHUFFLE], [DEFLATE], [SHUFFLE, DEFLATE])


@dataclass(frozen=True, eq=False)
class ChunkTable:
    """Where the chunks of a field are in its file, and how they are unpacked."""

    chunk: FieldShape
    filters: tuple[int, ...]
    fill: bytes
    """One value, as it is stored: the values of a chunk that was never written."""

    places: NDArray[np.int64]
    """(n, 6): of every stored chunk its start along the three axes, its offset, its bytes, and the filters skipped."""


@dataclass(frozen=True, eq=False)
class FieldPlace:
    """Where the values of a field are: from `offset` on, in the chunks of `table`, or where only the library knows."""

    dtype: np.dtype[Any]
    offset: int | None = None
    table: ChunkTable | None = None


def locate_field(dataset: PlainDataset, *, shape: FieldShape) -> FieldPlace:
    """The place of a field in a dataset whose layout, type and shape were checked."""
    dtype = dataset.identifier.dtype
    plain_type = h5py.h5t.py_create(dtype).equal(dataset.identifier.get_type())
    if dataset.is_chunked:
        if plain_type and dataset.filter_codes in UNPACKED_HERE:
            return FieldPlace(dtype, table=_chunk_table(dataset, shape=shape))
        return FieldPlace(dtype)
    offset = dataset.identifier.get_offset() if dataset.plan.get_layout() == h5py.h5d.CONTIGUOUS else None
    if offset is None or not plain_type:
        return FieldPlace(dtype)
    dataset.check_storage()
    return FieldPlace(dtype, offset=offset)


def _chunk_table(dataset: PlainDataset, *, shape: FieldShape) -> ChunkTable:
    grid = dataset.chunk_grid()
    frames, _, pixels = grid
    check_cell(dataset.label, dataset.identifier.dtype, shape, frames.step, pixels.step)
    index = dataset.chunk_index()
    if len(index) < math.prod(len(places) for places in grid):
        dataset.check_fill_value()
    fill = np.zeros(1, dataset.identifier.dtype)
    dataset.plan.get_fill_value(fill)
    chunk = tuple(places.step for places in grid)
    assert len(chunk) == 3
    places = np.array([(*place, *stored) for place, stored in index.items()], np.int64).reshape(-1, 6)
    return ChunkTable(chunk, tuple(dataset.filter_codes), fill.tobytes(), places)


def stream_field(file: SafeFile, place: FieldPlace, *, label: str, shape: FieldShape) -> FrameStream | None:
    """A field whose values are read here, without the library; None where only the library can."""
    if place.offset is not None:
        return RawFrames(file, label=label, offset=place.offset, dtype=place.dtype, shape=shape)
    if place.table is not None:
        return _Chunks(file, place.table, label=label, dtype=place.dtype, shape=shape)
    return None


def check_cell(label: str, dtype: np.dtype[Any], shape: FieldShape, frames: int, pixels: int) -> None:
    """Refuse cells of `frames` by `pixels` that are too large for the memory."""
    cell = frames * shape[1] * pixels * dtype.itemsize
    if cell > MAX_CELL_BYTES:
        raise Refused(
            f"{label} is stored in chunks of {frames} frames, {cell:,} bytes at once; save it with chunks of one frame."
        )


class Cells(FrameStream):
    """A field read cell by cell; a span is a row of cells, a few frames."""

    def __init__(
        self, file: SafeFile, *, label: str, dtype: np.dtype[Any], shape: FieldShape, steps: tuple[int, int]
    ) -> None:
        self.file, self.label = file, label
        self.shape, self.dtype = shape, dtype
        self.steps = steps  # the frames and the pixels of a cell
        check_cell(label, dtype, shape, *steps)

    def cell(self, frames: range, pixels: range) -> NDArray[Any]:
        """The values (frames, 3, pixels) of a cell, without what is beyond the edge of the field."""
        raise NotImplementedError

    def spans(self) -> Sequence[range]:
        frames, step = self.shape[0], self.steps[0]
        return [range(first, min(first + step, frames)) for first in range(0, frames, step)]

    def tiles(self, span: range) -> Iterator[Tile]:
        pixels, step = self.shape[2], self.steps[1]
        for first in range(0, pixels, step):
            with damage_refused(self.file):
                cell = self.cell(span, range(first, min(first + step, pixels)))
            for frame, values in zip(span, cell, strict=True):
                yield Tile(frame, first, values)


class _Chunks(Cells):
    """Chunks without a filter, shuffled, deflated or both: all that NumPy and zlib need to unpack."""

    def __init__(
        self, file: SafeFile, table: ChunkTable, *, label: str, dtype: np.dtype[Any], shape: FieldShape
    ) -> None:
        self._chunk, self._filters, self._fill = table.chunk, table.filters, table.fill
        frames, _, pixels = table.chunk
        super().__init__(file, label=label, dtype=dtype, shape=shape, steps=(frames, pixels))
        self._chunk_bytes = math.prod(table.chunk) * dtype.itemsize
        self._index = {(frame, axis, pixel): stored for frame, axis, pixel, *stored in table.places.tolist()}
        self._threads = local()

    def tiles(self, span: range) -> Iterator[Tile]:
        with self.file.open() as stream:
            self._threads.descriptor = stream.fileno()
            yield from super().tiles(span)

    def cell(self, frames: range, pixels: range) -> NDArray[Any]:
        chunk = self._buffer("chunk", self._chunk)
        cell = chunk
        if self._chunk[1] < self.shape[1]:
            cell = self._buffer("cell", (self._chunk[0], self.shape[1], self._chunk[2]))
        for component in range(0, self.shape[1], self._chunk[1]):
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
            target[:] = np.frombuffer(self._fill, self.dtype)[0]
            return
        offset, size, skipped = self._index[place]
        content = os.pread(self._threads.descriptor, size, offset)
        if len(content) != size:
            raise Refused(f"{self.label} is damaged: its chunks are not where they should be.")
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


class LibraryCells(Cells):
    """Whatever else HDF5 knows (LZF, Fletcher checksums, unusual floats, compact or unwritten data): checked in full
    first, then read by the library."""

    def __init__(self, file: SafeFile, dataset: PlainDataset, *, shape: FieldShape) -> None:
        self.dataset = dataset
        steps = (1, shape[2])
        if dataset.is_chunked:
            frames, _, pixels = dataset.chunk_grid()
            steps = (frames.step, pixels.step)
        super().__init__(file, label=dataset.label, dtype=dataset.identifier.dtype, shape=shape, steps=steps)
        dataset.check_storage()

    def cell(self, frames: range, pixels: range) -> NDArray[Any]:
        values = np.zeros((len(frames), self.shape[1], len(pixels)), self.dtype.newbyteorder("="))
        place = self.dataset.identifier.get_space()
        place.select_hyperslab((frames.start, 0, pixels.start), values.shape)
        self.dataset.identifier.read(h5py.h5s.create_simple(values.shape), place, values)
        return values


def _put_plain(block: bytes, position: int, target: NDArray[Any]) -> None:
    """Copy bytes as they are, from `position` on."""
    target.reshape(-1).view(np.uint8)[position : position + len(block)] = np.frombuffer(block, np.uint8)


def _put_shuffled(block: bytes, position: int, target: NDArray[Any]) -> None:
    """Undo HDF5's shuffle, which puts the first bytes of all values first, then all second bytes, and so on."""
    values = target.reshape(-1).view(np.uint8).reshape(-1, target.dtype.itemsize)
    waiting = np.frombuffer(block, np.uint8)
    while len(waiting):
        byte, first = divmod(position, len(values))
        part = waiting[: len(values) - first]
        values[first : first + len(part), byte] = part
        waiting, position = waiting[len(part) :], position + len(part)
