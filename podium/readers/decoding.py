"""Where submitted files are decoded: in this process, or in one that is locked in.

Libraries of many thousand lines of C read images and HDF5 files. A fault in one of them is only harmless in a process
that has nothing to steal. So while a decoder is in place, the readers of these files pass on to it every file that is
not the organiser's own. JSON, text, .npy and the stored chunks of HDF5 fields are read here in any case: reading them
takes no more than reading the decoder's answer would.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Protocol

from podium.readers.files import SafeFile

if TYPE_CHECKING:
    from podium.readers.hdf5 import Datasets
    from podium.readers.images import Image
    from podium.readers.volumes import Volume


class Decoder(Protocol):
    """Reads as the function of that name does, elsewhere."""

    def read_image(self, file: SafeFile, *, shape: tuple[int, ...] | None, max_bytes: int) -> "Image": ...

    def read_volume(
        self, file: SafeFile, *, shape: tuple[int, ...] | None, max_bytes: int, binary: bool, as_voxels: bool
    ) -> "Volume": ...

    def open_hdf5(self, file: SafeFile, *, max_bytes: int) -> AbstractContextManager["Datasets"]: ...

    def one_case(self) -> AbstractContextManager[None]: ...


_in_place: list[Decoder] = []


@contextmanager
def decoded_by(decoder: Decoder) -> Iterator[None]:
    """Put `decoder` in place, in this process and in those forked from it."""
    _in_place.append(decoder)
    try:
        yield
    finally:
        _in_place.remove(decoder)


def is_decoder_in_place() -> bool:
    return bool(_in_place)


def one_case() -> AbstractContextManager[None]:
    """All submitted files that this thread reads meanwhile belong to one case: one process may decode them all."""
    return _in_place[-1].one_case() if _in_place else nullcontext()


def decoder_of(file: SafeFile) -> Decoder | None:
    """Who decodes `file`; None: this process itself."""
    return _in_place[-1] if _in_place and not file.trusted else None
