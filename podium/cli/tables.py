"""Tables for people at a terminal."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from podium.validation import Report


def print_report(report: Report, console: Console) -> None:
    """What a participant has to mend, if anything."""
    if not report.problems:
        console.print(f"{report.cases} predictions for '{report.challenge}' are fine.")
        return
    table = Table(title=f"Problems of this '{report.challenge}' submission", title_justify="left")
    table.add_column("where", overflow="fold")
    table.add_column("what", overflow="fold")
    for problem in report.problems:
        table.add_row(Text(problem.where), Text(problem.what))  # a name such as '[/b]' is no markup
    console.print(table)
