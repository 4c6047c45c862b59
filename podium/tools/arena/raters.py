"""The raters: invitations, personal links and the sessions they open, and revoking them.

Only hashes of links and sessions are stored.
"""

import csv
import hashlib
import io
import secrets
import sqlite3
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from podium.errors import Refused, UsageError, read_given
from podium.readers.text import parse_csv
from podium.tools.arena.settings import ArenaSettings
from podium.tools.arena.store import Store, clean_name, closed_at, read_cases, read_methods
from podium.tools.arena.voting import MatchupPlanner, Planned, new_key

LONGEST_NAME = 100
MOST_SESSIONS = 20
ORGANISER = "Organiser"
_FORGET_UNANSWERED = """  -- except those undone or skipped: the rater has already seen them
    DELETE FROM matchups WHERE rater = ? AND replaces IS NULL
    AND NOT EXISTS (SELECT 1 FROM votes AS v WHERE v.matchup = matchups.id)
    AND NOT EXISTS (SELECT 1 FROM matchups AS n WHERE n.replaces = matchups.id)
"""
_COLUMNS = {"name": "name", "e-mail": "email", "email": "email", "language": "language"}


@dataclass(frozen=True, kw_only=True)
class Invitation:
    """A link that is shown once. `remarks` are sentences for the organiser."""

    name: str
    token: str
    link: str
    total: int
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Visitor:
    """Who sent a request. `link` is the hash of the personal link."""

    id: int
    name: str
    is_organiser: bool
    link: str
    language: str = ""


@dataclass(frozen=True, kw_only=True)
class Guest:
    """Someone to invite. `email` is for the organiser's list; `language` is "" for the one the browser asks for."""

    name: str
    email: str = ""
    language: str = ""


def invite(store: Store, settings: ArenaSettings, guest: str | Guest, *, matchups: int | None = None) -> Invitation:
    """A rater's new link, and the list it leads to.

    A known name gets a new link that replaces the old one, and more matchups if more are wanted; votes are kept. A
    rater whose link was revoked may be invited again; unanswered matchups are planned again.
    """
    guest = Guest(name=guest) if isinstance(guest, str) else guest
    name = rater_name(guest.name)
    token, remarks = secrets.token_urlsafe(32), []
    planner = MatchupPlanner(
        methods=len(read_methods(store)),
        cases=len(read_cases(store)),
        repeat_share=settings.repeat_share,
        seed=settings.seed,
    )
    with store.writing() as connection:
        if closed_at(connection) is not None:
            raise UsageError("The arena is closed: nobody else can be invited.")
        known = connection.execute(
            "SELECT id, revoked_at IS NOT NULL FROM raters WHERE role = 'rater' AND name = ?", (name,)
        ).fetchone()
        rater = _link(connection, replace(guest, name=name), "rater", token)
        if known is not None:
            remarks.append(f"{name} was invited before: the older link is revoked, the votes are kept.")
            if known[1]:
                connection.execute(_FORGET_UNANSWERED, (rater,))
        places, mine = _list_of(connection, rater)
        wanted = matchups or max(settings.matchups_per_rater, len(mine))
        if wanted < len(mine):
            remarks.append(f"{name} has {len(mine)} matchups already; a list can only grow.")
        practised = _planned(
            connection, "matchups AS m WHERE m.rater = ? AND m.position < 0 AND m.replaces IS NULL", rater
        )
        planned = planner.plan(
            max(0, wanted - len(mine)), rater=rater, mine=mine, practised=practised, others=_others(connection, rater)
        )
        for each in planned:  # a repeat names its first by number
            first = None if each.repeat_of is None else places[each.repeat_of]
            places.append(_insert(connection, rater, len(places) + 1, each, first))
        has_voted = connection.execute("SELECT 1 FROM votes WHERE rater = ? LIMIT 1", (rater,)).fetchone() is not None
        if not practised and not has_voted:
            empty = connection.execute("SELECT method, \"case\" FROM reports WHERE text = ''").fetchall()
            practice = planner.practice(settings.practice_matchups, rater=rater, mine=[*mine, *planned], empty=empty)
            for place, each in enumerate(practice):
                _insert(connection, rater, place - len(practice), each, None)
    total = len(mine) + len(planned)
    if total < wanted:
        remarks.append(f"There are only {total} matchups for one rater, so {name} gets {total}, not {wanted}.")
    return Invitation(name=name, token=token, link=_url(settings, token), total=total, remarks=tuple(remarks))


def invite_organiser(store: Store, settings: ArenaSettings) -> Invitation:
    """The organiser's new link; any older one is revoked."""
    token = secrets.token_urlsafe(32)
    with store.writing() as connection:
        _link(connection, Guest(name=ORGANISER), "organiser", token)
    return Invitation(name=ORGANISER, token=token, link=_url(settings, token), total=0)


def rater_name(text: str) -> str:
    """A name as it is stored: on one line, without invisible characters."""
    name = clean_name(text)
    if not 0 < len(name) <= LONGEST_NAME:
        raise UsageError(f"A rater's name must have 1 to {LONGEST_NAME} characters.")
    return name


def set_language(store: Store, rater: int, language: str) -> None:
    """Keep the language that a rater has chosen."""
    with store.writing() as connection:
        connection.execute("UPDATE raters SET language = ? WHERE id = ?", (language, rater))


def revoke(store: Store, name: str) -> str:
    """End a rater's link and sessions; the votes are kept. Returns the name as it is stored."""
    name = clean_name(name)
    with store.writing() as connection:
        found = connection.execute(
            "SELECT id, revoked_at IS NOT NULL FROM raters WHERE role = 'rater' AND name = ?", (name,)
        ).fetchone()
        if found is None:
            names = [each for (each,) in connection.execute("SELECT name FROM raters WHERE role = 'rater' ORDER BY id")]
            known = f"there is: {', '.join(names)}" if names else "nobody was invited yet"
            raise UsageError(f"There is no rater '{name}'; {known}.")
        rater, is_revoked = found
        if is_revoked:
            raise UsageError(f"The link of '{name}' is already revoked.")
        connection.execute("UPDATE raters SET revoked_at = ? WHERE id = ?", (time.time(), rater))
        connection.execute("DELETE FROM sessions WHERE rater = ?", (rater,))
    return name


def open_session(store: Store, token: str, admit: Callable[[int], None] = lambda _rater: None) -> str | None:
    """A new session's secret for the owner of a link that has not been revoked, whom `admit` may refuse.

    A link keeps its newest 20 sessions: each is a browser, or a click in one that does not send the cookie along.
    """
    secret = secrets.token_urlsafe(32)
    with store.writing() as connection:
        found = connection.execute(
            "SELECT id FROM raters WHERE token_hash = ? AND revoked_at IS NULL", (_hash(token),)
        ).fetchone()
        if found is None:
            return None
        admit(found[0])
        connection.execute("INSERT INTO sessions VALUES (?, ?, ?)", (_hash(secret), found[0], time.time()))
        newest = "SELECT rowid FROM sessions WHERE rater = ?1 ORDER BY rowid DESC LIMIT ?2"
        older = f"DELETE FROM sessions WHERE rater = ?1 AND rowid NOT IN ({newest})"  # noqa: S608
        connection.execute(older, (found[0], MOST_SESSIONS))
    return secret


def find_visitor(store: Store, secret: str) -> Visitor | None:
    """The owner of a session; the sessions of a revoked link are deleted."""
    found = store.row(
        """
        SELECT r.id, r.name, r.role, r.token_hash, r.language FROM sessions AS s JOIN raters AS r ON r.id = s.rater
        WHERE s.hash = ?
        """,
        (_hash(secret),),
    )
    if found is None:
        return None
    return Visitor(id=found[0], name=found[1], is_organiser=found[2] == "organiser", link=found[3], language=found[4])


def _hash(secret: str) -> str:
    """No salt and no stretching: the secrets are 256 random bits."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _url(settings: ArenaSettings, token: str) -> str:
    return f"{settings.url.rstrip('/')}/enter/{token}"


def _link(connection: sqlite3.Connection, guest: Guest, role: Literal["rater", "organiser"], token: str) -> int:
    """The person's number, with `token` as the only valid link. A known person keeps e-mail and language if none is
    given."""
    ((number,),) = connection.execute(
        """
        INSERT INTO raters (name, email, language, role, token_hash, invited_at) VALUES (?, ?, ?, ?, ?, ?)
        ON CONFLICT (role, name) DO UPDATE SET token_hash = excluded.token_hash, revoked_at = NULL,
            email = iif(excluded.email = '', email, excluded.email),
            language = iif(excluded.language = '', language, excluded.language)
        RETURNING id
        """,
        (guest.name, guest.email, guest.language, role, _hash(token), time.time()),
    ).fetchall()
    connection.execute("DELETE FROM sessions WHERE rater = ?", (number,))
    return int(number)


def _list_of(connection: sqlite3.Connection, rater: int) -> tuple[list[int], list[Planned]]:
    """The rater's list: the numbers of the matchups and their contents. An undone one counts for its replacement."""
    rows = connection.execute(
        """
        SELECT id, "case", "left", "right", repeat_of FROM matchups
        WHERE rater = ? AND position > 0 AND replaces IS NULL ORDER BY position
        """,
        (rater,),
    ).fetchall()
    numbers = [row[0] for row in rows]
    place = {number: index for index, number in enumerate(numbers)}
    listed = [
        Planned(case=case, left=left, right=right, repeat_of=None if first is None else place[first])
        for _, case, left, right, first in rows
    ]
    return numbers, listed


def _others(connection: sqlite3.Connection, rater: int) -> list[Planned]:
    """The matchups of all other lists that count: all except those a revoked rater left unanswered."""
    return _planned(
        connection,
        """
        matchups AS m JOIN raters AS r ON r.id = m.rater
        WHERE m.rater <> ? AND m.position > 0 AND m.repeat_of IS NULL
        AND NOT EXISTS (SELECT 1 FROM matchups AS n WHERE n.replaces = m.id)
        AND (r.revoked_at IS NULL OR EXISTS (SELECT 1 FROM votes AS v WHERE v.matchup = m.id))
        """,
        rater,
    )


def _planned(connection: sqlite3.Connection, source: str, rater: int) -> list[Planned]:
    rows = connection.execute(f'SELECT m."case", m."left", m."right" FROM {source}', (rater,))  # noqa: S608
    return [Planned(case=case, left=left, right=right) for case, left, right in rows]


def _insert(connection: sqlite3.Connection, rater: int, position: int, planned: Planned, first: int | None) -> int:
    ((number,),) = connection.execute(
        """
        INSERT INTO matchups (key, rater, position, "case", "left", "right", repeat_of)
        VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id
        """,
        (new_key(), rater, position, planned.case, planned.left, planned.right, first),
    ).fetchall()
    return int(number)


# Many invitations at once: raters.csv in, links.csv out.


def read_guests(path: Path, *, languages: Collection[str]) -> list[Guest]:
    """The columns name, e-mail and language, the last two optional. If any line is wrong, nobody is invited."""
    try:
        rows = [*parse_csv(read_given(path), name=str(path))]
    except Refused as refusal:
        raise UsageError(str(refusal)) from None
    titles = [title.strip().lower() for title in rows[0][1]] if rows else []
    if "name" not in titles or not set(titles) <= set(_COLUMNS):
        raise UsageError(f"{path}: the first line must name the columns: name, e-mail, language.")
    guests: dict[str, Guest] = {}
    for number, row in rows[1:]:
        if len(row) != len(titles):
            raise UsageError(f"{path}, line {number}: {len(row)} fields instead of {len(titles)}.")
        guest = Guest(**{_COLUMNS[title]: clean_name(value) for title, value in zip(titles, row, strict=True)})
        if guest.language and guest.language not in languages:
            raise UsageError(f"{path}, line {number}: the language must be one of {', '.join(languages)}.")
        if guests.setdefault(rater_name(guest.name), guest) is not guest:
            raise UsageError(f"{path}, line {number}: '{guest.name}' is listed twice.")
    if not guests:
        raise UsageError(f"{path} lists no raters.")
    return list(guests.values())


def links_csv(invited: Iterable[tuple[Guest, Invitation]]) -> str:
    """One line per rater, for a mail merge."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(("name", "e-mail", "language", "link"))
    writer.writerows((one.name, guest.email, guest.language, one.link) for guest, one in invited)
    return text.getvalue()
