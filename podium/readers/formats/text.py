"""Plain text from hostile files: bounded, UTF-8, and able to be written out again."""

import csv
import io
import re
from collections.abc import Iterator

from podium.errors import Refused
from podium.readers.files import SafeFile
from podium.readers.names import escape_for_display

_DELIMITER = re.compile(r"[,;\t]")
_HEADER_BYTES = 1 << 16
_QUOTED = re.compile(r'"[^"]*"?')


def read_text(file: SafeFile, *, limit_bytes: int) -> str:
    """The content of a text file, with or without a byte order mark."""
    try:
        return file.read_bytes(limit_bytes).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Refused(_not_utf8(file)) from None


def read_csv_rows(file: SafeFile, *, limit_bytes: int, max_lines: int | None = None) -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV file that are not blank, each with the number of the line it ends on.

    The delimiter is the comma, semicolon or tab that comes first, outside of quotes: in much of Europe
    spreadsheets write semicolons, and sentences contain commas. Text is decoded while rows are read: a file of
    short lines would need many times its size otherwise.
    """
    label = f"'{escape_for_display(file.name)}'"
    content = file.read_bytes(limit_bytes)
    if max_lines is not None and max(content.count(b"\n"), content.count(b"\r")) > max_lines:
        raise Refused(f"{label} has more than {max_lines:,} lines.")
    start = content[:_HEADER_BYTES].decode("utf-8-sig", errors="replace")
    first = _DELIMITER.search(_QUOTED.sub("", start.lstrip().split("\n", 1)[0]))
    csv.field_size_limit(max(csv.field_size_limit(), limit_bytes))  # 131,072 by default: less than a long report
    text = io.TextIOWrapper(io.BytesIO(content), encoding="utf-8-sig", newline="")
    rows = csv.reader(text, delimiter=first[0] if first else ",", strict=True)
    try:
        for row in rows:
            if any(cell.strip() for cell in row):
                yield rows.line_num, row
    except csv.Error:
        raise Refused(f"{label} is not valid CSV: line {rows.line_num}.") from None
    except UnicodeDecodeError:
        raise Refused(_not_utf8(file)) from None


def _not_utf8(file: SafeFile) -> str:
    return f"'{escape_for_display(file.name)}' is not UTF-8 text; save it as UTF-8."
