"""What an arena stores: its database, its contents, the votes and raters in it, and whether it is closed.

One writer at a time and any number of readers. WAL with synchronous=FULL: a commit returns after the log has been
flushed, so not even a power failure undoes it. Other processes (invite, status, export) may use the same file while the
server runs.
"""

import contextlib
import json
import os
import re
import secrets
import shutil
import sqlite3
import threading
import time
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Literal, NamedTuple, TypeAlias

from podium.errors import OrganiserError, UsageError
from podium.tools.arena.settings import read_settings

DATABASE = "arena.sqlite"
_APPLICATION, _VERSION = 1886350433, 3  # as schema.sql says
_PATIENCE_SECONDS = 10.0
_DATABASE_PROBLEMS = {
    "SQLITE_FULL": "cannot grow: the disk is full",
    "SQLITE_BUSY": "is locked: another program has been writing to it for too long",
    "SQLITE_READONLY": "is read-only for this user",
    "SQLITE_PERM": "is read-only for this user",
    "SQLITE_CANTOPEN": "cannot be opened by this user",
    "SQLITE_IOERR": "cannot be read or written: the disk reports an error",
    "SQLITE_CORRUPT": "is damaged",
    "SQLITE_NOTADB": "is damaged",
}

PICTURES = "pictures"
MESH_FILE, VOLUME_FILE = "mesh.mz3.gz", "volume.u16.gz"
MeshPart: TypeAlias = Literal["upper", "lower", "scan"]

VoteAnswer: TypeAlias = Literal["left", "right", "both-good", "both-bad", "cannot-judge"]
TIES: tuple[VoteAnswer, ...] = ("both-good", "both-bad")

LONGEST_COMMENT = 2_000
_LINE_END = re.compile("\r\n?|[\v\f\x85\u2028\u2029]")
_SPACE = re.compile(r"[^\S\n]")  # of any width
_TRAILING = re.compile(r" +$", re.MULTILINE)
# Drawn as nothing, though Unicode has them for letters, marks and signs: joiners, fillers, variation selectors, blanks.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U0001d159\U000e0100-\U000e01ef]"
)


def create_database(path: Path) -> None:
    """An empty arena that its owner alone can read; SQLite gives the log beside it the same mode."""
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    with contextlib.closing(_connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(files("podium.tools.arena").joinpath("schema.sql").read_text("utf-8"))
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
        with _as_organiser_errors():
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
        """A transaction: it is on disk when the block ends, and undone completely when the block raises."""
        with self._lock, _as_organiser_errors():
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
                self._writer.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):  # a failed commit may have rolled back by itself
                    self._writer.execute("ROLLBACK")
                raise

    def rows(self, query: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The result of a query on what is committed now."""
        with _as_organiser_errors():
            return self._reader().execute(query, parameters).fetchall()

    def row(self, query: str, parameters: Sequence[Any] = ()) -> tuple[Any, ...] | None:
        """The first of `rows`, if any."""
        return next(iter(self.rows(query, parameters)), None)

    def close(self) -> None:
        with self._lock:
            for connection in (*self._readers, self._writer):
                connection.close()

    def _reader(self) -> sqlite3.Connection:
        """This thread's own connection, so that readers never wait."""
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
def _as_organiser_errors() -> Iterator[None]:
    """Turn problems of the disk or the file into messages for the organiser; programming errors pass through."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        name = getattr(error, "sqlite_errorname", "")
        for prefix, reason in _DATABASE_PROBLEMS.items():
            if name.startswith(prefix):
                raise OrganiserError(f"The arena's database {reason}.", detail=f"{name}: {error}") from error
        raise


# The contents of an arena: methods, cases with their pictures, and every method's report on every case.


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A case image prepared for the page: the files `0.png` ... in one folder, and for a volume also `volume.u16.gz`.

    key                      its folder below DIR/pictures, a random name
    slices                   of a volume, or the pages of a picture that has several
    width, height            of a slice, in pixels
    pixel_aspect             height of a pixel / width of a pixel
    pixel_mm, slice_mm       width of a pixel, and distance of slices, in mm
    value_low, value_high    what 0 and 65535 in the raw slices mean, in the volume's own unit
    window_low, window_high  which values are black and white in the PNGs
    mesh_part                of a mesh: which jaw, or "scan"; its PNGs show it from all sides, beside `mesh.mz3.gz`
    """

    key: str
    is_volume: bool
    slices: int
    width: int
    height: int
    pixel_aspect: float = 1.0
    pixel_mm: float = 1.0
    slice_mm: float = 1.0
    value_low: float = 0.0
    value_high: float = 255.0
    window_low: float = 0.0
    window_high: float = 255.0
    mesh_part: MeshPart | Literal[""] = ""

    @property
    def is_mesh(self) -> bool:
        return self.mesh_part != ""

    def files(self) -> Iterator[str]:
        """The names of all files of this image."""
        yield from dict.fromkeys([*(f"{number}.png" for number in range(self.slices)), *self.files_shown()])

    def files_shown(self) -> Iterator[str]:
        """The names of those files that a page with NiiVue fetches."""
        if self.is_volume or self.is_mesh:
            yield VOLUME_FILE if self.is_volume else MESH_FILE
        else:
            yield from (f"{number}.png" for number in range(self.slices))


_PICTURE_FIELDS = tuple(Picture.__dataclass_fields__)
_PICTURE_COLUMNS = ", ".join(_PICTURE_FIELDS)


@contextlib.contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """A temporary folder, which becomes `folder` when the block ends; an error or an interruption leaves nothing."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        building = Path(mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    except OSError as error:
        raise UsageError(f"{folder} cannot be created: {error.strerror}.") from None
    try:
        yield building
        building.replace(folder)
        handle = os.open(folder.parent, os.O_RDONLY)
        try:
            os.fsync(handle)  # so that the renamed folder survives a power failure, as its votes do
        finally:
            os.close(handle)
    finally:
        shutil.rmtree(building, ignore_errors=True)


def write_contents(
    folder: Path,
    methods: Sequence[str],
    cases: Mapping[str, Sequence[Picture]],
    reports: Mapping[str, Mapping[str, str]],
    notes: Sequence[str] = (),
) -> None:
    """Create a database without votes. `reports[method][case]` is "" where a method has none; `notes` are for the
    organiser."""
    create_database(folder / DATABASE)
    method_id = {name: number for number, name in enumerate(methods)}
    case_id = {name: number for number, name in enumerate(cases)}
    pictures = [
        (case_id[case], place, *(getattr(picture, field) for field in _PICTURE_FIELDS))
        for case, shown in cases.items()
        for place, picture in enumerate(shown)
    ]
    texts = [(method_id[method], case_id[case], reports[method].get(case, "")) for method in methods for case in cases]
    store = Store(folder)
    with store.writing() as connection:
        connection.executemany("INSERT INTO methods (name, id) VALUES (?, ?)", method_id.items())
        connection.executemany("INSERT INTO cases (name, id) VALUES (?, ?)", case_id.items())
        connection.executemany(
            f'INSERT INTO pictures ("case", place, {_PICTURE_COLUMNS}) VALUES (?, ?{", ?" * len(_PICTURE_FIELDS)})',  # noqa: S608
            pictures,
        )
        connection.executemany('INSERT INTO reports (method, "case", text) VALUES (?, ?, ?)', texts)
        connection.executemany("INSERT INTO notes (text) VALUES (?)", [(note,) for note in notes])
    store.close()


def read_methods(store: Store) -> tuple[str, ...]:
    """The methods' names in the order of the ranking; a method's number is its place in it."""
    return tuple(name for (name,) in store.rows("SELECT name FROM methods ORDER BY id"))


def read_cases(store: Store) -> tuple[str, ...]:
    """The cases' names in order; a case's number is its place in it."""
    return tuple(name for (name,) in store.rows("SELECT name FROM cases ORDER BY id"))


def read_reports(store: Store) -> dict[tuple[str, str], str]:
    """Every report as raters see it, by method and case."""
    rows = store.rows(
        """
        SELECT methods.name, cases.name, text FROM reports
        JOIN methods ON methods.id = method JOIN cases ON cases.id = "case"
        """
    )
    return {(method, case): text for method, case, text in rows}


class OpenArena:
    """An arena with all that does not change while it is open. Any thread may use it; calls may block.

    notes     what `init` found worth saying
    pictures  of every case, by the case's number
    """

    def __init__(self, folder: Path) -> None:
        self.store = Store(folder)
        self.settings = read_settings(folder)
        ((self.id,),) = self.store.rows("SELECT id FROM arena")
        self.methods, self.cases = read_methods(self.store), read_cases(self.store)
        self.notes = tuple(text for (text,) in self.store.rows("SELECT text FROM notes ORDER BY id"))
        self.pictures: dict[int, tuple[Picture, ...]] = dict.fromkeys(range(len(self.cases)), ())
        for case, *values in self.store.rows(f'SELECT "case", {_PICTURE_COLUMNS} FROM pictures ORDER BY "case", place'):  # noqa: S608
            named = dict(zip(_PICTURE_FIELDS, values, strict=True))
            self.pictures[case] += (Picture(**{**named, "is_volume": bool(named["is_volume"])}),)
        self._case_and_files = {
            picture.key: (case, tuple(picture.files())) for case, shown in self.pictures.items() for picture in shown
        }

    def close(self) -> None:
        self.store.close()

    def is_closed(self) -> bool:
        """No vote counts any more."""
        return self.store.rows("SELECT closed_at FROM arena") != [(None,)]

    def picture_file(self, key: str, name: str) -> Path | None:
        """A file of a prepared picture; None for any other name."""
        _, names = self._case_and_files.get(key, (None, ()))
        return self.store.folder / PICTURES / key / name if name in names else None

    def missing_pictures(self) -> list[str]:
        """Files that belong to the arena and are not there."""
        return [
            f"{PICTURES}/{key}/{name}"
            for key, (_, names) in self._case_and_files.items()
            for name in names
            if not (self.store.folder / PICTURES / key / name).is_file()
        ]

    def may_see(self, rater: int, picture: str) -> bool:
        """Whether the picture belongs to a case in the rater's own list."""
        case, _ = self._case_and_files.get(picture, (None, ()))
        query = 'SELECT 1 FROM matchups WHERE rater = ? AND "case" = ? LIMIT 1'
        return case is not None and self.store.row(query, (rater, case)) is not None


# The votes and the raters.


class Ballot(NamedTuple):
    """A vote as the ratings see it. A named tuple, since thousands are made for every organiser's page.

    left, right  names of the two methods as they were placed on the page
    answer       which is better; both good and both bad are ties; "cannot-judge" is counted, but in no rating
    repeat       the rater had seen this matchup before, with the sides swapped: it measures the rater, and neither
                 ratings nor the stop rule count it
    cast_at      seconds since 1970; ballots are always in the order in which they were cast
    """

    rater: str
    case: str
    left: str
    right: str
    answer: VoteAnswer
    repeat: bool = False
    cast_at: float = 0.0

    @property
    def is_tie(self) -> bool:
        return self.answer in TIES

    @property
    def is_judged(self) -> bool:
        return self.answer != "cannot-judge"


class RaterLine(NamedTuple):
    """One rater. Times are seconds since 1970."""

    name: str
    done: int
    total: int
    revoked: bool
    invited_at: float
    last_vote_at: float | None
    email: str
    language: str


class VoteRecord(NamedTuple):
    """A vote as it was cast, standing or undone."""

    ballot: Ballot
    reasons: tuple[str, ...]
    comment: str
    is_undone: bool
    is_practice: bool


def read_votes(store: Store) -> list[VoteRecord]:
    """Every vote ever cast, in that order."""
    rows = store.rows(
        """
        SELECT raters.name, cases.name, l.name, r.name, v.answer, m.repeat_of IS NOT NULL, v.cast_at,
            v.reasons, v.comment, m.position < 0,
            EXISTS (SELECT 1 FROM undos AS u WHERE u.vote = v.id)
        FROM votes AS v
        JOIN matchups AS m ON m.id = v.matchup
        JOIN raters ON raters.id = v.rater
        JOIN cases ON cases.id = m."case"
        JOIN methods AS l ON l.id = m."left"
        JOIN methods AS r ON r.id = m."right"
        ORDER BY v.id
        """
    )
    return [
        VoteRecord(
            ballot=Ballot(
                rater=rater, case=case, left=left, right=right, answer=answer, repeat=bool(repeat), cast_at=cast_at
            ),
            reasons=tuple(json.loads(reasons)) if reasons != "[]" else (),
            comment=comment,
            is_undone=bool(undone),
            is_practice=bool(practice),
        )
        for rater, case, left, right, answer, repeat, cast_at, reasons, comment, practice, undone in rows
    ]


def read_ballots(store: Store) -> list[Ballot]:
    """The standing votes, without practice, in the order in which they were cast."""
    return standing_ballots(read_votes(store))


def standing_ballots(cast: Iterable[VoteRecord]) -> list[Ballot]:
    return [vote.ballot for vote in cast if not vote.is_undone and not vote.is_practice]


def read_raters(store: Store) -> list[RaterLine]:
    """Every rater in the order of invitation, including those whose link was revoked."""
    rows = store.rows(
        """
        SELECT r.name,
            (SELECT count(*) FROM votes AS v JOIN matchups AS m ON m.id = v.matchup WHERE v.rater = r.id
                AND m.position > 0 AND v.id NOT IN (SELECT vote FROM undos)),
            (SELECT count(*) FROM matchups AS m WHERE m.rater = r.id AND m.position > 0 AND m.replaces IS NULL),
            r.revoked_at IS NOT NULL, r.invited_at,
            (SELECT max(cast_at) FROM votes AS v WHERE v.rater = r.id AND v.id NOT IN (SELECT vote FROM undos)),
            r.email, r.language
        FROM raters AS r WHERE r.role = 'rater' ORDER BY r.id
        """
    )
    return [RaterLine(*row) for row in rows]


def last_change(store: Store) -> int:
    """Grows with every vote, undo, invitation and revocation."""
    ((number,),) = store.rows("SELECT number FROM changes")
    return int(number)


# The end of an arena: no vote, undo or invitation is accepted afterwards. The database itself refuses them too.


def close_arena(store: Store) -> None:
    """This cannot be undone: a result must be final."""
    with store.writing() as connection:
        if closed_at(connection) is not None:
            raise UsageError("The arena is already closed.")
        connection.execute("UPDATE arena SET closed_at = ?", (time.time(),))


def closed_at(connection: sqlite3.Connection) -> float | None:
    """When the arena was closed, in seconds since 1970; None while it is open."""
    ((moment,),) = connection.execute("SELECT closed_at FROM arena").fetchall()
    return None if moment is None else float(moment)


# Texts as they are shown: without invisible characters, since a hidden mark could identify a team.


def clean_text(text: str) -> str:
    """`text` with LF line ends and plain spaces, and without invisible characters (control, zero-width, bidi or other),
    blanks at the ends of lines, or blank lines around it.

    Code points that are not text (lone surrogates, private use) are removed as well.
    """
    visible = "".join(
        each
        for each in _INVISIBLE.sub("", _SPACE.sub(" ", _LINE_END.sub("\n", text)))
        if each == "\n" or not unicodedata.category(each).startswith("C")
    )
    return _TRAILING.sub("", visible).strip("\n")


def clean_name(text: str) -> str:
    """A rater's name on one line, with composed letters, so that equal names are spelled the same."""
    return " ".join(unicodedata.normalize("NFC", clean_text(text)).split())
