"""Where and how an HDF5 dataset keeps its values: checked before a value is read.

Three dangers: storage that is not in the file (external, virtual), filters that unpack to more than declared (the
library grows its buffer without bound), and chunks or blocks that hold less than declared (the library then hands out
memory it never wrote, which may hold a reference read before).
"""

import itertools
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from podium.errors import PodiumError, Refused, h5py
from podium.readers.files import SafeFile, escape_for_display
from podium.readers.inflate import ZLIB, ZLIB_LIBRARY, BadStreamError, Library, inflate, library_for

DEFLATE, SHUFFLE, FLETCHER32, LZF = 1, 2, 3, 32000
FILTERS = (DEFLATE, SHUFFLE, FLETCHER32, LZF)
CHECKSUM_BYTES = 4

MAX_CHUNKS = 200_000
CHUNK_SLACK = 1024 * 1024
"""A growable dataset may have chunks larger than itself; up to this size that is accepted."""

OTHER_KINDS = {
    "STRING": "text",
    "COMPOUND": "compound or complex values",
    "COMPLEX": "complex values",
    "VLEN": "variable-length values",
    "REFERENCE": "references",
    "OPAQUE": "opaque values",
    "ENUM": "an enumeration",
    "ARRAY": "arrays as values",
    "BITFIELD": "bit fields",
    "TIME": "times",
}
"""The classes of h5py.h5t that are not numbers, as messages name them."""


Keep = Callable[[tuple[int, ...], bytes, int], None]
"""Takes a chunk: its place, its content, and which filters were skipped for it (bits)."""


@contextmanager
def damage_refused(file: SafeFile) -> Iterator[None]:
    """Refuse the file for whatever the library raises: many kinds of exceptions, some of which name a path."""
    try:
        yield
    except PodiumError:
        raise
    except Exception:
        raise Refused(f"'{file.name}' is a damaged HDF5 file.") from None


class StoredChunk(NamedTuple):
    """Where a chunk is in the file, how many bytes it has there, and which filters were skipped for it (bits)."""

    offset: int
    size: int
    skipped: int


def most_stored_bytes(chunk_bytes: int) -> int:
    """No filter makes a chunk much larger than it is unpacked."""
    return chunk_bytes + chunk_bytes // 64 + 1024


@dataclass(frozen=True)
class PlainDataset:
    """A low-level dataset whose storage is checked; `label` names it in messages."""

    identifier: Any
    label: str

    # What follows is used often, and each time the library makes new objects.

    @cached_property
    def plan(self) -> Any:
        """How the dataset was created: its layout, its chunks and its filters."""
        return self.identifier.get_create_plist()

    @cached_property
    def filters(self) -> list[tuple[int, str]]:
        steps = (self.plan.get_filter(index) for index in range(self.plan.get_nfilters()))
        return [(code, name.decode("utf-8", "replace")) for code, _, _, name in steps]

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """() for a single value; an empty dataset is refused."""
        space = self.identifier.get_space()
        if space.get_simple_extent_type() == h5py.h5s.NULL or space.get_simple_extent_npoints() == 0:
            raise Refused(f"{self.label} is empty.")
        return tuple(space.get_simple_extent_dims())

    @cached_property
    def value_bytes(self) -> int:
        return int(self.identifier.get_type().get_size())

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.value_bytes

    @cached_property
    def chunk_bytes(self) -> int:
        """Of every chunk, unpacked."""
        chunk: tuple[int, ...] = self.plan.get_chunk()
        return math.prod(chunk) * self.value_bytes

    @property
    def is_chunked(self) -> bool:
        return bool(self.plan.get_layout() == h5py.h5d.CHUNKED)

    @property
    def filter_codes(self) -> list[int]:
        return [code for code, _ in self.filters]

    def check_layout(self) -> None:
        """Local storage and known filters. Comes before anything else: asking a virtual dataset for its shape may
        already open its sources."""
        layout = self.plan.get_layout()
        if layout == h5py.h5d.VIRTUAL:
            raise Refused(f"{self.label} is a virtual dataset; store the values themselves.")
        if self.plan.get_external_count() > 0:
            raise Refused(f"{self.label} keeps its values in another file (external storage); store them in this file.")
        if layout not in (h5py.h5d.COMPACT, h5py.h5d.CONTIGUOUS, h5py.h5d.CHUNKED):
            raise Refused(f"{self.label} has an unknown storage layout.")
        for code, name in self.filters:
            if code not in FILTERS:
                raise Refused(
                    f"{self.label} uses the filter {code} ('{escape_for_display(name)}'); save it with gzip or without."
                )
        codes = self.filter_codes
        if len(set(codes)) < len(codes) or {DEFLATE, LZF} <= set(codes):
            raise Refused(f"{self.label} is compressed twice; save it with gzip or without.")

    def check_type(self) -> None:
        """Booleans, integers and floats of at most 8 bytes."""
        kind = self.identifier.get_type()
        if kind.get_class() not in (h5py.h5t.INTEGER, h5py.h5t.FLOAT) and not self.is_boolean():
            names = {getattr(h5py.h5t, name): words for name, words in OTHER_KINDS.items()}
            what = names.get(kind.get_class(), "values of an unknown kind")
            raise Refused(f"{self.label} holds {what}; store plain numbers.")
        if kind.get_size() > 8:
            raise Refused(f"{self.label} holds numbers of {kind.get_size()} bytes; store at most 8.")

    def is_boolean(self) -> bool:
        """h5py stores booleans as an enumeration of one byte with FALSE = 0 and TRUE = 1."""
        kind = self.identifier.get_type()
        if kind.get_class() != h5py.h5t.ENUM or kind.get_size() != 1 or kind.get_nmembers() != 2:
            return False
        members = {kind.get_member_name(index): kind.get_member_value(index) for index in range(2)}
        return members == {b"FALSE": 0, b"TRUE": 1}

    def check_storage(self, keep: Keep | None = None) -> None:
        """Every stored block has exactly the size it must have; reads and unpacks each chunk once, within bounds.

        `keep` is given each filtered chunk, inflated.
        """
        if self.is_chunked:
            complete = self._check_chunks(keep)
        else:
            stored = self.identifier.get_storage_size()
            complete = stored == self.nbytes
            if stored and not complete:
                raise Refused(f"{self.label} stores {stored:,} bytes instead of {self.nbytes:,}.")
        if not complete:
            self.check_fill_value()

    def check_fill_value(self) -> None:
        """What was never written reads as the fill value, which must therefore exist."""
        never = self.plan.get_fill_time() == h5py.h5d.FILL_TIME_NEVER
        if never or self.plan.fill_value_defined() == h5py.h5d.FILL_VALUE_UNDEFINED:
            raise Refused(f"{self.label} was not written completely and has no fill value.")

    def chunk_grid(self) -> tuple[range, ...]:
        """Where chunks start along each axis, the step being the chunk's length; refused when too large or too many."""
        chunk = self.plan.get_chunk()
        if self.chunk_bytes > max(self.nbytes, CHUNK_SLACK):
            raise Refused(f"{self.label} has chunks of {self.chunk_bytes:,} bytes, more than all its values together.")
        grid = tuple(range(0, length, step) for length, step in zip(self.shape, chunk, strict=True))
        if math.prod(len(places) for places in grid) > MAX_CHUNKS:
            raise Refused(f"{self.label} is cut into more than {MAX_CHUNKS:,} chunks; save it with larger ones.")
        return grid

    def chunk_index(self) -> dict[tuple[int, ...], StoredChunk]:
        """Every stored chunk by its place, which is one of the grid."""
        grid = self.chunk_grid()
        index = self._listed_chunks(math.prod(len(places) for places in grid))
        if not all(place in places for offset in index for place, places in zip(offset, grid, strict=True)):
            raise self.damaged_index()
        # No filter makes a chunk much larger; larger chunks would make a small file take very long.
        largest = max((stored.size for stored in index.values()), default=0)
        if self.filters and largest > most_stored_bytes(self.chunk_bytes):
            raise Refused(f"A chunk of {self.label} stores more than its {self.chunk_bytes:,} bytes.")
        for _, size, _ in () if self.filters else index.values():
            # Reading such a chunk directly is dangerous too: the library would write past the end of a shorter buffer.
            if size != self.chunk_bytes:
                raise Refused(f"A chunk of {self.label} holds {size:,} bytes instead of {self.chunk_bytes:,}.")
        return index

    def _check_chunks(self, keep: Keep | None) -> bool:
        """Whether all chunks are there, each of the right size. Filtered ones are looked up the way the library will
        when it reads; what it finds must be what the index lists."""
        grid, index = self.chunk_grid(), self.chunk_index()
        filters, chunk_bytes = self.filter_codes, self.chunk_bytes
        # What is not kept is read by h5py, which unpacks it by zlib.
        library = ZLIB_LIBRARY if keep is None else library_for(chunk_bytes)
        # Without any chunk there is nothing to look up, and each failed look-up costs an exception.
        for place in itertools.product(*grid) if filters and index else ():
            mask, stored = self.stored_chunk(place)
            listed = index.get(place)
            if (None if listed is None else listed.size) != (None if stored is None else len(stored)):
                raise self.damaged_index()
            if stored is not None:
                content = self._check_chunk(stored, filters, skipped=mask, chunk_bytes=chunk_bytes, library=library)
                if keep is not None:
                    keep(place, content, mask)
        return len(index) == math.prod(len(places) for places in grid)

    def _listed_chunks(self, most: int) -> dict[tuple[int, ...], StoredChunk]:
        """Every stored chunk, by its place."""
        entries: list[Any] = []

        def collect(entry: Any) -> bool | None:
            entries.append(entry)
            return True if len(entries) > most else None  # anything but None ends the walk

        self.identifier.chunk_iter(collect)
        index = {entry.chunk_offset: StoredChunk(entry.byte_offset, entry.size, entry.filter_mask) for entry in entries}
        if len(index) != len(entries) or len(entries) > most:
            raise self.damaged_index()
        return index

    def stored_chunk(self, place: tuple[int, ...]) -> tuple[int, bytes | None]:
        """Filter mask and bytes of one chunk, None where there is none."""
        try:
            mask, stored = self.identifier.read_direct_chunk(place)
        except (OSError, RuntimeError, ValueError):
            return 0, None
        return mask, stored

    def damaged_index(self) -> Refused:
        return Refused(f"{self.label} is damaged: its chunks are not where they should be.")

    def _check_chunk(
        self, stored: bytes, filters: list[int], *, skipped: int, chunk_bytes: int, library: Library
    ) -> bytes:
        """Follow the size of one chunk backwards through its filters; its content as far as it was inflated."""
        content, size = stored, len(stored)
        for position in reversed(range(len(filters))):
            if skipped >> position & 1:
                continue
            if filters[position] == FLETCHER32:
                size -= CHECKSUM_BYTES
                content = content[: max(size, 0)]
            elif filters[position] == DEFLATE:
                content = self._inflated(content, limit=chunk_bytes + CHECKSUM_BYTES, library=library)
                size = len(content)
            elif filters[position] == LZF:
                try:
                    size = unpacked_lzf_size(content)
                except BadStreamError as fault:
                    raise Refused(f"A compressed chunk of {self.label} {fault}.") from None
        if size > chunk_bytes:
            raise Refused(f"A chunk of {self.label} unpacks to more than its {chunk_bytes:,} bytes.")
        if size < chunk_bytes:
            raise Refused(f"A chunk of {self.label} holds fewer than its {chunk_bytes:,} bytes.")
        return content

    def _inflated(self, content: bytes, *, limit: int, library: Library) -> bytes:
        """The unpacked content, or its start as soon as that passes `limit`."""
        size = 0
        blocks = []
        try:
            for block in inflate([content], wrapping=ZLIB, library=library):
                blocks.append(block)
                size += len(block)
                if size > limit:
                    break
        except BadStreamError as fault:
            raise Refused(f"A compressed chunk of {self.label} {fault}.") from None
        return b"".join(blocks)


def unpacked_lzf_size(stream: bytes) -> int:
    """How much an LZF stream unpacks to, without unpacking it.

    A control byte below 32 copies that many + 1 literal bytes; any other repeats earlier output: its upper three bits
    give the length - 2 (7: a further byte is added), the rest and one more byte the distance.
    """
    position = size = 0
    end = len(stream)
    while position < end:
        control = stream[position]
        position += 1
        if control < 32:
            position += control + 1
            size += control + 1
            continue
        length = (control >> 5) + 2
        if length == 9:
            length += stream[position] if position < end else 0
            position += 1
        if position >= end:
            raise BadStreamError("ends too early")
        distance = ((control & 31) << 8) + stream[position] + 1
        position += 1
        if distance > size:
            raise BadStreamError("is corrupt")
        size += length
    if position != end:
        raise BadStreamError("ends too early")
    return size
