"""Silences libraries that write to stderr themselves: its last line is shown to the participant."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


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
    found, nowhere = os.fstat(2), Path(os.devnull).stat()
    return (found.st_dev, found.st_ino) == (nowhere.st_dev, nowhere.st_ino)
