"""Which process decodes a submitted file: this one, or one that is locked in.

Images and HDF5 files are read by large libraries in C, whose faults are harmless only in a process that has nothing to
steal (`podium/sandbox`). While a decoder is installed, every such file that is not the organiser's own is passed on to
it. JSON, text, .npy and the stored chunks of HDF5 fields are always read here: that takes no more than reading the
decoder's reply would.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Protocol

from podium.readers.files import SafeFile

if TYPE_CHECKING:
    from podium.readers.geometry import Geometry, Shape
    from podium.readers.hdf5 import Datasets
    from podium.readers.images import Image
    from podium.readers.volumes import Volume


class Decoder(Protocol):
    """Reads as the functions of these names do, in another process."""

    def read_image(self, file: SafeFile, shape: "Shape | None", onto: "Geometry | None", max_bytes: int) -> "Image": ...

    def read_volume(
        self, file: SafeFile, shape: "Shape | None", onto: "Geometry | None", max_bytes: int, **kind: bool
    ) -> "Volume": ...

    def open_hdf5(self, file: SafeFile, *, max_bytes: int) -> AbstractContextManager["Datasets"]: ...

    def one_case(self) -> AbstractContextManager[None]: ...


_installed: list[Decoder] = []


@contextmanager
def decoded_by(decoder: Decoder) -> Iterator[None]:
    """Install `decoder` in this process and in those forked from it."""
    _installed.append(decoder)
    try:
        yield
    finally:
        _installed.remove(decoder)


def is_decoder_installed() -> bool:
    return bool(_installed)


def one_case() -> AbstractContextManager[None]:
    """Submitted files that this thread reads in this context belong to one case: one process may decode them all."""
    return _installed[-1].one_case() if _installed else nullcontext()


def decoder_of(file: SafeFile) -> Decoder | None:
    """The decoder of `file`; None: this process itself."""
    return _installed[-1] if _installed and not file.trusted else None
