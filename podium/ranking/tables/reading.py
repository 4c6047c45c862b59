"""Score tables from CSV, TSV, Parquet or standard input: one record per team, case and metric, checked.

A long table has the columns `team, case, value` and may have `metric, task, group, direction`; a wide one has
`team, case`, may have `task, group`, and every other column is a metric.
"""

import csv
import io
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from podium.errors import UsageError
from podium.figures import finite_number
from podium.metrics.declaration import Direction
from podium.readers.files import escape_for_display

TABLE_SUFFIXES = (".csv", ".tsv", ".parquet")
STANDARD_INPUT = Path("-")
_ABSENT = {"", "na", "n/a", "nan", "null", "none"}
_KEYS = ("team", "case", "task", "group")


@dataclass(frozen=True, kw_only=True)
class Score:
    """One value; `value` is None where the cell says that there is none."""

    team: str
    case: str
    metric: str
    task: str
    group: str
    value: float | None


@dataclass(frozen=True, kw_only=True)
class ScoreTable:
    """All scores of a table in its order. `metrics` in the order of the columns, or of their first row;
    `directions` as far as the table itself says them."""

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
    twice = next((column for column in lower if lower.count(column) > 1), None)
    if twice is not None:
        raise UsageError(f"{name} has the column '{twice}' twice.")
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
        raise UsageError(f"{name} has no column of values: a long table needs 'value', a wide one a column per metric.")
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
    metrics = list(dict.fromkeys(score.metric for score in scores)) if is_long else [titles[each] for each in others]
    return ScoreTable(
        name="scores" if path == STANDARD_INPUT else path.stem, scores=scores, metrics=metrics, directions=directions
    )


def _cells(path: Path, name: str) -> tuple[Sequence[str], Iterator[tuple[int, Sequence[Any]]]]:
    """The header, and the rows with their numbers as a spreadsheet counts them."""
    if path.suffix.lower() == ".parquet":
        return _parquet(path, name)
    try:
        raw = sys.stdin.buffer.read() if path == STANDARD_INPUT else path.read_bytes()
        text = raw.decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise UsageError(f"{name} is not a text in UTF-8.") from None
    first = text.split("\n", 1)[0]
    delimiter = max("\t;,", key=first.count)  # a spreadsheet in a language with decimal commas writes semicolons
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
        raise UsageError(f"{name} is not a Parquet file that can be read.") from None
    columns = [column.to_pylist() for column in table.columns]
    return table.column_names, ((number, row) for number, row in enumerate(zip(*columns, strict=True), start=2))


def _number(cell: Any, place: str) -> float | None:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return None
    text = str(cell).strip()
    if text.lower() in _ABSENT:
        return None
    try:
        number = finite_number(float(text))
    except ValueError:
        number = None
    if number is None:
        raise UsageError(f"{place} is '{escape_for_display(text, longest=40)}', which is not a finite number.")
    return number


def _note_direction(directions: dict[str, Direction], metric: str, cell: Any, place: str) -> None:
    if cell is None or not str(cell).strip():
        return
    direction = as_direction(str(cell).strip())
    if direction is None:
        shown = escape_for_display(str(cell), longest=40)
        raise UsageError(f"{place}: the direction is '{shown}', not 'higher' or 'lower'.")
    if directions.setdefault(metric, direction) != direction:
        raise UsageError(f"{place}: the direction of '{metric}' is '{direction}', but further up it is another.")


def as_direction(text: str) -> Direction | None:
    """The direction a text names; None where it names none."""
    match text.lower():
        case "higher":
            return "higher"
        case "lower":
            return "lower"
    return None


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
