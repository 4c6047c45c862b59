"""ranking.json, ranking.csv and ranking.tex, and the table for people at a terminal."""

import csv
import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table

from podium.errors import UsageError
from podium.readers.files import escape_for_display
from podium.tools.ranking.consensus import Consensus, consensus_csv, consensus_json
from podium.tools.ranking.result import (
    AggregateColumn,
    Interval,
    Intervals,
    Ranking,
    Row,
    chance,
    column_decimals,
    csv_safe,
    even_decimals,
    fixed,
    ranking_to_json,
)

# The final table for a paper: LaTeX with booktabs (`\usepackage{booktabs}`).

_ESCAPES = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "τ": r"$\tau$",
    "≤": r"$\leq$",
    "−": "$-$",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}


def latex_escape(text: str) -> str:
    """Text that LaTeX prints as it stands."""
    return "".join(_ESCAPES.get(character, character) for character in text)


def ranking_latex(ranking: Ranking) -> str:
    """Rank, team, score and the headline columns, each with its interval, interval of the rank and group."""
    deciding, stable = ranking.deciding, ranking.deciding.stability
    columns = headline_columns(ranking)
    has_groups = any(team.group is not None for team in ranking.teams)
    confidence = f"{ranking.methods.confidence * 100:g}\\,\\%"
    head = ["Rank", "Team", latex_escape(deciding.score_title), *(latex_escape(column.title) for column in columns)]
    head += [f"Rank, {confidence}", "First"] if stable else []
    head += ["Group"] if has_groups else []
    shown = [_latex_cells(deciding.scores, deciding.score_intervals, column_decimals(deciding.scores))]
    shown += [_latex_cells(column.values, column.intervals, even_decimals(column.values)) for column in columns]
    lines = []
    for number, team in enumerate(ranking.teams):
        cells = ["--" if team.rank is None else str(team.rank), latex_escape(team.name)]
        cells += [column[number] for column in shown]
        if stable:
            low, high = stable.rank_intervals[number]
            win = chance(stable.win_probabilities[number], cases=len(ranking.cases))
            cells += [f"{low}--{high}" if low != high else f"{low}", latex_escape(win)]
        cells += ["--" if team.group is None else str(team.group)] if has_groups else []
        lines.append(" & ".join(cells) + r" \\")
    layout = "rl" + "r" * (len(head) - 2)
    intervals = f" In brackets: {confidence} bootstrap intervals." if deciding.score_intervals else ""
    caption = f"{latex_escape(ranking.title)}: {latex_escape(deciding.words)}.{intervals}"
    return "\n".join(
        [
            "% needs \\usepackage{booktabs}",
            r"\begin{table}",
            rf"\caption{{{caption}}}",
            r"\centering",
            rf"\begin{{tabular}}{{{layout}}}",
            r"\toprule",
            " & ".join(head) + r" \\",
            r"\midrule",
            *lines,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def headline_columns(ranking: Ranking) -> list[AggregateColumn]:
    """The short table's columns, without the one that is the score already."""
    scores = tuple(team.score for team in ranking.teams)
    return [column for column in ranking.columns if column.headline and column.values != scores]


def _latex_cells(values: Row, intervals: Sequence[Interval | None] | None, decimals: int) -> list[str]:
    cells = []
    for number, value in enumerate(values):
        interval = intervals[number] if intervals else None
        text = "--" if value is None else latex_escape(fixed(value, decimals))
        if interval is not None:
            low, high = (latex_escape(fixed(end, decimals)) for end in interval)
            text += f" [{low}, {high}]"
        cells.append(text)
    return cells


RANKING_FILE = "ranking.json"
CSV_FILE = "ranking.csv"
LATEX_FILE = "ranking.tex"
CONSENSUS_FILE = "consensus.json"
CONSENSUS_CSV_FILE = "consensus.csv"
_LONGEST_LINE = 1000
_NO_INTERVAL = ("", "")
_UNBOUNDED = 10_000  # characters: wider than any table


def write_ranking(ranking: Ranking, folder: Path) -> None:
    """All three files, each whole or not at all."""
    _write(
        {
            RANKING_FILE: ranking_to_json(ranking),
            CSV_FILE: ranking_csv(ranking),
            LATEX_FILE: ranking_latex(ranking),
        },
        folder,
    )


def write_consensus(consensus: Consensus, folder: Path) -> None:
    """Both files, each whole or not at all."""
    _write({CONSENSUS_FILE: consensus_json(consensus), CONSENSUS_CSV_FILE: consensus_csv(consensus)}, folder)


def _write(files: Mapping[str, str], folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            temporary = folder / f".{name}.{os.getpid()}"
            temporary.write_text(text, encoding="utf-8", newline="")
            temporary.replace(folder / name)
    except OSError as error:
        raise UsageError(f"{folder} cannot be written to: {error.strerror}.") from None


def ranking_csv(ranking: Ranking) -> str:
    """One line per team: the final table, the difference to the next team, every leaderboard column with its interval,
    and the rank under every scheme."""
    stability = ranking.deciding.stability
    differences = {difference.better: difference for difference in ranking.differences}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        [
            *("rank", "team", "score", "score_low", "score_high", "group", "finalist"),
            *("rank_low", "rank_high", "win_probability"),
            *("difference_to_next", "difference_low", "difference_high", "probability_ahead_of_next"),
            *("expected", "scored", "failed", "missing"),
            *(
                f"aggregates.{column.path}{end}"
                for column in ranking.columns
                for end in (("", ".low", ".high") if column.intervals else ("",))
            ),
            *(f"rank.{scheme.scheme}" for scheme in ranking.schemes),
        ]
    )
    for number, team in enumerate(ranking.teams):
        ranks = stability.rank_intervals[number] if stability else _NO_INTERVAL
        following = differences.get(team.name)
        writer.writerow(
            [
                *(team.rank, csv_safe(team.name), team.score, *(team.score_interval or _NO_INTERVAL)),
                *(team.group, int(team.finalist), *ranks),
                stability.win_probabilities[number] if stability else "",
                *((following.difference, *(following.interval or _NO_INTERVAL)) if following else ("", "", "")),
                following.probability_ahead if following else "",
                *(team.expected, team.scored, team.failed, team.missing),
                *(cell for column in ranking.columns for cell in _cells(column.values, column.intervals, number)),
                *(scheme.ranks[number] for scheme in ranking.schemes),
            ]
        )
    return text.getvalue()


def _cells(values: Row, intervals: Intervals | None, number: int) -> Sequence[float | str | None]:
    return (values[number], *(intervals[number] or _NO_INTERVAL)) if intervals else (values[number],)


def print_ranking(ranking: Ranking, console: Console) -> None:
    """The final table with as many of its columns as fit, and what has to be known about it; ranking.csv has all."""
    columns = headline_columns(ranking)
    table = _final_table(ranking, columns)
    unbounded = console.options.update(max_width=_UNBOUNDED)
    while columns and Measurement.get(console, unbounded, table).maximum > console.width:
        columns = columns[:-1]
        table = _final_table(ranking, columns)
    console.print(table)
    for line in _lines_below(ranking):
        console.print(_line(line), highlight=False)


def _final_table(ranking: Ranking, columns: Sequence[AggregateColumn]) -> Table:
    """Rank, its interval, the figures that made it with theirs, and how many cases were scored."""
    division = ", ".join(ranking.division.values())
    title = f"{ranking.title} ({division})" if division else ranking.title
    table = Table(
        title=_line(title),
        title_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1),
        collapse_padding=True,
        pad_edge=False,
    )
    deciding, stability = ranking.deciding, ranking.deciding.stability
    has_groups = any(team.group is not None for team in ranking.teams)
    confidence = f"{ranking.methods.confidence * 100:g} %"
    table.add_column("#", justify="right")
    table.add_column("Team", overflow="fold", min_width=min(20, max(len(team.name) for team in ranking.teams) + 2))
    headings = [deciding.score_title, *([f"Rank {confidence}", "1st"] if stability else [])]
    for heading in (*headings, *(["Group"] if has_groups else []), "Scored"):
        table.add_column(_line(heading).replace(" ", "\n", 1), justify="right")
    for column in columns:
        table.add_column(_line(column.title), justify="right", overflow="fold")
    for number, team in enumerate(ranking.teams):
        cells = [_figure(team.score, deciding.scores, team.score_interval)]
        if stability:
            low, high = stability.rank_intervals[number]
            win = chance(stability.win_probabilities[number], cases=len(ranking.cases)).replace(" (", "\n(")
            cells += [f"{low}-{high}" if low != high else f"{low}", win]
        cells += ["-" if team.group is None else str(team.group)] if has_groups else []
        cells.append(f"{team.scored}/{team.expected}")
        for column in columns:
            interval = column.intervals[number] if column.intervals else None
            cells.append(_figure(column.values[number], column.values, interval, none="unknown"))
        name = team.name + (" *" if team.finalist else "")
        table.add_row("-" if team.rank is None else str(team.rank), _line(name), *map(escape, cells))
    return table


def _line(text: str) -> str:
    """Text of a file as a terminal may get it: on one line, without control characters, and not as markup."""
    return escape(escape_for_display(text, longest=_LONGEST_LINE))


def _figure(value: float | None, column: Row, interval: Interval | None, *, none: str = "-") -> str:
    """Figures of 0 to 1 need more places than those of 0 to 100; the interval stands below."""
    if value is None:
        return none
    largest = max((abs(each) for each in column if each is not None), default=0.0)
    places = 2 if largest > 10 else 3
    below = f"\n[{interval[0]:.{places}f}, {interval[1]:.{places}f}]" if interval else ""
    return f"{value:.{places}f}{below}"


def _lines_below(ranking: Ranking) -> Sequence[str]:
    """What a reader must know comes first: few cases, doubts, teams that are left out."""
    lines = [f"Rule: {ranking.deciding.words}."]
    confidence = f"{ranking.methods.confidence * 100:g} %"
    if ranking.deciding.score_intervals:
        lines.append(f"In brackets: {confidence} intervals over cases.")
    if any(team.finalist for team in ranking.teams):
        lines.append("* ordered by the arena's ratings" if ranking.arena else "* goes on to the arena")
    if ranking.deciding.stability and ranking.deciding.stability.taus.median is not None:
        stable = ranking.deciding.stability
        lines.append(
            f"{stable.replicates:,} bootstrap replicates agree with this order to a median Kendall's tau of "
            f"{stable.taus.median:.2f}; '1st' is the chance to win."
        )
    if ranking.differences:
        lines.append("Teams of one group do not differ significantly from the best team of their group.")
    return [*ranking.notes, *lines]


def print_consensus(consensus: Consensus, console: Console) -> None:
    """The teams by mean rank over the tasks."""
    table = Table(title=_line(f"{consensus.title}: consensus"), title_justify="left", box=box.SIMPLE_HEAD)
    for heading in (
        "#",
        "Team",
        "Mean rank",
        *([f"Rank {consensus.confidence * 100:g} %"] if consensus.stability else []),
    ):
        table.add_column(heading, justify="left" if heading == "Team" else "right")
    for task in consensus.tasks:
        table.add_column(_line(task), justify="right", overflow="fold")
    for number, team in enumerate(consensus.teams):
        mean = _figure(consensus.mean_ranks[number], (), consensus.mean_rank_interval(number))
        cells = [str(consensus.consensus_ranks[number]), _line(team), mean]
        if consensus.stability:
            low, high = consensus.stability.rank_intervals[number]
            cells.append(f"{low}-{high}" if low != high else f"{low}")
        table.add_row(*cells, *(str(ranks[number]) for ranks in consensus.ranks))
    console.print(table)
    if consensus.kemeny:
        console.print(_line(f"Kemeny order: {', '.join(consensus.kemeny)}."), highlight=False)
