"""All values of one small dataset. Chunks that zlib and NumPy can unpack are unpacked once, while they are checked."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.errors import h5py
from podium.readers.hdf5.storage import DEFLATE, SHUFFLE, PlainDataset

_DEFLATED: tuple[list[int], ...] = ([DEFLATE], [SHUFFLE, DEFLATE])


def read_values(dataset: PlainDataset) -> NDArray[Any]:
    """The values of a dataset whose layout, type and size were checked, in the machine's byte order."""
    dtype = dataset.identifier.dtype
    plain_type = h5py.h5t.py_create(dtype).equal(dataset.identifier.get_type())
    if dataset.is_chunked and plain_type and dataset.filter_codes in _DEFLATED:
        return _unpacked(dataset).astype(dtype.newbyteorder("="), copy=False)
    dataset.check_storage()
    # Zeros, not empty: if the library leaves values unwritten, they do not show old memory.
    values = np.zeros(dataset.shape, dtype.newbyteorder("="))
    dataset.identifier.read(h5py.h5s.ALL, h5py.h5s.ALL, values)
    return values


def _unpacked(dataset: PlainDataset) -> NDArray[Any]:
    plan, dtype = dataset.plan, dataset.identifier.dtype
    fill = np.zeros(1, dtype)
    plan.get_fill_value(fill)
    values = np.full(dataset.shape, fill[0], dtype)
    chunk = plan.get_chunk()
    shuffled = dataset.filter_codes[0] == SHUFFLE
    nothing = bytes(dataset.chunk_bytes) if not fill.view(np.uint8).any() else None

    def put(place: tuple[int, ...], content: bytes, skipped: int) -> None:
        if content == nothing:  # most of a mask: it reads as what was never written
            return
        stored = np.frombuffer(content, np.uint8)
        if shuffled and not skipped & 1:
            stored = np.ascontiguousarray(stored.reshape(dtype.itemsize, -1).T)
        part = values[tuple(slice(start, start + length) for start, length in zip(place, chunk, strict=True))]
        part[...] = stored.view(dtype).reshape(chunk)[tuple(slice(length) for length in part.shape)]

    dataset.check_storage(put)
    return values
