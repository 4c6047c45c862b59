"""Results are kept under a key of everything they depend on, so that no case is scored twice.

A key is a digest of the prediction's bytes and names, the reference, the settings and the code. A change of any of them
changes the key, so nothing has to be marked as outdated. Files are written completely or not at all: a run that was
killed leaves nothing that could be mistaken for a result.
"""

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from podium import __version__
from podium.challenges.declared.files import TableCase
from podium.errors import Refused, StorageError
from podium.execution.executor import CaseOutcome
from podium.kernel import whole_file
from podium.platform.jobs import Job
from podium.platform.metrics_file import CaseScore
from podium.readers.files import FileListing, SafeFile, list_files
from podium.tools.batch.storage import Url

_PAUSE_SECONDS = 60.0
_asked_again_at = [0.0]  # of this process
_PACKAGE = Path(__file__).resolve().parents[2]
_PARTS = ("metrics", "warnings", "missing", "undefined")  # of a score
_PACKAGES = ("numpy", "scipy", "torch", "monai", "SimpleITK", "h5py", "scikit-learn", "connected-components-3d")


@dataclass(frozen=True, kw_only=True)
class KeptScores:
    """The scores below a folder or a URL. `basis` describes what all cases share: the settings and the code."""

    folder: Path | Url
    basis: str

    def key(self, *parts: bytes) -> str:
        """The key of a result that depends on these digests."""
        return hashlib.sha256(b"".join([hashlib.sha256(self.basis.encode()).digest(), *parts])).hexdigest()

    def find(self, key: str) -> CaseOutcome[CaseScore] | None:
        """What is kept under a key; None also where the file cannot be read."""
        try:
            with _not_again_at_once():
                content = json.loads(self._file(key).read_bytes())
            if "error" in content:
                return CaseOutcome(error=content["error"])
            return CaseOutcome(value=CaseScore(**content | {"warnings": tuple(content["warnings"])}))
        except (OSError, ValueError, KeyError, TypeError, StorageError):
            return None

    def keep(self, key: str, outcome: CaseOutcome[CaseScore]) -> bool:
        """Keep a score, or why the prediction was refused; False where that is not possible.

        A result that was not kept, as on a full disk, is still a result. What an accident may have caused (a crash, a
        time limit, an error of ours) is not kept, so the next run tries it again.
        """
        score = outcome.value
        if outcome.was_killed:
            return False
        if score is not None:
            content: Mapping[str, Any] = {name: getattr(score, name) for name in _PARTS}
        elif outcome.detail is None:
            content = {"error": outcome.error}
        else:
            return False
        target, text = self._file(key), json.dumps(content, allow_nan=False).encode()
        try:
            if isinstance(target, Url):
                with _not_again_at_once():
                    target.write_bytes(text)
            else:
                target.parent.mkdir(exist_ok=True)
                with whole_file(target) as temporary:
                    temporary.write_bytes(text)
        except (OSError, StorageError):
            return False
        return True

    def _file(self, key: str) -> Path | Url:
        return self.folder / f"{key[:2]}/{key}.json"  # 256 folders


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


# The content of a prediction: what its key is made of.


def content_digest(prediction: object, fetch: Callable[[Iterable[Path]], None] = lambda _: None) -> bytes | None:
    """A digest of a prediction as a format has collected it: the bytes and names of its files, whatever their folder.

    Args:
        fetch: Ensures local copies of files; all files that reading the prediction needs are passed to it.

    Returns:
        None where a file cannot be read, since nothing is kept without a key.
    """

    def content(value: object) -> object:
        match value:
            case SafeFile():
                fetch([value.path])
                with value.open() as stream:
                    return value.name, hashlib.file_digest(stream, "sha256").hexdigest()
            case Job():
                folder = value.root / value.pk / "output"
                fetch([folder])
                listing = list_files(folder) if folder.is_dir() else FileListing((), ())
                return value.pk, value.inputs, value.outputs, listing.files, listing.refused
            case TableCase(table=table, case=name):  # the rows of other cases do not matter
                rows = [(row.line, row.cells) for row in table.rows.get(name, ())]
                return table.label, name, rows, table.broken.get(name)
            case Mapping():
                return dict(value)
            case _ if is_dataclass(value):
                return {each.name: getattr(value, each.name) for each in fields(value)}
        raise TypeError(f"a prediction holds a {type(value).__name__}, whose content is not known")

    try:
        return hashlib.sha256(json.dumps(prediction, default=content).encode()).digest()
    except (OSError, Refused):
        return None


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
        installed = "none"
        with suppress(PackageNotFoundError):
            installed = version(name)
        digest.update(f"{name}=={installed}\0".encode())
    return f"{__version__}+{digest.hexdigest()[:16]}"
