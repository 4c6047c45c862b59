"""JSON by the standard, nothing more."""

import math
from pathlib import Path
from typing import Any

import pytest

from podium.errors import Refused
from podium.readers.files import SafeFile
from podium.readers.text import parse_json, read_json


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
        (b"\xff\xfe1\x00", "'a.json' is not UTF-8 text."),
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
        (b'"\\ud800"', "'a.json' holds half of a surrogate pair, which is no character."),
        (b'{"\\uDFFF": 1}', "'a.json' holds half of a surrogate pair, which is no character."),
    ],
)
def test_anything_else_is_refused_in_words(text: bytes, words: str) -> None:
    with pytest.raises(Refused) as refusal:
        parse_json(text, name="a.json", max_depth=9)
    assert str(refusal.value) == words


def test_endless_digits_are_refused_briefly() -> None:
    with pytest.raises(Refused, match="which is too large") as refusal:
        parse_json(b"1" * 900_000, name="a.json")
    assert len(str(refusal.value)) < 300


def test_an_endless_string_is_scanned_once() -> None:
    with pytest.raises(Refused, match="is not valid JSON"):
        parse_json(b"[" + b'\\"' * 450_000, name="a.json")


def test_the_size_of_a_file_is_bounded(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b"[1234]")
    file = SafeFile.inside(tmp_path, "a.json")
    assert read_json(file, limit_bytes=6) == [1234]
    with pytest.raises(Refused, match=r"'a.json' is larger than 5 bytes"):
        read_json(file, limit_bytes=5)


def test_the_depth_of_a_file_is_bounded(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b"[[1]]")
    file = SafeFile.inside(tmp_path, "a.json")
    assert read_json(file, max_depth=2) == [[1]]
    with pytest.raises(Refused, match=r"'a.json' is nested deeper than 1 levels"):
        read_json(file, max_depth=1)


def test_the_number_of_lists_and_objects_is_bounded() -> None:
    with pytest.raises(Refused, match=r"'a.json' holds more than 500,000 lists and objects."):
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


def test_the_number_of_lists_and_objects_may_be_asked_for() -> None:
    text = b"[[], {}, 0]"
    assert parse_json(text, name="a.json", max_containers=3) == [[], {}, 0]
    with pytest.raises(Refused, match=r"^'a.json' holds more than 2 lists and objects\.$"):
        parse_json(text, name="a.json", max_containers=2)
