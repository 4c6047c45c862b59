"""Files on this machine or behind a URL such as s3://bucket/folder: inputs are copied into a cache, outputs uploaded.

fsspec finds the file system of a URL, and the credentials come from the environment. The file system repeats failed
requests (s3fs: several times, over about ten seconds); what still fails is raised as a StorageError. The server is not
trusted: every request has a deadline, no transfer is longer than was listed, and names and digests are checked.
"""

import argparse
import fcntl
import hashlib
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, TypeAlias

from podium.errors import StorageError, SubmissionError, UsageError
from podium.packages import require
from podium.readers.archives import Members
from podium.readers.files import MAX_ENTRIES, escape_for_display

DEFAULT_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "podium")  # noqa: PTH111
"""For copies of what is behind URLs. A user without a home folder has to name another."""

_URL = re.compile(r"([a-z][a-z0-9+.-]*)://(.+)", re.ASCII | re.DOTALL)
_S3 = ("s3", "s3a")
_VERSIONS = ("ETag", "etag", "md5", "md5Hash", "LastModified", "last_modified", "mtime", "created")
_NO_CREDENTIALS = ("NoCredentialsError", "PartialCredentialsError", "CredentialRetrievalError")  # of botocore
_COPIES, _OUTPUTS = "copies", "outputs"  # folders of the cache
_LOCK = ".lock"  # kept: deleting it would let two runs lock different files
_FETCHED_TOGETHER = 32
_SECONDS = 120.0  # for one request
_SLOWEST = 250_000  # bytes per second of a transfer
_FETCHES = 2  # of an object that arrives damaged


@dataclass(frozen=True)
class RemoteEntry:
    """An object below a URL: its bytes, and what identifies its version."""

    size: int
    version: str


@dataclass(frozen=True)
class Url:
    """A folder or an object, as fsspec names it. It can be sent to other processes and machines."""

    protocol: str
    path: str  # never with a slash at its end

    def __str__(self) -> str:
        return f"{self.protocol}://{self.path}"

    def __truediv__(self, name: str) -> "Url":
        """The URL of what is below this one; itself for an empty name."""
        return Url(self.protocol, f"{self.path}/{name}" if name else self.path)

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def files(self) -> Any:
        """The file system, of which fsspec has one per process."""
        require("fsspec", *(("s3fs",) if self.protocol in _S3 else ()), extra="score,storage")
        import fsspec

        try:
            return fsspec.filesystem(self.protocol, use_listings_cache=False)
        except ImportError as error:
            raise UsageError(f"URLs with {self.protocol}:// need another package: {error}.") from None
        except ValueError:
            raise UsageError(f"{self.protocol}:// is not a kind of URL that fsspec supports.") from None

    def members(self) -> Mapping[str, bool]:
        """The name of everything directly in this folder, and whether it is a folder itself."""
        with _as_storage_errors(self):
            found = self._ask("ls", self.path, detail=True)
        are_folders = {name: each["type"] == "directory" for name, each in self._named(found)}
        return {name: is_folder for name, is_folder in are_folders.items() if name or is_folder}

    def entries(self) -> Mapping[str, RemoteEntry]:
        """All objects below, by name; if this is an object itself, only that one, without a name."""
        most = {"max_items": MAX_ENTRIES + 1} if self.protocol in _S3 else {}  # `Copies.local` refuses more
        with _as_storage_errors(self):
            found = self._ask("find", self.path, detail=True, **most).values()
        entries = {}
        for name, each in self._named(found):
            version = next((str(each[key]) for key in _VERSIONS if each.get(key) is not None), None)
            if version is None:
                raise UsageError(f"{self.protocol}:// does not report whether a file has changed; it cannot be used.")
            entries[name] = RemoteEntry(each["size"], version)
        return entries

    def _named(self, found: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """These objects by their names below; without the empty ones with which consoles mark folders."""
        root: str = self.files._strip_protocol(str(self))
        for each in found:
            if each["size"] or each["type"] == "directory" or not each["name"].endswith("/"):
                yield each["name"].removeprefix(root).removeprefix("/"), each

    def read_bytes(self) -> bytes:
        """The content of an object; FileNotFoundError where there is none."""
        with _as_storage_errors(self, absent=FileNotFoundError):
            content: bytes = self._ask("cat_file", self.path)
        return content

    def fetch(self, files: Mapping[str, Path], objects: Mapping[str, RemoteEntry]) -> None:
        """Copy these objects below this URL to local files; none may be longer than was listed."""
        from fsspec.callbacks import Callback

        listed = {(self / name).path: objects[name].size for name in files}
        callback: Any = Callback()
        callback.branched = lambda path, _, **__: Callback(hooks={"limit": partial(_refuse_longer, path, listed[path])})
        with _as_storage_errors(self / next(iter(files)) if len(files) == 1 else self):
            paths = [str(path) for path in files.values()]
            self._ask("get", list(listed), paths, callback=callback, size=sum(listed.values()))

    @property
    def is_encrypted(self) -> bool:
        """Whether the ETag of this object of S3 is no digest of its content."""
        bucket, _, key = self.path.partition("/")
        with _as_storage_errors(self):
            head = self._ask("call_s3", "head_object", Bucket=bucket, Key=key)
        return "SSECustomerAlgorithm" in head or head.get("ServerSideEncryption", "AES256") != "AES256"

    def _ask(self, method: str, *arguments: Any, size: int = 0, **options: Any) -> Any:
        """Call a method of the file system, with a deadline where that works asynchronously, as s3fs does."""
        files = self.files
        deadline = {"timeout": _SECONDS + size / _SLOWEST} if files.async_impl else {}
        return getattr(files, method)(*arguments, **options, **deadline)

    def write_bytes(self, content: bytes) -> None:
        with _as_storage_errors(self):
            self._ask("pipe_file", self.path, content, size=len(content))

    def upload(self, folder: Path, names: Sequence[str]) -> None:
        """Copy these files of a local folder to below this URL."""
        with _as_storage_errors(self / names[0] if len(names) == 1 else self):
            size = sum((folder / name).stat().st_size for name in names)
            self._ask("put", [str(folder / name) for name in names], [(self / name).path for name in names], size=size)

    def delete(self) -> None:
        """Delete an object, or everything in a folder, if it is there."""
        with suppress(FileNotFoundError), _as_storage_errors(self, absent=FileNotFoundError):
            self._ask("rm", self.path, recursive=True)


def _refuse_longer(path: str, listed: int, size: int | None, value: int, **_: Any) -> None:
    """What fsspec calls as a transfer goes on: `size` is what was announced, `value` what has arrived."""
    if max(size or 0, value) > listed:
        raise StorageError(f"{escape_for_display(path)} is longer than the server listed.")


Location: TypeAlias = Path | Url


def location(text: str) -> Location:
    """A path or a URL from the command line; `file://` is a path."""
    match = _URL.fullmatch(text)
    if match is None:
        if "://" in text:
            raise argparse.ArgumentTypeError(f"{text} is neither a path nor a URL such as s3://bucket/folder")
        return Path(text)
    protocol, path = match[1], match[2].rstrip("/")
    if protocol == "file":
        return Path(f"/{path.lstrip('/')}")
    if not path.strip("/") or path.startswith("/"):
        raise argparse.ArgumentTypeError(f"{text} names no bucket")
    return Url(protocol, path)


@contextmanager
def _as_storage_errors(url: Url, *, absent: type[Exception] = StorageError) -> Iterator[None]:
    """Raise every failure as a StorageError, but `absent` where the object does not exist."""
    shown = escape_for_display(str(url))
    try:
        yield
    except (StorageError, UsageError):
        raise
    except FileNotFoundError:
        raise absent(f"{shown} does not exist.") from None
    except PermissionError as error:
        raise StorageError(f"{shown} may not be used with these credentials.", detail=str(error)) from None
    except TimeoutError:
        raise StorageError(f"{shown} took too long to answer.") from None
    except Exception as error:  # fsspec's file systems raise whatever their libraries do
        if type(error).__name__ in _NO_CREDENTIALS:
            raise StorageError(f"There are no credentials for {shown} in the environment.", detail=str(error)) from None
        raise StorageError(
            f"{shown} could not be reached; it was tried several times.", detail=f"{type(error).__name__}: {error}"
        ) from None


# Local copies of what is behind URLs, in a cache that is kept from one run to the next.
#
# A copy has the names of the remote folder, and the same path on every machine: a worker of a cluster fetches what it
# reads to the path that it was given. Beside it is the version of every file, so that only what has changed is fetched.


@dataclass(frozen=True)
class Copy:
    """A remote folder, or object, and its copy on this machine or on the machine that this was sent to."""

    url: Url
    root: Path
    objects: Mapping[str, RemoteEntry]

    def fetch(self, name: str = "") -> None:
        """Make a file, or everything below a folder, equal to what the URL had when it was listed."""
        names = [name]
        if name not in self.objects:
            below = f"{name}/" if name else ""
            names = [each for each in self.objects if each.startswith(below)]
            folder = self.root / name
            for path in (folder, *folder.rglob("*")):
                if path.is_file() and path.relative_to(self.root).as_posix() not in self.objects:
                    path.unlink(missing_ok=True)
        missing = [each for each in names if not self._is_current(each)]
        for start in range(0, len(missing), _FETCHED_TOGETHER):
            self._fetch(missing[start : start + _FETCHED_TOGETHER])

    def note_version(self, name: str) -> None:
        """Note that the local file has the version of the object."""
        path = self._version_file(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.objects[name].version, encoding="utf-8")

    def _is_current(self, name: str) -> bool:
        try:
            version = self._version_file(name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return False
        return version == self.objects[name].version and (self.root / name).is_file()

    def _fetch(self, names: Sequence[str]) -> None:
        """Files are replaced as a whole: another process may be reading them."""
        try:
            self.root.parent.mkdir(parents=True, exist_ok=True)
            with TemporaryDirectory(prefix=".podium-", dir=self.root.parent) as folder:
                damaged = new = {name: Path(folder, str(number)) for number, name in enumerate(names)}
                for _ in range(_FETCHES):
                    self.url.fetch(damaged, self.objects)
                    damaged = {name: path for name, path in damaged.items() if not self._is_intact(name, path)}
                    if not damaged:
                        break
                for name in damaged:
                    raise StorageError(f"{escape_for_display(str(self.url / name))} arrived changed or damaged.")
                for name, path in new.items():
                    self._version_file(name).unlink(missing_ok=True)
                    target = self.root / name
                    if target.is_dir():
                        shutil.rmtree(target)
                    target.parent.mkdir(parents=True, exist_ok=True)
                    path.replace(target)
                    self.note_version(name)
        except OSError as error:
            raise StorageError(
                f"The cache cannot be written to: {error.strerror}; name another folder with --cache.",
                detail=str(self.root),
            ) from None

    def _is_intact(self, name: str, path: Path) -> bool:
        """Whether a file was fetched with the size and, where the version is one, the digest that were listed."""
        entry = self.objects[name]
        if path.stat().st_size != entry.size:
            return False
        tag = entry.version.strip('"')
        if self.url.protocol not in _S3 or not re.fullmatch(r"[0-9a-f]{32}", tag):
            return True  # such as the ETag of an object that was uploaded in parts
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, partial(hashlib.md5, usedforsecurity=False)).hexdigest()
        return digest == tag or (self.url / name).is_encrypted

    def _version_file(self, name: str) -> Path:
        return self.root.parent / ".versions" / hashlib.sha256(os.fsencode(f"{self.root.name}/{name}")).hexdigest()


@dataclass
class Copies:
    """All copies of a run. It can be sent to a worker, which then fetches what a case needs."""

    cache: Path
    opened: list[Copy] = field(default_factory=list)

    def local(self, given: Location, *, max_bytes: int = 1 << 62) -> Path:
        """The path of a folder or file with all that is in it, fetched if it is a URL.

        SubmissionError where its names or their number cannot be accepted, StorageError where it cannot be fetched.
        """
        if isinstance(given, Path):
            return given
        objects = given.entries()
        if not objects:
            raise StorageError(f"{escape_for_display(str(given))} does not exist.")
        names = _ObjectNames(str(given), max_bytes, MAX_ENTRIES)
        for name, entry in objects.items():
            names.add(name or given.name, entry)
        # The name of a challenge is that of its folder.
        copy = Copy(given, self.cache / _COPIES / _digest(given) / given.name, objects)
        copy.fetch()
        self.opened.append(copy)
        return copy.root

    def add_uploaded(self, url: Url, root: Path) -> None:
        """Upload the files below `root` to a URL, from where workers fetch them to the same path."""
        files = {path.relative_to(root).as_posix(): path for path in sorted(root.rglob("*")) if path.is_file()}
        url.upload(root, list(files))
        entries = {}
        for name, path in files.items():
            with path.open("rb") as stream:
                entries[name] = RemoteEntry(path.stat().st_size, hashlib.file_digest(stream, "sha256").hexdigest())
        copy = Copy(url, root, entries)
        for name in entries:
            copy.note_version(name)
        self.opened.append(copy)

    def fetch(self, paths: Iterable[Path]) -> None:
        """Ensure local copies of those of these files and folders that are behind URLs."""
        for path in paths:
            for copy in self.opened:
                if path.is_relative_to(copy.root):
                    copy.fetch("" if path == copy.root else path.relative_to(copy.root).as_posix())


def _digest(url: Url) -> str:
    return hashlib.sha256(str(url).encode()).hexdigest()[:32]


class _ObjectNames(Members):
    """The names of a remote folder, checked and counted as those of an archive are."""

    kind: ClassVar[str] = "folder"
    has: ClassVar[str] = "holds"

    def add(self, name: str, entry: RemoteEntry) -> None:
        if "\0" in name or not {"", "."}.isdisjoint(name.removeprefix("/").split("/")):
            raise SubmissionError(
                f"'{self.archive}' holds '{escape_for_display(name)}', which is not the name of a file."
            )
        # A name that cannot be shown is copied anyway: the evaluation refuses it, as in a local folder.
        counted = "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in name)
        self.add_file(counted, (), size=entry.size)


# The output: a folder, or a URL, whose files are first written to a folder of the cache.


@dataclass(frozen=True)
class Output:
    """`folder` has all files of this run; they are uploaded to `url` if there is one."""

    folder: Path
    url: Url | None = None

    @classmethod
    def at(cls, given: Location, *, cache: Path) -> "Output":
        return cls(given.resolve()) if isinstance(given, Path) else cls(cache / _OUTPUTS / _digest(given), given)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Refuse a second run on this machine that would delete what the first one reads."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = (self.folder / _LOCK).open("wb")
        except OSError as error:
            raise UsageError(f"The output folder {self} cannot be written to: {error.strerror}.") from None
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UsageError(
                    f"Another 'podium batch' is using {self}: wait until it has ended, or give another --output."
                ) from None
            yield

    def send(self, name: str) -> None:
        """Upload a file, or all files of a folder."""
        if self.url is not None:
            path = self.folder / name
            files = [each for each in sorted(path.rglob("*")) if each.is_file()] if path.is_dir() else [path]
            self.url.upload(self.folder, [each.relative_to(self.folder).as_posix() for each in files])

    def delete(self, name: str) -> None:
        """Delete a folder with all its files, here and at the URL."""
        shutil.rmtree(self.folder / name, ignore_errors=True)
        if self.url is not None:
            (self.url / name).delete()

    def __str__(self) -> str:
        return str(self.url or self.folder)
