"""The lock of NiiVue and the typeface: only the pinned archives are taken."""

import base64
import hashlib
import io
import tarfile
from pathlib import Path

import pytest

from podium.errors import OrganiserError
from podium.tools.arena.web.viewer import lock, read_package


def pack(path: Path, content: bytes) -> str:
    with tarfile.open(path, "w:gz") as archive:
        member = tarfile.TarInfo("package/dist/index.js")
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return "sha512-" + base64.b64encode(hashlib.sha512(path.read_bytes()).digest()).decode()


def test_the_pinned_archive_is_taken_without_its_source_map(tmp_path: Path) -> None:
    archive = tmp_path / "niivue.tgz"
    wanted = {**lock()["niivue"], "integrity": pack(archive, b"export {};\n//# sourceMappingURL=index.js.map")}
    assert read_package(archive, wanted) == [b"export {};\n"]


def test_any_other_is_refused(tmp_path: Path) -> None:
    archive = tmp_path / "niivue.tgz"
    pack(archive, b"export {};")
    with pytest.raises(OrganiserError, match="is not the one that was pinned"):
        read_package(archive, lock()["niivue"])
