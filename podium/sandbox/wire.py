"""What decoders and workers send each other: short JSON messages, and arrays. Nothing is ever unpickled.

An array's header is checked against what was asked for before memory is allocated. Small arrays follow their header
through the channel. For large ones the worker provides memory of exactly the declared length, and uses it only after
the kernel has sealed it, so that nobody can write to it any more.
"""

import fcntl
import json
import math
import mmap
import os
import re
import socket
import struct
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from podium.readers.volumes import Voxels

LONGEST_MESSAGE_BYTES = 4 * 1024 * 1024
INLINE_BYTES = 4 * 1024 * 1024  # up to here arrays pass through the channel: copying twice is cheaper than mapping
MOST_AXES = 32
PLACE_FROM_BIT = 32
"""Of a voxel with a label; the label is below it. The largest volume has fewer places than 2**32."""

_LENGTH = struct.Struct("!I")
_WITH_DESCRIPTORS = b"+"  # descriptors come with at least one byte
_DENSE_SHARE = 4  # from one part in this many written on, mapping the whole array costs less than copying the part
_BLOCK_BYTES = 64 * 1024  # blocks of zeros need not be written
_TYPE = re.compile(r"[<>|=]?[buif][1248]")


class EndedError(Exception):
    """The other side has ended."""


class ProtocolError(Exception):
    """What came back is not what was asked for."""


@contextmanager
def _ended_where_broken() -> Iterator[None]:
    """EndedError for whatever a closed channel raises; a time limit that the caller has set is no such end."""
    try:
        yield
    except TimeoutError:
        raise
    except OSError as fault:
        raise EndedError from fault


def send(channel: socket.socket, message: dict[str, Any]) -> None:
    """Send one message."""
    content = json.dumps(message).encode()
    with _ended_where_broken():
        channel.sendall(_LENGTH.pack(len(content)) + content)


def receive(channel: socket.socket) -> dict[str, Any]:
    """The next message. Descriptors that come with it are closed by the kernel."""
    (length,) = _LENGTH.unpack(_exactly(channel, _LENGTH.size))
    if length > LONGEST_MESSAGE_BYTES:
        raise ProtocolError(f"a message of {length:,} bytes")
    content = _exactly(channel, length)
    try:
        message = json.loads(content)
    except (ValueError, RecursionError):
        raise ProtocolError("a message that is not JSON") from None
    if not isinstance(message, dict):
        raise ProtocolError("a message that is not an object")
    return message


def send_descriptors(channel: socket.socket, descriptors: Sequence[int]) -> None:
    """Send descriptors that the other side may use from then on."""
    with _ended_where_broken():
        socket.send_fds(channel, [_WITH_DESCRIPTORS], descriptors)


def receive_descriptors(channel: socket.socket, count: int) -> Sequence[int]:
    """The next `count` descriptors."""
    start, descriptors, _, _ = socket.recv_fds(channel, len(_WITH_DESCRIPTORS), count)
    if start != _WITH_DESCRIPTORS or len(descriptors) != count:
        raise EndedError
    return descriptors


def _exactly(channel: socket.socket, count: int) -> bytearray:
    content = bytearray(count)
    left = memoryview(content)
    with _ended_where_broken():
        while left.nbytes:
            received = channel.recv_into(left)
            if not received:
                raise EndedError
            left = left[received:]
    return content


@dataclass(frozen=True, kw_only=True)
class Expected:
    """What an array may be; `shape` None: any shape with `axes` axes. `alternative`: something else that it may be.
    Types are NumPy's without byte order, such as 'u1'."""

    shape: tuple[int, ...] | None = None
    axes: Collection[int] = range(MOST_AXES + 1)
    types: Collection[str] | None = None
    max_bytes: int
    alternative: "Expected | None" = None

    def check(self, header: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
        """Shape and type of the array that `header` declares; ProtocolError where that is not expected."""
        if self.alternative is not None:
            with suppress(ProtocolError):
                return self.alternative.check(header)
        if not isinstance(header, dict):
            raise ProtocolError("an array without a header")
        found, dtype = checked_shape(header.get("shape")), number_type(header.get("dtype"))
        if (self.shape is not None and found != self.shape) or len(found) not in self.axes:
            raise ProtocolError(f"an array of the shape {str(found)[:100]}")
        if not dtype.isnative or (self.types is not None and dtype.str[1:] not in self.types):
            raise ProtocolError(f"an array of the type {dtype}")
        if math.prod(found) * dtype.itemsize > self.max_bytes:
            raise ProtocolError("an array that is too large")
        return found, dtype


def checked_shape(found: Any) -> tuple[int, ...]:
    """Positive lengths, from a list; ProtocolError for anything else."""
    if not isinstance(found, list) or not all(type(length) is int and length > 0 for length in found):
        raise ProtocolError("an invalid shape")
    return tuple(found)


def number_type(text: Any) -> np.dtype[Any]:
    """The type of a plain number of at most 8 bytes; ProtocolError for anything else."""
    if not isinstance(text, str) or not _TYPE.fullmatch(text):
        raise ProtocolError("a type that is not numeric")
    try:
        return np.dtype(text)
    except TypeError:
        raise ProtocolError("a type that is not numeric") from None


def check_values(values: NDArray[Any]) -> NDArray[Any]:
    """The array itself; ProtocolError where its bytes are not values of its type."""
    if values.dtype.kind == "b" and values.view(np.uint8).max() > 1:
        raise ProtocolError("booleans that are neither true nor false")
    return values


def send_small_array(channel: socket.socket, values: NDArray[Any]) -> None:
    """Send the bytes of an array of at most INLINE_BYTES, right after the message that declares it."""
    with _ended_where_broken():
        channel.sendall(np.ascontiguousarray(values).reshape(-1).view(np.uint8).data)


def receive_small_array(channel: socket.socket, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Receive exactly the bytes of the declared array."""
    content = _exactly(channel, math.prod(shape) * dtype.itemsize)
    return check_values(np.frombuffer(content, dtype).reshape(shape))


class SharedArray:
    """Memory of exactly one array, for the decoder to write once."""

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self._shape, self._dtype = shape, dtype
        self._bytes = math.prod(shape) * dtype.itemsize
        self.descriptor = os.memfd_create("podium", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.descriptor, self._bytes)
        fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)

    def close(self) -> None:
        os.close(self.descriptor)

    def sealed(self) -> NDArray[Any]:
        """The array, which nobody else can change from now on; ProtocolError where somebody still could."""
        try:
            fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SEAL)
        except OSError:
            raise ProtocolError("memory that is still being written to") from None
        written = list(self._written())
        if sum(end - start for start, end in written) > self._bytes // _DENSE_SHARE:
            content = mmap.mmap(self.descriptor, self._bytes, flags=mmap.MAP_PRIVATE)
            return check_values(np.frombuffer(content, self._dtype).reshape(self._shape))
        values = np.zeros(self._bytes, np.uint8)
        for start, end in written:
            part = values[start:end].data
            while part.nbytes:
                part = part[os.preadv(self.descriptor, [part], end - part.nbytes) :]
        return check_values(values.view(self._dtype).reshape(self._shape))

    def _written(self) -> Iterator[tuple[int, int]]:
        """The parts that were written: most of a mask with few lesions was not, and would only read as zeros."""
        start = end = 0
        while end < self._bytes:
            try:
                start = os.lseek(self.descriptor, end, os.SEEK_DATA)
            except OSError:  # only a hole up to the end
                return
            end = os.lseek(self.descriptor, start, os.SEEK_HOLE)
            yield start, end


def write_array(descriptor: int, values: NDArray[Any]) -> None:
    """Put `values` into shared memory of exactly their size, which is zero so far."""
    with mmap.mmap(descriptor, values.nbytes, access=mmap.ACCESS_WRITE) as content:
        target = np.frombuffer(content, np.uint8)
        source = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
        for start in range(0, source.size, _BLOCK_BYTES):
            block = source[start : start + _BLOCK_BYTES]
            if block.view(np.bool_).any():
                target[start : start + _BLOCK_BYTES] = block
        del target


def packed_voxels(voxels: "Voxels", *, binary: bool) -> NDArray[Any]:
    """Every voxel as one number: its place and, unless the volume is `binary`, in the lower bits its label."""
    if binary:
        return voxels.places.astype(np.uint32)
    return voxels.places.astype(np.uint64) << np.uint64(PLACE_FROM_BIT) | voxels.labels.astype(np.uint64)
