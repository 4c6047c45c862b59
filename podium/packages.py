"""Packages that only a part of Podium needs: the extras of pyproject.toml, and what to do where one is missing.

The base install has neither SimpleITK nor h5py. Readers import both from here, so that a package is loaded when a file
is read, and a command that reads none works without it.
"""

from collections.abc import Collection
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from podium.errors import UsageError

READER_PACKAGES = ("h5py", "SimpleITK")


class LazyPackage:
    """A package of an extra, imported when it is first used."""

    def __init__(self, name: str, *, extra: str) -> None:
        self._name, self._extra = name, extra

    def __getattr__(self, attribute: str) -> Any:
        return getattr(_load(self._name, self._extra), attribute)


pandas: Any = LazyPackage("pandas", extra="dev")

h5py: Any = LazyPackage("h5py", extra="score")

SimpleITK: Any = LazyPackage("SimpleITK", extra="score")


@cache
def _load(name: str, extra: str) -> ModuleType:
    require(name, extra=extra)
    package = import_module(name)
    if name == "SimpleITK":
        # Workers are forked processes that fill the cores: threads would only compete, and do not survive a fork.
        package.ProcessObject.SetGlobalDefaultNumberOfThreads(1)
        package.ProcessObject.SetGlobalWarningDisplay(False)
    return package


def preload_readers(packages: Collection[str] = READER_PACKAGES) -> None:
    """Import those packages that read files and are installed: forked processes then share them."""
    for name in packages:
        if find_spec(name) is not None:
            _load(name, "score")


def require(*packages: str, extra: str) -> None:
    """Raise a UsageError that says what to install, before something fails on an import."""
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        raise UsageError(missing_packages(*missing, extra=extra))


def missing_packages(*packages: str, extra: str, what: str = "This command") -> str:
    """One sentence with the command to run; Podium is installed from its checkout, not from a package index."""
    return f"{what} needs {', '.join(packages)}: run \"pip install '.[{extra}]'\" in the folder of Podium's source."
