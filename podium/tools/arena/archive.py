"""The files that an arena is exported to: the whole arena as JSON lines, from which it can be restored, and votes.csv.

The JSON lines have the settings, every row of the database, and the files of the pictures: first a line
{"podium_arena": 3}, then {"settings": ...}, {"table": ..., "row": {...}} in the order in which rows can be inserted,
and {"file": ..., "base64": ...}. The file has the hashes of the links, not the links.
"""

import base64
import binascii
import csv
import io
import json
import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from podium.errors import UsageError
from podium.kernel import whole_file
from podium.tools.arena.settings import ArenaSettings, read_settings, write_settings
from podium.tools.arena.store import DATABASE, PICTURES, Store, VoteRecord, create_database, new_folder

_VERSION = 3
_TABLES = (
    *("methods", "cases", "pictures", "reports", "notes", "raters", "sessions", "matchups", "votes", "undos"),
    *("changes", "arena"),  # last: the triggers count changes, and refuse votes in a closed arena
)
_ONE_ROW = ("changes", "arena")
COLUMNS = (
    *("rater", "case", "left", "right", "answer", "repeat", "practice", "undone", "reasons", "comment"),
    "cast_at",
)
_FILE = re.compile(rf"{PICTURES}/[0-9a-f]{{32}}/[0-9a-z]+(\.[0-9a-z]+){{1,2}}", re.ASCII)


def archive_lines(folder: Path, *, with_pictures: bool = True) -> Iterator[str]:
    """The state of the arena at one moment, line by line."""
    yield _line({"podium_arena": _VERSION})
    yield _line({"settings": read_settings(folder).model_dump(mode="json")})
    with closing(Store(folder)) as store, store.writing() as connection:  # one transaction: no vote comes in between
        for table in _TABLES:
            rows = connection.execute(f'SELECT * FROM "{table}" ORDER BY rowid')  # noqa: S608
            names = [column[0] for column in rows.description]
            for row in rows:
                yield _line({"table": table, "row": dict(zip(names, row, strict=True))})
    if with_pictures:
        for path in sorted((folder / PICTURES).rglob("*")):
            if path.is_file():
                content = base64.b64encode(path.read_bytes()).decode("ascii")
                yield _line({"file": path.relative_to(folder).as_posix(), "base64": content})


def restore(folder: Path, lines: Iterable[str], *, name: str) -> None:
    """Create the arena that `lines` describe in `folder`, completely or not at all."""
    folder = folder.resolve()
    if folder.exists():
        raise UsageError(f"{folder} already exists; an arena is imported into a new folder.")
    try:
        with new_folder(folder) as building:
            create_database(building / DATABASE)
            with closing(Store(building)) as store, store.writing() as connection:
                _fill(building, connection, lines)
            read_settings(building)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, sqlite3.Error, binascii.Error) as error:
        raise UsageError(
            f"{name} is not an arena that 'podium arena export' wrote, or is incomplete: {error}."
        ) from None


def _fill(folder: Path, connection: sqlite3.Connection, lines: Iterable[str]) -> None:
    columns = {table: [row[1] for row in connection.execute(f'PRAGMA table_info("{table}")')] for table in _TABLES}
    for table in _ONE_ROW:
        connection.execute(f'DELETE FROM "{table}"')  # noqa: S608
    numbered = (json.loads(line) for line in lines)
    if next(numbered, None) != {"podium_arena": _VERSION}:
        raise ValueError("its first line has no version")
    for record in numbered:
        match record:
            case {"settings": settings}:
                write_settings(folder, ArenaSettings.model_validate(settings))
            case {"table": str(table), "row": {**row}} if table in columns and list(row) == columns[table]:
                if table == "changes":
                    connection.execute("DELETE FROM changes")
                names, marks = ", ".join(f'"{name}"' for name in row), ", ".join("?" * len(row))
                connection.execute(f'INSERT INTO "{table}" ({names}) VALUES ({marks})', list(row.values()))  # noqa: S608
            case {"file": str(file), "base64": str(content)} if _FILE.fullmatch(file):
                target = folder / file
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(base64.b64decode(content, validate=True))
            case _:
                raise ValueError("it has a line of an unknown kind")


def _line(record: dict[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n"


# votes.csv: every vote ever cast, for analyses outside Podium.


def votes_csv(votes: Iterable[VoteRecord]) -> str:
    """One line per vote in the order in which they were cast; undone votes, practice and repeats are marked with 1."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    for vote in votes:
        ballot = vote.ballot
        writer.writerow(
            [
                *map(_plain, (ballot.rater, ballot.case, ballot.left, ballot.right, ballot.answer)),
                *(int(ballot.repeat), int(vote.is_practice), int(vote.is_undone)),
                *map(_plain, ("; ".join(vote.reasons), vote.comment)),
                datetime.fromtimestamp(ballot.cast_at, UTC).isoformat(timespec="milliseconds"),
            ]
        )
    return text.getvalue()


def _plain(text: str) -> str:
    """A comment may begin with =HYPERLINK(...), which a spreadsheet must treat as text."""
    return f"'{text}" if text.lstrip().startswith(("=", "+", "-", "@")) else text


def write_whole(path: Path, text: str | Iterable[str], *, private: bool = False) -> None:
    """Write a file completely or not at all; a `private` one can be read by its owner alone."""
    try:
        with whole_file(path) as temporary:
            temporary.touch(mode=0o600 if private else 0o666)
            with temporary.open("w", encoding="utf-8", newline="") as file:
                file.writelines([text] if isinstance(text, str) else text)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}.") from None
