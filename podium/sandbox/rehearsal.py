"""What every decoder does, done before there is one: those forked later share what the first times leave behind.

A library sets up its tables when it first reads something, and Python adapts its code to what it is used for. Otherwise
each decoder would do both again, in memory that has to be copied first.
"""

import socket
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from podium.readers.files import SafeFile
from podium.readers.hdf5.file import open_hdf5
from podium.readers.images import read_image
from podium.readers.volumes import read_mask_volume
from podium.sandbox.messages import receive, send
from podium.sandbox.remote_volumes import packed_voxels
from podium.sandbox.wire import receive_small_array, send_small_array

_SAMPLES = Path(__file__).resolve().parent / "samples"  # small files of our own
_TIMES = 10  # Python adapts a function after 8 calls
_MAX_BYTES = 1 << 20


def rehearse(library: bytes) -> None:
    """Read the sample of `library` and send what is in it."""
    read = {b"h5py": _read_datasets, b"SimpleITK": _read_images}[library]
    worker, decoder = socket.socketpair()
    with worker, decoder:
        for _ in range(_TIMES):
            for values in read():
                send(decoder, {"array": {"shape": list(values.shape), "dtype": values.dtype.str}})
                send_small_array(decoder, values)
                receive(worker)
                receive_small_array(worker, values.shape, values.dtype)


def _read_datasets() -> list[NDArray[Any]]:
    with open_hdf5(SafeFile(_SAMPLES, "sample.h5"), max_bytes=_MAX_BYTES) as source:
        return [source.read(name, max_bytes=_MAX_BYTES) for name in source.names()]


def _read_images() -> list[NDArray[Any]]:
    file = SafeFile(_SAMPLES, "sample.nii.gz")
    voxels = read_mask_volume(file, max_bytes=_MAX_BYTES).voxels
    assert voxels is not None, "the sample is small"
    return [packed_voxels(voxels, binary=True), read_image(file, max_bytes=_MAX_BYTES).array]
