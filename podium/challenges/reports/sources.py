"""Where a submitted report may lie, and how its text is read."""

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from podium.errors import Refused
from podium.pairing import Entry, Source
from podium.platform.jobs import Job
from podium.readers.files import SafeFile, escape_for_display
from podium.readers.formats.text import read_csv_rows, read_json, read_text

REPORT_KEY = "report"
ALL_IN_JSON, ALL_IN_CSV = "reports.json", "reports.csv"

# A report of a thousand pages. Escaped in JSON a character takes up to six bytes.
LONGEST_REPORT_CHARACTERS = 4_000_000
REPORT_LIMIT_BYTES = 4 * LONGEST_REPORT_CHARACTERS
ALL_REPORTS_LIMIT_BYTES = 32_000_000
MOST_REPORTS = 10_000

_HALF_A_PAIR = re.compile("[\ud800-\udfff]")
_CASE_COLUMNS = ("case", "case_id", "caseid", "id", "name", "image", "file", "filename")
_REPORT_COLUMNS = ("report", "text", "prediction", "findings")


def read_report(source: Source, *, socket: str) -> str:
    """The report as text, without a byte order mark; raises Refused where it is anything else."""
    match source:
        case Job():
            return _as_text(source.output_json(socket), f"{source.label}: {socket}")
        case Entry():
            return _as_text(source.value, source.label)
    if source.name.lower().endswith(".json"):
        return _as_text(read_json(source, limit_bytes=REPORT_LIMIT_BYTES), source.name)
    return _as_text(read_text(source, limit_bytes=REPORT_LIMIT_BYTES), source.name)


def _as_text(content: Any, label: str) -> str:
    if isinstance(content, dict):
        if REPORT_KEY not in content:
            raise Refused(
                f"""'{escape_for_display(label)}' must be {{"{REPORT_KEY}": "text"}}, it has no '{REPORT_KEY}'."""
            )
        content = content[REPORT_KEY]
    if not isinstance(content, str):
        raise Refused(f"'{escape_for_display(label)}' must hold the report as text, it holds {_kind(content)}.")
    if len(content) > LONGEST_REPORT_CHARACTERS:
        raise Refused(f"'{escape_for_display(label)}' is longer than {LONGEST_REPORT_CHARACTERS:,} characters.")
    if _HALF_A_PAIR.search(content):
        raise Refused(f"'{escape_for_display(label)}' holds half of a surrogate pair, which is no character.")
    return content.lstrip("\ufeff")


def _kind(content: Any) -> str:
    kinds: Mapping[type, str] = {bool: "true or false", type(None): "null", list: "a list", dict: "an object"}
    return kinds.get(type(content), "a number")


def entries_of(file: SafeFile) -> Iterator[tuple[str, Entry]]:
    """Every (name, report) of a `reports.json` or `reports.csv`, names as their author wrote them."""
    is_table = PurePosixPath(file.name).name.lower() == ALL_IN_CSV
    for number, (name, value) in enumerate((_csv_entries if is_table else _json_entries)(file)):
        if number == MOST_REPORTS:
            raise Refused(
                f"'{escape_for_display(file.name)}' holds more than {MOST_REPORTS:,} reports; "
                "send those of the challenge."
            )
        yield name, Entry(label=f"{file.name}: {escape_for_display(name)}", value=value)


def _json_entries(file: SafeFile) -> Iterator[tuple[str, Any]]:
    content = read_json(file, limit_bytes=ALL_REPORTS_LIMIT_BYTES, judged_later=True)
    if not isinstance(content, dict):
        raise Refused(f"""'{escape_for_display(file.name)}' must be an object, {{"<case>": "text", ...}}.""")
    yield from content.items()


def _csv_entries(file: SafeFile) -> Iterator[tuple[str, str]]:
    """Two columns, case and report, in the order of the header or, without one, in this order."""
    columns = (0, 1)
    for number, (line, row) in enumerate(read_csv_rows(file, limit_bytes=ALL_REPORTS_LIMIT_BYTES)):
        if number == 0 and (named := _columns(row)) is not None:
            columns = named
            continue
        if len(row) <= max(columns):
            raise Refused(f"'{escape_for_display(file.name)}', line {line}: there must be a case and its report.")
        yield row[columns[0]].strip(), row[columns[1]]


def _columns(header: list[str]) -> tuple[int, int] | None:
    """The places of case and report, if this row is a header."""
    names = [cell.strip().lower() for cell in header]
    case = next((names.index(name) for name in _CASE_COLUMNS if name in names), None)
    report = next((names.index(name) for name in _REPORT_COLUMNS if name in names), None)
    return None if case is None or report is None else (case, report)
