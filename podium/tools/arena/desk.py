"""Everything the server needs from an arena. Every call may block and may come from any thread."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from podium.tools.arena import raters as invitations
from podium.tools.arena import store as records
from podium.tools.arena import voting
from podium.tools.arena.agreement import RaterFigures, rater_figures
from podium.tools.arena.raters import Visitor
from podium.tools.arena.settings import read_settings
from podium.tools.arena.standing import TITLES, Standing, StopRule, standing, stop_rule
from podium.tools.arena.store import (
    MESH_FILE,
    PICTURES,
    Answer,
    Ballot,
    CommentLine,
    RaterLine,
    Store,
    read_cases,
    read_methods,
    read_notes,
    read_pictures,
)
from podium.tools.arena.voting import Matchup, RaterProgress, RaterVerdict, VoteOutcome

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


# The state of an arena, for the terminal.


def print_status(desk: Desk, console: Console) -> None:
    """Ratings, what the stop rule still requires, the raters, and all remarks and notes."""
    ballots = desk.ballots()
    reached = standing(ballots, desk.methods, desk.settings)
    console.print(_ratings(reached))
    console.print(_stop_rule(stop_rule(ballots, reached, desk.settings)))
    figures = {each.rater: each for each in rater_figures(ballots, desk.methods)}
    console.print(_raters(desk.raters(), figures))
    remarks = [f"{name} {remark}." for name, each in figures.items() for remark in each.remarks]
    console.print()
    for sentence in (*remarks, *reached.disagreements, *reached.notes, *desk.notes):
        console.print(escape(sentence), highlight=False)


def _table(title: str, *columns: str) -> Table:
    table = Table(
        title=f"\n{title}",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1),
        collapse_padding=True,
        pad_edge=False,
        show_edge=False,
    )
    for column in columns:
        is_text = column in ("Team", "Rater", "Condition", "In words")
        table.add_column(column, justify="left" if is_text else "right", overflow="fold", no_wrap=not is_text)
    return table


def _ratings(reached: Standing) -> Table:
    """Teams that share a group cannot be told apart, so a line is drawn only between groups."""
    title = f"Ratings after {reached.votes} votes ({TITLES[reached.decided_by]} decides)"
    table = _table(title, "#", "Team", "Averaged\nElo", "Elo", "Bradley-\nTerry", "Interval", "Won", "Tied", "Lost")
    for team, following in zip(reached.teams, (*reached.teams[1:], None), strict=True):
        interval = "-" if team.interval is None else f"{team.interval.low:.0f} to {team.interval.high:.0f}"
        ratings = (f"{rating:.1f}" for rating in (team.elo_averaged, team.elo, team.bradley_terry))
        counts = map(str, (team.wins, team.ties, team.losses))
        is_last_of_group = following is not None and following.group != team.group
        table.add_row(str(team.rank), escape(team.name), *ratings, interval, *counts, end_section=is_last_of_group)
    return table


def _stop_rule(rule: StopRule) -> Table:
    holds = "holds" if rule.holds else "does not hold yet"
    table = _table(
        f"The stop rule {holds}: all of the first {len(rule.required)} and one of the last {len(rule.either)}",
        "Condition",
        "Met",
        "In words",
    )
    for condition in rule.conditions:
        table.add_row(condition.name, "yes" if condition.met else "no", escape(condition.sentence))
    return table


def _raters(lines: Sequence[RaterLine], figures: dict[str, RaterFigures]) -> Table:
    table = _table("Raters", "Rater", "Done", "Ties", "Left", "Repeats\nalike", "With\nothers", "Last vote\n(UTC)")
    for line in lines:
        figure = figures.get(line.name)
        shares = (figure.ties, figure.left, figure.consistent, figure.agreeing) if figure else ("-",) * 4
        name = f"{line.name} (link revoked)" if line.revoked else line.name
        table.add_row(escape(name), f"{line.done} of {line.total}", *map(str, shares), _moment(line.last_vote_at))
    return table


def _moment(seconds: float | None) -> str:
    return "-" if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%d %b %H:%M")
