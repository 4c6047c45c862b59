"""The contents of an arena: methods, cases with their pictures, and every method's report on every case."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from podium.arena.images.prepared import PreparedImage
from podium.arena.store.database import DATABASE, Store, create_database

PICTURES = "pictures"


@dataclass(frozen=True, kw_only=True)
class Picture(PreparedImage):
    """One picture or one volume of a case; `key` is its folder below DIR/pictures, a random name."""

    key: str


@dataclass(frozen=True, kw_only=True)
class Contents:
    """`reports[method][case]`, "" where a method has none; `notes` are for the organiser."""

    methods: Sequence[str]
    cases: Mapping[str, Sequence[Picture]]
    reports: Mapping[str, Mapping[str, str]]
    notes: Sequence[str] = ()


def write_contents(folder: Path, contents: Contents) -> None:
    """A new database in `folder` that holds `contents` and nobody's votes yet."""
    create_database(folder / DATABASE)
    methods = {name: number for number, name in enumerate(contents.methods)}
    cases = {name: number for number, name in enumerate(contents.cases)}
    pictures = [
        (cases[case], place, *(getattr(picture, field) for field in _PICTURE_FIELDS))
        for case, shown in contents.cases.items()
        for place, picture in enumerate(shown)
    ]
    reports = [
        (number, cases[case], contents.reports[method].get(case, ""))
        for method, number in methods.items()
        for case in contents.cases
    ]
    store = Store(folder)
    with store.writing() as connection:
        connection.executemany("INSERT INTO methods (name, id) VALUES (?, ?)", methods.items())
        connection.executemany("INSERT INTO cases (name, id) VALUES (?, ?)", cases.items())
        connection.executemany(
            f'INSERT INTO pictures ("case", place, {_PICTURE_COLUMNS}) VALUES (?, ?{", ?" * len(_PICTURE_FIELDS)})',  # noqa: S608
            pictures,
        )
        connection.executemany('INSERT INTO reports (method, "case", text) VALUES (?, ?, ?)', reports)
        connection.executemany("INSERT INTO notes (text) VALUES (?)", [(note,) for note in contents.notes])
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


def read_notes(store: Store) -> tuple[str, ...]:
    """What `init` found worth saying."""
    return tuple(text for (text,) in store.rows("SELECT text FROM notes ORDER BY id"))


def read_pictures(store: Store) -> dict[int, tuple[Picture, ...]]:
    """The pictures of every case, by the case's number."""
    found: dict[int, tuple[Picture, ...]] = {number: () for (number,) in store.rows("SELECT id FROM cases")}
    rows = store.rows(f'SELECT "case", {_PICTURE_COLUMNS} FROM pictures ORDER BY "case", place')  # noqa: S608
    for case, *values in rows:
        named = dict(zip(_PICTURE_FIELDS, values, strict=True))
        found[case] += (Picture(**{**named, "is_volume": bool(named["is_volume"])}),)
    return found


_PICTURE_FIELDS = tuple(Picture.__dataclass_fields__)
_PICTURE_COLUMNS = ", ".join(_PICTURE_FIELDS)
