"""Which code computes: results of two versions must never be mixed, and every worker must run the same one."""

import hashlib
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from podium import __version__

_PACKAGE = Path(__file__).resolve().parents[1]
_PACKAGES = ("numpy", "scipy", "torch", "monai", "SimpleITK", "h5py", "scikit-learn", "connected-components-3d")


@cache
def code_version() -> str:
    """The version of Podium with a digest of its source and of the packages that compute figures.

    A change of the code between two releases is another version.
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
