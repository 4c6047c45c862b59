"""A whole arena as JSON lines, and back."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tools.arena.arena_folders import make_arena
from tools.arena.arena_server import running

from podium.cli.main import main
from podium.tools.arena.archive import archive_lines
from podium.tools.arena.store import Store, close_arena


def dump(folder: Path) -> list[str]:
    with closing(sqlite3.connect(folder / "arena.sqlite")) as database:
        return list(database.iterdump())


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "sqlite" not in path.name
    }


@pytest.fixture
def voted(tmp_path: Path) -> Path:
    made = make_arena(
        tmp_path / "old", practice=2, cases=("A1", "A2", "A3", "A4", "A5"), volumes=("A2",), notes=("Ünusual.",)
    )
    with running(made) as server:
        guest = server.rater()
        for answer in ("left", "right", "both-good", "cannot-judge"):
            guest.vote(answer, comment="=1+1 \N{GRINNING FACE}")
        guest.undo()
    return made.folder


@pytest.mark.parametrize("closed", [False, True])
def test_import_restores_the_arena_exactly(voted: Path, closed: bool, tmp_path: Path) -> None:
    if closed:
        with closing(Store(voted)) as store:
            close_arena(store)
    new, archive = tmp_path / "new", tmp_path / "arena.jsonl"
    assert main(["arena", "export", str(voted), "--output", str(archive)]) == 0
    assert archive.stat().st_mode & 0o777 == 0o600
    assert main(["arena", "import", str(archive), str(new)]) == 0
    assert dump(new) == dump(voted)
    assert files(new) == files(voted)
    assert list(archive_lines(new)) == list(archive_lines(voted))


def test_without_pictures_serve_waits_for_them(voted: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    new, archive = tmp_path / "new", tmp_path / "arena.jsonl"
    assert main(["arena", "export", str(voted), "--without-pictures", "--output", str(archive)]) == 0
    assert main(["arena", "import", str(archive), str(new)]) == 0
    assert "copy the folder 'pictures' of the old arena into it" in capfd.readouterr().err
    assert main(["arena", "serve", str(new), "--port", "0"]) == 2
    assert "is missing 17 picture files, the first being pictures/" in capfd.readouterr().err


@pytest.mark.parametrize(
    "line",
    [
        '{"table": "sqlite_master", "row": {"name": "x"}}',
        '{"table": "votes", "row": {"id": 1}}',
        '{"file": "../evil", "base64": ""}',
        '{"file": "pictures/0123456789abcdef0123456789abcdef/../x.png", "base64": ""}',
        '{"file": "pictures/0123456789abcdef0123456789abcdef/0.png", "base64": "?"}',
        '{"settings": {"seed": -1}}',
        "[]",
        "{",
    ],
)
def test_what_is_no_archive_leaves_nothing(line: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    archive = tmp_path / "arena.jsonl"
    archive.write_text(json.dumps({"podium_arena": 3}) + "\n" + line + "\n")
    assert main(["arena", "import", str(archive), str(tmp_path / "new")]) == 2
    assert "is not an arena that 'podium arena export' wrote" in capfd.readouterr().err
    assert list(tmp_path.iterdir()) == [archive]
