"""The arena's database: one writer at a time, whose transaction is on disk once it ended, and as many readers as ask.

WAL with synchronous=FULL: a commit returns after the log has been flushed, so not even a power cut takes it back. Other
processes (invite, status, export) may work on the same file while the server runs.
"""

import contextlib
import os
import secrets
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from podium.errors import OrganiserError, UsageError

DATABASE = "arena.sqlite"
_APPLICATION, _VERSION = 1886350433, 2  # as schema.sql says
_PATIENCE_SECONDS = 10.0

Rows = list[tuple[Any, ...]]


def create_database(path: Path) -> None:
    """An empty arena that its owner alone can read; SQLite gives the log beside it the same mode."""
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    with contextlib.closing(_connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(files("podium.arena.store").joinpath("schema.sql").read_text("utf-8"))
        connection.execute("INSERT INTO arena (id) VALUES (?)", (secrets.token_hex(8),))


class Store:
    """One arena's database, for any number of threads."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._path = folder / DATABASE
        if not self._path.is_file():
            raise UsageError(f"{folder} is not an arena: it has no {DATABASE}. Create one with 'podium arena init'.")
        self._lock = threading.Lock()
        self._own = threading.local()
        self._readers: list[sqlite3.Connection] = []
        with _in_words():
            self._writer = _connect(self._path)
            found = [
                self._writer.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
            ]
        if found != [_APPLICATION, _VERSION]:
            self._writer.close()
            raise UsageError(
                f"{self._path} was created by another version of Podium and can only be used with that version."
            )

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction: on disk when the block is left, and none of it when the block raises."""
        with self._lock, _in_words():
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
                self._writer.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):  # a failed commit may have rolled back by itself
                    self._writer.execute("ROLLBACK")
                raise

    def rows(self, query: str, parameters: Sequence[Any] = ()) -> Rows:
        """What is committed now."""
        with _in_words():
            return self._reader().execute(query, parameters).fetchall()

    def row(self, query: str, parameters: Sequence[Any] = ()) -> tuple[Any, ...] | None:
        """The first of `rows`, if any."""
        return next(iter(self.rows(query, parameters)), None)

    def close(self) -> None:
        with self._lock:
            for connection in (*self._readers, self._writer):
                connection.close()

    def _reader(self) -> sqlite3.Connection:
        """A connection for each thread: readers wait for nobody."""
        connection: sqlite3.Connection | None = getattr(self._own, "connection", None)
        if connection is None:
            connection = self._own.connection = _connect(self._path)
            connection.execute("PRAGMA query_only = ON")
            self._readers.append(connection)
        return connection


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=_PATIENCE_SECONDS, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


@contextlib.contextmanager
def _in_words() -> Iterator[None]:
    """Problems of the disk or the file, as a message for the organiser; programming errors are passed on."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        name = getattr(error, "sqlite_errorname", "")
        for prefix, reason in _REASONS.items():
            if name.startswith(prefix):
                raise OrganiserError(f"The arena's database {reason}.", detail=f"{name}: {error}") from error
        raise


_REASONS = {
    "SQLITE_FULL": "cannot grow: the disk is full",
    "SQLITE_BUSY": "is locked: another program has been writing to it for too long",
    "SQLITE_READONLY": "is read-only for this user",
    "SQLITE_PERM": "is read-only for this user",
    "SQLITE_CANTOPEN": "cannot be opened by this user",
    "SQLITE_IOERR": "cannot be read or written: the disk reports an error",
    "SQLITE_CORRUPT": "is damaged",
    "SQLITE_NOTADB": "is damaged",
}
