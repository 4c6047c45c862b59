"""Where results go: a folder, or a URL, whose files are written to a folder of the cache first."""

import hashlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from podium.storage.location import Location
from podium.storage.remote import RemoteFolder

_OUTPUTS = "outputs"
_PROBE = ".podium"


@dataclass(frozen=True)
class Output:
    """`folder` has all files of this run; `remote` gets them where the output is a URL."""

    folder: Path
    remote: RemoteFolder | None = None

    @classmethod
    def at(cls, given: Location, *, cache: Path) -> "Output":
        if isinstance(given, Path):
            return cls(given.resolve())
        digest = hashlib.sha256(str(given).encode()).hexdigest()[:32]
        return cls(cache / _OUTPUTS / digest, RemoteFolder(given))

    def check(self) -> None:
        """Better to fail now than after an hour of scoring."""
        if self.remote is not None:
            self.remote.write(_PROBE, b"")
            self.remote.delete(_PROBE)

    def send(self, name: str) -> None:
        """A file, or all files of a folder."""
        if self.remote is None:
            return
        path = self.folder / name
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file():
                self.remote.upload(file.relative_to(self.folder).as_posix(), file)

    def withdraw(self, name: str) -> None:
        """Delete a file of an earlier run, here and there."""
        with suppress(FileNotFoundError):
            (self.folder / name).unlink()
        if self.remote is not None:
            self.remote.delete(name)

    def below(self, name: str) -> RemoteFolder | None:
        return RemoteFolder(self.remote.url / name) if self.remote is not None else None

    def __str__(self) -> str:
        return str(self.remote.url if self.remote is not None else self.folder)
