"""Local copies of what lies behind URLs, in a cache that is kept from one run to the next.

An object is fetched once per version and machine: it is stored under a digest of its URL, size and version, and linked
into a tree of files that has the names of the remote folder. A tree is named by a digest of its listing, so the same
listing is the same path on every machine: a worker of a cluster fetches what it reads, at the path that it was told.
"""

import errno
import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from podium.errors import StorageError, SubmissionError, UsageError
from podium.readers.archives import MemberNames
from podium.readers.files import MAX_ENTRIES, escape_for_display
from podium.storage.location import Location
from podium.storage.remote import RemoteEntry, RemoteFolder

_OBJECTS, _TREES = "objects", "trees"
_FETCHED_AT_ONCE = 8
_NO_LINKS = (errno.EPERM, errno.EXDEV, errno.EMLINK, errno.EOPNOTSUPP)
NO_LIMIT = 1 << 62
"""Of bytes, for the organiser's own files."""


@dataclass(frozen=True)
class Mirror:
    """A remote folder and its tree on this machine, or on the machine that this was sent to."""

    remote: RemoteFolder
    cache: Path
    root: Path
    objects: Mapping[str, RemoteEntry]

    def fetch(self, name: str = "") -> None:
        """Have a file here, or all below a folder; what is here already is not asked for again."""
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
    """All folders of a run that are copies. Sent to a worker, it fetches there what a case needs."""

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
        """Have these files and folders on this machine, as far as they are copies."""
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
        # What cannot be shown is copied all the same: the evaluation refuses it by name, as in a local folder.
        counted = "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in entry.name)
        self.add_file(counted, (), announced=entry.size)
        self.found[entry.name] = entry
