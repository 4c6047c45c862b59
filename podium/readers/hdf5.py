"""Numeric datasets from HDF5 files, with everything refused that could lead out of the file or fill the memory.

A dataset is found along hard links only (`open_dataset`). Where its values are stored is checked, and these are read
without the library (`hdf5_storage.py`).
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from podium.errors import Refused, listed
from podium.packages import h5py
from podium.readers.decoding import decoder_of
from podium.readers.files import SafeFile, escape_for_display
from podium.readers.formats.headers import check_expected_shape
from podium.readers.frames import ArraySource, FieldShape, FrameStream, check_number_type, check_shape
from podium.readers.hdf5_storage import PlainDataset, Storage, damage_refused, read_values, stream_field

_MOST_NAMES_SHOWN = 5
SIGNATURE = b"\x89HDF\r\n\x1a\n"
USER_BLOCKS = (0, 512, 1024, 2048)  # where the signature may be: MATLAB, for example, writes 512 bytes before it
MAX_FILE_BYTES = 4 * 1024**3
MAX_DATASET_BYTES = 2 * 1024**3


class Datasets(ArraySource, Protocol):
    """What is in an open HDF5 file, whichever process reads it."""

    def keys(self) -> tuple[str, ...]:
        """The names of all objects directly below the root, sorted."""

    def read(
        self, name: str, *, shape: tuple[int, ...] | None = None, max_bytes: int = MAX_DATASET_BYTES
    ) -> NDArray[Any]:
        """As for any source, but at most `max_bytes`."""


@contextmanager
def open_hdf5(file: SafeFile, *, max_bytes: int | None = None) -> Iterator[Datasets]:
    """Open `file` for reading; nothing in it is trusted because it could be opened."""
    limit = MAX_FILE_BYTES if max_bytes is None else max_bytes
    if (decoder := decoder_of(file)) is not None:
        with decoder.open_hdf5(file, max_bytes=limit) as datasets:
            yield datasets
        return
    start = file.first_bytes(USER_BLOCKS[-1] + len(SIGNATURE))
    if not any(start.startswith(SIGNATURE, offset) for offset in USER_BLOCKS):
        raise Refused(f"The content of '{file.name}' is not HDF5.")
    if file.size > limit:
        raise Refused(f"'{file.name}' is larger than {limit:,} bytes.")
    with damage_refused(file):
        opened = h5py.h5f.open(os.fsencode(file.path), h5py.h5f.ACC_RDONLY, fapl=_access())
    try:
        with damage_refused(file):
            root = h5py.h5g.open(opened, b"/")
        yield Hdf5Source(file, root)
    finally:
        with damage_refused(file):
            opened.close()


@cache
def _access() -> Any:
    """How files are opened: closing one closes everything opened in it, and none is locked, since a submission may be
    on a read-only file system."""
    access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    access.set_fclose_degree(h5py.h5f.CLOSE_STRONG)
    access.set_file_locking(use_file_locking=False, ignore_when_disabled=False)
    return access


@dataclass(frozen=True)
class Hdf5Source:
    """An open HDF5 file, read in this process. Names are paths such as 'long_mask' or 'masks/long'."""

    file: SafeFile
    root: Any

    def names(self) -> tuple[str, ...]:
        """The datasets directly below the root, sorted."""
        with damage_refused(self.file):
            return dataset_names(self.root)

    def keys(self) -> tuple[str, ...]:
        """The names of all objects directly below the root, sorted; none is opened."""
        with damage_refused(self.file):
            return tuple(sorted(key.decode("utf-8", "surrogateescape") for key in self.root))

    def has(self, name: str) -> bool:
        with damage_refused(self.file):
            return bool(self.root.links.exists(name.encode()))

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a dataset, () for a single value; nothing of its values is read."""
        with damage_refused(self.file):
            return self._checked(name).shape

    def read(
        self, name: str, *, shape: tuple[int, ...] | None = None, max_bytes: int = MAX_DATASET_BYTES
    ) -> NDArray[Any]:
        """The values of a dataset in the machine's byte order; they are not read if their shape is not `shape`."""
        with damage_refused(self.file):
            dataset = self._checked(name)
            check_expected_shape(dataset.label, dataset.shape, shape)
            if dataset.nbytes > max_bytes:
                raise Refused(f"{dataset.label} has {dataset.nbytes:,} bytes; at most {max_bytes:,} are read.")
            if dataset.is_compact:
                values = dataset.compact_values()
            else:
                values = read_values(self.file, dataset.storage(), label=dataset.label, shape=dataset.shape)
        if values.dtype == np.bool_ and values.view(np.uint8).max() > 1:
            raise Refused(f"{dataset.label} holds booleans that are neither true nor false.")
        return values.astype(values.dtype.newbyteorder("="), copy=False)

    def frames(self, name: str, *, shape: FieldShape) -> FrameStream:
        with damage_refused(self.file):
            return stream_field(self.file, self.locate(name, shape=shape), label=self.label(name), shape=shape)

    def locate(self, name: str, *, shape: FieldShape) -> Storage:
        """Where a large field is in the file; refused when it has another shape."""
        with damage_refused(self.file):
            dataset = self._checked(name)
            check_shape(dataset.label, dataset.shape, shape)
            check_number_type(dataset.label, dataset.dtype)
            return dataset.storage()

    def label(self, name: str) -> str:
        return f"'{escape_for_display(name)}' in '{self.file.name}'"

    def _checked(self, name: str) -> PlainDataset:
        dataset = PlainDataset(open_dataset(self.file, self.root, name), self.label(name))
        dataset.check()
        return dataset


def open_dataset(file: SafeFile, root: Any, name: str) -> Any:
    """The low-level dataset at `name` below the low-level group `root`.

    Soft, external and user-defined links are all resolved inside the library, the second into any file of the
    container. So every component of the path is checked before it is followed.
    """
    group = root
    parts = name.split("/")
    for position, part in enumerate(parts):
        path = "/".join(parts[: position + 1])
        key = part.encode()
        if not part or not group.links.exists(key):
            names = [escape_for_display(each) for each in dataset_names(root)]
            holds = listed(names, most=_MOST_NAMES_SHOWN) or "no dataset"
            raise Refused(f"'{file.name}' has no dataset '{escape_for_display(name)}'; it holds: {holds}.")
        link = group.links.get_info(key).type
        if link != h5py.h5l.TYPE_HARD:
            kinds = {h5py.h5l.TYPE_SOFT: "a soft link", h5py.h5l.TYPE_EXTERNAL: "an external link"}
            kind = kinds.get(link, "a user-defined link")
            raise Refused(f"'{escape_for_display(path)}' in '{file.name}' is {kind}; store the dataset itself.")
        kind_of_object = h5py.h5o.get_info(group, key).type
        if position < len(parts) - 1:
            if kind_of_object != h5py.h5o.TYPE_GROUP:
                raise Refused(f"'{escape_for_display(path)}' in '{file.name}' is not a group.")
            group = h5py.h5g.open(group, key)
    if kind_of_object != h5py.h5o.TYPE_DATASET:
        raise Refused(f"'{escape_for_display(name)}' in '{file.name}' is not a dataset.")
    return h5py.h5d.open(group, key)


def dataset_names(root: Any) -> tuple[str, ...]:
    """Names of the datasets directly below `root`, sorted; links that are not hard are left out."""
    names = []
    for key in root:
        if root.links.get_info(key).type != h5py.h5l.TYPE_HARD:
            continue
        if h5py.h5o.get_info(root, key).type == h5py.h5o.TYPE_DATASET:
            names.append(key.decode("utf-8", "surrogateescape"))
    return tuple(sorted(name for name in names if name.isprintable()))
