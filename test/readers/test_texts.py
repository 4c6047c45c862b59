"""Text, rows of CSV and JSON from untrusted files."""

import math
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from readers.made import refusal, safe

from podium.errors import Refused
from podium.readers.text import parse_json, read_csv_rows, read_json, read_text


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", ""),
        (b"\xef\xbb\xbfL\xe2\x80\x99elemento \xc3\xa8\r\n", "L’elemento è\r\n"),
        (b"a\x00b", "a\x00b"),
    ],
)
def test_text(tmp_path: Path, content: bytes, text: str) -> None:
    assert read_text(safe(tmp_path, "a.txt", content), limit_bytes=100) == text


@pytest.mark.parametrize("content", [b"\xff\xfeT\x00", b"caf\xe9", b"\xed\xa0\x80"])
def test_what_is_not_utf_8_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(Refused, match=r"^'a\.txt' is not UTF-8 text; save it as UTF-8\.$"):
        read_text(safe(tmp_path, "a.txt", content), limit_bytes=100)


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        (b"a,b\nc,d\n", [(1, ["a", "b"]), (2, ["c", "d"])]),
        (b"a;b, c\r\n\r\n;\r\nd;e\r\n", [(1, ["a", "b, c"]), (4, ["d", "e"])]),
        (b'a\t"b\nc"\n', [(2, ["a", "b\nc"])]),
        (b'"a;1",b;c\n', [(1, ["a;1", "b;c"])]),
        (b"", []),
    ],
)
def test_rows_of_a_table(tmp_path: Path, content: bytes, rows: list[tuple[int, list[str]]]) -> None:
    assert list(read_csv_rows(safe(tmp_path, "a.csv", content), limit_bytes=1000)) == rows


def test_a_broken_table_is_refused_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"^'a\.csv' is not valid CSV: line 2\.$"):
        list(read_csv_rows(safe(tmp_path, "a.csv", b'a,b\n"c"d,e\n'), limit_bytes=1000))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("csv")


@given(content=st.binary(max_size=60) | st.text(alphabet='a,;\t"\r\n\x00', max_size=30).map(str.encode))
def test_any_bytes_are_rows_or_a_refusal(folder: Path, content: bytes) -> None:
    rows = []
    with suppress(Refused):
        rows = list(read_csv_rows(safe(folder, "a.csv", content), limit_bytes=1000))
    assert all(any(cell.strip() for cell in row) for _, row in rows)


# JSON by the standard, nothing more.


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b'{"class": 1}', {"class": 1}),
        (b"\xef\xbb\xbf[1, 2.5, null, true]", [1, 2.5, None, True]),
        (b"9223372036854775807", 2**63 - 1),
        (b"-9223372036854775807", 1 - 2**63),
        ('"ä\\u00e4\\ud83d\\ude00"'.encode(), "ää😀"),
        (b'"[[[[[[[[[[{{{{"', "[[[[[[[[[[{{{{"),
        (rb'"\"[[[[[[[[[["', '"[[[[[[[[[['),
        (b"[[[[[[[[[]]]]]]]]]", [[[[[[[[[]]]]]]]]]),
    ],
)
def test_standard_json_is_read(text: bytes, value: Any) -> None:
    assert parse_json(text, name="a.json", max_depth=9) == value


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"\xff\xfe1\x00", "'a.json' is not UTF-8 text; save it as UTF-8."),
        (b"NaN", "'a.json' holds NaN, which is not a JSON number."),
        (b"[-Infinity]", "'a.json' holds -Infinity, which is not a JSON number."),
        (b"1e999", "'a.json' holds the number 1e999, which is too large."),
        (b"9223372036854775808", "'a.json' holds the number 9223372036854775808, which is too large."),
        (b'{"a": 1, "b": {"c": 1, "c": 2}}', "'a.json' has the key 'c' twice in one object."),
        (b"[[[[[[[[[[]]]]]]]]]]", "'a.json' is nested deeper than 9 levels."),
        (b'[{"a":' * 50_000, "'a.json' is nested deeper than 9 levels."),
        (b"[1,\n 2,, 3]", "'a.json' is not valid JSON: line 2, column 4."),
        (b"", "'a.json' is not valid JSON: line 1, column 1."),
        (b"[1] 2", "'a.json' is not valid JSON: line 1, column 5."),
        (b'"\\ud800"', "'a.json' holds half of a surrogate pair, which is not a valid character."),
        (b'{"\\uDFFF": 1}', "'a.json' holds half of a surrogate pair, which is not a valid character."),
    ],
)
def test_anything_else_is_refused_in_words(text: bytes, words: str) -> None:
    assert refusal(parse_json, text, name="a.json", max_depth=9) == words


def test_endless_digits_are_refused_briefly() -> None:
    with pytest.raises(Refused, match="which is too large") as refusal:
        parse_json(b"1" * 900_000, name="a.json")
    assert len(str(refusal.value)) < 300


def test_an_endless_string_is_scanned_once() -> None:
    with pytest.raises(Refused, match="is not valid JSON"):
        parse_json(b"[" + b'\\"' * 450_000, name="a.json")


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ({"limit_bytes": 10}, "is larger than 10 bytes."),
        ({"max_depth": 1}, "is nested deeper than 1 levels."),
        ({"max_containers": 2}, "holds more than 2 lists and objects."),
    ],
)
def test_size_depth_and_containers_of_a_file_are_bounded(tmp_path: Path, limit: dict[str, int], words: str) -> None:
    file = safe(tmp_path, "a.json", b"[[], {}, 0]")
    (name, bound), *_ = limit.items()
    assert read_json(file, **{name: bound + 1}) == [[], {}, 0]
    assert refusal(read_json, file, **limit) == f"'a.json' {words}"


def test_the_number_of_lists_and_objects_is_bounded_by_default() -> None:
    with pytest.raises(Refused):
        parse_json(b"[" + b"{}," * 500_000 + b"0]", name="a.json")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"[18446744073709551616]", [2.0**64]),
        (b"1" * 900_000, math.inf),
        (b"[-1e999, Infinity]", [-math.inf, math.inf]),
        (b'"\\ud800"', "\ud800"),
    ],
)
def test_what_json_cannot_mean_is_left_to_the_caller_only_where_asked_for(text: bytes, value: Any) -> None:
    assert parse_json(text, name="a.json", lenient=True) == value
    with pytest.raises(Refused):
        parse_json(text, name="a.json")


def test_a_nan_left_to_the_caller() -> None:
    (value,) = parse_json(b"[NaN]", name="a.json", lenient=True)
    assert math.isnan(value)
