"""A rater's list: how it is planned, the next matchup, the vote, and undoing the last vote."""

import json
import secrets
import sqlite3
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from random import Random
from statistics import median
from typing import Literal

import numpy as np

from podium.tools.arena.store import LONGEST_COMMENT, OpenArena, Picture, Store, VoteAnswer, clean_text, closed_at

VoteOutcome = Literal["cast", "already", "skipped", "refused", "closed"]
_PACE_VOTES = 20
_FEWEST_PAUSES = 3
_LONGEST_PAUSE_SECONDS = 600.0  # longer ones are breaks
MIN_PLACES_BETWEEN = 5  # a matchup and its repeat
_MOST_REPLACED = 3  # undone and skipped matchups, as a multiple of the list: they would fill the disk


@dataclass(frozen=True, kw_only=True)
class Matchup:
    """What a rater sees.

    key                        names this matchup of this rater in forms; random and of fixed length
    position                   in the rater's list, from 1
    left_report, right_report  "" is an empty report, which is shown as such
    answer, comment, reasons   of the vote that was undone here, if any
    following                  the pictures of the next matchup, to fetch them early; None if this is the last one
    """

    key: str
    position: int
    left_report: str
    right_report: str
    pictures: tuple[Picture, ...]
    following: tuple[Picture, ...] | None = None
    answer: str = ""
    comment: str = ""
    reasons: tuple[str, ...] = ()

    @property
    def is_practice(self) -> bool:
        return self.position < 0


@dataclass(frozen=True, kw_only=True)
class RaterProgress:
    """How far a rater is in the list; practice is counted separately."""

    done: int
    total: int
    undoable: str | None  # the matchup of the last standing vote, which can be taken back, if any
    practice_done: int = 0
    practice_total: int = 0
    seconds_left: float | None = None  # for the rest of the list at the rater's own pace; None before there is one


def new_key() -> str:
    """An opaque name for a matchup."""
    return secrets.token_hex(16)


def next_matchup(arena: OpenArena, rater: int) -> Matchup | None:
    """The first matchup of the list without an answer; None at its end."""
    waiting = arena.store.rows(
        """
        SELECT m.key, m.position, "case", l.text, r.text,
            coalesce(u.answer, ''), coalesce(u.comment, ''), coalesce(u.reasons, '[]')
        FROM matchups AS m JOIN reports AS l USING ("case") JOIN reports AS r USING ("case")
        LEFT JOIN votes AS u ON u.matchup = m.replaces
        WHERE m.rater = ? AND l.method = m."left" AND r.method = m."right"
        AND NOT EXISTS (SELECT 1 FROM votes AS v WHERE v.rater = m.rater AND v.matchup = m.id)
        AND NOT EXISTS (SELECT 1 FROM matchups AS n WHERE n.replaces = m.id)
        ORDER BY m.position, m.id LIMIT 2
        """,
        (rater,),
    )
    if not waiting:
        return None
    key, position, case, left, right, answer, comment, reasons = waiting[0]
    return Matchup(
        key=key,
        position=position,
        left_report=left,
        right_report=right,
        pictures=arena.pictures[case],
        following=arena.pictures[waiting[1][2]] if len(waiting) > 1 else None,
        answer=answer,
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
            (SELECT m.key FROM votes AS v JOIN matchups AS m ON m.id = v.matchup WHERE v.rater = ?1
                AND NOT EXISTS (SELECT 1 FROM undos AS u WHERE u.vote = v.id) ORDER BY v.id DESC LIMIT 1)
        """,
        (rater,),
    )
    assert found is not None
    done, total, practice_done, practice_total, undoable = found
    latest = store.rows("SELECT cast_at FROM votes WHERE rater = ? ORDER BY id DESC LIMIT ?", (rater, _PACE_VOTES + 1))
    pauses = [later - earlier for (later,), (earlier,) in pairwise(latest)]
    pauses = [pause for pause in pauses if 0 <= pause <= _LONGEST_PAUSE_SECONDS]  # a clock may be set back
    return RaterProgress(
        done=done,
        total=total,
        undoable=undoable,
        practice_done=practice_done,
        practice_total=practice_total,
        seconds_left=median(pauses) * (total - done) if len(pauses) >= _FEWEST_PAUSES else None,
    )


def cast(  # noqa: PLR0913  (a vote has these parts)
    store: Store, rater: int, *, matchup: str, answer: VoteAnswer, comment: str = "", reasons: Sequence[str] = ()
) -> VoteOutcome:
    """Record a vote, which is on disk when this returns "cast". `reasons` are some of the organiser's tags.

    "already": the matchup was answered before (a double click, two tabs, the back button), and that answer is kept.
    "skipped": the matchup was moved to the end of the list in another tab, and has no answer yet.
    "refused": the matchup belongs to another rater, or the rater's link has been revoked.
    "closed": no vote counts any more.
    """
    with store.writing() as connection:
        found = connection.execute(
            """
            SELECT m.id, EXISTS (SELECT 1 FROM votes AS v WHERE v.rater = m.rater AND v.matchup = m.id),
                EXISTS (SELECT 1 FROM matchups AS n WHERE n.replaces = m.id)
            FROM matchups AS m JOIN raters AS r ON r.id = m.rater
            WHERE m.key = ? AND m.rater = ? AND r.revoked_at IS NULL
            """,
            (matchup, rater),
        ).fetchone()
        if found is None:
            return "refused"
        number, is_answered, is_replaced = found
        if is_answered or is_replaced:
            return "already" if is_answered else "skipped"
        if closed_at(connection) is not None:
            return "closed"
        connection.execute(
            "INSERT INTO votes (rater, matchup, answer, reasons, comment, cast_at) VALUES (?, ?, ?, ?, ?, ?)",
            (rater, number, answer, json.dumps(reasons), clean_text(comment)[:LONGEST_COMMENT].strip(), time.time()),
        )
    return "cast"


def undo(store: Store, rater: int, matchup: str) -> bool:
    """Undo the vote on `matchup`, if it is this rater's last standing vote; the matchup is shown again under a new key.

    The new key makes a stale page harmless: its form refers to a matchup that has been answered.
    """
    with store.writing() as connection:
        found = connection.execute(
            """
            SELECT v.id, m.id FROM votes AS v JOIN matchups AS m ON m.id = v.matchup JOIN raters AS r ON r.id = v.rater
            WHERE v.id = (SELECT max(id) FROM votes WHERE rater = ?1 AND id NOT IN (SELECT vote FROM undos))
            AND m.key = ?2 AND r.revoked_at IS NULL
            """,
            (rater, matchup),
        ).fetchone()
        if found is None or not _may_replace(connection, rater):
            return False
        vote, number = found
        connection.execute("INSERT INTO undos (vote, undone_at) VALUES (?, ?)", (vote, time.time()))
        _replace(connection, number, "position")
    return True


def skip(store: Store, rater: int, matchup: str) -> bool:
    """Move an unanswered matchup, other than a practice one, to the end of the list, under a new key."""
    with store.writing() as connection:
        found = connection.execute(
            """
            SELECT m.id FROM matchups AS m JOIN raters AS r ON r.id = m.rater
            WHERE m.key = ? AND m.rater = ? AND m.position > 0 AND r.revoked_at IS NULL
            AND NOT EXISTS (SELECT 1 FROM votes AS v WHERE v.matchup = m.id)
            AND NOT EXISTS (SELECT 1 FROM matchups AS n WHERE n.replaces = m.id)
            """,
            (matchup, rater),
        ).fetchone()
        if found is None or not _may_replace(connection, rater):
            return False
        _replace(connection, found[0], "(SELECT max(position) + 1 FROM matchups AS o WHERE o.rater = m.rater)")
    return True


def _may_replace(connection: sqlite3.Connection, rater: int) -> bool:
    """Whether the arena is open, and the rater has not undone and skipped too often."""
    counts = "SELECT count(replaces), count(*) - count(replaces) FROM matchups WHERE rater = ?"
    replaced, listed = connection.execute(counts, (rater,)).fetchone()
    return closed_at(connection) is None and bool(replaced < _MOST_REPLACED * listed)


def _replace(connection: sqlite3.Connection, matchup: int, position: str) -> None:
    connection.execute(
        f"""
        INSERT INTO matchups (key, rater, position, "case", "left", "right", repeat_of, replaces)
        SELECT ?, rater, {position}, "case", "left", "right", repeat_of, id FROM matchups AS m WHERE id = ?
        """,  # noqa: S608
        (new_key(), matchup),
    )


# Which methods are compared on which case: seeded, and balanced over pairs, cases and raters in any order of arrival.
#
# Greedy: the next matchup is always one of those planned least often, so the plan is balanced at any moment, and the
# next list compensates for a rater who joins late or leaves early. Over the matchups of all lists, repeats left out,
# every pair is planned equally often within 1, and in any beginning of one rater's list within 2, as long as no rater
# has run out of cases for a pair.


@dataclass(frozen=True, kw_only=True)
class Planned:
    """One place in a rater's list; methods and cases are numbers from 0.

    repeat_of  the place (from 0) in the same list where it was shown first, with the sides swapped
    """

    case: int
    left: int
    right: int
    repeat_of: int | None = None


@dataclass(frozen=True, kw_only=True)
class MatchupPlanner:
    """How lists are planned in one arena: numbers of methods and cases, the share of repeats, and the seed."""

    methods: int
    cases: int
    repeat_share: float
    seed: int

    def plan(
        self,
        count: int,
        *,
        rater: int,
        mine: Sequence[Planned] = (),
        practised: Iterable[Planned] = (),
        others: Iterable[Planned] = (),
    ) -> list[Planned]:
        """The next `count` places of a rater's list, or fewer if the rater has seen all other matchups.

        mine       the rater's list so far
        practised  what the rater has seen as practice: not counted, but not planned for this rater again
        others     the matchups of all other lists that count
        """
        random = Random(f"{self.seed} {rater} {len(mine)}")  # noqa: S311
        board = _Board(self.methods, self.cases, random)
        for planned in others:
            board.add(planned)
        for planned in mine:
            board.add(planned, is_mine=True)
        for planned in practised:
            board.close(planned)
        count = min(count, 2 * (len(mine) + board.left_over) + 1)  # less than half of a list are repeats
        while count - self._repeats(count, mine) > board.left_over:
            count -= 1
        listed = list(mine)
        slots = _repeat_slots(len(mine), count, self._repeats(count, mine), random)
        while len(listed) < len(mine) + count:
            repeat = _repeat(listed, random) if len(listed) in slots else None
            if repeat is None and not board.left_over:
                break
            listed.append(repeat or board.draw())
            board.add(listed[-1], is_mine=True)
        return listed[len(mine) :]

    def practice(
        self, count: int, *, rater: int, mine: Iterable[Planned], empty: Iterable[tuple[int, int]] = ()
    ) -> list[Planned]:
        """Up to `count` matchups that are not in the rater's whole list, `mine`, and without an empty report: nobody
        learns the task from those. `empty` has the method and the case of each."""
        random = Random(f"{self.seed} {rater} practice")  # noqa: S311
        board = _Board(self.methods, self.cases, random)
        for planned in mine:
            board.add(planned, is_mine=True)
        for method, case in empty:
            for other in set(range(self.methods)) - {method}:
                board.close(Planned(case=case, left=method, right=other))
        drawn: list[Planned] = []
        while len(drawn) < count and board.left_over:
            drawn.append(board.draw())
            board.add(drawn[-1], is_mine=True)
        return drawn

    def _repeats(self, count: int, mine: Sequence[Planned]) -> int:
        """Repeats among the next `count` places, so that the whole list has its share after any extension."""
        due = round(self.repeat_share * (len(mine) + count)) - sum(each.repeat_of is not None for each in mine)
        return min(max(due, 0), count)


def _repeat_slots(start: int, count: int, repeats: int, random: Random) -> set[int]:
    """Places for the repeats: a random one in each of `repeats` equal stretches, so that none is predictable."""
    ends = [start + count * number // repeats for number in range(repeats + 1)] if repeats else []
    stretches = [range(max(low, MIN_PLACES_BETWEEN), high) for low, high in pairwise(ends)]
    return {stretch[int(random.random() * len(stretch))] for stretch in stretches if stretch}


def _repeat(listed: Sequence[Planned], random: Random) -> Planned | None:
    """A matchup shown at least five places ago and not repeated yet; None if there is none."""
    repeated = {planned.repeat_of for planned in listed}
    choices = [
        place
        for place in range(len(listed) - MIN_PLACES_BETWEEN + 1)
        if listed[place].repeat_of is None and place not in repeated
    ]
    if not choices:
        return None
    place = choices[int(random.random() * len(choices))]
    first = listed[place]
    return replace(first, left=first.right, right=first.left, repeat_of=place)


class _Board:
    """How often every matchup is planned, without repeats: they measure a rater, not the methods."""

    def __init__(self, methods: int, cases: int, random: Random) -> None:
        self._pairs = list(combinations(range(methods), 2))
        self._number = {pair: number for number, pair in enumerate(self._pairs)}
        self._random = random
        pairs = len(self._pairs)
        self._by_pair = np.zeros((pairs, 1), dtype=np.int64)
        self._by_matchup = np.zeros((pairs, cases), dtype=np.int64)
        self._by_case = np.zeros((1, cases), dtype=np.int64)
        self._mine_by_case = np.zeros((1, cases), dtype=np.int64)
        self._is_open = np.ones((pairs, cases), dtype=bool)  # the rater has not seen it
        self._lower_left = np.zeros(pairs, dtype=np.int64)  # how often the pair's first method was left, minus right

    @property
    def left_over(self) -> int:
        return int(self._is_open.sum())

    def add(self, planned: Planned, *, is_mine: bool = False) -> None:
        if planned.repeat_of is not None:
            return
        pair, low = self._pair(planned)
        self._by_pair[pair] += 1
        self._by_matchup[pair, planned.case] += 1
        self._by_case[0, planned.case] += 1
        self._lower_left[pair] += 1 if planned.left == low else -1
        if is_mine:
            self._mine_by_case[0, planned.case] += 1
            self.close(planned)

    def close(self, planned: Planned) -> None:
        """The rater has seen it."""
        self._is_open[self._pair(planned)[0], planned.case] = False

    def _pair(self, planned: Planned) -> tuple[int, int]:
        """The number of the pair, and its first method."""
        low, high = sorted((planned.left, planned.right))
        return self._number[low, high], low

    def draw(self) -> Planned:
        """One of the open matchups that were planned least: by pair, then with its case, by case, for this rater."""
        best = self._is_open
        for planned in (self._by_pair, self._by_matchup, self._by_case, self._mine_by_case):
            counts = np.broadcast_to(planned, best.shape)
            best = best & (counts == counts[best].min())
        choices = np.flatnonzero(best)
        pair, case = divmod(int(choices[int(self._random.random() * len(choices))]), best.shape[1])
        low, high = self._pairs[pair]
        excess = self._lower_left[pair]
        is_lower_left = excess < 0 or (excess == 0 and self._random.random() < 0.5)
        left, right = (low, high) if is_lower_left else (high, low)
        return Planned(case=case, left=left, right=right)
