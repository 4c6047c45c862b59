"""Rankings for people and programs: ranking.json, ranking.csv and ranking.tex; the same of a consensus; and the rows of
a calibration.

The final table is described once, by `table_columns`: the terminal, ranking.tex and the page show these columns.
"""

import csv
import io
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from podium.errors import UsageError
from podium.tools.ranking.consensus import Consensus
from podium.tools.ranking.result import Calibration, Interval, Intervals, Measured, Ranking, Row, ranking_to_json
from podium.tools.ranking.wording import (
    NO_VALUE,
    NOTHING,
    chance,
    column_decimals,
    confidence_words,
    even_decimals,
    fixed,
    lost_words,
    undefined_words,
)

_NO_INTERVAL = ("", "")
_ESCAPES = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "τ": r"$\tau$",
    "≤": r"$\leq$",
    "−": "$-$",
    "†": r"\dag{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}

Cell = float | tuple[int, int] | str | None

# The final table.


@dataclass(frozen=True, kw_only=True)
class TableColumn:
    """One column of the final table, after rank and team.

    title        on the page; `short_title` is for the terminal and LaTeX
    cells        [team]: a figure, the ends of an interval of ranks, or text; None where there is nothing
    intervals    [team], of figures
    spreads      [team], standard deviations, which the page shows where there is no interval
    decimals     of figures on the page and in LaTeX
    remarks      [team], which the page shows as warnings below the cells
    kind         the CSS class of the column
    is_optional  left out where the terminal is too narrow
    """

    title: str
    short_title: str
    cells: Sequence[Cell]
    intervals: Intervals | None = None
    spreads: Row | None = None
    decimals: int = 0
    remarks: Sequence[str] = ()
    kind: str = ""
    is_optional: bool = False

    def interval(self, team: int) -> Interval | None:
        return self.intervals[team] if self.intervals else None


def table_columns(ranking: Ranking) -> list[TableColumn]:
    """Score, interval of the rank, probability of winning, group, scored cases, and the headline columns."""
    teams, deciding, stability = ranking.teams, ranking.deciding, ranking.deciding.stability
    scores, replicates = tuple(team.score for team in teams), ranking.methods.bootstraps
    columns = [
        TableColumn(
            title=deciding.score_title,
            short_title=deciding.score_title,
            cells=[NO_VALUE if score is None else score for score in scores],
            intervals=tuple(team.score_interval for team in teams),
            decimals=column_decimals(scores),
            remarks=[
                undefined_words(deciding.undefined_replicates if team.score_interval else 0, replicates)
                for team in teams
            ],
            kind="score",
        )
    ]
    if stability:
        confidence = confidence_words(ranking.methods.confidence)
        wins = [chance(share, cases=len(ranking.cases)) for share in stability.win_probabilities]
        columns += [
            TableColumn(
                title=f"Rank, {confidence} interval", short_title=f"Rank {confidence}", cells=stability.rank_intervals
            ),
            TableColumn(title="Chance of winning", short_title="1st", cells=wins),
        ]
    if any(team.group is not None for team in teams):
        groups = [None if team.group is None else str(team.group) for team in teams]
        columns.append(TableColumn(title="Group", short_title="Group", cells=groups, kind="group"))
    columns.append(
        TableColumn(
            title="Cases scored",
            short_title="Scored",
            cells=[f"{team.scored}/{team.expected}" for team in teams],
            remarks=[lost_words(team.failed, team.missing) for team in teams],
        )
    )
    columns += [
        TableColumn(
            title=column.title,
            short_title=column.title,
            cells=[
                value if value is not None else "unknown" if column.is_given else NO_VALUE for value in column.values
            ],
            intervals=column.intervals,
            spreads=column.errors,
            remarks=[
                undefined_words(number if interval else 0, replicates)
                for number, interval in zip(column.undefined, column.intervals or (), strict=False)
            ],
            decimals=even_decimals(column.values),
            is_optional=True,
        )
        for column in ranking.columns
        if column.headline and column.values != scores
    ]
    return columns


def rank_range(ends: tuple[int, int], dash: str) -> str:
    """`1-3`, or `2` where both ends are the same."""
    low, high = ends
    return str(low) if low == high else f"{low}{dash}{high}"


# ranking.tex: the final table with booktabs.


def ranking_latex(ranking: Ranking) -> str:
    """The final table for a paper."""
    columns = table_columns(ranking)
    lines = []
    for number, team in enumerate(ranking.teams):
        cells = ["--" if team.rank is None else str(team.rank), latex_escape(team.name)]
        cells += [_latex_cell(column, number) for column in columns]
        lines.append(" & ".join(cells) + r" \\")
    head = ["Rank", "Team", *(latex_escape(column.short_title) for column in columns)]
    caption = f"{latex_escape(ranking.title)}: {latex_escape(ranking.deciding.words)}."
    if ranking.deciding.score_intervals:
        confidence = confidence_words(ranking.methods.confidence).replace(" %", r"\,\%")
        caption += f" Brackets show {confidence} bootstrap intervals."
    if ranking.deciding.stability:
        caption += " The column 1st is the probability of winning."
    return "\n".join(
        [
            "% needs \\usepackage{booktabs}",
            r"\begin{table}",
            rf"\caption{{{caption}}}",
            r"\centering",
            rf"\begin{{tabular}}{{rl{'r' * len(columns)}}}",
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


def latex_escape(text: str) -> str:
    """Text that LaTeX prints literally."""
    return "".join(_ESCAPES.get(character, character) for character in text)


def _latex_cell(column: TableColumn, number: int) -> str:
    cell, interval = column.cells[number], column.interval(number)
    if cell is None:
        return "--"
    if isinstance(cell, tuple):
        return rank_range(cell, "--")
    if isinstance(cell, str):
        return latex_escape(cell)
    ends = f" [{fixed(interval[0], column.decimals)}, {fixed(interval[1], column.decimals)}]" if interval else ""
    remark = f" ({column.remarks[number]})" if column.remarks and column.remarks[number] else ""
    return latex_escape(f"{fixed(cell, column.decimals)}{ends}{remark}")


# Files.


@contextmanager
def written_at_once(output: Path) -> Iterator[Path]:
    """A new folder for all files of a ranking, moved to `output` when the context ends without an error: a run
    that is killed leaves no part of a ranking there."""
    building = output / f".unfinished.{os.getpid()}"
    try:
        building.mkdir(parents=True, exist_ok=True)
        yield building
        files = sorted(path for path in building.rglob("*") if path.is_file())
        for path in files:
            (output / path.relative_to(building).parent).mkdir(parents=True, exist_ok=True)
        for path in files:
            path.replace(output / path.relative_to(building))
    except OSError as error:
        raise UsageError(f"{output} cannot be written to: {error.strerror}.") from None
    finally:
        shutil.rmtree(building, ignore_errors=True)


def write_ranking(ranking: Ranking, folder: Path) -> None:
    """All three files."""
    files = {"json": ranking_to_json(ranking), "csv": ranking_csv(ranking), "tex": ranking_latex(ranking)}
    _write({f"ranking.{suffix}": text for suffix, text in files.items()}, folder)


def write_consensus(consensus: Consensus, folder: Path) -> None:
    """Both files."""
    _write({"consensus.json": consensus_json(consensus), "consensus.csv": consensus_csv(consensus)}, folder)


def _write(files: Mapping[str, str], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8", newline="")


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
                *(team.rank, _csv_safe(team.name), team.score, *(team.score_interval or _NO_INTERVAL)),
                *(team.group, int(team.finalist), *ranks),
                stability.win_probabilities[number] if stability else "",
                *((following.difference, *(following.interval or _NO_INTERVAL)) if following else ("", "", "")),
                following.probability_ahead if following else "",
                *(team.expected, team.scored, team.failed, team.missing),
                *(cell for column in ranking.columns for cell in _csv_cells(column.values, column.intervals, number)),
                *(scheme.ranks[number] for scheme in ranking.schemes),
            ]
        )
    return text.getvalue()


def _csv_cells(values: Row, intervals: Intervals | None, number: int) -> Sequence[float | str | None]:
    return (values[number], *(intervals[number] or _NO_INTERVAL)) if intervals else (values[number],)


def consensus_json(result: Consensus) -> str:
    """The content of consensus.json, the same bytes for the same consensus."""
    document = TypeAdapter(Consensus).dump_python(result, mode="json")
    return json.dumps(document, indent=1, sort_keys=True, allow_nan=False, ensure_ascii=False) + "\n"


def consensus_csv(result: Consensus) -> str:
    """One line per team: its rank, the interval of the rank, the mean rank, the place in the Kemeny order, and the rank
    in every task."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    head = ("rank", "team", "mean_rank", "mean_rank_low", "mean_rank_high", "rank_low", "rank_high")
    writer.writerow([*head, "win_probability", "kemeny_place", *(_csv_safe(f"rank.{task}") for task in result.tasks)])
    for number, team in enumerate(result.teams):
        stable = result.stability
        ends = result.mean_rank_interval(number) or _NO_INTERVAL
        low, high = stable.rank_intervals[number] if stable else _NO_INTERVAL
        writer.writerow(
            [
                *(result.consensus_ranks[number], _csv_safe(team), result.mean_ranks[number], *ends, low, high),
                stable.win_probabilities[number] if stable else "",
                result.kemeny.index(team) + 1 if result.kemeny else "",
                *(ranks[number] for ranks in result.ranks),
            ]
        )
    return text.getvalue()


def _csv_safe(name: str) -> str:
    """A team may be called =HYPERLINK(...): spreadsheets must read its name as text."""
    return f"'{name}" if name.startswith(("=", "+", "-", "@", "\t", "\r")) else name


# A calibration of the judge: the same rows at the terminal and on a page.


def figure_rows(calibration: Calibration) -> list[tuple[str, str, str, str]]:
    """The question, its figure, the interval and the total; questions without an answer are left out."""
    return [
        (
            figure.title,
            _measured(figure, figure.value),
            _measured(figure, *figure.interval) if figure.interval else NOTHING,
            f"{figure.total:,}",
        )
        for figure in calibration.figures
        if figure.value is not None
    ]


def team_rows(calibration: Calibration) -> list[tuple[str, str, str, str, str, str]]:
    """Points out of 100 with intervals, by votes, by the judge and by both; the votes, and what they are worth."""
    return [
        (
            team.name,
            _points(team.by_votes, team.by_votes_interval),
            _points(team.by_judge, team.by_judge_interval),
            _points(team.by_both, team.by_both_interval),
            f"{team.votes:,}",
            NOTHING if team.worth is None else f"{team.worth:,.0f}",
        )
        for team in calibration.teams
    ]


def calibration_sentences(calibration: Calibration) -> Iterator[str]:
    """The method, for a page and a methods section."""
    yield (
        f"Clinicians cast {calibration.votes:,} votes on {calibration.voted_cases} of the {calibration.cases} cases "
        f"that the judge {calibration.judge} rated. The judge prefers the report with the larger RadFact F1 in the "
        "case; equal ones are a tie. It sees one report at a time, so it cannot favour a side."
    )
    yield (
        "Comparisons won are the share of comparisons with the other teams of the arena that clinicians decide for a "
        "team, a tie being half a win. The prediction-powered estimate (PPI++) corrects the votes by what the judge "
        "says of all cases; a poor judge gets little weight and changes little. It assumes that the cases with "
        "votes are like the others."
    )


def _measured(figure: Measured, *values: float) -> str:
    return " to ".join(f"{100 * value:.0f} %" if figure.is_share else fixed(value, 2) for value in values)


def _points(value: float, interval: Interval | None) -> str:
    brackets = f" [{fixed(100 * interval[0], 1)}, {fixed(100 * interval[1], 1)}]" if interval else ""
    return fixed(100 * value, 1) + brackets
