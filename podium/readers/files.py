"""Files that are safe to open: regular, not a link, and really below the folder they were submitted in."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from podium.contract.errors import Refused


@dataclass(frozen=True, order=True)
class SafeFile:
    """A checked regular file below `root`. Readers accept nothing else, so no path is opened unchecked.

    `name` is the path as its author knows it: relative to the submission, with forward slashes.
    """

    root: Path
    name: str

    @property
    def path(self) -> Path:
        return self.root / self.name

    @property
    def size(self) -> int:
        return self.path.stat().st_size

    @classmethod
    def inside(cls, root: Path, name: str) -> "SafeFile":
        """The file `name` below `root`; refuses links at any level, `..`, absolute paths and special files."""
        relative = PurePosixPath(name)
        if relative.is_absolute() or ".." in relative.parts or not relative.parts or "\0" in name:
            raise Refused(f"'{name}' is not a path inside the submission.")
        real_root = root.resolve()
        current = real_root
        for part in relative.parts:
            current = current / part
            try:
                mode = current.lstat().st_mode
            except OSError:
                raise Refused(f"'{name}' does not exist.") from None
            if stat.S_ISLNK(mode):
                raise Refused(f"'{name}' is or lies behind a symbolic link; send the file itself.")
        if not stat.S_ISREG(mode):
            raise Refused(f"'{name}' is not a regular file.")
        return cls(real_root, str(relative))

    def read_bytes(self, limit: int) -> bytes:
        """The content, refused when longer than `limit` bytes (never more than that is read)."""
        # O_NONBLOCK: should the file have become a FIFO since the check, opening it must not wait forever.
        descriptor = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as stream:
            content = stream.read(limit + 1)
        if len(content) > limit:
            raise Refused(f"'{self.name}' is larger than {limit:,} bytes.")
        return content
