"""Where an HDF5 dataset keeps its values, asked of the library; and the values themselves, read without it.

Three dangers: storage that is not in the file (external, virtual), filters that unpack to more than declared (the
library grows its buffer without bound), and chunks that hold less than declared (the library returns other garbage in
every run). So the library only says where the stored bytes are (`PlainDataset.storage`). They are read here: a dataset
all at once (`read_values`), a field as a stream of frames (`stream_field`), which several threads may read, since the
library's lock is not taken.
"""

import math
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from threading import local
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.errors import PodiumError, Refused
from podium.packages import h5py
from podium.readers.files import SafeFile, escape_for_display
from podium.readers.frames import FieldShape, FrameStream, RawFrames, Tile, truncated
from podium.readers.inflate import ZLIB, BadStreamError, inflate

DEFLATE, SHUFFLE = 1, 2
FILTERS: tuple[list[int], ...] = ([], [SHUFFLE], [DEFLATE], [SHUFFLE, DEFLATE])  # what was done to a chunk, in order
MAX_CHUNKS = 200_000
MAX_CELL_BYTES = 128 * 1024 * 1024
CHUNK_SLACK = 1024 * 1024  # a growable dataset may have chunks larger than itself; up to this size that is accepted
OTHER_KINDS = ("STRING", "COMPOUND", "COMPLEX", "VLEN", "REFERENCE", "OPAQUE", "ENUM", "ARRAY", "BITFIELD", "TIME")
"""The classes of h5py.h5t that are not numbers."""


@contextmanager
def damage_refused(file: SafeFile) -> Iterator[None]:
    """Refuse the file for whatever the library raises: many kinds of exceptions, some of which name a path."""
    try:
        yield
    except PodiumError:
        raise
    except Exception:
        raise Refused(f"'{file.name}' is a damaged HDF5 file.") from None


@dataclass(frozen=True, eq=False)
class ChunkTable:
    """Where the chunks of a dataset are in its file, and how they are unpacked."""

    chunk: tuple[int, ...]  # the shape of every chunk
    filters: tuple[int, ...]
    fill: bytes  # one value, as it is stored: the values of a chunk that was never written
    places: NDArray[np.int64]  # per stored chunk: start along every axis, offset, bytes, filters skipped (bits)


@dataclass(frozen=True, eq=False)
class Storage:
    """Where the values of a dataset are: from `offset` on, or in the chunks of `table`."""

    dtype: np.dtype[Any]
    offset: int | None = None
    table: ChunkTable | None = None


def most_stored_bytes(chunk_bytes: int) -> int:
    """No filter makes a chunk much larger than it is unpacked; larger ones would make a small file take very long."""
    return chunk_bytes + chunk_bytes // 64 + 1024


@dataclass(frozen=True)
class PlainDataset:
    """A low-level dataset; `label` names it in messages. `check` comes before anything else."""

    identifier: Any
    label: str

    # The library makes a new object whenever it is asked for one of these.

    @cached_property
    def plan(self) -> Any:
        """How the dataset was created: its layout, its chunks and its filters."""
        return self.identifier.get_create_plist()

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """() for a single value; an empty dataset is refused."""
        space = self.identifier.get_space()
        if space.get_simple_extent_type() == h5py.h5s.NULL or space.get_simple_extent_npoints() == 0:
            raise Refused(f"{self.label} is empty.")
        return tuple(space.get_simple_extent_dims())

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        kind: np.dtype[Any] = self.identifier.dtype
        return kind

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def is_compact(self) -> bool:
        """Whether the values are part of the description of the dataset: 64 KB at most."""
        return bool(self.plan.get_layout() == h5py.h5d.COMPACT)

    def check(self) -> None:
        """Local storage, known filters, plain numbers. Asking a virtual dataset for its shape may open its sources, so
        the layout is checked first."""
        layout = self.plan.get_layout()
        if layout == h5py.h5d.VIRTUAL:
            raise Refused(f"{self.label} is a virtual dataset; store the values themselves.")
        if self.plan.get_external_count() > 0:
            raise Refused(f"{self.label} keeps its values in another file (external storage); store them in this file.")
        if layout not in (h5py.h5d.COMPACT, h5py.h5d.CONTIGUOUS, h5py.h5d.CHUNKED):
            raise Refused(f"{self.label} has an unknown storage layout.")
        for index in range(self.plan.get_nfilters()):
            code, _, _, name = self.plan.get_filter(index)
            if code not in (DEFLATE, SHUFFLE):
                shown = escape_for_display(name.decode("utf-8", "replace"))
                raise Refused(f"{self.label} uses the filter {code} ('{shown}'); save it with gzip or without.")
        if list(self._filters) not in FILTERS:
            raise Refused(f"{self.label} is compressed twice or before it is shuffled; save it with gzip or without.")
        self._check_type()

    @property
    def _filters(self) -> tuple[int, ...]:
        return tuple(self.plan.get_filter(index)[0] for index in range(self.plan.get_nfilters()))

    def _check_type(self) -> None:
        """Booleans, integers and floats of at most 8 bytes that NumPy has a type for."""
        kind = self.identifier.get_type()
        # h5py stores booleans as an enumeration of FALSE and TRUE.
        is_boolean = kind.get_class() == h5py.h5t.ENUM and self.dtype == np.bool_
        if kind.get_class() not in (h5py.h5t.INTEGER, h5py.h5t.FLOAT) and not is_boolean:
            names = {getattr(h5py.h5t, name): name.lower() for name in OTHER_KINDS}
            what = names.get(kind.get_class(), "unknown")
            raise Refused(f"{self.label} holds values of the HDF5 type '{what}'; store plain numbers.")
        if kind.get_size() > 8:
            raise Refused(f"{self.label} holds numbers of {kind.get_size()} bytes; store at most 8.")
        if not h5py.h5t.py_create(self.dtype).equal(kind):
            raise Refused(f"{self.label} holds numbers of an unusual format; store float32, float64 or plain integers.")

    def storage(self) -> Storage:
        """Where the values are; every stored block has exactly the size it must have, or is compressed."""
        if self.is_compact:
            raise Refused(f"{self.label} has the compact layout; save it contiguous or in chunks.")
        if self.plan.get_layout() == h5py.h5d.CHUNKED:
            return Storage(self.dtype, table=self._chunk_table())
        offset = self.identifier.get_offset()
        if offset is None:
            nothing = np.zeros((0, len(self.shape) + 3), np.int64)
            frame = (1, *self.shape[1:])[: len(self.shape)]
            return Storage(self.dtype, table=ChunkTable(frame, (), self._fill_value(), nothing))
        self._check_stored_bytes()
        return Storage(self.dtype, offset=offset)

    def compact_values(self) -> NDArray[Any]:
        """The values of a dataset with the compact layout, which the library has read already."""
        self._check_stored_bytes()
        values = np.zeros(self.shape, self.dtype)
        self.identifier.read(h5py.h5s.ALL, h5py.h5s.ALL, values)
        return values

    def _check_stored_bytes(self) -> None:
        stored = self.identifier.get_storage_size()
        if stored != self.nbytes:
            raise Refused(f"{self.label} stores {stored:,} bytes instead of {self.nbytes:,}.")

    def _fill_value(self) -> bytes:
        """What was never written reads as the fill value, which must therefore exist."""
        never = self.plan.get_fill_time() == h5py.h5d.FILL_TIME_NEVER
        if never or self.plan.fill_value_defined() == h5py.h5d.FILL_VALUE_UNDEFINED:
            raise Refused(f"{self.label} was not written completely and has no fill value.")
        fill = np.zeros(1, self.dtype)
        self.plan.get_fill_value(fill)
        return fill.tobytes()

    def _chunk_table(self) -> ChunkTable:
        chunk: tuple[int, ...] = self.plan.get_chunk()
        chunk_bytes = math.prod(chunk) * self.dtype.itemsize
        if chunk_bytes > max(self.nbytes, CHUNK_SLACK):
            raise Refused(f"{self.label} has chunks of {chunk_bytes:,} bytes, more than all its values together.")
        most = math.prod(-(-length // step) for length, step in zip(self.shape, chunk, strict=True))
        if most > MAX_CHUNKS:
            raise Refused(f"{self.label} has more than {MAX_CHUNKS:,} chunks; save it with larger ones.")
        places = self._listed_chunks(most)
        starts, sizes = places[:, : len(chunk)], places[:, -2]
        inside = (starts % chunk == 0).all() and (starts < self.shape).all()
        if not inside or len(places) > most or len(set(map(tuple, starts.tolist()))) < len(starts):
            raise damaged_index(self.label)
        if self._filters and (sizes > most_stored_bytes(chunk_bytes)).any():
            raise Refused(f"A chunk of {self.label} stores more than its {chunk_bytes:,} bytes.")
        if not self._filters and (sizes != chunk_bytes).any():
            wrong = sizes[sizes != chunk_bytes][0]
            raise Refused(f"A chunk of {self.label} holds {wrong:,} bytes instead of {chunk_bytes:,}.")
        fill = bytes(self.dtype.itemsize) if len(places) == most else self._fill_value()
        return ChunkTable(chunk, self._filters, fill, places)

    def _listed_chunks(self, most: int) -> NDArray[np.int64]:
        """Every stored chunk, or one more than the `most` that there can be."""
        rows: list[tuple[int, ...]] = []

        def collect(entry: Any) -> bool | None:
            rows.append((*entry.chunk_offset, entry.byte_offset, entry.size, entry.filter_mask))
            return True if len(rows) > most else None  # anything but None ends the walk

        self.identifier.chunk_iter(collect)
        return np.array(rows, np.int64).reshape(-1, len(self.shape) + 3)


def damaged_index(label: str) -> Refused:
    return Refused(f"{label} is damaged: its chunks are not where they should be.")


# What follows reads stored bytes; it needs no library.


@dataclass(frozen=True, eq=False)
class ChunkReader:
    """Unpacks chunks of one dataset; `label` names it in messages."""

    table: ChunkTable
    dtype: np.dtype[Any]
    label: str

    @cached_property
    def chunk_bytes(self) -> int:
        """Of every chunk, unpacked."""
        return math.prod(self.table.chunk) * self.dtype.itemsize

    def read(self, descriptor: int, stored: Sequence[int], target: NDArray[Any]) -> None:
        """Unpack one chunk into `target`, including what it holds beyond the edge of the dataset.

        Args:
            stored: the end of a row of the table: offset, bytes and skipped filters.
        """
        offset, size, skipped = stored
        content = os.pread(descriptor, size, offset)
        if len(content) != size:
            raise damaged_index(self.label)
        used = [code for position, code in enumerate(self.table.filters) if not skipped >> position & 1]
        blocks = inflate([content], wrapping=ZLIB, size=self.chunk_bytes) if DEFLATE in used else [content]
        plain = target.reshape(-1).view(np.uint8)
        done = 0
        try:
            for block in blocks:
                if done + len(block) > self.chunk_bytes:
                    raise Refused(f"A chunk of {self.label} unpacks to more than its {self.chunk_bytes:,} bytes.")
                if SHUFFLE in used:
                    _put_shuffled(block, done, target)
                else:
                    plain[done : done + len(block)] = np.frombuffer(block, np.uint8)
                done += len(block)
        except BadStreamError as fault:
            raise Refused(f"A compressed chunk of {self.label} {fault}.") from None
        if done < self.chunk_bytes:
            raise Refused(f"A chunk of {self.label} holds fewer than its {self.chunk_bytes:,} bytes.")

    def fill_value(self) -> Any:
        return np.frombuffer(self.table.fill, self.dtype)[0]


def _put_shuffled(block: bytes, position: int, target: NDArray[Any]) -> None:
    """Undo HDF5's shuffle, which puts the first bytes of all values first, then all second bytes, and so on."""
    values = target.reshape(-1).view(np.uint8).reshape(-1, target.dtype.itemsize)
    waiting = np.frombuffer(block, np.uint8)
    while len(waiting):
        byte, first = divmod(position, len(values))
        part = waiting[: len(values) - first]
        values[first : first + len(part), byte] = part
        waiting, position = waiting[len(part) :], position + len(part)


def read_values(file: SafeFile, storage: Storage, *, label: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """All values of a dataset, as they are stored."""
    if storage.table is None:
        assert storage.offset is not None
        values = np.empty(shape, storage.dtype)
        with file.open() as stream:
            stream.seek(storage.offset)
            if stream.readinto(values.reshape(-1).view(np.uint8).data) < values.nbytes:
                raise truncated(label)
        return values
    reader = ChunkReader(storage.table, storage.dtype, label)
    values = np.full(shape, reader.fill_value(), storage.dtype)
    chunk = np.empty(storage.table.chunk, storage.dtype)
    with file.open() as stream:
        for row in storage.table.places.tolist():
            reader.read(stream.fileno(), row[-3:], chunk)
            part = values[tuple(slice(start, start + length) for start, length in zip(row, chunk.shape, strict=False))]
            part[...] = chunk[tuple(slice(length) for length in part.shape)]
    return values


def stream_field(file: SafeFile, storage: Storage, *, label: str, shape: FieldShape) -> FrameStream:
    """The values of a field, frame by frame."""
    if storage.table is None:
        assert storage.offset is not None
        return RawFrames(file=file, label=label, offset=storage.offset, dtype=storage.dtype, shape=shape)
    return ChunkedFrames(file, storage.table, label=label, dtype=storage.dtype, shape=shape)


class ChunkedFrames(FrameStream):
    """A field in chunks of any shape, read cell by cell; a span is a row of cells, a few frames.

    A cell is what the chunks of all three components at one place of the (frame, pixel) plane hold; one is in memory
    at a time.
    """

    def __init__(
        self, file: SafeFile, table: ChunkTable, *, label: str, dtype: np.dtype[Any], shape: FieldShape
    ) -> None:
        self.file, self.label, self.shape, self.dtype = file, label, shape, dtype
        self._chunk = table.chunk
        cell_bytes = self._chunk[0] * shape[1] * self._chunk[2] * dtype.itemsize
        if cell_bytes > MAX_CELL_BYTES:
            raise Refused(
                f"{label} is stored in chunks of {self._chunk[0]} frames, {cell_bytes:,} bytes at once; "
                "save it with chunks of one frame."
            )
        self._reader = ChunkReader(table, dtype, label)
        self._stored = {(frame, axis, pixel): stored for frame, axis, pixel, *stored in table.places.tolist()}
        self._buffers = local()

    def spans(self) -> Sequence[range]:
        frames, step = self.shape[0], self._chunk[0]
        return [range(first, min(first + step, frames)) for first in range(0, frames, step)]

    def tiles(self, span: range) -> Iterator[Tile]:
        pixels, step = self.shape[2], self._chunk[2]
        with self.file.open() as stream:
            for first in range(0, pixels, step):
                with damage_refused(self.file):
                    cell = self._cell(stream.fileno(), span.start, first)
                inside = cell[: len(span), : self.shape[1], : pixels - first]
                for frame, values in zip(span, inside, strict=True):
                    yield Tile(frame, first, values)

    def _cell(self, descriptor: int, frame: int, pixel: int) -> NDArray[Any]:
        """The values (frames, 3, pixels) of a cell, including what is stored beyond the edge of the field."""
        chunk = self._buffer("chunk", self._chunk)
        cell = chunk
        if self._chunk[1] < self.shape[1]:
            cell = self._buffer("cell", (self._chunk[0], self.shape[1], self._chunk[2]))
        for component in range(0, self.shape[1], self._chunk[1]):
            stored = self._stored.get((frame, component, pixel))
            if stored is None:
                chunk[:] = self._reader.fill_value()
            else:
                self._reader.read(descriptor, stored, chunk)
            if cell is not chunk:
                part = cell[:, component : component + self._chunk[1]]
                part[:] = chunk[:, : part.shape[1]]
        return cell

    def _buffer(self, name: str, shape: tuple[int, ...]) -> NDArray[Any]:
        """Memory of this thread, reused: allocating it takes as long as unpacking into it."""
        if not hasattr(self._buffers, name):
            setattr(self._buffers, name, np.empty(shape, self.dtype))
        buffer: NDArray[Any] = getattr(self._buffers, name)
        return buffer
