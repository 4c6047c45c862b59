"""What a decoder does once it is locked in: answer questions about its file, then about the next file of its case.

`rehearse` does the same in the zygote, so that decoders share what the first reads leave behind: a library sets up its
tables when it first reads something, and Python adapts its code to what it is used for. Otherwise each decoder would do
both again, in memory that has to be copied first.
"""

import os
import socket
import traceback
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from io import BufferedReader
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from podium.errors import Refused
from podium.readers.files import SafeFile
from podium.readers.hdf5 import Hdf5Source, open_hdf5
from podium.readers.hdf5_frames import LibraryCells
from podium.readers.hdf5_storage import damage_refused
from podium.readers.images import Image, read_image
from podium.readers.volumes import Volume, read_mask_volume, read_volume
from podium.sandbox.lock import OPENED, Lock, are_all_returned
from podium.sandbox.wire import (
    INLINE_BYTES,
    EndedError,
    packed_voxels,
    receive,
    receive_descriptors,
    receive_small_array,
    send,
    send_small_array,
    write_array,
)

_LONGEST_TRACE = 4000
_SAMPLES = Path(__file__).resolve().parent / "samples"  # small files to rehearse with
_REHEARSALS = 10  # Python adapts a function after 8 calls
_SAMPLE_BYTES = 1 << 20

Answer = tuple[Any, NDArray[Any] | None]
"""A JSON value, and an array where there is one."""


@dataclass
class OpenFile:
    """The file of this decoder, with its open HDF5 objects."""

    file: SafeFile
    stack: ExitStack = field(default_factory=ExitStack)
    source: Hdf5Source | None = None
    cells: dict[str, LibraryCells] = field(default_factory=dict)

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
            if not are_all_returned():
                return  # the library still holds the previous file
            for descriptor, number in zip(receive_descriptors(channel, len(OPENED)), OPENED, strict=True):
                os.dup2(descriptor, number, inheritable=False)
                os.close(descriptor)
            continue
        if opened is None:
            opened = OpenFile(_only_file(lock, Path(request["root"]), request["name"]))
        _answer(channel, opened, request["reader"], request["options"])


def _only_file(lock: Lock, root: Path, name: str) -> SafeFile:
    if lock.file_system is None:
        return SafeFile(root, name)
    file = HandedFile(root, name)
    lock.file_system.path = os.fsencode(file.path)
    return file


def _answer(channel: socket.socket, opened: OpenFile, reader: str, options: dict[str, Any]) -> None:
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


def _geometry(found: Image | Volume) -> list[list[float]]:
    place = found if isinstance(found, Image) else found.geometry
    return [list(place.spacing), list(place.origin), list(place.direction)]


def _image(opened: OpenFile, *, shape: list[int] | None, max_bytes: int) -> Answer:
    image = read_image(opened.file, shape=_tuple(shape), max_bytes=max_bytes)
    return _geometry(image), image.array


def _volume(opened: OpenFile, *, shape: list[int] | None, max_bytes: int, binary: bool, as_voxels: bool) -> Answer:
    volume = read_volume(opened.file, shape=_tuple(shape), max_bytes=max_bytes, binary=binary, as_voxels=as_voxels)
    value = [*_geometry(volume), list(volume.shape)]
    if volume.voxels is None:
        return value, volume.labels
    return value, packed_voxels(volume.voxels, binary=binary) if len(volume.voxels.places) else None


def _hdf5_value(method: str, opened: OpenFile, *, file_bytes: int, **given: str) -> Answer:
    """What one of the source's methods returns."""
    return getattr(opened.hdf5(max_bytes=file_bytes), method)(**given), None


def _hdf5_read(opened: OpenFile, *, file_bytes: int, name: str, shape: list[int] | None, max_bytes: int) -> Answer:
    return None, opened.hdf5(max_bytes=file_bytes).read(name, shape=_tuple(shape), max_bytes=max_bytes)


def _hdf5_locate(opened: OpenFile, *, file_bytes: int, name: str, shape: tuple[int, int, int]) -> Answer:
    frames, axes, pixels = shape
    place = opened.hdf5(max_bytes=file_bytes).locate(name, shape=(frames, axes, pixels))
    value: dict[str, Any] = {"dtype": place.dtype.str}
    if place.offset is not None:
        return {**value, "offset": place.offset}, None
    if place.table is None:
        cells = opened.hdf5(max_bytes=file_bytes).cells(name, shape=(frames, axes, pixels))
        opened.cells[name] = cells
        return {**value, "cell": cells.steps}, None
    table = place.table
    value |= {"chunk": table.chunk, "filters": table.filters, "fill": table.fill.hex(), "chunks": len(table.places)}
    return value, table.places if len(table.places) else None


def _hdf5_cell(  # noqa: PLR0913  (what describes a part of a field)
    opened: OpenFile,
    *,
    file_bytes: int,
    name: str,
    shape: tuple[int, int, int],
    frames: tuple[int, int],
    pixels: tuple[int, int],
) -> Answer:
    if name not in opened.cells:  # this decoder replaces one that ended
        _hdf5_locate(opened, file_bytes=file_bytes, name=name, shape=shape)
    with damage_refused(opened.file):
        return None, opened.cells[name].cell(range(*frames), range(*pixels))


def _tuple(shape: list[int] | None) -> tuple[int, ...] | None:
    return None if shape is None else tuple(shape)


READERS: Mapping[str, Callable[..., Answer]] = {
    "image": _image,
    "volume": _volume,
    **{f"hdf5.{method}": partial(_hdf5_value, method) for method in ("names", "keys", "has", "shape")},
    "hdf5.read": _hdf5_read,
    "hdf5.locate": _hdf5_locate,
    "hdf5.cell": _hdf5_cell,
}
"""What a worker may ask for."""


def rehearse(library: bytes) -> None:
    """Read the sample of `library` and send what is in it."""
    read = {b"h5py": _read_datasets, b"SimpleITK": _read_images}[library]
    worker, decoder = socket.socketpair()
    with worker, decoder:
        for _ in range(_REHEARSALS):
            for values in read():
                send(decoder, {"array": {"shape": list(values.shape), "dtype": values.dtype.str}})
                send_small_array(decoder, values)
                receive(worker)
                receive_small_array(worker, values.shape, values.dtype)


def _read_datasets() -> list[NDArray[Any]]:
    with open_hdf5(SafeFile(_SAMPLES, "sample.h5"), max_bytes=_SAMPLE_BYTES) as source:
        return [source.read(name, max_bytes=_SAMPLE_BYTES) for name in source.names()]


def _read_images() -> list[NDArray[Any]]:
    file = SafeFile(_SAMPLES, "sample.nii.gz")
    voxels = read_mask_volume(file, max_bytes=_SAMPLE_BYTES).voxels
    assert voxels is not None, "the sample is small"
    return [packed_voxels(voxels, binary=True), read_image(file, max_bytes=_SAMPLE_BYTES).array]
