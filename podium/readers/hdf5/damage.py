"""What the HDF5 library raises, as a refusal."""

from collections.abc import Iterator
from contextlib import contextmanager

from podium.errors import PodiumError, Refused
from podium.readers.files import SafeFile


@contextmanager
def damage_refused(file: SafeFile) -> Iterator[None]:
    """The library reports damage by many kinds of exceptions, some of which name a path: none leaves the readers."""
    try:
        yield
    except PodiumError:
        raise
    except Exception:
        raise Refused(f"'{file.name}' is a damaged HDF5 file.") from None
