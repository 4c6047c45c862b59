"""ranking.json and ranking.csv, and the table for people at a terminal."""

import csv
import io
import os
from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from podium.errors import UsageError
from podium.ranking.result import ARENA_PATH, Ranking, Row, ranking_to_json

RANKING_FILE = "ranking.json"
CSV_FILE = "ranking.csv"


def write_ranking(ranking: Ranking, folder: Path) -> None:
    """Both files, each whole or not at all."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in ((RANKING_FILE, ranking_to_json(ranking)), (CSV_FILE, ranking_csv(ranking))):
            temporary = folder / f".{name}.{os.getpid()}"
            temporary.write_text(text, encoding="utf-8", newline="")
            temporary.replace(folder / name)
    except OSError as error:
        raise UsageError(f"{folder} cannot be written to: {error.strerror}.") from None


def ranking_csv(ranking: Ranking) -> str:
    """One line per team: the final table, every leaderboard column, and the rank under every scheme."""
    stability = ranking.deciding.stability
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        [
            *("rank", "team", "score", "finalist", "rank_low", "rank_high", "win_probability"),
            *("expected", "scored", "failed", "missing"),
            *(f"aggregates.{column.path}" for column in ranking.columns),
            *(f"rank.{scheme.scheme}" for scheme in ranking.schemes),
        ]
    )
    for number, team in enumerate(ranking.teams):
        low, high = stability.rank_intervals[number] if stability else ("", "")
        writer.writerow(
            [
                *(team.rank, _plain(team.name), team.score, int(team.finalist), low, high),
                stability.win_probabilities[number] if stability else "",
                *(team.expected, team.scored, team.failed, team.missing),
                *(column.values[number] for column in ranking.columns),
                *(scheme.ranks[number] for scheme in ranking.schemes),
            ]
        )
    return text.getvalue()


def _plain(name: str) -> str:
    """A team may be called =HYPERLINK(...): a spreadsheet must read its name as text."""
    return f"'{name}" if name.startswith(("=", "+", "-", "@", "\t", "\r")) else name


def print_ranking(ranking: Ranking, console: Console) -> None:
    """The final table: rank, its interval, the figures that made it, and how many cases were scored."""
    division = ", ".join(ranking.division.values())
    title = escape(f"{ranking.title} ({division})" if division else ranking.title)
    table = Table(
        title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1), collapse_padding=True, pad_edge=False
    )
    deciding, stability = ranking.deciding, ranking.deciding.stability
    is_narrow = console.width < 100
    columns = [column for column in ranking.columns if column.headline and column.values != deciding.scores]
    columns = columns[:4] if is_narrow else columns  # the others are in ranking.csv
    table.add_column("#", justify="right")
    table.add_column("Team", overflow="fold")
    for heading in (deciding.score_title, *(["Rank 95 %", "1st"] if stability else []), "Scored"):
        table.add_column(heading.replace(" ", "\n", 1), justify="right")
    for column in columns:
        table.add_column(column.title, justify="right", overflow="fold", max_width=10 if is_narrow else None)
    for number, team in enumerate(ranking.teams):
        cells = [_figure(team.score, deciding.scores)]
        if stability:
            low, high = stability.rank_intervals[number]
            cells += [f"{low}-{high}" if low != high else f"{low}", f"{stability.win_probabilities[number]:.0%}"]
        cells.append(f"{team.scored}/{team.expected}")
        cells += [_figure(column.values[number], column.values, none="unknown") for column in columns]
        name = team.name + (" *" if team.finalist else "")
        table.add_row("-" if team.rank is None else str(team.rank), escape(name), *cells)
    console.print(table)
    for line in _lines_below(ranking):
        console.print(escape(line), highlight=False)


def _figure(value: float | None, column: Row, *, none: str = "-") -> str:
    """Figures of 0 to 1 need more places than those of 0 to 100."""
    if value is None:
        return none
    largest = max((abs(each) for each in column if each is not None), default=0.0)
    return f"{value:.2f}" if largest > 10 else f"{value:.3f}"


def _lines_below(ranking: Ranking) -> Sequence[str]:
    lines = [f"Rule: {ranking.deciding.words}."]
    if any(team.finalist for team in ranking.teams):
        is_decided = any(column.path == ARENA_PATH for column in ranking.columns)
        lines.append("* ordered by the arena's ratings" if is_decided else "* goes on to the arena")
    if ranking.deciding.stability and ranking.deciding.stability.taus.median is not None:
        stable = ranking.deciding.stability
        lines.append(
            f"{stable.replicates:,} bootstrap replicates agree with this order to a median Kendall's tau of "
            f"{stable.taus.median:.2f}; '1st' is the chance to win."
        )
    return [*lines, *ranking.notes]
