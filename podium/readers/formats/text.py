"""Plain text from hostile files: bounded, UTF-8, and able to be written out again."""

import csv
import io
import json
import math
import re
from collections.abc import Iterator
from typing import Any

from podium.errors import Refused
from podium.readers.files import SafeFile, escape_for_display

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


# JSON according to the standard: Python's parser accepts more than that, and fails on some of what it accepts.

LIMIT_BYTES = 1_000_000
MAX_DEPTH = 32

# Possessive, and the closing quote optional: an endless string must not be scanned again from each of its quotes.
TOKENS = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)
LARGEST_INTEGER = 2**63 - 1
MAX_CONTAINERS = 500_000
"""Lists and objects in one file: a few bytes of text each, but sixty and more of memory."""


def read_json(
    file: SafeFile,
    *,
    limit_bytes: int = LIMIT_BYTES,
    max_depth: int = MAX_DEPTH,
    max_containers: int = MAX_CONTAINERS,
    judged_later: bool = False,
) -> Any:
    """The value in a JSON file of at most `limit_bytes`."""
    return parse_json(
        file.read_bytes(limit_bytes),
        name=file.name,
        max_depth=max_depth,
        max_containers=max_containers,
        judged_later=judged_later,
    )


def parse_json(
    text: bytes,
    *,
    name: str,
    max_depth: int = MAX_DEPTH,
    max_containers: int = MAX_CONTAINERS,
    judged_later: bool = False,
) -> Any:
    """The value in `text`, UTF-8 with or without a byte order mark; `name` stands for it in messages.

    Every number that comes out is finite and, if whole, fits in 64 bits; every text can be written again as UTF-8.
    Where one file holds the predictions of many cases, `judged_later` accepts the other values too, whole numbers that
    are too large as floats: the caller then refuses the prediction of one case alone.
    """
    label = f"'{escape_for_display(name)}'"
    try:
        decoded = text.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Refused(f"{label} is not UTF-8 text.") from None
    _check_depth(decoded, label=label, max_depth=max_depth, max_containers=max_containers)
    parser = _parser(label, judged_later=judged_later)
    try:
        value = parser.decode(decoded)
    except json.JSONDecodeError as fault:
        raise Refused(f"{label} is not valid JSON: line {fault.lineno}, column {fault.colno}.") from None
    # Only an escape can bring half a surrogate pair in; writing it out again would fail far from here.
    if not judged_later and "\\ud" in decoded.lower():
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise Refused(f"{label} holds half of a surrogate pair, which is no character.") from None
    return value


def _parser(label: str, *, judged_later: bool) -> json.JSONDecoder:
    def constant(text: str) -> float:
        if judged_later:
            return float(text)
        raise Refused(f"{label} holds {text}, which is not a JSON number.")

    def real(text: str) -> float:
        number = float(text)
        if not judged_later and not math.isfinite(number):
            raise Refused(f"{label} holds the number {escape_for_display(text)}, which is too large.")
        return number

    def whole(text: str) -> int | float:
        # The digits are counted first: Python refuses to convert more than 4,300 of them.
        if len(text) > 20 or abs(int(text)) > LARGEST_INTEGER:
            if judged_later:
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
    for token in TOKENS.finditer(text):
        if token[0] in "[{":
            depth += 1
            containers += 1
            if containers > max_containers:
                raise Refused(f"{label} holds more than {max_containers:,} lists and objects.")
            if depth > max_depth:
                raise Refused(f"{label} is nested deeper than {max_depth} levels.")
        elif token[0] in "]}":
            depth -= 1
