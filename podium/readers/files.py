"""Files that are safe to open: regular, not a link, and really below the folder they were submitted in.

Also how a submitted name is shown.
"""

import ctypes
import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path, PurePosixPath

from podium.errors import Refused, SubmissionError
from podium.kernel import OPENAT2, is_linux, syscall

MAX_ENTRIES = 100_000
MAX_DEPTH = 16
LONGEST_SHOWN = 200

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a FIFO must not block
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC  # O_PATH: its files are not listed
_TO_LIST = os.R_OK | os.X_OK  # rights that listing a folder needs
_NO_MAGIC_LINKS, _NO_SYMBOLIC_LINKS, _BENEATH = 0x02, 0x04, 0x08
_WITHOUT_OPENAT2 = (errno.ENOSYS, errno.EPERM)  # an old kernel; an old filter of the container's engine
_NULL_DEVICE = os.makedev(1, 3)


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
        if not name.isprintable():
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
                shown = escape_for_display(name)
                raise Refused(f"'{shown}' is a symbolic link or is reached through one; send the file itself.")
        if not stat.S_ISREG(mode):
            what = "a folder, not a file" if stat.S_ISDIR(mode) else "not a regular file"
            raise Refused(f"'{escape_for_display(name)}' is {what}.")
        return cls(real_root, str(relative), trusted)

    def open(self) -> BufferedReader:
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
    refused: tuple[tuple[str, str], ...]  # (name, reason) of links, special files and files whose name cannot be shown


def list_files(root: Path, *, trusted: bool = False) -> FileListing:
    """All files below `root`, sorted by name. Directory links are reported, never followed; macOS junk is skipped.

    `trusted`: these are the organiser's own files.
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
    """Everything below `root` except folders to look into, with its relative name; bounded in number and depth."""
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
                if entry.name in ("__MACOSX", ".DS_Store") or entry.name.startswith("._"):  # written by macOS
                    continue
                name = f"{prefix}{entry.name}"
                # Where the file of a mount does not exist, Docker makes an empty folder with its name.
                is_folder = entry.is_dir(follow_symlinks=False) and os.access(entry.path, _TO_LIST)
                if is_folder and (not PurePosixPath(name).suffix or any(Path(entry.path).iterdir())):
                    folders.append((folder / entry.name, f"{name}/", depth + 1))
                else:
                    yield entry, name


def _reason_to_refuse(entry: os.DirEntry[str], name: str) -> str | None:
    if entry.is_symlink():
        return f"'{escape_for_display(name)}' is a symbolic link; send the file itself."
    if entry.is_dir(follow_symlinks=False):
        if os.access(entry.path, _TO_LIST):
            return f"'{escape_for_display(name)}' is an empty folder, not a file."
        return f"The folder '{escape_for_display(name)}' cannot be opened; check its permissions."
    if not entry.is_file(follow_symlinks=False):
        return f"'{escape_for_display(name)}' is not a regular file."
    if not name.isprintable():
        return f"'{escape_for_display(name)}' has unprintable characters in its name; rename it."
    return None


# Opening a file below a folder so that no link is followed on the way, whoever changes the folder meanwhile.


def open_beneath(root: Path, name: str) -> int:
    """A descriptor for reading the file `name` below `root`; OSError where a step of `name` is a link or missing."""
    folder = os.open(root, _FOLDER)
    try:
        if is_linux():
            how = _How(_FLAGS, 0, _BENEATH | _NO_SYMBOLIC_LINKS | _NO_MAGIC_LINKS)
            path = ctypes.c_char_p(os.fsencode(name))
            try:
                return syscall(OPENAT2, folder, path, ctypes.byref(how), ctypes.sizeof(how))
            except OSError as fault:
                if fault.errno not in _WITHOUT_OPENAT2:
                    raise
        return open_step_by_step(folder, name)
    finally:
        os.close(folder)


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def open_step_by_step(folder: int, name: str) -> int:
    """A descriptor, on kernels before Linux 5.6: every folder on the way is opened without following a link."""
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


# The last line of stderr is shown to participants: neither a submitted name nor a library may forge it.


def escape_for_display(name: str, *, longest: int = LONGEST_SHOWN) -> str:
    """`name` on one printable line: control characters and undecodable bytes escaped, the middle cut when too long."""
    if len(name) > 2 * longest:
        name = name[:longest] + name[-longest:]  # before escaping: a name may have millions of characters
    printable = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in name)
    if len(printable) <= longest:
        return printable
    return f"{printable[: longest // 2]}...{printable[-longest // 2 :]}"


@contextmanager
def quiet_stderr() -> Iterator[None]:
    """Discard the process's stderr (not only Python's): ITK, libtiff and niftilib write there directly."""
    stderr = os.fstat(2)
    if is_linux() and stat.S_ISCHR(stderr.st_mode) and stderr.st_rdev == _NULL_DEVICE:
        yield  # already discarded, as in a decoder, which can open nothing else
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
