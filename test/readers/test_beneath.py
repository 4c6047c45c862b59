"""Files are opened below their folder; no link is followed, also one that was put there after every check."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from podium.readers.files import open_beneath, open_step_by_step


def step_by_step(root: Path, name: str) -> int:
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        return open_step_by_step(folder, name)
    finally:
        os.close(folder)


@pytest.fixture(params=[open_beneath, step_by_step])
def opened(request: pytest.FixtureRequest) -> Callable[[Path, str], int]:
    found: Callable[[Path, str], int] = request.param
    return found


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "outside").write_text("the truth")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "a").write_text("the truth")
    (tmp_path / "root" / "folder").mkdir(parents=True)
    (tmp_path / "root" / "folder" / "a").write_text("mine")
    (tmp_path / "root" / "link").symlink_to(tmp_path / "outside")
    (tmp_path / "root" / "linked").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "root" / "inner").symlink_to("folder")
    return tmp_path / "root"


def test_a_file_below_is_opened(opened: Callable[[Path, str], int], root: Path) -> None:
    with os.fdopen(opened(root, "folder/a"), "rb") as stream:
        assert stream.read() == b"mine"


@pytest.mark.parametrize(
    "name", ["link", "linked/a", "inner/a", "../outside", "folder/../../outside", "/etc/hostname", "missing"]
)
def test_what_leads_elsewhere_is_not_opened(opened: Callable[[Path, str], int], root: Path, name: str) -> None:
    with pytest.raises(OSError):  # noqa: PT011  (which one differs between kernels)
        opened(root, name)
