"""Silences libraries that write to stderr themselves: its last line is shown to the participant."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

from podium.kernel import is_linux

_NULL_DEVICE = os.makedev(1, 3)


@contextmanager
def quiet_stderr() -> Iterator[None]:
    """Send the process's own stderr (not only Python's) to nowhere; ITK, libtiff and niftilib write there directly."""
    if _leads_nowhere():
        yield
        return
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(nowhere)
        os.close(kept)


def _leads_nowhere() -> bool:
    """Whether stderr is /dev/null already, as in a decoder, which can open nothing else."""
    found = os.fstat(2)
    return is_linux() and stat.S_ISCHR(found.st_mode) and found.st_rdev == _NULL_DEVICE
