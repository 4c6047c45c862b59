"""votes.csv: every vote ever cast, for analyses outside Podium."""

import csv
import io
from collections.abc import Iterable
from datetime import UTC, datetime

from podium.arena.store.records import VoteRecord

COLUMNS = (
    *("rater", "case", "left", "right", "answer", "repeat", "practice", "undone", "reasons", "comment"),
    "cast_at",
)


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
    """A comment may begin with =HYPERLINK(...): a spreadsheet must take it for text."""
    return f"'{text}" if text.lstrip().startswith(("=", "+", "-", "@")) else text
