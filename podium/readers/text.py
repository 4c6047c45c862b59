"""Text, JSON and CSV from untrusted files, and tables with the values of many cases.

Text is bounded, valid UTF-8, and can be written out again. JSON follows the standard: Python's parser accepts more than
that, and fails on some of what it accepts.

In a table every row belongs to a case, so that a bad cell costs only its case. CSV has a header, and commas, semicolons
or tabs between its cells. JSON is a list of objects, or an object that has an object, or a list of objects, for every
case. A file is refused as a whole only where cases cannot be distinguished: broken CSV or JSON, no column of cases, too
many rows.
"""

import csv
import io
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal

from podium.errors import Refused, listed
from podium.readers.files import SafeFile, escape_for_display

JSON_BYTES = 1_000_000
MAX_DEPTH = 32
MAX_CONTAINERS = 500_000  # lists and objects in one file: a few bytes of text each, but sixty and more of memory
TABLE_BYTES = 100_000_000
JSON_TABLE_BYTES = 20_000_000
MAX_ROWS = 1_000_000
MAX_COLUMNS = 1_000
LONGEST_CELL = 100_000  # characters in a cell: enough for a report, not for a file within the file
_COMPARED = 100  # columns that could be meant by a missing one
_DELIMITER = re.compile(r"[,;\t]")
_HEADER_BYTES = 1 << 16
_QUOTED = re.compile(r'"[^"]*"?')

# Possessive, and the closing quote optional: an endless string must not be scanned again from each of its quotes.
_TOKENS = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)
_LARGEST_INTEGER = 2**63 - 1

_SHOWN = 5  # lines or rows that a message lists
_CONTAINERS: Mapping[type, str] = {list: "[...]", dict: "{...}"}  # as messages show them
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_LONGEST_NUMBER = 100
_NOT_FINITE = re.compile(r"[+-]?(?:nan|inf|infinity)", re.IGNORECASE)
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]*,[0-9]+")


def read_text(file: SafeFile, *, limit_bytes: int) -> str:
    """The content of a text file, with or without a byte order mark."""
    return _decoded(file.read_bytes(limit_bytes), f"'{escape_for_display(file.name)}'")


def _decoded(content: bytes, label: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _not_utf8(label) from None


def _not_utf8(label: str) -> Refused:
    return Refused(f"{label} is not UTF-8 text; save it as UTF-8.")


def read_csv_rows(file: SafeFile, *, limit_bytes: int, max_lines: int | None = None) -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV file as `parse_csv` gives them, of at most `limit_bytes` and `max_lines`."""
    content = file.read_bytes(limit_bytes)
    if max_lines is not None and max(content.count(b"\n"), content.count(b"\r")) > max_lines:
        raise Refused(f"'{escape_for_display(file.name)}' has more than {max_lines:,} lines.")
    csv.field_size_limit(max(csv.field_size_limit(), limit_bytes))  # 131,072 by default: less than a long report
    yield from parse_csv(content, name=file.name)


def parse_csv(content: bytes, *, name: str) -> Iterator[tuple[int, list[str]]]:
    """The rows of CSV text that are not blank, each with the number of the line it ends on.

    The delimiter is the comma, semicolon or tab that comes first, outside of quotes: in much of Europe
    spreadsheets write semicolons, and sentences contain commas. Text is decoded while rows are read: a file of
    short lines would need many times its size otherwise.
    """
    start = content[:_HEADER_BYTES].decode("utf-8-sig", errors="replace")
    first = _DELIMITER.search(_QUOTED.sub("", start.lstrip().split("\n", 1)[0]))
    text = io.TextIOWrapper(io.BytesIO(content), encoding="utf-8-sig", newline="")
    rows = csv.reader(text, delimiter=first[0] if first else ",", strict=True)
    try:
        for row in rows:
            if any(cell.strip() for cell in row):
                yield rows.line_num, row
    except csv.Error:
        raise Refused(f"'{escape_for_display(name)}' is not valid CSV: line {rows.line_num}.") from None
    except UnicodeDecodeError:
        raise _not_utf8(f"'{escape_for_display(name)}'") from None


def read_json(
    file: SafeFile,
    *,
    limit_bytes: int = JSON_BYTES,
    max_depth: int = MAX_DEPTH,
    max_containers: int = MAX_CONTAINERS,
    lenient: bool = False,
) -> Any:
    """The value in a JSON file of at most `limit_bytes`."""
    return parse_json(
        file.read_bytes(limit_bytes),
        name=file.name,
        max_depth=max_depth,
        max_containers=max_containers,
        lenient=lenient,
    )


def parse_json(
    text: bytes, *, name: str, max_depth: int = MAX_DEPTH, max_containers: int = MAX_CONTAINERS, lenient: bool = False
) -> Any:
    """The value in `text`, UTF-8 with or without a byte order mark; messages call it `name`.

    Every number that comes out is finite and, if whole, fits in 64 bits; every text can be written again as UTF-8.
    Where one file holds the predictions of many cases, `lenient` accepts other values too, and whole numbers that are
    too large as floats: the caller then refuses the prediction of one case alone.
    """
    label = f"'{escape_for_display(name)}'"
    decoded = _decoded(text, label)
    _check_depth(decoded, label=label, max_depth=max_depth, max_containers=max_containers)
    parser = _parser(label, lenient=lenient)
    try:
        value = parser.decode(decoded)
    except json.JSONDecodeError as fault:
        raise Refused(f"{label} is not valid JSON: line {fault.lineno}, column {fault.colno}.") from None
    # Only an escape can bring half a surrogate pair in; writing it out again would fail far from here.
    if not lenient and "\\ud" in decoded.lower() and not _is_unicode(json.dumps(value, ensure_ascii=False)):
        raise Refused(f"{label} holds half of a surrogate pair, which is not a valid character.")
    return value


def _parser(label: str, *, lenient: bool) -> json.JSONDecoder:
    def constant(text: str) -> float:
        if lenient:
            return float(text)
        raise Refused(f"{label} holds {text}, which is not a JSON number.")

    def real(text: str) -> float:
        number = float(text)
        if not lenient and not math.isfinite(number):
            raise Refused(f"{label} holds the number {escape_for_display(text)}, which is too large.")
        return number

    def whole(text: str) -> int | float:
        # The digits are counted first: Python refuses to convert more than 4,300 of them.
        if len(text) > 20 or abs(int(text)) > _LARGEST_INTEGER:
            if lenient:
                return real(text)
            raise Refused(f"{label} holds the number {escape_for_display(text)}, which is too large.")
        return int(text)

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value: dict[str, Any] = {}
        for key, member in pairs:
            if key in value:
                raise Refused(f"{label} has the key '{escape_for_display(key)}' twice in one object.")
            value[key] = member
        return value

    return json.JSONDecoder(parse_constant=constant, parse_float=real, parse_int=whole, object_pairs_hook=unique)


def _check_depth(text: str, *, label: str, max_depth: int, max_containers: int) -> None:
    """Count brackets outside of strings before the parser, which recurses, sees them."""
    depth = containers = 0
    for token in _TOKENS.finditer(text):
        if token[0] in "[{":
            depth += 1
            containers += 1
            if containers > max_containers:
                raise Refused(f"{label} holds more than {max_containers:,} lists and objects.")
            if depth > max_depth:
                raise Refused(f"{label} is nested deeper than {max_depth} levels.")
        elif token[0] in "]}":
            depth -= 1


# Tables of cases.


class MissingColumn(Refused):
    """A table has no column of a name."""


@dataclass(frozen=True, eq=False)
class _RowSource:
    label: str
    counted: Literal["line", "entry"]
    columns: Mapping[str, int]
    lacking: Mapping[str, str]  # columns that the table does not have although it should, each with a sentence


@dataclass(frozen=True, eq=False, slots=True)
class Row:
    """The wanted cells of one row: text in CSV, any value in JSON. Cells are validated on access."""

    source: _RowSource
    line: int  # the line in CSV, in JSON the number of the entry, both from 1
    cells: tuple[Any, ...]

    @property
    def place(self) -> str:
        return f"{self.source.label}, {self.source.counted} {self.line}"

    def __contains__(self, column: str) -> bool:
        return not _is_blank(self._cell(column))

    def number(self, column: str) -> float:
        """A finite number; in text a decimal number in ASCII digits with a decimal point, nothing else."""
        cell = self._filled(column)
        if isinstance(cell, str):
            cell = cell.strip()
            is_number = len(cell) <= _LONGEST_NUMBER and _NUMBER.fullmatch(cell) is not None
        else:
            is_number = isinstance(cell, int | float) and not isinstance(cell, bool)
        value = float(cell) if is_number else math.nan
        if math.isfinite(value):
            return value
        if is_number or (isinstance(cell, str) and _NOT_FINITE.fullmatch(cell)):
            raise Refused(f"{self._holds(column)}, which is not a finite number.")
        advice = "; write a decimal point" if isinstance(cell, str) and _DECIMAL_COMMA.fullmatch(cell[:50]) else ""
        raise Refused(f"{self._holds(column)}, which is not a number{advice}.")

    def value(self, column: str) -> Any:
        """The cell as it is, not empty: in CSV text without white space around it, in JSON any value."""
        cell = self._filled(column)
        return cell.strip() if isinstance(cell, str) else cell

    def text(self, column: str) -> str:
        """Text without white space around it; in JSON also a whole number."""
        cell = self._filled(column)
        if not isinstance(cell, str | int) or isinstance(cell, bool) or not _is_unicode(str(cell)):
            raise Refused(f"{self._holds(column)}, which is not text.")
        return str(cell).strip()

    def _filled(self, column: str) -> Any:
        cell = self._cell(column)
        if _is_blank(cell):
            raise Refused(f"{self.place}: '{escape_for_display(column)}' is empty.")
        return cell

    def _cell(self, column: str) -> Any:
        if column in self.source.lacking:
            raise MissingColumn(self.source.lacking[column])
        return self.cells[self.source.columns[column]] if column in self.source.columns else None

    def _holds(self, column: str) -> str:
        cell = self._cell(column)
        shown = cell if isinstance(cell, str) else _CONTAINERS.get(type(cell), str(cell).lower())
        return f"{self.place}: '{escape_for_display(column)}' holds '{escape_for_display(shown, longest=50)}'"


@dataclass(frozen=True, eq=False)
class CaseRows:
    """The rows of every case that the file names, in the order of the file."""

    label: str
    rows: Mapping[str, Sequence[Row]]
    broken: Mapping[str, str]  # cases with a row that cannot be read, and why
    notes: Sequence[str]  # messages about rows that belong to no case

    def rows_of(self, case: str) -> Sequence[Row]:
        """All rows of a case, none where the file does not name it; refused where one of them is broken."""
        if case in self.broken:
            raise Refused(self.broken[case])
        return self.rows.get(case, ())

    def row_of(self, case: str) -> Row | None:
        """The one row of a case, None where there is none; refused where there are several."""
        rows = self.rows_of(case)
        if len(rows) > 1:
            places = listed([str(row.line) for row in rows], most=_SHOWN)
            unit = {"line": "lines", "entry": "entries"}[rows[0].source.counted]
            raise Refused(
                f"{self.label} has {len(rows):,} rows for the case '{escape_for_display(case)}' ({unit} {places}); "
                "there must be one."
            )
        return rows[0] if rows else None


def read_table(
    file: SafeFile,
    *,
    columns: Sequence[str],
    optional: Sequence[str] = (),
    case_column: str = "case",
    lenient: bool = False,
) -> CaseRows:
    """The rows of all cases with the cells of `columns`, which must exist, and of `optional`, which may. With `lenient`
    a column that does not exist is refused when a cell of it is read."""
    label = f"'{escape_for_display(file.name)}'"
    if file.name.lower().endswith(".json"):
        return _collected(label, _json_rows(file, columns, optional, case_column, lenient=lenient))
    rows = _csv_rows(file, (case_column, *columns), optional, MAX_ROWS, lenient=lenient)
    return _collected(label, ((row.cells[0], row, fault) for row, fault in rows))


def read_rows(file: SafeFile, *, columns: Sequence[str], optional: Sequence[str], max_rows: int) -> list[Row]:
    """The rows of a CSV file that belongs to one case; the first row that cannot be read refuses it."""
    rows = []
    for row, fault in _csv_rows(file, columns, optional, max_rows):
        if fault is not None:
            raise Refused(fault)
        rows.append(row)
    return rows


def _collected(label: str, found: Iterable[tuple[Any, Row, str | None]]) -> CaseRows:
    """The table of all rows, each given with the name of its case and with what is wrong with it."""
    rows: dict[str, list[Row]] = {}
    broken: dict[str, str] = {}
    nameless: list[str] = []
    for case, row, fault in found:
        name = case.strip() if isinstance(case, str) else case
        if isinstance(name, int) and not isinstance(name, bool):
            name = str(name)
        if not isinstance(name, str) or not name or len(name) > LONGEST_CELL:
            nameless.append(row.place)
        elif fault is not None:
            broken.setdefault(name, fault)
        else:
            rows.setdefault(name, []).append(row)
    notes = [f"{place}: the row has no case name and is ignored." for place in nameless[:_SHOWN]]
    if len(nameless) > _SHOWN:
        notes.append(f"{label} has {len(nameless) - _SHOWN:,} more rows without a case name.")
    return CaseRows(label, rows, broken, notes)


def _csv_rows(
    file: SafeFile, columns: Sequence[str], optional: Sequence[str], max_rows: int, *, lenient: bool = False
) -> Iterator[tuple[Row, str | None]]:
    """Every row, and what is wrong with it; `max_rows` bounds the lines, to spend no time on a hopeless file."""
    label = f"'{escape_for_display(file.name)}'"
    lines = read_csv_rows(file, limit_bytes=TABLE_BYTES, max_lines=max_rows)
    _, header = next(lines, (0, []))
    while header and not header[-1].strip():
        header.pop()
    if len(header) > MAX_COLUMNS:
        raise Refused(f"{label} has more than {MAX_COLUMNS:,} columns.")
    names = [cell.strip() for cell in header]
    lacking = _lacking(names, columns, label, needed=columns[:1] if lenient else columns)
    source = _RowSource(label, "line", _wanted(names, (*columns, *optional), label), lacking)
    places = [names.index(name) for name in source.columns]
    for line, cells in lines:
        row = Row(source, line, tuple(cells[place] if place < len(cells) else "" for place in places))
        fault = None
        if any(len(cell) > LONGEST_CELL for cell in row.cells):
            fault = f"{row.place}: a cell has more than {LONGEST_CELL:,} characters."
        elif len(cells) > len(names) and any(cell.strip() for cell in cells[len(names) :]):
            fault = f"{row.place}: there are more cells than columns ({len(cells):,} and {len(names):,})."
        yield row, fault


def _json_rows(
    file: SafeFile, columns: Sequence[str], optional: Sequence[str], case_column: str, *, lenient: bool
) -> Iterator[tuple[Any, Row, str | None]]:
    """Every case, its row, and what is wrong with it."""
    label = f"'{escape_for_display(file.name)}'"
    content = read_json(file, limit_bytes=JSON_TABLE_BYTES, lenient=True)
    entries: list[tuple[Any, Any]]
    if isinstance(content, list):
        entries = [(each.get(case_column) if isinstance(each, dict) else None, each) for each in content]
    elif isinstance(content, dict):
        entries = [
            (case, one) for case, each in content.items() for one in (each if isinstance(each, list) else [each])
        ]
    else:
        raise Refused(f"{label} must be a list of objects, or an object with one object per case.")
    if len(entries) > MAX_ROWS:
        raise Refused(f"{label} has more than {MAX_ROWS:,} rows.")
    found = {key: None for _, each in entries if isinstance(each, dict) for key in each}
    of_case = (case_column,) if isinstance(content, list) else ()
    lacking = _lacking(list(found), (*of_case, *columns), label, needed=of_case if lenient else (*of_case, *columns))
    source = _RowSource(label, "entry", _wanted(list(found), (*of_case, *columns, *optional), label), lacking)
    for number, (case, each) in enumerate(entries, start=1):
        is_object = isinstance(each, dict)
        row = Row(source, number, tuple(each.get(name) if is_object else None for name in source.columns))
        yield case, row, None if is_object else f"{row.place} is not an object."


def _lacking(found: Sequence[str], columns: Sequence[str], label: str, *, needed: Sequence[str]) -> Mapping[str, str]:
    """A sentence for every column that a table does not have; MissingColumn where one of the `needed` is not there."""
    missing = [name for name in columns if name not in found]
    has = listed([f"'{escape_for_display(name, longest=50)}'" for name in found], most=_SHOWN) if found else "none"
    spelled = {name.casefold(): name for name in found[:_COMPARED]}
    advice = {}
    for name in missing:
        for near in get_close_matches(name.casefold(), spelled, n=1):
            advice[name] = f" Rename the column '{escape_for_display(spelled[near], longest=50)}' to '{name}'."
    if refused := [name for name in missing if name in needed]:
        lacks = listed([f"'{name}'" for name in missing], most=_SHOWN)
        raise MissingColumn(f"{label} has no column {lacks}; it has {has}.{advice.get(refused[0], '')}")
    return {name: f"{label} has no column '{name}'; it has {has}.{advice.get(name, '')}" for name in missing}


def _wanted(found: Sequence[str], columns: Sequence[str], label: str) -> Mapping[str, int]:
    """Those columns that a table has, numbered."""
    wanted = dict.fromkeys(name for name in columns if name in found)
    twice = [name for name in wanted if found.count(name) > 1]
    if twice:
        raise Refused(f"{label} has the column '{twice[0]}' twice.")
    return {name: number for number, name in enumerate(wanted)}


def _is_blank(cell: Any) -> bool:
    return cell is None or (isinstance(cell, str) and not cell.strip())


def _is_unicode(text: str) -> bool:
    """Whether it can be written as UTF-8: an escape in JSON can be half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
