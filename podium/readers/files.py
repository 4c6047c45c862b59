"""Files that are safe to open: regular, not a link, and really below the folder they were submitted in."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from podium.errors import Refused, SubmissionError
from podium.readers.beneath import open_beneath
from podium.readers.names import escape_for_display, is_printable

MAX_ENTRIES = 100_000
MAX_DEPTH = 16


@dataclass(frozen=True, order=True)
class SafeFile:
    """A checked regular file below `root`. Readers accept nothing else, so no path is opened unchecked.

    `name` is the path as its author knows it: relative to the submission, with forward slashes, printable. `trusted`
    marks the organiser's own files.
    """

    root: Path
    name: str
    trusted: bool = field(default=False, compare=False)

    @property
    def path(self) -> Path:
        return self.root / self.name

    @property
    def size(self) -> int:
        return self.path.stat().st_size

    @classmethod
    def inside(cls, root: Path, name: str, *, trusted: bool = False) -> "SafeFile":
        """The file `name` below `root`; refuses links at any level, `..`, absolute paths and special files."""
        relative = PurePosixPath(name)
        if relative.is_absolute() or ".." in relative.parts or not relative.parts or "\0" in name:
            raise Refused(f"'{escape_for_display(name)}' is not a path inside the submission.")
        if not is_printable(name):
            raise Refused(f"'{escape_for_display(name)}' has unprintable characters in its name; rename it.")
        real_root = root.resolve()
        current = real_root
        for part in relative.parts:
            current = current / part
            try:
                mode = current.lstat().st_mode
            except OSError:
                raise Refused(f"'{escape_for_display(name)}' does not exist.") from None
            if stat.S_ISLNK(mode):
                raise Refused(f"'{escape_for_display(name)}' is or lies behind a symbolic link; send the file itself.")
        if not stat.S_ISREG(mode):
            raise Refused(f"'{escape_for_display(name)}' is not a regular file.")
        return cls(real_root, str(relative), trusted)

    def open(self) -> BinaryIO:
        """The content as a stream; a link or a special file that has replaced it since the check is refused."""
        try:
            descriptor = open_beneath(self.root, self.name)
        except OSError:
            raise Refused(f"'{self.name}' cannot be opened.") from None
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise Refused(f"'{self.name}' is not a regular file.")
        return os.fdopen(descriptor, "rb")

    def read_bytes(self, limit: int) -> bytes:
        """The content, refused when longer than `limit` bytes (never more than that is read)."""
        with self.open() as stream:
            content = stream.read(limit + 1)
        if len(content) > limit:
            raise Refused(f"'{self.name}' is larger than {limit:,} bytes.")
        return content

    def first_bytes(self, count: int) -> bytes:
        """At most `count` bytes from the start: enough to recognise a format by its magic."""
        with self.open() as stream:
            return stream.read(count)


@dataclass(frozen=True)
class FileListing:
    """What is below a folder: files that may be read, and what was found but will not be opened."""

    files: tuple[SafeFile, ...]
    refused: tuple[tuple[str, str], ...]
    """(name, reason) of links, special files and files whose name cannot be shown."""


def list_files(root: Path, *, trusted: bool = False) -> FileListing:
    """All files below `root`, sorted by name. Directory links are reported, never followed; macOS junk is skipped.

    `trusted` where the organiser put them there.
    """
    real_root = root.resolve()
    files: list[SafeFile] = []
    refused: list[tuple[str, str]] = []
    for entry, name in _walk(real_root):
        reason = _reason_to_refuse(entry, name)
        if reason is not None:
            refused.append((escape_for_display(name), reason))
        else:
            files.append(SafeFile(real_root, name, trusted))
    return FileListing(tuple(sorted(files)), tuple(sorted(refused)))


def _walk(root: Path) -> Iterator[tuple[os.DirEntry[str], str]]:
    """Everything below `root` except folders that open, with its relative name; bounded in number and depth."""
    seen = 0
    folders = [(root, "", 1)]
    while folders:
        folder, prefix, depth = folders.pop()
        if depth > MAX_DEPTH:
            raise SubmissionError(
                f"'{escape_for_display(prefix)}' is nested deeper than {MAX_DEPTH} folders; send a flatter folder."
            )
        try:
            entries = os.scandir(folder)
        except OSError:
            raise SubmissionError(
                f"The folder '{escape_for_display(prefix)}' cannot be opened; check its permissions."
            ) from None
        with entries:
            for entry in entries:
                seen += 1
                if seen > MAX_ENTRIES:
                    raise SubmissionError(f"The submission holds more than {MAX_ENTRIES:,} files and folders.")
                if _is_macos_junk(entry.name):
                    continue
                name = f"{prefix}{entry.name}"
                if entry.is_dir(follow_symlinks=False) and os.access(entry.path, os.R_OK | os.X_OK):
                    folders.append((folder / entry.name, f"{name}/", depth + 1))
                else:
                    yield entry, name


def _is_macos_junk(name: str) -> bool:
    return name in ("__MACOSX", ".DS_Store") or name.startswith("._")


def _reason_to_refuse(entry: os.DirEntry[str], name: str) -> str | None:
    if entry.is_symlink():
        return f"'{escape_for_display(name)}' is a symbolic link; send the file itself."
    if entry.is_dir(follow_symlinks=False):
        return f"The folder '{escape_for_display(name)}' cannot be opened; check its permissions."
    if not entry.is_file(follow_symlinks=False):
        return f"'{escape_for_display(name)}' is not a regular file."
    if not is_printable(name):
        return f"'{escape_for_display(name)}' has unprintable characters in its name; rename it."
    return None
