"""Tables of scores of challenges that Podium did not score: read, checked, and turned into cohorts, one per task.

A long table has the columns `team, case, value` and may have `metric, task, group, patient, direction`; a wide one
has `team, case`, may have `task, group, patient`, and every other column is a metric.
"""

import math
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from importlib.util import find_spec
from itertools import chain, count
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from podium.errors import Refused, UsageError, read_given
from podium.figures import LARGEST
from podium.metrics import Floats
from podium.metrics.aggregation import add_groups, aggregate
from podium.metrics.declaration import GROUPS, CaseMetric, Direction, Scoreboard
from podium.platform.metrics_file import SCHEMA_NAME, CaseResult, Counts, MetricsFile
from podium.readers.files import escape_for_display
from podium.readers.text import parse_csv
from podium.tools.ranking.documents import Cohort, TableRules, TeamFile, refuse_similar_names
from podium.tools.ranking.result import plain_table

STANDARD_INPUT = Path("-")
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)  # float() also takes "1_0"
_ABSENT = {"", "na", "n/a", "nan", "null", "none"}
_KEYS = ("team", "case", "task", "group", "patient")
_SHOWN_COLUMNS = 4

Missing = Literal["worst", "exclude", "error"]
Given = TypeVar("Given")

# Reading a table from CSV, TSV, Parquet or standard input.


@dataclass
class TaskScores:
    """The scores that are ranked together: group and patient of every case, empty where it has none, and by metric the
    values by team and case, None where a cell says that there is none."""

    groups: dict[str, str] = field(default_factory=dict)
    patients: dict[str, str] = field(default_factory=dict)
    values: dict[str, dict[tuple[str, str], float | None]] = field(default_factory=lambda: defaultdict(dict))


@dataclass(frozen=True, kw_only=True)
class ScoreTable:
    """Everything in the order of the table; `directions` as far as the table contains them."""

    name: str
    teams: Sequence[str]
    metrics: Sequence[str]
    directions: Mapping[str, Direction]
    tasks: Mapping[str, TaskScores]


def is_score_table(path: Path) -> bool:
    """Whether a path names a table rather than a team."""
    return path == STANDARD_INPUT or path.suffix.lower() in (".csv", ".tsv", ".parquet")


def read_score_table(path: Path) -> ScoreTable:
    """Raises UsageError, naming row and column, for what is not a table of scores."""
    name = "standard input" if path == STANDARD_INPUT else str(path)
    head, rows = _cells(path, name)
    lower = [column.strip().lower() for column in head]
    _refuse_head(lower, name)
    titles = {key: escape_for_display(column.strip()) for key, column in zip(lower, head, strict=True)}
    columns = {titles[key]: key for key in lower if key not in _KEYS}  # by metric; of a long table by the row's metric
    directions: dict[str, Direction] = {}
    tasks: dict[str, TaskScores] = defaultdict(TaskScores)
    teams, metrics = dict[str, None](), dict[str, None]()
    for number, cells in rows:
        row, place = dict(zip(lower, cells, strict=True)), f"{name}, row {number}"
        team, case, task, group, patient = (escape_for_display(str(row.get(key) or "").strip()) for key in _KEYS)
        if not team or not case:
            raise UsageError(f"{place}: '{'case' if team else 'team'}' is empty.")
        teams[team] = None
        for what, found, given in (
            ("in the groups", tasks[task].groups, group),
            ("of the patients", tasks[task].patients, patient),
        ):
            if (before := found.setdefault(case, given)) != given:
                raise UsageError(f"The case '{case}' is {what} '{before}' and '{given}'.")
        if "value" in row:
            metric = escape_for_display(str(row.get("metric") or "").strip()) or "value"
            _note_direction(directions, metric, row.get("direction"), place)
            columns = {metric: "value"}
        for metric, key in columns.items():
            metrics[metric] = None
            values = tasks[task].values[metric]
            if (team, case) in values:
                where = f" in the task '{task}'" if task else ""
                raise UsageError(f"{name} has '{metric}' of the team '{team}' for the case '{case}' twice{where}.")
            try:
                values[team, case] = _number(row[key])
            except ValueError as error:
                raise UsageError(f"{place}: '{titles[key]}' is {error}.") from None
    if not teams:
        raise UsageError(f"{name} has no rows.")
    refuse_similar_names(teams)
    for each in tasks.values():
        without = [case for case, patient in each.patients.items() if not patient]
        if 0 < len(without) < len(each.patients):
            raise UsageError(f"The case '{without[0]}' has no patient, but others have ({len(without)} such).")
    return ScoreTable(
        name="scores" if path == STANDARD_INPUT else path.stem,
        teams=sorted(teams),
        metrics=list(metrics),
        directions=directions,
        tasks=tasks,
    )


def _refuse_head(columns: Sequence[str], name: str) -> None:
    for column, number in Counter(columns).items():
        if number > 1:
            raise UsageError(f"{name} has the column '{escape_for_display(column)}' twice.")
    for wanted in ("team", "case"):
        if wanted not in columns:
            raise UsageError(
                f"{name} has no column '{wanted}'; a table of scores needs team, case and value or metrics."
            )
    others = [column for column in columns if column not in _KEYS]
    if not others:
        raise UsageError(
            f"{name} has no column with values: a long table needs 'value', a wide one a column per metric."
        )
    unknown = [column for column in others if column not in ("value", "metric", "direction")]
    if "value" in others and unknown:
        raise UsageError(f"{name} has the columns 'value' and '{unknown[0]}': it is neither a long nor a wide table.")


def _cells(path: Path, name: str) -> tuple[Sequence[str], Iterator[tuple[int, Sequence[Any]]]]:
    """The header, and the rows with their numbers, counted as in a spreadsheet."""
    if path.suffix.lower() == ".parquet":
        if find_spec("pyarrow") is None:
            raise UsageError(
                f"{name}: reading Parquet needs the package pyarrow; without it, convert the table to CSV."
            )
        from pyarrow import ArrowException, parquet

        try:
            table = parquet.read_table(path)
        except (OSError, ArrowException):
            raise UsageError(f"{name} is not a readable Parquet file.") from None
        return table.column_names, enumerate(zip(*(column.to_pylist() for column in table.columns), strict=True), 2)
    try:
        lines = list(parse_csv(sys.stdin.buffer.read() if path == STANDARD_INPUT else read_given(path), name=name))
    except Refused as problem:
        raise UsageError(str(problem)) from None
    if not lines:
        raise UsageError(f"{name} is empty.")
    head = lines[0][1]
    for number, row in lines[1:]:
        if len(row) != len(head):
            raise UsageError(f"{name}, row {number}: there are {len(row)} cells, but the header has {len(head)}.")
    return head, iter(lines[1:])


def _number(cell: Any) -> float | None:
    """None where the cell is empty; raises ValueError, saying what it is instead, where it is not a number."""
    text = "" if cell is None else str(cell).strip()
    if text.lower() in _ABSENT:
        return None
    number = float(text) if _DECIMAL.fullmatch(text) else math.nan
    if abs(number) <= LARGEST:
        return number
    shown = escape_for_display(text, longest=40)
    if math.isnan(number):
        raise ValueError(f"'{shown}', which is not a finite number")
    raise ValueError(f"'{shown}'; the largest number is {LARGEST:g}")


def _note_direction(directions: dict[str, Direction], metric: str, cell: Any, place: str) -> None:
    if cell is None or not str(cell).strip():
        return
    direction = as_direction(str(cell).strip())
    if direction is None:
        shown = escape_for_display(str(cell), longest=40)
        raise UsageError(f"{place}: the direction is '{shown}', not 'higher' or 'lower'.")
    if directions.setdefault(metric, direction) != direction:
        raise UsageError(
            f"{place}: the direction of '{metric}' is '{direction}', but an earlier row has the other direction."
        )


def as_direction(text: str) -> Direction | None:
    """The direction in a text; None where it is neither "higher" nor "lower"."""
    return next((way for way in get_args(Direction) if way == text.lower()), None)


# What a table does not say about itself.


@dataclass(frozen=True, kw_only=True)
class TableOptions:
    """What the user adds to a table.

    directions  by metric or by a pattern such as "hd95*"; the key "" is for all other metrics
    worst       by metric or pattern: the value that missing values count as; no value may be worse
    missing     worst: a missing value counts as the worst; exclude: the case is left out of the metric for all teams;
                error: nothing may be missing
    """

    directions: Mapping[str, Direction] = field(default_factory=dict)
    worst: Mapping[str, float] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)
    missing: Missing = "worst"


def _given(given: Mapping[str, Given], metric: str) -> Given | None:
    """What was given for a metric: under its own name, otherwise under the last pattern that matches it."""
    patterns = [pattern for pattern in given if pattern and fnmatchcase(metric, pattern)]
    return given[metric] if metric in given else given[patterns[-1]] if patterns else None


# From a table to cohorts: rows as if a challenge with these metrics had scored the teams.


def table_cohorts(table: ScoreTable, options: TableOptions) -> list[Cohort[TableRules]]:
    """One cohort per task in the order of the table, each with all teams: a team without rows in a task misses all its
    cases.

    Raises UsageError where a direction or a worst value is needed but not given, or a value must not be missing.
    """
    for option, given in (("direction", options.directions), ("worst", options.worst), ("weights", options.weights)):
        for metric in given:
            if metric and not any(metric == each or fnmatchcase(each, metric) for each in table.metrics):
                raise UsageError(
                    f"--{option} names '{metric}', which the table does not have; it has: {', '.join(table.metrics)}."
                )
    metrics = [_metric(key, title, table, options) for title, key in _keys(table.metrics).items()]
    return [_cohort(table, name, metrics, options) for name in table.tasks]


@dataclass(frozen=True, kw_only=True)
class _Column:
    """One metric of a task: `values[team, case]`, NaN where they are `absent`; `left_out[case]` is for all teams."""

    metric: CaseMetric[Any]
    values: Floats
    absent: NDArray[np.bool_]
    left_out: NDArray[np.bool_]


def _cohort(
    table: ScoreTable, name: str, metrics: Sequence[CaseMetric[Any]], options: TableOptions
) -> Cohort[TableRules]:
    task, teams = table.tasks[name], table.teams
    cases = sorted(task.groups)
    columns = []
    for metric in metrics:
        if found := task.values.get(metric.title):
            values = np.array([[found.get((team, case)) for case in cases] for team in teams], dtype=np.float64)
            absent = np.isnan(values)
            left_out = np.asarray(absent.any(axis=0) & (options.missing == "exclude"))
            columns.append(_Column(metric=metric, values=values, absent=absent, left_out=left_out))
            _check(columns[-1], teams, cases, options.missing, f" in the task '{name}'" if name else "")
    groups = _keys([group for group in dict.fromkeys(task.groups.values()) if group])
    used = [column.metric for column in columns]
    board = _scoreboard(used, groups)
    settings = {
        "missing": options.missing,
        "direction": {metric.title: metric.direction for metric in used},
        "worst": {metric.title: metric.worst for metric in used if math.isfinite(metric.worst)},
        "weights": {metric.title: options.weights.get(metric.title, 1.0) for metric in used},
    }
    # The rows contain the worst value where one is missing, None where the case is left out.
    cells = [
        plain_table(np.where(each.left_out, np.nan, np.where(each.absent, each.metric.worst, each.values)))
        for each in columns
    ]
    is_missing = np.logical_and.reduce([column.absent for column in columns])
    files = []
    for number, team in enumerate(teams):
        rows = [
            CaseResult(
                case=case,
                status="missing" if is_absent else "scored",
                metrics={column.metric.name: each for column, each in zip(columns, figures, strict=True)},
                groups=(groups[task.groups[case]],) if task.groups[case] else (),
                error="The table has no value for this team and case." if is_absent else None,
                patient=task.patients.get(case) or None,
            )
            for case, is_absent, *figures in zip(
                cases, is_missing[number], *(each[number] for each in cells), strict=True
            )
        ]
        figures_of_rows, of_rows = [row.metrics for row in rows], [row.groups for row in rows]
        aggregates = aggregate(board, figures_of_rows, {}, of_rows)
        if groups:
            add_groups(board, figures_of_rows, of_rows, aggregates)
        content = MetricsFile(
            schema=SCHEMA_NAME,
            challenge=table.name,
            kind="table",
            title=table.name,
            version="",
            settings={"table": settings},
            aggregates=aggregates,
            counts=Counts.of(rows),
            results=rows,
        )
        lacking = {
            column.metric.name: frozenset(cases[case] for case in np.flatnonzero(column.absent[number]))
            for column in columns
        }
        files.append(TeamFile(team=team, label=f"{table.name}: {team}", content=content, absent=lacking))
    notes = tuple(
        f"{some} of {len(cases)} cases are left out of '{column.metric.title}' for all teams, because at least one "
        "team has no value there (--missing exclude)."
        for column in columns
        if (some := np.count_nonzero(column.left_out))
    )
    rules = TableRules(name=table.name, scoreboard=board)
    return Cohort(challenge=rules, division={"task": name} if name else {}, files=files, notes=notes)


def _check(column: _Column, teams: Sequence[str], cases: Sequence[str], missing: Missing, where: str) -> None:
    metric, absent = column.metric, np.argwhere(column.absent)
    needs_worst = missing == "worst" and not math.isfinite(metric.worst)
    if absent.size and (missing == "error" or needs_worst):
        team, case = absent[0]
        advice = f" Give its value (--worst {metric.title}=VALUE), or leave out such cases (--missing exclude)."
        raise UsageError(
            f"The team '{teams[team]}' has no '{metric.title}' for the case '{cases[case]}'{where} "
            f"({len(absent)} such).{advice if needs_worst else ''}"
        )
    if column.left_out.all():
        raise UsageError(
            f"No case has a value of '{metric.title}' from every team, so --missing exclude leaves no cases."
        )
    for team, case in np.argwhere((column.values < metric.lowest) | (column.values > metric.highest)):
        raise UsageError(
            f"--worst {metric.title}={metric.worst:g}, but the team '{teams[team]}' has {column.values[team, case]:g} "
            f"for the case '{cases[case]}': a missing value would be better than that."
        )


def _scoreboard(metrics: Sequence[CaseMetric[Any]], groups: Mapping[str, str]) -> Scoreboard[Any]:
    by_group = {
        f"{GROUPS}.{key}.{metric.mean_path}": f"{metric.title}, {group}"
        for metric in metrics
        for group, key in groups.items()
    }
    means = [metric.mean_path for metric in metrics]
    return Scoreboard(
        metrics=metrics,
        leaderboard=(*means, *by_group),
        titles=by_group,
        groupings=int(bool(groups)),
        headline=means[:_SHOWN_COLUMNS],
        ranked=means if len(means) > 1 else (),
    )


def _metric(key: str, title: str, table: ScoreTable, options: TableOptions) -> CaseMetric[Any]:
    """No value may be worse than the worst one; where none is given, it is infinite."""
    direction = _given(options.directions, title) or table.directions.get(title) or options.directions.get("")
    if direction is None:
        raise UsageError(f"Is higher or lower better in '{title}'? Give --direction {title}=higher or {title}=lower.")
    worst, is_higher = _given(options.worst, title), direction == "higher"
    bound = worst if worst is not None else -math.inf if is_higher else math.inf
    lowest, highest = (bound, math.inf) if is_higher else (-math.inf, bound)
    return CaseMetric(name=key, title=title, direction=direction, lowest=lowest, highest=highest, worst=bound)


def _keys(names: Sequence[str]) -> dict[str, str]:
    """A unique key of metrics.json for every name: letters, digits, _ and - only."""
    keys: dict[str, str] = {}
    taken = {GROUPS}
    for name in names:
        stem = re.sub(r"[^A-Za-z0-9_-]+", "_", name).strip("_") or "metric"
        numbered = (f"{stem}_{number}" for number in count(len(keys) + 1))
        keys[name] = next(key for key in chain([stem], numbered) if key not in taken)
        taken.add(keys[name])
    return keys
