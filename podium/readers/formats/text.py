"""Plain text from hostile files: bounded, UTF-8, and able to be written out again."""

import csv
import io
import re
from collections.abc import Iterator

from podium.errors import Refused
from podium.readers.files import SafeFile
from podium.readers.names import escape_for_display

_DELIMITER = re.compile(r"[,;\t]")
_QUOTED = re.compile(r'"[^"]*"?')


def read_text(file: SafeFile, *, limit_bytes: int) -> str:
    """The content of a text file, with or without a byte order mark."""
    try:
        return file.read_bytes(limit_bytes).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Refused(f"'{escape_for_display(file.name)}' is not UTF-8 text; save it as UTF-8.") from None


def read_csv_rows(file: SafeFile, *, limit_bytes: int) -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV file that are not blank, each with the number of the line it ends on.

    The delimiter is the comma, semicolon or tab that comes first, outside of quotes: in much of Europe
    spreadsheets write semicolons, and sentences contain commas.
    """
    text = read_text(file, limit_bytes=limit_bytes)
    first = _DELIMITER.search(_QUOTED.sub("", text.lstrip().split("\n", 1)[0]))
    csv.field_size_limit(max(csv.field_size_limit(), limit_bytes))  # 131,072 by default: less than a long report
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=first[0] if first else ",", strict=True)
    try:
        for row in rows:
            if any(cell.strip() for cell in row):
                yield rows.line_num, row
    except csv.Error:
        raise Refused(f"'{escape_for_display(file.name)}' is not valid CSV: line {rows.line_num}.") from None
