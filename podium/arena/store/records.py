"""What the organiser reads: the votes, the raters and their comments."""

from collections.abc import Iterator
from dataclasses import dataclass

from podium.arena.ratings.ballots import Ballot, Winner
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


@dataclass(frozen=True, kw_only=True)
class CommentLine:
    """A standing vote's comment; `left` and `right` are the methods' names."""

    rater: str
    case: str
    left: str
    right: str
    winner: Winner
    comment: str
    cast_at: float


@dataclass(frozen=True, kw_only=True)
class VoteRecord:
    """A vote as it was cast, standing or undone."""

    ballot: Ballot
    comment: str
    is_undone: bool


def votes(store: Store) -> list[VoteRecord]:
    """Every vote ever cast, in that order."""
    return list(_votes(store))


def ballots(store: Store) -> list[Ballot]:
    """The votes that stand, in the order in which they were cast."""
    return [vote.ballot for vote in _votes(store) if not vote.is_undone]


def comments(store: Store) -> list[CommentLine]:
    """What raters wrote with votes that stand, in the order in which they were cast."""
    return [
        CommentLine(
            rater=vote.ballot.rater,
            case=vote.ballot.case,
            left=vote.ballot.left,
            right=vote.ballot.right,
            winner=vote.ballot.winner,
            comment=vote.comment,
            cast_at=vote.ballot.cast_at,
        )
        for vote in _votes(store)
        if vote.comment and not vote.is_undone
    ]


def raters(store: Store) -> list[RaterLine]:
    """Every rater in the order of invitation, also those whose link was ended."""
    rows = store.rows(
        """
        SELECT r.name, r.revoked_at IS NOT NULL, r.invited_at,
            (SELECT count(*) FROM matchups AS m WHERE m.rater = r.id AND m.replaces IS NULL),
            count(v.id), max(v.cast_at)
        FROM raters AS r LEFT JOIN votes AS v ON v.rater = r.id AND v.id NOT IN (SELECT vote FROM undos)
        WHERE r.role = 'rater' GROUP BY r.id ORDER BY r.id
        """
    )
    return [
        RaterLine(name=name, done=done, total=total, revoked=bool(revoked), invited_at=invited, last_vote_at=last)
        for name, revoked, invited, total, done, last in rows
    ]


def last_change(store: Store) -> int:
    """Grows with every vote, undo, invitation and revocation."""
    ((number,),) = store.rows("SELECT number FROM changes")
    return int(number)


def _votes(store: Store) -> Iterator[VoteRecord]:
    rows = store.rows(
        """
        SELECT raters.name, cases.name, l.name, r.name, v.winner, m.repeat_of IS NOT NULL, v.cast_at, v.comment,
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
    for rater, case, left, right, winner, repeat, cast_at, comment, undone in rows:
        yield VoteRecord(
            ballot=Ballot(
                rater=rater, case=case, left=left, right=right, winner=winner, repeat=bool(repeat), cast_at=cast_at
            ),
            comment=comment,
            is_undone=bool(undone),
        )
