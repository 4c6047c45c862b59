"""Label volumes, unpacked once and block by block: whole-body scans are too large to be held as stored.

A 512 x 512 x 1024 prediction saved as float32 is 1 GB unpacked; as the mask it means it is a quarter of that, and the
pages of its empty parts are never touched. Every byte is checked on the way as for any other image.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.errors import Refused
from podium.readers.decoding import decoder_of
from podium.readers.files import SafeFile
from podium.readers.formats.image_header import ImageHeader
from podium.readers.formats.pixels import pixel_blocks
from podium.readers.formats.registry import format_of
from podium.readers.images import MAX_IMAGE_BYTES, Geometry, check_size, read_geometry, read_image
from podium.readers.labels import as_integer_labels

LARGEST_LABEL = 2**32 - 1
_WORD_BYTES = 8
_SPARSE_SHARE = 0.1  # of a block: up to here, values are picked out of it


@dataclass(frozen=True, eq=False)
class Volume:
    """Labels in numpy order (slices, rows, columns), geometry in SimpleITK's order (x, y, z)."""

    labels: NDArray[Any]
    geometry: Geometry


def _zeros(shape: tuple[int, ...]) -> NDArray[np.uint8]:
    return np.zeros(int(np.prod(shape, dtype=np.int64)), np.uint8)


def read_mask_volume(
    file: SafeFile,
    *,
    shape: tuple[int, ...] | None = None,
    max_bytes: int = MAX_IMAGE_BYTES,
    zeros: Callable[[tuple[int, ...]], NDArray[np.uint8]] = _zeros,
) -> Volume:
    """A 3-D volume of labels as a mask: 1 where the label is not 0. Probabilities are refused, never thresholded.

    `zeros` gives the memory for it.
    """
    return _read(file, shape=shape, max_bytes=max_bytes, binary=True, zeros=zeros)


def read_label_volume(
    file: SafeFile, *, shape: tuple[int, ...] | None = None, max_bytes: int = MAX_IMAGE_BYTES
) -> Volume:
    """A 3-D volume of labels, in the smallest unsigned type that holds them."""
    return _read(file, shape=shape, max_bytes=max_bytes, binary=False, zeros=_zeros)


def _read(
    file: SafeFile,
    *,
    shape: tuple[int, ...] | None,
    max_bytes: int,
    binary: bool,
    zeros: Callable[[tuple[int, ...]], NDArray[np.uint8]],
) -> Volume:
    if (decoder := decoder_of(file)) is not None:
        return decoder.read_volume(file, shape=shape, max_bytes=max_bytes, binary=binary)
    image_format = format_of(file)
    header = image_format.read_header(file)
    check_size(file, header, shape=shape, max_bytes=max_bytes)
    if len(header.shape) != 3:
        raise Refused(f"'{file.name}' has {len(header.shape)} axes; send a 3-D volume.")
    filled = _Filled(file.name, zeros(header.shape), binary=binary)
    if header.dtype is None:
        image = read_image(file, shape=shape, max_bytes=max_bytes)
        geometry = Geometry(image.spacing, image.origin, image.direction)
        filled.add(image.array.reshape(-1))
    else:
        geometry = read_geometry(file, header, image_io=image_format.image_io)
        for values in _values(file, header, header.dtype):
            filled.add(values)
    return Volume(filled.labels.reshape(header.shape), geometry)


class _Filled:
    """The labels read so far, in a type that grows with them."""

    def __init__(self, name: str, labels: NDArray[Any], *, binary: bool) -> None:
        self.name, self.labels, self.binary = name, labels, binary
        self.done = 0

    def add(self, values: NDArray[Any]) -> None:
        start, self.done = self.done, self.done + len(values)
        places = _few_labels(values)
        target: Any = slice(start, self.done)
        if places is not None:
            if not len(places):
                return
            values, target = values[places], start + places
        _refuse_probabilities(values, self.name)
        labels = as_integer_labels(values, name=self.name)
        if self.binary:
            self.labels[target] = labels != 0
            return
        largest = int(labels.max())
        if largest > LARGEST_LABEL:
            raise Refused(f"'{self.name}' holds the label {largest}; labels go up to {LARGEST_LABEL}.")
        if largest > np.iinfo(self.labels.dtype).max:
            self.labels = self.labels.astype(np.min_scalar_type(largest))
        self.labels[target] = labels


def _few_labels(values: NDArray[Any]) -> NDArray[np.intp] | None:
    """The places of all values that are not 0 bit by bit, and of some beside them; None where these are many. Of a
    background, which is most of a volume, nothing else is looked at, and no page of the labels is touched."""
    size = values.dtype.itemsize
    together = 1 if size > 1 or len(values) % _WORD_BYTES else _WORD_BYTES
    filled = values.view(f"u{size * together}") != 0
    if np.count_nonzero(filled) > _SPARSE_SHARE * len(filled):
        return None
    words = np.flatnonzero(filled)
    return words if together == 1 else (words[:, None] * together + np.arange(together)).reshape(-1)


def _refuse_probabilities(values: NDArray[Any], name: str) -> None:
    """Fractions between 0 and 1 in a mask are probabilities, however few of them are not 0."""
    if values.dtype.kind != "f" or not (values.min() >= 0 and values.max() <= 1):
        return
    fractional = (values != 0) & (values != 1)
    if fractional.any():
        raise Refused(
            f"'{name}' holds the fractional value {float(values[fractional.argmax()]):g}; this looks like a "
            "probability map: send labels, for example by a threshold."
        )


def _values(file: SafeFile, header: ImageHeader, dtype: str) -> Iterator[NDArray[Any]]:
    """The pixels in the order of the file, in blocks; exactly as many as announced, otherwise Refused."""
    rest = b""
    for block in pixel_blocks(file, header):
        data = rest + block if rest else block
        whole = len(data) // header.pixel_bytes
        if whole:
            values = np.frombuffer(data, dtype, count=whole)
            yield values if values.dtype.isnative else values.astype(values.dtype.newbyteorder("="))
        rest = bytes(data[whole * header.pixel_bytes :])
