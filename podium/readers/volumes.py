"""Label volumes, unpacked once and a block at a time: whole-body scans are too large to be held as stored.

A 512 x 512 x 1024 prediction saved as float32 is 1 GB unpacked; as the mask it means it is a quarter of that, and the
pages of its empty parts are never touched. Every byte is checked on the way as for any other image.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.errors import Refused
from podium.readers.files import SafeFile
from podium.readers.formats.image_header import ImageHeader
from podium.readers.formats.metaimage import check_metaimage_pixels, check_metaimage_size
from podium.readers.formats.nifti import TRAILING_SLACK, check_nifti_pixels, check_nifti_size
from podium.readers.images import MAX_IMAGE_BYTES, Geometry, check_size, read_geometry, read_header, read_image
from podium.readers.inflate import GZIP, ZLIB_OR_GZIP, BadStreamError, inflate, pieces
from podium.readers.labels import as_integer_labels

LARGEST_LABEL = 2**32 - 1


@dataclass(frozen=True, eq=False)
class Volume:
    """Labels in numpy order (slices, rows, columns), geometry in SimpleITK's order (x, y, z)."""

    labels: NDArray[Any]
    geometry: Geometry


def read_mask_volume(
    file: SafeFile, *, shape: tuple[int, ...] | None = None, max_bytes: int = MAX_IMAGE_BYTES
) -> Volume:
    """A 3-D volume of labels as a mask: 1 where the label is not 0. Probabilities are refused, never thresholded."""
    return _read(file, shape=shape, max_bytes=max_bytes, binary=True)


def read_label_volume(
    file: SafeFile, *, shape: tuple[int, ...] | None = None, max_bytes: int = MAX_IMAGE_BYTES
) -> Volume:
    """A 3-D volume of labels, in the smallest unsigned type that holds them."""
    return _read(file, shape=shape, max_bytes=max_bytes, binary=False)


def _read(file: SafeFile, *, shape: tuple[int, ...] | None, max_bytes: int, binary: bool) -> Volume:
    header = read_header(file)
    check_size(file, header, shape=shape, max_bytes=max_bytes)
    if len(header.shape) != 3:
        raise Refused(f"'{file.name}' has {len(header.shape)} axes; send a 3-D volume.")
    filled = _Filled(file.name, header.shape, binary=binary)
    if header.dtype is None:
        image = read_image(file, shape=shape, max_bytes=max_bytes)
        geometry = Geometry(image.spacing, image.origin, image.direction)
        filled.add(image.array.reshape(-1))
    else:
        geometry = read_geometry(file, header)
        for values in _values(file, header, header.dtype):
            filled.add(values)
    return Volume(filled.labels.reshape(header.shape), geometry)


class _Filled:
    """The labels read so far, in a type that grows with them."""

    def __init__(self, name: str, shape: tuple[int, ...], *, binary: bool) -> None:
        self.name, self.shape, self.binary = name, shape, binary
        self.labels: NDArray[Any] = np.zeros(int(np.prod(shape, dtype=np.int64)), np.uint8)
        self.done = 0

    def add(self, values: NDArray[Any]) -> None:
        start, self.done = self.done, self.done + len(values)
        if not values.view(np.uint8).any():
            return
        _refuse_probabilities(values, self.name)
        labels = as_integer_labels(values, name=self.name)
        if self.binary:
            self.labels[start : self.done] = labels != 0
            return
        largest = int(labels.max())
        if largest > LARGEST_LABEL:
            raise Refused(f"'{self.name}' holds the label {largest}; labels go up to {LARGEST_LABEL}.")
        if largest > np.iinfo(self.labels.dtype).max:
            self.labels = self.labels.astype(np.min_scalar_type(largest))
        self.labels[start : self.done] = labels


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
    """The pixels in the order of the file, in blocks; exactly as many as announced, else Refused."""
    rest = b""
    for block in _pixel_blocks(file, header):
        data = rest + block if rest else block
        whole = len(data) // header.pixel_bytes
        if whole:
            values = np.frombuffer(data, dtype, count=whole)
            yield values if values.dtype.isnative else values.astype(values.dtype.newbyteorder("="))
        rest = bytes(data[whole * header.pixel_bytes :])


def _pixel_blocks(file: SafeFile, header: ImageHeader) -> Iterator[bytes | memoryview]:
    is_nifti = header.image_io == "NiftiImageIO"
    if not header.compressed:
        (check_nifti_pixels if is_nifti else check_metaimage_pixels)(
            file, header
        )  # by the file's size: nothing is read
    try:
        with file.open() as stream:
            if is_nifti and header.compressed:
                unpacked = inflate(pieces(stream), wrapping=GZIP, many_members=True)
                before, slack = header.data_offset, TRAILING_SLACK
            else:
                stream.seek(header.data_offset)
                before, slack = 0, TRAILING_SLACK if is_nifti else 0
                unpacked = inflate(pieces(stream), wrapping=ZLIB_OR_GZIP) if header.compressed else pieces(stream)
            size = 0
            for block in unpacked:
                start = size
                size += len(block)
                if size > before + header.data_bytes + slack:
                    break
                inside = memoryview(block)[max(0, before - start) : max(0, before + header.data_bytes - start)]
                if inside:
                    yield inside
    except BadStreamError as fault:
        raise Refused(f"The compressed data of '{file.name}' {fault}.") from None
    if header.compressed:
        (check_nifti_size if is_nifti else check_metaimage_size)(file, header, size)
