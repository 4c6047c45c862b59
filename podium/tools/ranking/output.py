"""Rankings for people and programs: ranking.json, ranking.csv and ranking.tex; consensus.json and consensus.csv.

The final table is described once, by `table_columns` or `consensus_columns`: the terminal, ranking.tex, notebooks and
the page show these columns.
"""

import csv
import io
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import get_args

from podium.errors import UsageError
from podium.metrics.declaration import Direction
from podium.platform.metrics_file import Status
from podium.tools.ranking.prose import sentences
from podium.tools.ranking.result import (
    AggregateColumn,
    Consensus,
    Intervals,
    Ranking,
    Row,
    SchemeRanking,
    Stability,
    json_text,
    ranking_to_json,
)
from podium.tools.ranking.wording import (
    INTERVAL_KINDS,
    NO_VALUE,
    NOTHING,
    Interval,
    chance,
    column_decimals,
    confidence_words,
    even_decimals,
    fixed,
    interval_words,
    undefined_words,
    unscored_words,
)

_UNFINISHED = f".unfinished.{os.uname().nodename}."  # and the number of the process
BEST: Mapping[Direction, str] = {"higher": "high", "lower": "low"}
Ends = Sequence[tuple[int, int] | None]  # [team], of ranks
CsvColumn = tuple[str, Sequence[object]]  # its name, and a cell per team
_OF_CLAIMS = ("false_claim", "agreement", "resolvable", "cases_needed", "permutation_p")

# The final table.


@dataclass(frozen=True)
class TableColumn:
    """One column of the final table, after rank and team. `cells[team]`: a figure, the ends of an interval of ranks, or
    text; None where there is nothing."""

    title: str  # on the page; `short_title`, where it is another, is for the terminal and LaTeX
    cells: Sequence[float | tuple[int, int] | str | None]
    short_title: str = ""
    _: KW_ONLY
    intervals: Intervals | None = None  # [team], of figures
    spreads: Row | None = None  # [team], standard deviations, which the page shows where there is no interval
    decimals: int = 0  # of figures on the page and in LaTeX
    remarks: Sequence[str] = ()  # [team], which the page shows as warnings below the cells
    notes: Sequence[str] = ()  # [team], instead of an interval below the cell
    kind: str = ""  # the CSS class of the column
    best: str = ""  # high or low, where one is better: a click on the heading sorts the best first
    is_optional: bool = False  # left out where the terminal is too narrow

    @property
    def head(self) -> str:
        """For the terminal and LaTeX."""
        return self.short_title or self.title

    def interval(self, team: int) -> Interval | None:
        return self.intervals[team] if self.intervals else None

    def interval_text(self, team: int) -> str:
        return self.notes[team] if self.notes else interval_words(self.interval(team), self.decimals)

    def text(self, team: int, *, nothing: str = NOTHING, dash: str = " to ") -> str:
        """The cell without its interval."""
        cell = self.cells[team]
        if cell is None:
            return nothing
        if isinstance(cell, tuple):
            return rank_range(cell, dash)
        return cell if isinstance(cell, str) else fixed(cell, self.decimals)

    def spread_text(self, team: int) -> str:
        """The standard deviation; empty where the cell has an interval."""
        spread = self.spreads[team] if self.spreads and self.interval(team) is None else None
        return "" if spread is None else f" ± {fixed(spread, self.decimals)}"


def _remark(of: SchemeRanking | AggregateColumn, interval: Interval | None, undefined: int, replicates: int) -> str:
    """What stands beside an interval."""
    words = (INTERVAL_KINDS[of.interval_kind], undefined_words(undefined, replicates))
    return ", ".join(filter(None, words)) if interval else ""


def table_columns(ranking: Ranking, *, every: bool = False) -> list[TableColumn]:
    """Score, interval of the rank, share of resamples won, group, scored cases, and the headline columns; with `every`
    all columns, the headlines first."""
    teams, deciding, stability = ranking.teams, ranking.deciding, ranking.deciding.stability
    scores, replicates = tuple(team.score for team in teams), ranking.methods.bootstraps
    columns = [
        TableColumn(
            deciding.score_title,
            [NO_VALUE if score is None else score for score in scores],
            intervals=tuple(team.score_interval for team in teams),
            decimals=column_decimals(scores),
            remarks=[
                _remark(deciding, team.score_interval, deciding.undefined_replicates, replicates) for team in teams
            ],
            kind="score",
            best=BEST[deciding.score_direction],
        )
    ]
    if stability:
        tests = ranking.claims.rank_intervals if ranking.claims else ()
        columns += _stability_columns(
            stability, ranking.methods.confidence, cases=ranking.units, unit=ranking.unit, tests=tests
        )
    if any(team.group is not None for team in teams):
        groups = [None if team.group is None else str(team.group) for team in teams]
        columns.append(TableColumn("Group", groups, kind="group"))
    scored = [f"{team.scored}/{team.expected}" for team in teams]
    unscored = [unscored_words(team.partial, team.failed, team.missing) for team in teams]
    columns.append(TableColumn("Cases scored", scored, "Scored", remarks=unscored, best="high"))
    columns += [
        TableColumn(
            column.title,
            [value if value is not None else "unknown" if column.is_given else NO_VALUE for value in column.values],
            intervals=column.intervals,
            spreads=column.errors,
            remarks=[
                _remark(column, interval, number, replicates)
                for number, interval in zip(column.undefined, column.intervals or (), strict=False)
            ],
            decimals=even_decimals(column.values, most=3 if every else 4),
            kind="m",
            best=BEST[column.direction],
            is_optional=True,
        )
        for column in sorted(ranking.columns, key=lambda column: not column.headline)
        if (column.headline or every) and column.values != scores
    ]
    return columns


def consensus_columns(consensus: Consensus) -> list[TableColumn]:
    """Mean rank, what the bootstrap says about it, and the rank in every task."""
    means, intervals, stability = consensus.mean_ranks, consensus.mean_rank_intervals, consensus.stability
    columns = [TableColumn("Mean rank", means, intervals=intervals, decimals=2, kind="score", best="low")]
    if stability:
        columns += _stability_columns(stability, consensus.confidence, cases=consensus.cases)
    if consensus.kemeny:
        columns.append(
            TableColumn("Kemeny place", [consensus.kemeny.index(team) + 1 for team in consensus.teams], best="low")
        )
    return columns + [
        TableColumn(task, ranks, kind="m", best="low")
        for task, ranks in zip(consensus.tasks, consensus.ranks, strict=True)
    ]


def _stability_columns(
    stability: Stability, confidence: float, *, cases: int, unit: str = "case", tests: Ends = ()
) -> list[TableColumn]:
    words, ranks = confidence_words(confidence), stability.rank_intervals
    notes = [f"tests: {rank_range(each, ' to ')}" if each else "" for each in tests]
    return [
        TableColumn(f"Rank, {words} interval", ranks, f"Rank {words}", notes=notes, best="low"),
        TableColumn(
            "Share of resamples won",
            [chance(each, cases=cases, unit=unit) for each in stability.win_probabilities],
            "1st",
            best="high",
        ),
    ]


def rank_range(ends: tuple[int, int], dash: str) -> str:
    """`1-3`, or `2` where both ends are the same."""
    low, high = ends
    return str(low) if low == high else f"{low}{dash}{high}"


def ranking_latex(ranking: Ranking) -> str:
    """ranking.tex: the final table for a paper."""
    columns = table_columns(ranking)
    rows = [[_latex_cell(column, number) for column in columns] for number in range(len(ranking.teams))]
    return "\n".join((*sentences("latex", ranking=ranking, columns=columns, rows=rows), ""))


def _latex_cell(column: TableColumn, team: int) -> str:
    ends = column.interval_text(team).replace(" to ", ", ")
    remark = column.remarks[team] if column.remarks and isinstance(column.cells[team], int | float) else ""
    text = column.text(team, nothing="--", dash="--")
    return f"{text}{f' [{ends}]' if ends else ''}{f' ({remark})' if remark else ''}"


# Files.


@contextmanager
def written_at_once(output: Path) -> Iterator[Path]:
    """A new folder for all files of a ranking, moved to `output` when the context ends without an error: a run
    that is killed leaves no part of a ranking there, and the next one deletes its folder."""
    building = output / f"{_UNFINISHED}{os.getpid()}"
    try:
        for old in output.glob(f"{_UNFINISHED}*"):
            if Path("/proc/self").exists() and not Path("/proc", old.name.removeprefix(_UNFINISHED)).exists():
                shutil.rmtree(old, ignore_errors=True)
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


def write_ranking(found: Ranking | Consensus, folder: Path) -> None:
    """The three files of a ranking, or the two of a consensus."""
    if isinstance(found, Ranking):
        name, files = (
            "ranking",
            {"json": ranking_to_json(found), "csv": ranking_csv(found), "tex": ranking_latex(found)},
        )
    else:
        name, files = "consensus", {"json": json_text(found, indent=1), "csv": consensus_csv(found)}
    folder.mkdir(parents=True, exist_ok=True)
    for suffix, text in files.items():
        (folder / f"{name}.{suffix}").write_text(text, encoding="utf-8", newline="")


def ranking_csv(ranking: Ranking) -> str:
    """One line per team: the final table, the difference to the next team, every leaderboard column with its interval,
    and the rank under every scheme."""
    teams, differences = ranking.teams, {difference.better: difference for difference in ranking.differences}
    following, claims, nothing = [differences.get(team.name) for team in teams], ranking.claims, (None,) * len(teams)
    worst = ranking.groups[0].worst if ranking.groups else nothing
    columns: list[CsvColumn] = [
        ("rank", [team.rank for team in teams]),
        ("team", [csv_safe(team.name) for team in teams]),
        ("score", [team.score for team in teams]),
        *_ends("score_", [team.score_interval for team in teams]),
        ("group", [team.group for team in teams]),
        ("finalist", [int(team.finalist) for team in teams]),
        *_of_bootstrap(ranking.deciding.stability, len(teams)),
        ("difference_to_next", [each and each.difference for each in following]),
        *_ends("difference_", [each.interval if each else None for each in following]),
        ("probability_ahead_of_next", [each and each.probability_ahead for each in following]),
        *((name, [each and getattr(each, name) for each in following]) for name in _OF_CLAIMS),
        *_ends("rank_by_tests_", claims.rank_intervals if claims else nothing),
        ("worst_group", [each and csv_safe(each.group) for each in worst]),
        ("worst_group_gap", [each and each.gap for each in worst]),
        *((name, [getattr(team, name) for team in teams]) for name in ("expected", *get_args(Status))),
    ]
    for column in ranking.columns:
        columns.append((f"aggregates.{column.path}", column.values))
        columns += _ends(f"aggregates.{column.path}.", column.intervals) if column.intervals else ()
    return csv_text([*columns, *((f"rank.{scheme.scheme}", scheme.ranks) for scheme in ranking.schemes)])


def consensus_csv(result: Consensus) -> str:
    """One line per team: its rank, the interval of the rank, the mean rank, the place in the Kemeny order, and the rank
    in every task."""
    teams, nothing = result.teams, (None,) * len(result.teams)
    return csv_text(
        [
            ("rank", result.consensus_ranks),
            ("team", [csv_safe(team) for team in teams]),
            ("mean_rank", result.mean_ranks),
            *_ends("mean_rank_", result.mean_rank_intervals or nothing),
            *_of_bootstrap(result.stability, len(teams)),
            ("kemeny_place", [result.kemeny.index(team) + 1 for team in teams] if result.kemeny else nothing),
            *((f"rank.{task}", ranks) for task, ranks in zip(result.tasks, result.ranks, strict=True)),
        ]
    )


def csv_text(columns: Sequence[CsvColumn]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(name for name, _ in columns)
    writer.writerows(zip(*(cells for _, cells in columns), strict=True))
    return text.getvalue()


def _ends(prefix: str, intervals: Sequence[Interval | None]) -> list[CsvColumn]:
    """The two columns of an interval."""
    return [(f"{prefix}{end}", [each and each[n] for each in intervals]) for n, end in enumerate(("low", "high"))]


def _of_bootstrap(stability: Stability | None, teams: int) -> list[CsvColumn]:
    nothing = (None,) * teams
    wins = stability.win_probabilities if stability else nothing
    return [*_ends("rank_", stability.rank_intervals if stability else nothing), ("win_probability", wins)]


def csv_safe(name: str) -> str:
    """A team may be called =HYPERLINK(...): spreadsheets must read its name as text."""
    return f"'{name}" if name.startswith(("=", "+", "-", "@", "\t", "\r")) else name
