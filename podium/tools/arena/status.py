"""`podium arena status`: ratings, the stop rule and the raters, as tables in the terminal."""

from collections.abc import Sequence
from datetime import UTC, datetime

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from podium.tools.arena.agreement import RaterFigures, rater_figures
from podium.tools.arena.standing import TITLES, Standing, StopRule, standing, stop_rule
from podium.tools.arena.store import OpenArena, RaterLine, read_ballots, read_raters


def print_status(arena: OpenArena, console: Console) -> None:
    """Ratings, what the stop rule still requires, the raters, and all remarks and notes."""
    ballots = read_ballots(arena.store)
    reached = standing(ballots, arena.methods, arena.settings)
    console.print(_ratings(reached))
    console.print(_stop_rule(stop_rule(ballots, reached, arena.settings)))
    figures = {each.rater: each for each in rater_figures(ballots, arena.methods)}
    console.print(_raters(read_raters(arena.store), figures))
    remarks = [f"{name} {remark}." for name, each in figures.items() for remark in each.remarks]
    console.print()
    for sentence in (*remarks, *reached.disagreements, *reached.notes, *arena.notes):
        console.print(escape(sentence), highlight=False)


def _ratings(reached: Standing) -> Table:
    """The order within a tied group is uncertain, so a line is drawn only between groups."""
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
        "Explanation",
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
        is_text = column in ("Team", "Rater", "Condition", "Explanation")
        table.add_column(column, justify="left" if is_text else "right", overflow="fold", no_wrap=not is_text)
    return table


def _moment(seconds: float | None) -> str:
    return "-" if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%d %b %H:%M")
