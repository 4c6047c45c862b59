"""Tables for people at a terminal."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from podium.challenges import CHALLENGES
from podium.contract.errors import UsageError
from podium.contract.metrics_file import METRICS_FILE
from podium.contract.results import get
from podium.validation import Report


def print_scores(paths: Sequence[Path], console: Console) -> None:
    """Teams side by side, the best first: one metrics.json a team, all of one challenge."""
    documents = {_team(path): _read(path) for path in paths}
    challenges = {document["challenge"] for document in documents.values()}
    if len(challenges) != 1 or not challenges <= CHALLENGES.keys():
        raise UsageError(f"The files belong to the challenges {', '.join(sorted(challenges))}; give files of one.")
    columns = CHALLENGES[challenges.pop()].columns()
    shown = [column for column in columns if column.headline]
    score = columns[0]
    ranked = sorted(
        documents.items(),
        key=lambda item: get(item[1]["aggregates"], score.path),
        reverse=score.direction == "higher",
    )
    table = Table(title=next(iter(documents.values()))["title"], title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("Team")
    for column in shown:
        widest_word = max(len(word) for word in column.title.split())
        table.add_column(column.title, justify="right", min_width=widest_word)
    table.add_column("Scored", justify="right")
    for team, document in ranked:
        figures = [f"{get(document['aggregates'], column.path):.2f}" for column in shown]
        counts = document["counts"]
        table.add_row(team, *figures, f"{counts['scored']} of {counts['expected']}")
    console.print(table)


def print_report(report: Report, console: Console) -> None:
    """What a participant has to mend, if anything."""
    if not report.problems:
        console.print(f"{report.cases} predictions for '{report.challenge}' are fine.")
        return
    table = Table(title=f"Problems of this '{report.challenge}' submission", title_justify="left")
    table.add_column("where", overflow="fold")
    table.add_column("what", overflow="fold")
    for problem in report.problems:
        table.add_row(problem.where, problem.what)
    console.print(table)


def _team(path: Path) -> str:
    return path.resolve().parent.name if path.name == METRICS_FILE else path.stem


def _read(path: Path) -> dict[str, Any]:
    try:
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if not document["aggregates"] or not document["counts"] or not document["challenge"]:
            raise KeyError
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from None
    except (ValueError, KeyError, TypeError):
        raise UsageError(f"{path} is not a metrics.json written by Podium.") from None
    return document
