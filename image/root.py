"""Copies what Python and the packages need of this system to a folder that becomes the root of the image.

    python3 root.py /srv/root

Run while the image is built, in a stage that has /opt/venv. Nothing else of the system enters the image: no shell, no
package manager, no setuid program. It works from what is found, so any Debian with Python 3.11 may be the base image.
/var/lib/dpkg/status lists the Debian packages that files were taken from: scanners and the SBOM read it.
"""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

ENVIRONMENT = Path("/opt/venv")
# C.utf8: the default locale.
OTHER_FILES = ("/etc/os-release", "/etc/debian_version", "/usr/lib/locale/C.utf8", "/usr/share/wordnet")
UNUSED_MODULES = {"test", "idlelib", "tkinter", "turtledemo", "turtle.py", "ensurepip", "lib2to3", "pydoc_data", "venv"}
ACCOUNTS = {
    "etc/passwd": "root:x:0:0:root:/tmp:/nologin\npodium:x:1000:1000::/tmp:/nologin\n",
    "etc/group": "root:x:0:\npodium:x:1000:\n",
}


def main(root: Path) -> None:
    for name in ("bin", "sbin", "lib", "lib64"):  # links into /usr where the system is merged
        if (link := Path("/", name)).is_symlink():
            copy(link, root, follow=False)
    standard_library = Path(sysconfig.get_path("stdlib"))
    programs = [ENVIRONMENT / "bin/python"]
    for path in (*programs, *map(Path, OTHER_FILES), *modules(standard_library)):
        copy(path, root)
    for library in sorted(shared_libraries([Path(sys.executable).resolve(), standard_library, ENVIRONMENT])):
        copy(library, root)
    for name, content in ACCOUNTS.items():
        (root / name).write_text(content)
    for name, mode in (("tmp", 0o1777), ("proc", 0o755), ("sys", 0o755), ("dev", 0o755)):
        (root / name).mkdir()
        (root / name).chmod(mode)
    record_packages(root)
    subprocess.run(["/sbin/ldconfig", "-r", root], check=True)
    shutil.rmtree(root / "var/cache", ignore_errors=True)
    compile_modules = [sys.executable, "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash"]
    subprocess.run([*compile_modules, "-s", root, "-p", "/", root], check=True)


def copy(path: Path, root: Path, *, follow: bool = True) -> None:
    """The file or folder at its place below `root`; of a link, what it points to as well."""
    path = path.parent.resolve() / path.name
    if ENVIRONMENT not in path.parents:  # it is copied as it is, later
        target = root / path.relative_to("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir() and not path.is_symlink():
            shutil.copytree(
                path, target, symlinks=True, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__")
            )
        elif not os.path.lexists(target):
            shutil.copy2(path, target, follow_symlinks=False)
    if path.is_symlink() and follow:
        copy(path.parent / path.readlink(), root)


def modules(standard_library: Path) -> Iterator[Path]:
    for path in sorted(standard_library.iterdir()):
        if path.name not in UNUSED_MODULES and not re.match(r"__pycache__|(site|dist)-packages|config-", path.name):
            yield path


def shared_libraries(places: list[Path]) -> set[Path]:
    """What the loader finds for every program and library at `places`, outside the environment."""
    files = [file for place in places for file in ([place] if place.is_file() else place.rglob("*.so*"))]
    found: set[Path] = set()
    for file in files:
        with file.open("rb") as stream:
            if stream.read(4) != b"\x7fELF":
                continue
        said = subprocess.run(["ldd", file], capture_output=True, text=True, check=False).stdout
        found |= {Path(name) for name in re.findall(r"(?:=> |^\s)(/\S+) \(0x", said, re.MULTILINE)}
    return found


def record_packages(root: Path) -> None:
    """Writes the entries of the packages that have a file in the image, with their licences where the base has them."""
    taken = {unmerged(f"/{path.relative_to(root)}") for path in root.rglob("*") if path.is_file()}
    database = Path("/var/lib/dpkg")
    owners = {
        listing.name.removesuffix(".list").split(":")[0]
        for listing in (database / "info").glob("*.list")
        if any(unmerged(line) in taken for line in listing.read_text().splitlines())
    }
    entries = (database / "status").read_text().strip().split("\n\n")
    kept = [entry for entry in entries if entry.splitlines()[0].removeprefix("Package: ") in owners]
    status = root / "var/lib/dpkg/status"
    status.parent.mkdir(parents=True)
    status.write_text("\n\n".join(kept) + "\n")
    for owner in sorted(owners):
        if (licence := Path("/usr/share/doc", owner, "copyright")).exists():
            copy(licence, root)


def unmerged(path: str) -> str:
    return re.sub("^/usr(?=/(bin|sbin|lib|lib64)/)", "", path)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
