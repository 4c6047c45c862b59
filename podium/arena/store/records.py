"""What the organiser reads: the votes, the raters and their comments."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from podium.arena.ratings.ballots import Answer, Ballot
from podium.arena.store.database import Store


@dataclass(frozen=True, kw_only=True)
class RaterLine:
    """One rater. Times are seconds since 1970."""

    name: str
    done: int
    total: int
    revoked: bool
    invited_at: float
    last_vote_at: float | None
    email: str = ""
    language: str = ""


@dataclass(frozen=True, kw_only=True)
class CommentLine:
    """A standing vote's comment and reasons; `left` and `right` are the methods' names."""

    rater: str
    case: str
    left: str
    right: str
    answer: Answer
    reasons: tuple[str, ...]
    comment: str
    cast_at: float


class VoteRecord(NamedTuple):
    """A vote as it was cast, standing or undone."""

    ballot: Ballot
    reasons: tuple[str, ...]
    comment: str
    is_undone: bool
    is_practice: bool


def votes(store: Store) -> list[VoteRecord]:
    """Every vote ever cast, in that order."""
    return list(_votes(store))


def ballots(store: Store) -> list[Ballot]:
    """The votes that stand, practice left out, in the order in which they were cast."""
    return standing_ballots(_votes(store))


def standing_ballots(cast: Iterable[VoteRecord]) -> list[Ballot]:
    return [vote.ballot for vote in cast if not vote.is_undone and not vote.is_practice]


def remarks(cast: Iterable[VoteRecord]) -> list[CommentLine]:
    """What raters wrote or ticked with votes that stand, in the order in which they were cast."""
    return [
        CommentLine(
            rater=vote.ballot.rater,
            case=vote.ballot.case,
            left=vote.ballot.left,
            right=vote.ballot.right,
            answer=vote.ballot.answer,
            reasons=vote.reasons,
            comment=vote.comment,
            cast_at=vote.ballot.cast_at,
        )
        for vote in cast
        if (vote.comment or vote.reasons) and not vote.is_undone and not vote.is_practice
    ]


def raters(store: Store) -> list[RaterLine]:
    """Every rater in the order of invitation, also those whose link was ended."""
    rows = store.rows(
        """
        SELECT r.name, r.revoked_at IS NOT NULL, r.invited_at,
            (SELECT count(*) FROM matchups AS m WHERE m.rater = r.id AND m.position > 0 AND m.replaces IS NULL),
            (SELECT count(*) FROM votes AS v JOIN matchups AS m ON m.id = v.matchup WHERE v.rater = r.id
                AND m.position > 0 AND v.id NOT IN (SELECT vote FROM undos)),
            (SELECT max(cast_at) FROM votes AS v WHERE v.rater = r.id AND v.id NOT IN (SELECT vote FROM undos)),
            r.email, r.language
        FROM raters AS r WHERE r.role = 'rater' ORDER BY r.id
        """
    )
    return [
        RaterLine(
            name=name,
            done=done,
            total=total,
            revoked=bool(revoked),
            invited_at=invited,
            last_vote_at=last,
            email=email,
            language=language,
        )
        for name, revoked, invited, total, done, last, email, language in rows
    ]


def last_change(store: Store) -> int:
    """Grows with every vote, undo, invitation and revocation."""
    ((number,),) = store.rows("SELECT number FROM changes")
    return int(number)


def _votes(store: Store) -> Iterator[VoteRecord]:
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
    for rater, case, left, right, answer, repeat, cast_at, reasons, comment, practice, undone in rows:
        yield VoteRecord(
            ballot=Ballot(
                rater=rater, case=case, left=left, right=right, answer=answer, repeat=bool(repeat), cast_at=cast_at
            ),
            reasons=tuple(json.loads(reasons)) if reasons != "[]" else (),
            comment=comment,
            is_undone=bool(undone),
            is_practice=bool(practice),
        )
