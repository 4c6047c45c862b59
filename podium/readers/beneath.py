"""Opening a file below a folder so that no link is followed on the way, whoever changes the folder meanwhile."""

import ctypes
import errno
import os
from pathlib import Path, PurePosixPath

from podium.kernel import OPENAT2, is_linux, syscall

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""O_NONBLOCK: should the file have become a FIFO, opening it must not wait forever."""

_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
"""O_PATH: the folder is a step on the way, its list of files is not read."""

_NO_MAGIC_LINKS, _NO_SYMBOLIC_LINKS, _BENEATH = 0x02, 0x04, 0x08
_WITHOUT_OPENAT2 = (errno.ENOSYS, errno.EPERM)  # an old kernel; an old filter of the container's engine


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def open_beneath(root: Path, name: str) -> int:
    """A descriptor for reading the file `name` below `root`; OSError where a step of `name` is a link or missing."""
    folder = os.open(root, _FOLDER)
    try:
        if is_linux():
            try:
                return _open_at_once(folder, name)
            except OSError as fault:
                if fault.errno not in _WITHOUT_OPENAT2:
                    raise
        return open_step_by_step(folder, name)
    finally:
        os.close(folder)


def _open_at_once(folder: int, name: str) -> int:
    how = _How(_FLAGS, 0, _BENEATH | _NO_SYMBOLIC_LINKS | _NO_MAGIC_LINKS)
    path = ctypes.c_char_p(os.fsencode(name))
    return syscall(OPENAT2, folder, path, ctypes.byref(how), ctypes.sizeof(how))


def open_step_by_step(folder: int, name: str) -> int:
    """The same for kernels before Linux 5.6: every folder on the way is opened without following a link."""
    parts = PurePosixPath(name).parts
    if not parts or ".." in parts or name.startswith("/"):
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
    current = os.dup(folder)
    try:
        for part in parts[:-1]:
            inner = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=current)
            os.close(current)
            current = inner
        return os.open(parts[-1], _FLAGS, dir_fd=current)
    finally:
        os.close(current)
