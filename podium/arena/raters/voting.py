"""A rater's list: the next matchup, the vote, and undoing the last vote."""

import json
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Literal

from podium.arena.ratings.ballots import Answer
from podium.arena.store.cleaning import clean_comment
from podium.arena.store.closing import closed_at
from podium.arena.store.contents import Picture
from podium.arena.store.database import Store

VoteOutcome = Literal["cast", "already", "refused", "closed"]
_PACE_VOTES = 20
_FEWEST_PAUSES = 3
_LONGEST_PAUSE_SECONDS = 600.0  # longer ones are breaks


@dataclass(frozen=True, kw_only=True)
class Matchup:
    """What a rater sees.

    key                        names this matchup of this rater in forms; random and of fixed length
    position                   in the rater's list, from 1
    left_report, right_report  "" is an empty report, which is shown as such
    comment, reasons           of the vote that was undone here, if any
    """

    key: str
    position: int
    left_report: str
    right_report: str
    pictures: tuple[Picture, ...]
    comment: str = ""
    reasons: tuple[str, ...] = ()

    @property
    def is_practice(self) -> bool:
        return self.position < 0


@dataclass(frozen=True, kw_only=True)
class RaterProgress:
    """done, total      of the list; practice is counted by itself
    undoable         the matchup whose vote can be taken back, if any
    seconds_left     for the rest of the list at the rater's own pace; None before there is one
    """

    done: int
    total: int
    undoable: str | None
    practice_done: int = 0
    practice_total: int = 0
    seconds_left: float | None = None


@dataclass(frozen=True, kw_only=True)
class RaterVerdict:
    """What a rater says. `reasons` are some of the organiser's tags."""

    answer: Answer
    comment: str = ""
    reasons: Sequence[str] = ()


def new_key() -> str:
    """An opaque name for a matchup."""
    return secrets.token_hex(16)


def current(store: Store, rater: int, pictures: Mapping[int, tuple[Picture, ...]]) -> Matchup | None:
    """The first matchup of the list without an answer; None at its end."""
    found = store.row(
        """
        SELECT m.key, m.position, "case", l.text, r.text, coalesce(u.comment, ''), coalesce(u.reasons, '[]')
        FROM matchups AS m JOIN reports AS l USING ("case") JOIN reports AS r USING ("case")
        LEFT JOIN votes AS u ON u.matchup = m.replaces
        WHERE m.rater = ? AND l.method = m."left" AND r.method = m."right"
        AND NOT EXISTS (SELECT 1 FROM votes AS v WHERE v.rater = m.rater AND v.matchup = m.id)
        ORDER BY m.position LIMIT 1
        """,
        (rater,),
    )
    if found is None:
        return None
    key, position, case, left, right, comment, reasons = found
    return Matchup(
        key=key,
        position=position,
        left_report=left,
        right_report=right,
        pictures=pictures[case],
        comment=comment,
        reasons=tuple(json.loads(reasons)),
    )


def progress(store: Store, rater: int) -> RaterProgress:
    """How far the rater is. A list's matchups are those no undo has replaced."""
    found = store.row(
        """
        SELECT
            (SELECT count(*) FROM votes AS v JOIN matchups AS m ON m.id = v.matchup WHERE v.rater = ?1
                AND m.position > 0 AND NOT EXISTS (SELECT 1 FROM undos AS u WHERE u.vote = v.id)),
            (SELECT count(*) FROM matchups AS m WHERE m.rater = ?1 AND m.position > 0 AND m.replaces IS NULL),
            (SELECT count(*) FROM votes AS v JOIN matchups AS m ON m.id = v.matchup WHERE v.rater = ?1
                AND m.position < 0 AND NOT EXISTS (SELECT 1 FROM undos AS u WHERE u.vote = v.id)),
            (SELECT count(*) FROM matchups AS m WHERE m.rater = ?1 AND m.position < 0 AND m.replaces IS NULL),
            (SELECT m.key FROM votes AS v JOIN matchups AS m ON m.id = v.matchup
                WHERE v.id = (SELECT max(id) FROM votes WHERE rater = ?1)
                AND NOT EXISTS (SELECT 1 FROM undos AS u WHERE u.vote = v.id))
        """,
        (rater,),
    )
    assert found is not None
    done, total, practice_done, practice_total, undoable = found
    pace = _median_pause(store, rater)
    return RaterProgress(
        done=done,
        total=total,
        undoable=undoable,
        practice_done=practice_done,
        practice_total=practice_total,
        seconds_left=None if pace is None else pace * (total - done),
    )


def _median_pause(store: Store, rater: int) -> float | None:
    """Between the rater's last votes, breaks left out, in seconds."""
    rows = store.rows("SELECT cast_at FROM votes WHERE rater = ? ORDER BY id DESC LIMIT ?", (rater, _PACE_VOTES + 1))
    pauses = [later - earlier for (later,), (earlier,) in pairwise(rows) if later - earlier <= _LONGEST_PAUSE_SECONDS]
    return median(pauses) if len(pauses) >= _FEWEST_PAUSES else None


def cast(store: Store, rater: int, *, matchup: str, verdict: RaterVerdict) -> VoteOutcome:
    """A vote, on disk when this returns "cast".

    "already": the matchup was answered before (a double click, two tabs, the back button), and that answer stands.
    "refused": the matchup belongs to another rater, or the rater's link has been revoked.
    "closed": no vote counts any more.
    """
    with store.writing() as connection:
        found = connection.execute(
            """
            SELECT m.id, EXISTS (SELECT 1 FROM votes AS v WHERE v.rater = m.rater AND v.matchup = m.id)
            FROM matchups AS m JOIN raters AS r ON r.id = m.rater
            WHERE m.key = ? AND m.rater = ? AND r.revoked_at IS NULL
            """,
            (matchup, rater),
        ).fetchone()
        if found is None:
            return "refused"
        number, is_answered = found
        if is_answered:
            return "already"
        if closed_at(connection) is not None:
            return "closed"
        connection.execute(
            "INSERT INTO votes (rater, matchup, answer, reasons, comment, cast_at) VALUES (?, ?, ?, ?, ?, ?)",
            (rater, number, verdict.answer, json.dumps(verdict.reasons), clean_comment(verdict.comment), time.time()),
        )
    return "cast"


def undo(store: Store, rater: int, *, matchup: str) -> bool:
    """Undo the vote on `matchup`, if it is this rater's last action; the matchup is shown again under a new key.

    The new key makes a stale page harmless: its form refers to a matchup that has been answered.
    """
    with store.writing() as connection:
        found = connection.execute(
            """
            SELECT v.id, m.id FROM votes AS v JOIN matchups AS m ON m.id = v.matchup JOIN raters AS r ON r.id = v.rater
            WHERE v.id = (SELECT max(id) FROM votes WHERE rater = ?1) AND m.key = ?2 AND r.revoked_at IS NULL
            AND NOT EXISTS (SELECT 1 FROM undos AS u WHERE u.vote = v.id)
            """,
            (rater, matchup),
        ).fetchone()
        if found is None or closed_at(connection) is not None:
            return False
        vote, number = found
        connection.execute("INSERT INTO undos (vote, undone_at) VALUES (?, ?)", (vote, time.time()))
        connection.execute(
            """
            INSERT INTO matchups (key, rater, position, "case", "left", "right", repeat_of, replaces)
            SELECT ?, rater, position, "case", "left", "right", repeat_of, id FROM matchups WHERE id = ?
            """,
            (new_key(), number),
        )
    return True
