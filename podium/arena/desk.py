"""Everything the server needs from an arena. Every call may block and may come from any thread."""

import re
from collections.abc import Sequence
from pathlib import Path

from podium.arena.images.prepared import MESH_FILE
from podium.arena.raters import invitations, voting
from podium.arena.raters.invitations import Visitor
from podium.arena.raters.voting import Matchup, RaterProgress, RaterVerdict, VoteOutcome
from podium.arena.ratings.ballots import Answer, Ballot
from podium.arena.settings import read_settings
from podium.arena.store import records
from podium.arena.store.contents import PICTURES, Picture, read_cases, read_methods, read_notes, read_pictures
from podium.arena.store.database import Store
from podium.arena.store.records import CommentLine, RaterLine

__all__ = ["CommentLine", "Desk", "Matchup", "Picture", "RaterLine", "RaterProgress", "Visitor", "VoteOutcome"]

_SLICE = re.compile(r"(0|[1-9][0-9]{0,8})\.(png|u16\.gz)", re.ASCII)


class Desk:
    """One arena, open."""

    def __init__(self, folder: Path) -> None:
        self.store = Store(folder)
        self.settings = read_settings(folder)
        ((self.id,),) = self.store.rows("SELECT id FROM arena")
        self.methods, self.cases = read_methods(self.store), read_cases(self.store)
        self.notes = read_notes(self.store)  # what `init` found worth saying
        self._pictures = read_pictures(self.store)
        self._by_key = {picture.key: (case, picture) for case, all_of in self._pictures.items() for picture in all_of}

    def close(self) -> None:
        self.store.close()

    def is_closed(self) -> bool:
        """No vote counts any more."""
        return self.store.rows("SELECT closed_at FROM arena") != [(None,)]

    def enter(self, token: str) -> str | None:
        """A new session's cookie value; None for an unknown or ended link."""
        return invitations.enter(self.store, token)

    def visitor(self, cookie: str) -> Visitor | None:
        return invitations.visitor(self.store, cookie)

    def current(self, rater: int) -> Matchup | None:
        """The next matchup without an answer; None at the end."""
        return voting.current(self.store, rater, self._pictures)

    def progress(self, rater: int) -> RaterProgress:
        return voting.progress(self.store, rater)

    def cast(
        self, rater: int, *, matchup: str, answer: Answer, comment: str, reasons: Sequence[str] = ()
    ) -> VoteOutcome:
        """On disk when this returns "cast"."""
        verdict = RaterVerdict(answer=answer, comment=comment, reasons=reasons)
        return voting.cast(self.store, rater, matchup=matchup, verdict=verdict)

    def undo(self, rater: int, *, matchup: str) -> bool:
        """Take back the rater's very last vote, if it is the one on `matchup`."""
        return voting.undo(self.store, rater, matchup=matchup)

    def picture_file(self, key: str, name: str) -> Path | None:
        """A file of a prepared picture; None for any other name."""
        _, picture = self._by_key.get(key, (None, None))
        parts = _SLICE.fullmatch(name)
        if picture is not None and picture.is_mesh and name == MESH_FILE:
            return self.store.folder / PICTURES / key / name
        if picture is None or parts is None or int(parts[1]) >= picture.slices:
            return None
        if parts[2] != "png" and not picture.is_volume:
            return None
        return self.store.folder / PICTURES / key / name

    def missing_pictures(self) -> list[str]:
        """Files that belong to the arena and are not there."""
        return [
            f"{PICTURES}/{key}/{name}"
            for key, (_, picture) in self._by_key.items()
            for name in picture.files()
            if not (self.store.folder / PICTURES / key / name).is_file()
        ]

    def may_see(self, rater: int, picture: str) -> bool:
        """Whether the picture belongs to a case in the rater's own list."""
        case, _ = self._by_key.get(picture, (None, None))
        query = 'SELECT 1 FROM matchups WHERE rater = ? AND "case" = ? LIMIT 1'
        return case is not None and self.store.row(query, (rater, case)) is not None

    def ballots(self) -> list[Ballot]:
        """Standing votes in the order in which they were cast."""
        return records.ballots(self.store)

    def last_change(self) -> int:
        """Grows with every vote, undo, invitation and revocation."""
        return records.last_change(self.store)

    def raters(self) -> list[RaterLine]:
        return records.raters(self.store)

    def comments(self) -> list[CommentLine]:
        return records.remarks(records.votes(self.store))
