"""`podium doctor`: what this machine offers to an evaluation."""

import argparse
import os
import platform
import shutil
import tempfile
from collections.abc import Iterator

from podium import __version__
from podium.cli.arguments import Verbs, add_verb

_PACKAGES = ("numpy", "h5py", "SimpleITK", "torch", "monai", "pydantic")
_GIB = 1024**3


def add_verbs(verbs: Verbs) -> None:
    add_verb(verbs, "doctor", _doctor, "show what this machine offers: cores, memory, isolation, disk, versions")


def _doctor(_: argparse.Namespace) -> int:
    for what, found in _findings():
        print(f"{what + ':':<18} {found}")
    return 0


def _findings() -> Iterator[tuple[str, str]]:
    from importlib.metadata import PackageNotFoundError, version

    from podium.execution.executor import available_workers
    from podium.sandbox.lock import LAYERS, has_seccomp, landlock_abi

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    abi = landlock_abi()
    yield "podium", __version__
    yield "python", platform.python_version()
    yield "system", f"{platform.system()} {platform.release()} on {platform.machine()}"
    yield "cores", f"{cores} ({available_workers()} workers by default)"
    yield "memory", f"{memory / _GIB:.1f} GiB"
    yield "temporary files", f"{shutil.disk_usage(tempfile.gettempdir()).free / _GIB:.1f} GiB free"
    yield "Landlock", f"ABI {abi}" if abi else "not available"
    yield "seccomp", "available" if has_seccomp() else "not available"
    in_force = _layers_in_force()
    complete = "" if len(in_force) == len(LAYERS) else " (--isolation full would refuse to run)"
    yield "isolation", (", ".join(in_force) or "none") + complete
    for package in _PACKAGES:
        try:
            yield package, version(package)
        except PackageNotFoundError:
            yield package, "not installed"


def _layers_in_force() -> list[str]:
    """Tried, not asked: a decoder is started and says what holds it."""
    from podium.kernel import Limits, is_linux
    from podium.sandbox.decoders import started

    if not is_linux():
        return []
    with started(Limits()) as found:
        return list(found.layers)
