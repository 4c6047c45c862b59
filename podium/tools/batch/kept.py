"""Results are kept under a key of everything they depend on, so that no case is scored twice.

A key is a digest of the prediction's bytes and names, the reference, the settings and the code. A change of any of them
changes the key, so nothing has to be marked as outdated. Files are written completely or not at all: a run that was
killed leaves nothing that could be mistaken for a result.
"""

import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from podium import __version__
from podium.errors import Refused, StorageError
from podium.execution.executor import CaseOutcome
from podium.platform.jobs import Job
from podium.platform.metrics_file import CaseScore
from podium.readers.files import SafeFile, list_files
from podium.tools.batch.storage import RemoteFolder

_BLOCK_BYTES = 1 << 20
_PREFIX = 2  # hexadecimal digits that name the folder of a key: 256 folders
_PAUSE_SECONDS = 60.0
_asked_again_at = [0.0]  # of this process
_PACKAGE = Path(__file__).resolve().parents[2]
_PACKAGES = ("numpy", "scipy", "torch", "monai", "SimpleITK", "h5py", "scikit-learn", "connected-components-3d")


@dataclass(frozen=True, kw_only=True)
class KeptScores:
    """The scores below a folder or a URL. `basis` describes what all cases share: the settings and the code."""

    folder: Path | RemoteFolder
    basis: str

    def key(self, *parts: bytes) -> str:
        """The key of a result that depends on these digests."""
        return hashlib.sha256(b"".join([hashlib.sha256(self.basis.encode()).digest(), *parts])).hexdigest()

    def find(self, key: str) -> CaseOutcome[CaseScore] | None:
        """What is kept under a key; None also where the file cannot be read."""
        try:
            content = json.loads(self._read(_name(key)))
            if "error" in content:
                return CaseOutcome(error=content["error"])
            return CaseOutcome(value=CaseScore(metrics=content["metrics"], warnings=tuple(content["warnings"])))
        except (OSError, ValueError, KeyError, TypeError, StorageError):
            return None

    def keep(self, key: str, outcome: CaseOutcome[CaseScore]) -> bool:
        """Keep a score, or why the prediction was refused; False where that is not possible.

        A result that was not kept, as on a full disk, is still a result. What an accident may have caused (a crash, a
        time limit, an error of ours) is not kept, so the next run tries it again.
        """
        if outcome.value is not None:
            content: Mapping[str, Any] = {"metrics": outcome.value.metrics, "warnings": outcome.value.warnings}
        elif outcome.detail is None:
            content = {"error": outcome.error}
        else:
            return False
        try:
            self._write(_name(key), json.dumps(content, allow_nan=False).encode())
        except (OSError, StorageError):
            return False
        return True

    def _read(self, name: str) -> bytes:
        if isinstance(self.folder, Path):
            return (self.folder / name).read_bytes()
        with _not_again_at_once():
            return self.folder.read(name)

    def _write(self, name: str, content: bytes) -> None:
        if not isinstance(self.folder, Path):
            with _not_again_at_once():
                self.folder.write(name, content)
            return
        target = self.folder / name
        temporary = target.with_name(f".{target.stem}.{os.uname().nodename}.{os.getpid()}")
        try:
            target.parent.mkdir(exist_ok=True)
            temporary.write_bytes(content)
            temporary.replace(target)
        finally:
            with suppress(OSError):
                temporary.unlink()


@contextmanager
def _not_again_at_once() -> Iterator[None]:
    """After a failure the storage is not asked for a minute: every request would take ten seconds, and a score that is
    not kept is still a score."""
    if time.monotonic() < _asked_again_at[0]:
        raise StorageError("The storage did not answer a moment ago.")
    try:
        yield
    except StorageError:
        _asked_again_at[0] = time.monotonic() + _PAUSE_SECONDS
        raise


def _name(key: str) -> str:
    return f"{key[:_PREFIX]}/{key}.json"


# The content of a prediction: what its key is made of.


def digest_or_none(prediction: object) -> bytes | None:
    """The digest of a prediction; None where one of its files cannot be read, since nothing is kept without a key."""
    try:
        return content_digest(prediction)
    except (OSError, Refused):
        return None


@runtime_checkable
class HasContent(Protocol):
    """Something whose `content` is all that matters of it, such as one row of a table."""

    def content(self) -> object: ...


def content_digest(prediction: object) -> bytes:
    """Of a prediction as a format has collected it: the bytes and names of its files, whatever their folder is.

    Raises Refused or OSError where a file cannot be read.
    """
    digest = hashlib.sha256()
    for part in _parts(prediction):
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.digest()


def _parts(value: object) -> Iterator[bytes]:
    """The type of a value, then its members in order: different values have different parts."""
    yield type(value).__name__.encode()
    match value:
        case SafeFile():
            yield value.name.encode()
            yield _bytes_digest(value)
        case Job():
            yield from _parts([value.pk, value.inputs, value.outputs])
            yield from _parts(_outputs_of(value))
        case HasContent():
            yield from _parts(value.content())
        case Mapping():
            for key, member in value.items():
                yield from _parts(key)
                yield from _parts(member)
            yield b"end"
        case list() | tuple():
            for member in value:
                yield from _parts(member)
            yield b"end"
        case None | bool() | int() | float() | str() | bytes():
            yield repr(value).encode(errors="surrogatepass")
        case _ if is_dataclass(value):
            yield from _parts({field.name: getattr(value, field.name) for field in fields(value)})
        case _:
            raise TypeError(f"a prediction holds a {type(value).__name__}, whose content is not known")


def files_of(prediction: object) -> Iterator[Path]:
    """The files of a prediction as a format has collected it, and the folders of jobs: all that reading it needs."""
    match prediction:
        case SafeFile():
            yield prediction.path
        case Job():
            yield _output_folder(prediction)
        case HasContent():
            return
        case Mapping():
            for member in prediction.values():
                yield from files_of(member)
        case list() | tuple():
            for member in prediction:
                yield from files_of(member)
        case _ if is_dataclass(prediction):
            for each in fields(prediction):
                yield from files_of(getattr(prediction, each.name))


def _output_folder(job: Job) -> Path:
    return job.root / job.pk / "output"


def _bytes_digest(file: SafeFile) -> bytes:
    digest = hashlib.sha256()
    with file.open() as stream:
        while block := stream.read(_BLOCK_BYTES):
            digest.update(block)
    return digest.digest()


def _outputs_of(job: Job) -> Sequence[object]:
    """Every file of a job's output, and every refusal there."""
    folder = _output_folder(job)
    if not folder.is_dir():
        return ()
    listing = list_files(folder)
    return [*listing.files, *listing.refused]


# The version of the code: results of two versions must never be mixed, and every worker must run the same one.


@cache
def code_version() -> str:
    """The version of Podium with a digest of its source and of the packages that compute figures.

    A change of the code between two releases gives another version.
    """
    digest = hashlib.sha256()
    for path in sorted(_PACKAGE.rglob("*.py")):
        digest.update(f"{path.relative_to(_PACKAGE)}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    for name in _PACKAGES:
        digest.update(f"{name}=={_installed(name)}\0".encode())
    return f"{__version__}+{digest.hexdigest()[:16]}"


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "none"
