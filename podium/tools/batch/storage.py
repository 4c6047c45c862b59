"""Files on this machine or behind a URL such as s3://bucket/folder: inputs are copied into a cache, outputs uploaded.

fsspec finds the file system of a URL, and the credentials come from the environment.
"""

import argparse
import errno
import fcntl
import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

from podium.errors import StorageError, SubmissionError, UsageError, require
from podium.readers.archives import MemberNames
from podium.readers.files import MAX_ENTRIES, escape_for_display

DEFAULT_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "podium")  # noqa: PTH111
"""For copies of what is behind URLs. A user without a home folder has to name another."""

NO_LIMIT = 1 << 62
"""Of bytes, for the organiser's own files."""

_URL = re.compile(r"([a-z][a-z0-9+.-]*)://(.+)", re.ASCII | re.DOTALL)
_VERSIONS = ("ETag", "etag", "md5", "md5Hash", "LastModified", "last_modified", "mtime", "created")
_NO_CREDENTIALS = ("NoCredentialsError", "PartialCredentialsError", "CredentialRetrievalError")  # of botocore
_OBJECTS, _TREES, _OUTPUTS = "objects", "trees", "outputs"  # folders of the cache
_LOCK = ".lock"  # kept: deleting it would let two runs lock different files
_PROBE = ".podium"
_FETCHED_AT_ONCE = 8
_NO_LINKS = (errno.EPERM, errno.EXDEV, errno.EMLINK, errno.EOPNOTSUPP)


@dataclass(frozen=True)
class Url:
    """A folder or an object, as fsspec names it."""

    protocol: str
    path: str  # never with a slash at its end

    def __str__(self) -> str:
        return f"{self.protocol}://{self.path}"

    def __truediv__(self, name: str) -> "Url":
        return Url(self.protocol, f"{self.path}/{name}")

    @property
    def parent(self) -> "Url":
        return Url(self.protocol, self.path.rpartition("/")[0])

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


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


# A folder behind a URL.
#
# The file system itself repeats failed requests (s3fs: several times, over about ten seconds). What still fails is
# raised as a StorageError.


@dataclass(frozen=True, order=True)
class RemoteEntry:
    """An object below a folder: its name there, its bytes, and what identifies its version."""

    name: str
    size: int
    version: str
    is_folder: bool = False


@dataclass(frozen=True)
class RemoteFolder:
    """The objects below a URL. It can be sent to other processes and machines."""

    url: Url

    def entries(self, *, deep: bool) -> Iterator[RemoteEntry]:
        """All objects below, or if not `deep`, the objects and folders directly here.

        They are listed page by page, so that the caller can stop: there may be any number of them.
        """
        with _as_storage_errors(self.url):
            found = _list_s3(self.url, deep=deep) if self.url.protocol in ("s3", "s3a") else _list(self.url, deep=deep)
            yield from found

    def entry(self, name: str) -> RemoteEntry:
        """One object."""
        url = self.url / name
        with _as_storage_errors(url):
            info = file_system(url.protocol).info(url.path) if self.url.path else {}
            if info.get("type") != "file":
                raise StorageError(f"There is nothing at {escape_for_display(str(url))}.")
            return RemoteEntry(name, info["size"], _version(url, info))

    def read(self, name: str) -> bytes:
        """The content of an object; FileNotFoundError where there is none."""
        url = self.url / name
        with _as_storage_errors(url, absent=FileNotFoundError):
            content: bytes = file_system(self.url.protocol).cat_file(url.path)
        return content

    def write(self, name: str, content: bytes) -> None:
        url = self.url / name
        with _as_storage_errors(url):
            file_system(self.url.protocol).pipe_file(url.path, content)

    def upload(self, name: str, source: Path) -> None:
        url = self.url / name
        with _as_storage_errors(url):
            file_system(self.url.protocol).put_file(str(source), url.path)

    def fetch(self, name: str, target: Path) -> None:
        """Copy an object to a file of this machine."""
        url = self.url / name
        with _as_storage_errors(url):
            file_system(self.url.protocol).get_file(url.path, str(target))

    def delete(self, *names: str) -> None:
        """Delete objects; those that are not there count as deleted."""
        for name in names:
            url = self.url / name
            with suppress(FileNotFoundError), _as_storage_errors(url, absent=FileNotFoundError):
                file_system(url.protocol).rm_file(url.path)


def file_system(protocol: str) -> Any:
    """The file system of a protocol: one per process, since connections do not survive a fork."""
    return _file_system(protocol, os.getpid())


@cache
def _file_system(protocol: str, _process: int) -> Any:
    require("fsspec", *(("s3fs",) if protocol in ("s3", "s3a") else ()), extra="score,storage")
    import fsspec

    try:
        return fsspec.filesystem(protocol, use_listings_cache=False, skip_instance_cache=True)
    except ImportError as error:
        raise UsageError(f"URLs with {protocol}:// need another package: {error}.") from None
    except ValueError:
        raise UsageError(f"{protocol}:// is not a kind of URL that fsspec supports.") from None


@contextmanager
def _as_storage_errors(url: Url, *, absent: type[Exception] = StorageError) -> Iterator[None]:
    """Raise every failure as a StorageError, but `absent` where the object does not exist."""
    shown = escape_for_display(str(url))
    try:
        yield
    except (StorageError, UsageError):
        raise
    except FileNotFoundError as error:
        reason = str(error).strip().removesuffix(".")
        raise absent(f"{shown} does not exist: {reason}.") from None
    except PermissionError as error:
        raise StorageError(f"{shown} may not be used with these credentials.", detail=str(error)) from None
    except Exception as error:  # fsspec's file systems raise whatever their libraries do
        if type(error).__name__ in _NO_CREDENTIALS:
            raise StorageError(f"There are no credentials for {shown} in the environment.", detail=str(error)) from None
        raise StorageError(
            f"{shown} could not be reached; it was tried several times.", detail=f"{type(error).__name__}: {error}"
        ) from None


def _list_s3(url: Url, *, deep: bool) -> Iterator[RemoteEntry]:
    bucket, _, folder = url.path.partition("/")
    prefix = f"{folder}/" if folder else ""
    request = {"Bucket": bucket, "Prefix": prefix, "Delimiter": "" if deep else "/"}
    while True:
        page = file_system(url.protocol).call_s3("list_objects_v2", **request)
        for each in page.get("CommonPrefixes", ()):
            yield RemoteEntry(each["Prefix"][len(prefix) : -1], 0, "", is_folder=True)
        for each in page.get("Contents", ()):
            name = each["Key"][len(prefix) :]
            if name and not (name.endswith("/") and each["Size"] == 0):  # consoles mark folders like this
                yield RemoteEntry(name, each["Size"], each["ETag"])
        if not page.get("IsTruncated"):
            return
        request["ContinuationToken"] = page["NextContinuationToken"]


def _list(url: Url, *, deep: bool) -> Iterator[RemoteEntry]:
    files = file_system(url.protocol)
    root = files._strip_protocol(str(url)).rstrip("/")
    found = files.find(root, detail=True).values() if deep else files.ls(root, detail=True)
    for each in found:
        name = each["name"].rstrip("/").removeprefix(f"{root}/")
        if each["type"] == "directory":
            yield RemoteEntry(name, 0, "", is_folder=True)
        elif each["type"] == "file":
            yield RemoteEntry(name, each["size"], _version(url, each))


def _version(url: Url, info: Mapping[str, Any]) -> str:
    version = next((str(info[key]) for key in _VERSIONS if info.get(key) is not None), None)
    if version is None:
        raise UsageError(f"{url.protocol}:// does not report whether a file has changed, so it cannot be used.")
    return version


# Local copies of what is behind URLs, in a cache that is kept from one run to the next.
#
# An object is fetched once per version and machine: it is stored under a digest of its URL, size and version, and
# linked into a tree of files that has the names of the remote folder. A tree is named by a digest of its listing, so it
# has the same path on every machine: a worker of a cluster fetches what it reads to the path that it was given.


@dataclass(frozen=True)
class Mirror:
    """A remote folder and its tree on this machine, or on the machine that this was sent to."""

    remote: RemoteFolder
    cache: Path
    root: Path
    objects: Mapping[str, RemoteEntry]

    def fetch(self, name: str = "") -> None:
        """Ensure a local copy of a file, or of everything below a folder; existing copies are not fetched again."""
        below = f"{name}/" if name else ""
        names = [name] if name in self.objects else [each for each in self.objects if each.startswith(below)]
        missing = [each for each in names if not (self.root / each).is_file()]
        if len(missing) <= 1:
            for each in missing:
                self._fetch_one(each)
            return
        threads = ThreadPoolExecutor(_FETCHED_AT_ONCE)
        try:
            list(threads.map(self._fetch_one, missing))
        finally:
            threads.shutdown(cancel_futures=True)  # after a failure, the others are not tried

    def _fetch_one(self, name: str) -> None:
        entry, target = self.objects[name], self.root / name
        key = hashlib.sha256(json.dumps([str(self.remote.url), name, entry.size, entry.version]).encode()).hexdigest()
        stored = self.cache / _OBJECTS / key[:2] / key
        temporary = stored.with_name(f".{key}.{os.getpid()}")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            if not stored.is_file():
                stored.parent.mkdir(parents=True, exist_ok=True)
                self.remote.fetch(name, temporary)
                if temporary.stat().st_size != entry.size:
                    raise StorageError(f"{escape_for_display(str(self.remote.url / name))} changed while it was read.")
                temporary.chmod(0o400)
                temporary.replace(stored)
            _link(stored, target)
        except OSError as error:
            raise StorageError(f"The cache cannot be written to: {error.strerror}.", detail=str(self.cache)) from None
        finally:
            with suppress(OSError):
                temporary.unlink()


def _link(stored: Path, target: Path) -> None:
    try:
        os.link(stored, target)
    except FileExistsError:
        return
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        temporary = target.with_name(f".{target.name[:200]}.{os.getpid()}")
        temporary.write_bytes(stored.read_bytes())
        temporary.replace(target)


@dataclass
class Mirrors:
    """All folders of a run that are copies. It can be sent to a worker, which then fetches what a case needs."""

    cache: Path
    opened: list[Mirror] = field(default_factory=list)

    def local(self, given: Location, *, max_bytes: int = NO_LIMIT) -> Path:
        """The path of a folder or file with all that is in it, fetched if it is a URL.

        SubmissionError where its names or their number cannot be accepted, StorageError where it cannot be fetched.
        """
        if isinstance(given, Path):
            return given
        names = _ObjectNames(str(given), max_bytes, MAX_ENTRIES)
        remote = RemoteFolder(given)
        for entry in remote.entries(deep=True):
            names.add(entry)
        if names.found:
            mirror = self._mirror(remote, names.found)
            mirror.fetch()
            return mirror.root
        remote = RemoteFolder(given.parent)
        names.add(remote.entry(given.name))
        mirror = self._mirror(remote, names.found)
        mirror.fetch()
        return mirror.root / given.name

    def add_uploaded(self, remote: RemoteFolder, root: Path) -> Sequence[str]:
        """Send the files below `root` to a URL, from where workers fetch them to the same path; returns their names."""
        entries = {}
        for path in sorted(root.rglob("*")):
            if path.is_file():
                name = path.relative_to(root).as_posix()
                remote.upload(name, path)
                with path.open("rb") as stream:
                    digest = hashlib.file_digest(stream, "sha256").hexdigest()
                entries[name] = RemoteEntry(name, path.stat().st_size, digest)
        self.opened.append(Mirror(remote, self.cache, root, entries))
        return list(entries)

    def fetch(self, paths: Iterable[Path]) -> None:
        """Ensure local copies of those of these files and folders that are behind URLs."""
        for path in paths:
            for mirror in self.opened:
                if path.is_relative_to(mirror.root):
                    mirror.fetch(path.relative_to(mirror.root).as_posix())

    def _mirror(self, remote: RemoteFolder, found: Mapping[str, RemoteEntry]) -> Mirror:
        listing = [[entry.name, entry.size, entry.version] for entry in found.values()]
        digest = hashlib.sha256(json.dumps([str(remote.url), listing]).encode()).hexdigest()[:32]
        # The name of a challenge is that of its folder.
        root = self.cache / _TREES / digest / remote.url.name
        try:
            root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(
                f"The cache cannot be written to: {error.strerror}; name another folder with --cache.",
                detail=str(self.cache),
            ) from None
        self.opened.append(Mirror(remote, self.cache, root, found))
        return self.opened[-1]


@dataclass
class _ObjectNames(MemberNames):
    """The names of a remote folder, checked and counted as those of an archive are."""

    kind: ClassVar[str] = "folder"
    has: ClassVar[str] = "holds"

    found: dict[str, RemoteEntry] = field(default_factory=dict)

    def add(self, entry: RemoteEntry) -> None:
        if "\0" in entry.name or not {"", "."}.isdisjoint(entry.name.removeprefix("/").split("/")):
            shown = escape_for_display(entry.name)
            raise SubmissionError(f"'{self.archive}' holds '{shown}', which is not the name of a file.")
        # A name that cannot be shown is copied anyway: the evaluation refuses it, as in a local folder.
        counted = "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in entry.name)
        self.add_file(counted, (), size=entry.size)
        self.found[entry.name] = entry


# The output: a folder, or a URL, whose files are first written to a folder of the cache.


@dataclass(frozen=True)
class Output:
    """`folder` has all files of this run; they are uploaded to `remote` if the output is a URL."""

    folder: Path
    remote: RemoteFolder | None = None

    @classmethod
    def at(cls, given: Location, *, cache: Path) -> "Output":
        if isinstance(given, Path):
            return cls(given.resolve())
        digest = hashlib.sha256(str(given).encode()).hexdigest()[:32]
        return cls(cache / _OUTPUTS / digest, RemoteFolder(given))

    def check(self) -> None:
        """Fail now rather than after an hour of scoring."""
        if self.remote is not None:
            self.remote.write(_PROBE, b"")
            self.remote.delete(_PROBE)

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
        if self.remote is None:
            return
        path = self.folder / name
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file():
                self.remote.upload(file.relative_to(self.folder).as_posix(), file)

    def withdraw(self, name: str) -> None:
        """Delete a file of an earlier run, locally and remotely."""
        with suppress(FileNotFoundError):
            (self.folder / name).unlink()
        if self.remote is not None:
            self.remote.delete(name)

    def below(self, name: str) -> RemoteFolder | None:
        return RemoteFolder(self.remote.url / name) if self.remote is not None else None

    def __str__(self) -> str:
        return str(self.remote.url if self.remote is not None else self.folder)
