"""What runs inside a decoder: it serves requests about its file, then about the next file of the same case.

The process is locked in (`lock.py`) before it reads the first byte. All that code in a submitted file can do here is
send a wrong reply, which the worker checks (`client.py`).

`rehearse` reads a sample in the zygote, so that decoders share what the first read leaves behind, such as the tables
that a library sets up. Otherwise each decoder would make them again.
"""

import os
import socket
import traceback
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import astuple, dataclass, field
from functools import partial
from io import BufferedReader
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from podium.errors import Refused
from podium.readers.files import SafeFile
from podium.readers.geometry import Geometry
from podium.readers.hdf5 import Hdf5Source, open_hdf5
from podium.readers.images import read_image
from podium.readers.volumes import read_mask_volume, read_volume
from podium.sandbox.lock import OPENED, Lock, all_descriptors_closed
from podium.sandbox.wire import (
    INLINE_BYTES,
    EndedError,
    packed_voxels,
    receive,
    receive_descriptors,
    send,
    send_small_array,
    write_array,
)

_LONGEST_TRACE = 4000
_SAMPLES = Path(__file__).resolve().parent / "samples"  # small files to rehearse with
_SAMPLE_BYTES = 1 << 20

Content = tuple[Any, NDArray[Any] | None]  # what was read: a JSON value, and an array where there is one


@dataclass
class OpenFile:
    """The file of this decoder, with its open HDF5 objects."""

    file: SafeFile
    stack: ExitStack = field(default_factory=ExitStack)
    source: Hdf5Source | None = None

    def hdf5(self, *, max_bytes: int) -> Hdf5Source:
        if self.source is None:
            source = self.stack.enter_context(open_hdf5(self.file, max_bytes=max_bytes))
            assert isinstance(source, Hdf5Source)
            self.source = source
        return self.source


class HandedFile(SafeFile):
    """The only file that a decoder can open."""

    def open(self) -> BufferedReader:
        return self.path.open("rb")


def decode(channel: socket.socket, lock: Lock) -> None:
    """Serve one worker until it closes the channel. This process is locked in already."""
    opened: OpenFile | None = None
    while True:
        try:
            request = receive(channel)
        except EndedError:
            return
        if "next" in request:
            if opened is not None:
                opened.stack.close()
                opened = None
            if not all_descriptors_closed():
                return  # the library still holds the previous file
            for descriptor, number in zip(receive_descriptors(channel, len(OPENED)), OPENED, strict=True):
                os.dup2(descriptor, number, inheritable=False)
                os.close(descriptor)
            continue
        if opened is None:
            root, name = Path(request["root"]), request["name"]
            opened = OpenFile(SafeFile(root, name) if lock.file_system is None else HandedFile(root, name))
            if lock.file_system is not None:
                lock.file_system.path = os.fsencode(opened.file.path)
        _reply(channel, opened, request["reader"], request["options"])


def _reply(channel: socket.socket, opened: OpenFile, reader: str, options: dict[str, Any]) -> None:
    if options.get("shape") is not None:
        options["shape"] = tuple(options["shape"])
    if options.get("onto") is not None:
        options["onto"] = Geometry(*map(tuple, options["onto"]))
    try:
        value, array = READERS[reader](opened, **options)
    except Refused as refusal:
        send(channel, {"refused": str(refusal)})
    except MemoryError:
        send(channel, {"memory": True})
    except Exception as fault:
        # Whatever went wrong costs this file only.
        trace = traceback.format_exc()[-_LONGEST_TRACE:]
        send(channel, {"unexpected": type(fault).__name__, "detail": trace})
    else:
        if array is None:
            send(channel, {"value": value})
            return
        send(channel, {"value": value, "array": {"shape": list(array.shape), "dtype": array.dtype.str}})
        if array.nbytes <= INLINE_BYTES:
            send_small_array(channel, array)
            return
        (memory,) = receive_descriptors(channel, 1)
        write_array(memory, array)
        os.close(memory)
        send(channel, {"written": True})


def _image(opened: OpenFile, **options: Any) -> Content:
    image = read_image(opened.file, **options)
    return astuple(image.geometry), image.array


def _volume(opened: OpenFile, *, binary: bool, **options: Any) -> Content:
    volume = read_volume(opened.file, binary=binary, **options)
    value = (*astuple(volume.geometry), volume.shape)
    if volume.voxels is None:
        return value, volume.labels
    return value, packed_voxels(volume.voxels, binary=binary) if len(volume.voxels.places) else None


def _hdf5_value(method: str, opened: OpenFile, *, file_bytes: int, **given: str) -> Content:
    """What one of the source's methods returns."""
    return getattr(opened.hdf5(max_bytes=file_bytes), method)(**given), None


def _hdf5_read(opened: OpenFile, *, file_bytes: int, **given: Any) -> Content:
    return None, opened.hdf5(max_bytes=file_bytes).read(**given)


def _hdf5_locate(opened: OpenFile, *, file_bytes: int, **given: Any) -> Content:
    place = opened.hdf5(max_bytes=file_bytes).locate(**given)
    value: dict[str, Any] = {"dtype": place.dtype.str}
    if place.table is None:
        return {**value, "offset": place.offset}, None
    table = place.table
    value |= {"chunk": table.chunk, "filters": table.filters, "fill": table.fill.hex(), "chunks": len(table.places)}
    return value, table.places if len(table.places) else None


READERS: Mapping[str, Callable[..., Content]] = {
    "image": _image,
    "volume": _volume,
    **{f"hdf5.{method}": partial(_hdf5_value, method) for method in ("names", "keys", "has", "shape")},
    "hdf5.read": _hdf5_read,
    "hdf5.locate": _hdf5_locate,
}
"""The requests that are served."""


def rehearse(package: bytes) -> None:
    """Read the sample of `package`."""
    if package == b"h5py":
        with open_hdf5(SafeFile(_SAMPLES, "sample.h5"), max_bytes=_SAMPLE_BYTES) as source:
            for name in source.names():
                source.read(name, max_bytes=_SAMPLE_BYTES)
        return
    file = SafeFile(_SAMPLES, "sample.nii.gz")
    voxels = read_mask_volume(file, max_bytes=_SAMPLE_BYTES).voxels
    assert voxels is not None, "the sample is small"
    packed_voxels(voxels, binary=True)
    read_image(file, max_bytes=_SAMPLE_BYTES)
