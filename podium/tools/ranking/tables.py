"""Tables of scores of challenges that Podium did not score: read, checked, and turned into cohorts, one per task.

A long table has the columns `team, case, value` and may have `metric, task, group, direction`; a wide one has
`team, case`, may have `task, group`, and every other column is a metric.
"""

import csv
import io
import math
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property
from importlib.util import find_spec
from itertools import chain, count
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np

from podium.errors import UsageError, read_given
from podium.figures import LARGEST, Figures, get
from podium.metrics import Floats
from podium.metrics.aggregation import aggregate
from podium.metrics.declaration import CaseMetric, CohortMetric, Direction, Scoreboard
from podium.metrics.resampling import Resamples
from podium.platform.metrics_file import SCHEMA_NAME, CaseResult, Counts, MetricsFile
from podium.platform.privacy import Column, column
from podium.readers.files import escape_for_display
from podium.tools.ranking.documents import Cohort, TeamFile, refuse_similar_names

TABLE_SUFFIXES = (".csv", ".tsv", ".parquet")
STANDARD_INPUT = Path("-")
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)  # float() also takes "1_0"
_ABSENT = {"", "na", "n/a", "nan", "null", "none"}
_KEYS = ("team", "case", "task", "group")
_GROUP = "group"  # the key of a row that contains its group
_SHOWN_COLUMNS = 4

Missing = Literal["worst", "exclude", "error"]
Given = TypeVar("Given")

# Reading a table from CSV, TSV, Parquet or standard input.


@dataclass(frozen=True, kw_only=True)
class Score:
    """One cell with a value; None where the cell says that there is none."""

    team: str
    case: str
    metric: str
    task: str
    group: str
    value: float | None


@dataclass(frozen=True, kw_only=True)
class ScoreTable:
    """All scores in the order of the table; `directions` as far as the table contains them."""

    name: str
    scores: Sequence[Score]
    metrics: Sequence[str]
    directions: Mapping[str, Direction]


def is_score_table(path: Path) -> bool:
    """Whether a path names a table rather than a team."""
    return path == STANDARD_INPUT or path.suffix.lower() in TABLE_SUFFIXES


def read_score_table(path: Path) -> ScoreTable:
    """Raises UsageError, naming row and column, for what is not a table of scores."""
    name = "standard input" if path == STANDARD_INPUT else str(path)
    head, rows = _cells(path, name)
    lower = [column.strip().lower() for column in head]
    twice = next((column for column, number in Counter(lower).items() if number > 1), None)
    if twice is not None:
        raise UsageError(f"{name} has the column '{escape_for_display(twice)}' twice.")
    for wanted in ("team", "case"):
        if wanted not in lower:
            raise UsageError(
                f"{name} has no column '{wanted}'; a table of scores needs team, case and value or metrics."
            )
    titles = dict(zip(lower, (escape_for_display(column.strip()) for column in head), strict=True))
    others = [column for column in lower if column not in _KEYS]
    is_long = "value" in others
    if is_long:
        unknown = [column for column in others if column not in ("value", "metric", "direction")]
        if unknown:
            raise UsageError(
                f"{name} has the columns 'value' and '{unknown[0]}': it is neither a long nor a wide table."
            )
    elif not others:
        raise UsageError(
            f"{name} has no column with values: a long table needs 'value', a wide one a column per metric."
        )
    scores: list[Score] = []
    directions: dict[str, Direction] = {}
    for number, cells in rows:
        row = dict(zip(lower, cells, strict=True))
        keys = {key: escape_for_display(str(row.get(key) or "").strip()) for key in _KEYS}
        for wanted in ("team", "case"):
            if not keys[wanted]:
                raise UsageError(f"{name}, row {number}: '{wanted}' is empty.")
        if is_long:
            metric = escape_for_display(str(row.get("metric") or "").strip()) or "value"
            _note_direction(directions, metric, row.get("direction"), f"{name}, row {number}")
            scores.append(Score(**keys, metric=metric, value=_number(row["value"], f"{name}, row {number}: 'value'")))
        else:
            scores += [
                Score(**keys, metric=titles[each], value=_number(row[each], f"{name}, row {number}: '{titles[each]}'"))
                for each in others
            ]
    if not scores:
        raise UsageError(f"{name} has no rows.")
    _refuse_duplicates(scores, name)
    refuse_similar_names(dict.fromkeys(score.team for score in scores))
    metrics = list(dict.fromkeys(score.metric for score in scores)) if is_long else [titles[each] for each in others]
    return ScoreTable(
        name="scores" if path == STANDARD_INPUT else path.stem, scores=scores, metrics=metrics, directions=directions
    )


def _cells(path: Path, name: str) -> tuple[Sequence[str], Iterator[tuple[int, Sequence[Any]]]]:
    """The header, and the rows with their numbers, counted as in a spreadsheet."""
    if path.suffix.lower() == ".parquet":
        return _parquet(path, name)
    try:
        raw = sys.stdin.buffer.read() if path == STANDARD_INPUT else read_given(path)
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{name} is not UTF-8 text.") from None
    first = text.split("\n", 1)[0]
    delimiter = max("\t;,", key=first.count)  # spreadsheets write semicolons where commas are decimal points
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        lines = [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise UsageError(f"{name}, row {reader.line_num}: {error}.") from None
    if not lines:
        raise UsageError(f"{name} is empty.")
    head = lines[0][1]
    for number, row in lines[1:]:
        if len(row) != len(head):
            raise UsageError(f"{name}, row {number}: there are {len(row)} cells, but the header has {len(head)}.")
    return head, iter(lines[1:])


def _parquet(path: Path, name: str) -> tuple[Sequence[str], Iterator[tuple[int, Sequence[Any]]]]:
    if find_spec("pyarrow") is None:
        raise UsageError(f"{name}: reading Parquet needs the package pyarrow; without it, convert the table to CSV.")
    from pyarrow import ArrowException, parquet

    try:
        table = parquet.read_table(path)
    except (OSError, ArrowException):
        raise UsageError(f"{name} is not a readable Parquet file.") from None
    columns = [column.to_pylist() for column in table.columns]
    return table.column_names, ((number, row) for number, row in enumerate(zip(*columns, strict=True), start=2))


def _number(cell: Any, place: str) -> float | None:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return None
    text = str(cell).strip()
    if text.lower() in _ABSENT:
        return None
    number = float(text) if _DECIMAL.fullmatch(text) else None
    shown = escape_for_display(text, longest=40)
    if number is None:
        raise UsageError(f"{place} is '{shown}', which is not a finite number.")
    if abs(number) > LARGEST:
        raise UsageError(f"{place} is '{shown}'; the largest number is {LARGEST:g}.")
    return number


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
    names: dict[str, Direction] = {"higher": "higher", "lower": "lower"}
    return names.get(text.lower())


def _refuse_duplicates(scores: Sequence[Score], name: str) -> None:
    seen: set[tuple[str, str, str, str]] = set()
    for score in scores:
        key = score.task, score.team, score.case, score.metric
        if key in seen:
            task = f" in the task '{score.task}'" if score.task else ""
            raise UsageError(
                f"{name} has '{score.metric}' of the team '{score.team}' for the case '{score.case}' twice{task}."
            )
        seen.add(key)


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


def _refuse_unknown(table: ScoreTable, options: TableOptions) -> None:
    for option, given in (("direction", options.directions), ("worst", options.worst), ("weights", options.weights)):
        for metric in given:
            if metric and not any(metric == each or fnmatchcase(each, metric) for each in table.metrics):
                raise UsageError(
                    f"--{option} names '{metric}', which the table does not have; it has: {', '.join(table.metrics)}."
                )


def _by_metric(given: Mapping[str, Given], metrics: Sequence[str]) -> dict[str, Given]:
    """What was given for each metric: under its own name, otherwise under the last pattern that matches it."""
    found: dict[str, Given] = {}
    for metric in metrics:
        fitting = [pattern for pattern in given if pattern and fnmatchcase(metric, pattern)]
        if metric in given or fitting:
            found[metric] = given[metric if metric in given else fitting[-1]]
    return found


def _direction_of(metric: str, table: ScoreTable, options: TableOptions) -> Direction:
    given = _by_metric(options.directions, [metric])
    found = given.get(metric) or table.directions.get(metric) or options.directions.get("")
    if found is None:
        raise UsageError(
            f"Is higher or lower better in '{metric}'? Give --direction {metric}=higher or {metric}=lower."
        )
    return found


# From a table to cohorts: rows as if a challenge with these metrics had scored the teams.


@dataclass(frozen=True, kw_only=True)
class TableRules:
    """The columns of a table as declared figures; there is no official rule."""

    name: str
    scoreboard: Scoreboard[Any]
    ranking: None = None

    def among(self, aggregates: Mapping[str, Figures]) -> Mapping[str, Figures]:
        return aggregates

    def columns(self) -> Sequence[Column]:
        return [column(self.scoreboard, path) for path in self.scoreboard.leaderboard]

    def offline_columns(self) -> Sequence[Column]:
        return ()


def table_cohorts(table: ScoreTable, options: TableOptions) -> list[Cohort[TableRules]]:
    """One cohort per task in the order of the table, each with all teams: a team without rows in a task misses all its
    cases.

    Raises UsageError where a direction or a worst value is needed but not given, or a value must not be missing.
    """
    _refuse_unknown(table, options)
    options = replace(options, worst=_by_metric(options.worst, table.metrics))
    directions = {metric: _direction_of(metric, table, options) for metric in table.metrics}
    tasks: dict[str, list[Score]] = defaultdict(list)
    for score in table.scores:
        tasks[score.task].append(score)
    teams = sorted({score.team for score in table.scores})
    return [
        _Task(table=table, name=task, scores=scores, teams=teams, directions=directions, options=options).cohort()
        for task, scores in tasks.items()
    ]


@dataclass(frozen=True, kw_only=True)
class _Task:
    """The part of a table that is ranked separately."""

    table: ScoreTable
    name: str
    scores: Sequence[Score]
    teams: Sequence[str]
    directions: Mapping[str, Direction]
    options: TableOptions

    @cached_property
    def by_metric(self) -> Mapping[str, Sequence[Score]]:
        found: dict[str, list[Score]] = defaultdict(list)
        for score in self.scores:
            found[score.metric].append(score)
        return found

    @cached_property
    def metrics(self) -> Sequence[str]:
        return [metric for metric in self.table.metrics if metric in self.by_metric]

    @cached_property
    def keys(self) -> Mapping[str, str]:
        return _keys(self.table.metrics)

    @cached_property
    def groups(self) -> Mapping[str, str]:
        """The group of every case; empty where it has none."""
        groups: dict[str, str] = {}
        for score in self.scores:
            before = groups.setdefault(score.case, score.group)
            if before != score.group:
                raise UsageError(f"The case '{score.case}' is in the groups '{before}' and '{score.group}'.")
        return groups

    @cached_property
    def group_keys(self) -> Mapping[str, str]:
        return _keys([group for group in dict.fromkeys(self.groups.values()) if group])

    @cached_property
    def cases(self) -> Sequence[str]:
        return sorted(self.groups)

    @cached_property
    def values(self) -> Mapping[tuple[str, str, str], float | None]:
        return {(score.team, score.case, score.metric): score.value for score in self.scores}

    @cached_property
    def absent(self) -> Mapping[str, set[tuple[str, str]]]:
        """By metric, the teams and cases without a value."""
        return {
            metric: {
                (team, case)
                for team in self.teams
                for case in self.cases
                if self.values.get((team, case, metric)) is None
            }
            for metric in self.metrics
        }

    @cached_property
    def excluded(self) -> Mapping[str, set[str]]:
        """By metric, the cases that are left out for all teams."""
        if self.options.missing != "exclude":
            return {metric: set() for metric in self.metrics}
        return {metric: {case for _, case in self.absent[metric]} for metric in self.metrics}

    def cohort(self) -> Cohort[TableRules]:
        for metric in self.metrics:
            self._check(metric)
        rules = self._rules()
        return Cohort(
            challenge=rules,
            division={"task": self.name} if self.name else {},
            files=[self._file(team, rules) for team in self.teams],
            notes=tuple(self._notes()),
        )

    def _file(self, team: str, rules: TableRules) -> TeamFile:
        rows = [self._row(team, case) for case in self.cases]
        content = MetricsFile(
            schema=SCHEMA_NAME,
            challenge=self.table.name,
            kind="table",
            title=self.table.name,
            version="",
            settings=self._settings(),
            aggregates=aggregate(rules.scoreboard, [row.metrics for row in rows], {}),
            counts=Counts.of(rows),
            results=rows,
        )
        absent = {
            self.keys[metric]: frozenset(case for who, case in self.absent[metric] if who == team)
            for metric in self.metrics
        }
        return TeamFile(team=team, label=f"{self.table.name}: {team}", content=content, absent=absent)

    def _row(self, team: str, case: str) -> CaseResult:
        figures: dict[str, Any] = {_GROUP: self.group_keys.get(self.groups[case], "")}
        for metric in self.metrics:
            value = self.values.get((team, case, metric))
            if case in self.excluded[metric]:
                value = None
            elif value is None:
                value = self.options.worst[metric]
            figures[self.keys[metric]] = value
        is_lost = all((team, case) in self.absent[metric] for metric in self.metrics)
        return CaseResult(
            case=case,
            status="missing" if is_lost else "scored",
            metrics=figures,
            error="The table has no value for this team and case." if is_lost else None,
        )

    def _rules(self) -> TableRules:
        declared = [
            _metric(self.keys[metric], metric, self.directions[metric], self.options.worst.get(metric))
            for metric in self.metrics
        ]
        by_group = [
            CohortMetric(
                path=f"{metric.name}.groups.{key}",
                title=f"{metric.title}, {group}",
                direction=metric.direction,
                of=_group_mean(metric.name, key),
            )
            for metric in declared
            for group, key in self.group_keys.items()
        ]
        means = [metric.mean_path for metric in declared]
        board: Scoreboard[Any] = Scoreboard(
            metrics=declared,
            cohort_metrics=by_group,
            leaderboard=(*means, *(figure.path for figure in by_group)),
            headline=means[:_SHOWN_COLUMNS],
            ranked=means if len(means) > 1 else (),
        )
        return TableRules(name=self.table.name, scoreboard=board)

    def _check(self, metric: str) -> None:
        worst, absent = self.options.worst.get(metric), self.absent[metric]
        needs_worst = self.options.missing == "worst" and worst is None
        if absent and (self.options.missing == "error" or needs_worst):
            team, case = min(absent)
            where = f" in the task '{self.name}'" if self.name else ""
            advice = f" Give its value (--worst {metric}=VALUE), or leave out such cases (--missing exclude)."
            raise UsageError(
                f"The team '{team}' has no '{metric}' for the case '{case}'{where} "
                f"({len(absent)} such).{advice if needs_worst else ''}"
            )
        if len(self.excluded[metric]) == len(self.cases):
            raise UsageError(
                f"No case has a value of '{metric}' from every team, so --missing exclude leaves no cases."
            )
        if worst is None:
            return
        sign = 1 if self.directions[metric] == "higher" else -1
        for score in self.by_metric[metric]:
            if score.value is not None and sign * score.value < sign * worst:
                raise UsageError(
                    f"--worst {metric}={worst:g}, but the team '{score.team}' has {score.value:g} for the case "
                    f"'{score.case}': a missing value would be better than that."
                )

    def _settings(self) -> dict[str, Any]:
        options = self.options
        return {
            "table": {
                "missing": options.missing,
                "direction": {metric: self.directions[metric] for metric in self.metrics},
                "worst": {metric: options.worst[metric] for metric in self.metrics if metric in options.worst},
                "weights": {metric: options.weights.get(metric, 1.0) for metric in self.metrics},
            }
        }

    def _notes(self) -> Iterator[str]:
        for metric, left_out in self.excluded.items():
            if left_out:
                yield (
                    f"{len(left_out)} of {len(self.cases)} cases are left out of '{metric}' for all teams, because at "
                    "least one team has no value there (--missing exclude)."
                )


def _metric(key: str, title: str, direction: Direction, worst: float | None) -> CaseMetric[Any]:
    unbounded = -math.inf if direction == "higher" else math.inf
    bound = unbounded if worst is None else worst
    return CaseMetric(
        name=key,
        title=title,
        direction=direction,
        lowest=bound if direction == "higher" else -math.inf,
        highest=bound if direction == "lower" else math.inf,
        worst=bound,
    )


def _group_mean(name: str, group: str) -> Any:
    """The mean over the drawn cases of one group; NaN where none was drawn."""

    def mean(rows: Sequence[Figures], resamples: Resamples) -> Floats:
        kept = np.array([row[_GROUP] == group and get(row, name) is not None for row in rows], dtype=bool)
        values = [get(row, name) for row, is_kept in zip(rows, kept, strict=True) if is_kept]
        return resamples.only(kept).mean(np.array(values, dtype=np.float64))

    return mean


def _keys(names: Sequence[str]) -> dict[str, str]:
    """A unique key of metrics.json for every name: letters, digits, _ and - only."""
    keys: dict[str, str] = {}
    taken = {_GROUP}
    for name in names:
        stem = re.sub(r"[^A-Za-z0-9_-]+", "_", name).strip("_") or "metric"
        numbered = (f"{stem}_{number}" for number in count(len(keys) + 1))
        keys[name] = next(key for key in chain([stem], numbered) if key not in taken)
        taken.add(keys[name])
    return keys
