"""Tables of many cases: every dialect, every refusal with its words, and what a bad cell costs."""

import csv
import io
import json
import math
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from readers.made import refusal, safe

from podium.errors import Refused
from podium.readers.text import CaseRows, read_rows, read_table


def table(folder: Path, content: bytes | Any, name: str = "a.csv", **options: Any) -> CaseRows:
    text = content if isinstance(content, bytes) else json.dumps(content).encode()
    return read_table(safe(folder, name, text), **{"columns": ["score"], **options})


@pytest.mark.parametrize(
    "content",
    [
        b"case,score\na,0.5\nb,1\n",
        b"case,score\r\na,0.5\r\n\r\nb,1",
        b"\xef\xbb\xbfcase;score\na;0.5\nb;1\n",
        b"case\tscore\na\t0.5\nb\t1\n",
        b'"case","score"\n"a"," 0.5"\n"b",+1.0e0\n',
        b"note,score , case,,\nx,0.5, a ,,\n,1.,b\n",
        b"case,score\ra,.5\rb,1\r",
    ],
)
def test_every_dialect_of_csv(tmp_path: Path, content: bytes) -> None:
    found = table(tmp_path, content)
    assert {case: [row.number("score") for row in rows] for case, rows in found.rows.items()} == {"a": [0.5], "b": [1]}
    assert not found.broken
    assert not found.notes


@pytest.mark.parametrize(
    "content",
    [
        [{"case": "a", "score": 0.5}, {"case": "b", "score": 1, "more": []}],
        {"a": {"score": 0.5}, "b": {"score": "1"}},
        {"a": [{"score": 0.5}], "b": {"score": 1}},
    ],
)
def test_both_forms_of_json(tmp_path: Path, content: Any) -> None:
    found = table(tmp_path, content, "a.json")
    assert {case: [row.number("score") for row in rows] for case, rows in found.rows.items()} == {"a": [0.5], "b": [1]}


def test_other_columns(tmp_path: Path) -> None:
    found = table(tmp_path, b"id,x,z\na,1,2\na,3,\n", columns=["x"], optional=["y", "z"], case_column="id")
    first, second = found.rows_of("a")
    assert [column in first for column in ("x", "y", "z")] == [True, False, True]
    assert [column in second for column in ("x", "y", "z")] == [True, False, False]
    assert (first.number("z"), second.line) == (2.0, 3)
    assert refusal(second.number, "y") == "'a.csv', line 3: 'y' is empty."


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("", "'score' is empty."),
        (" ", "'score' is empty."),
        ("nan", "'score' holds 'nan', which is not a finite number."),
        ("-Infinity", "'score' holds '-Infinity', which is not a finite number."),
        ("1e999", "'score' holds '1e999', which is not a finite number."),
        ("=1+1", "'score' holds '=1+1', which is not a number."),
        ("@SUM(A1)", "'score' holds '@SUM(A1)', which is not a number."),
        ("1_000", "'score' holds '1_000', which is not a number."),
        ("0x10", "'score' holds '0x10', which is not a number."),
        ("\u0661", "'score' holds '\u0661', which is not a number."),
        ("0.5\x00", "'score' holds '0.5\\x00', which is not a number."),
        ("0,5", "'score' holds '0,5', which is not a number; write a decimal point."),
        ("true", "'score' holds 'true', which is not a number."),
    ],
)
def test_a_bad_cell_costs_only_its_case(tmp_path: Path, cell: str, words: str) -> None:
    found = table(tmp_path, f'case;score\na;"{cell}"\nb;-0.25\n'.encode())
    good, bad = found.row_of("b"), found.row_of("a")
    assert good is not None
    assert bad is not None
    assert good.number("score") == -0.25
    assert refusal(bad.number, "score") == f"'a.csv', line 2: {words}"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (math.nan, "'score' holds 'nan', which is not a finite number."),
        (10**400, "'score' holds 'inf', which is not a finite number."),
        (True, "'score' holds 'true', which is not a number."),
        ([1], "'score' holds '[...]', which is not a number."),
        ({"a": 1}, "'score' holds '{...}', which is not a number."),
        ("nan", "'score' holds 'nan', which is not a finite number."),
        (None, "'score' is empty."),
    ],
)
def test_a_bad_value_costs_only_its_case(tmp_path: Path, value: Any, words: str) -> None:
    found = table(tmp_path, {"b": {"score": 2}, "a": {"score": value}}, "a.json")
    bad = found.row_of("a")
    assert bad is not None
    assert refusal(bad.number, "score") == f"'a.json', entry 2: {words}"
    assert [row.number("score") for row in found.rows_of("b")] == [2]


def test_text_of_a_cell(tmp_path: Path) -> None:
    rows = table(tmp_path, {"a": {"score": " low "}, "b": {"score": 1}, "c": {"score": True}}, "a.json").rows
    assert [rows[case][0].text("score") for case in "ab"] == ["low", "1"]
    assert refusal(rows["c"][0].text, "score") == "'a.json', entry 3: 'score' holds 'true', which is not text."
    half = table(tmp_path, b'{"a": {"score": "\\ud800"}}', "a.json").rows["a"][0]
    assert refusal(half.text, "score") == "'a.json', entry 1: 'score' holds '\\ud800', which is not text."


def test_two_rows_for_a_case_are_reported_for_that_case(tmp_path: Path) -> None:
    found = table(tmp_path, b"case,score\na,1\nb,2\na,1\n")
    assert refusal(found.row_of, "a") == "'a.csv' has 2 rows for the case 'a' (lines 2 and 4); there must be one."
    assert [row.line for row in found.rows_of("a")] == [2, 4]
    assert found.row_of("b") is not None
    assert found.row_of("c") is None
    assert list(found.rows_of("c")) == []
    many = table(tmp_path, [{"case": "a", "score": 1}] * 1000, "a.json")
    assert refusal(many.row_of, "a") == (
        "'a.json' has 1,000 rows for the case 'a' (entries 1, 2, 3, 4, 5 and 995 more); there must be one."
    )


def test_a_row_that_cannot_be_read_costs_its_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("podium.readers.text.LONGEST_CELL", 10)
    found = table(tmp_path, b"case,score\na,1,5\nb,12345678901\nc,3,,\nd\n")
    assert refusal(found.rows_of, "a") == "'a.csv', line 2: there are more cells than columns (3 and 2)."
    assert refusal(found.row_of, "b") == "'a.csv', line 3: a cell has more than 10 characters."
    assert [row.number("score") for row in found.rows_of("c")] == [3]
    assert refusal(found.rows_of("d")[0].number, "score") == "'a.csv', line 5: 'score' is empty."
    assert (
        refusal(table(tmp_path, {"a": 3, "b": {"score": 1}}, "a.json").rows_of, "a")
        == "'a.json', entry 1 is not an object."
    )


def test_rows_without_a_case_are_ignored_and_named(tmp_path: Path) -> None:
    found = table(tmp_path, b"case,score\n" + b" ,1\n" * 8 + b"a,2\n")
    assert list(found.rows) == ["a"]
    assert found.notes[0] == "'a.csv', line 2: the row has no case name and is ignored."
    assert found.notes[-1] == "'a.csv' has 3 more rows without a case name."
    assert len(found.notes) == 6
    listed = table(tmp_path, [{"case": None, "score": 1}, 5, {"case": 7, "score": 1}], "a.json")
    assert (list(listed.rows), len(listed.notes)) == (["7"], 2)


@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        (b"", "a.csv", "'a.csv' has no column 'case' and 'score'; it has none."),
        (b"id,value\na,1\n", "a.csv", "'a.csv' has no column 'case' and 'score'; it has 'id' and 'value'."),
        (
            b"case,Score\na,1\n",
            "a.csv",
            "'a.csv' has no column 'score'; it has 'case' and 'Score'. Rename the column 'Score' to 'score'.",
        ),
        (b"case,score,score\na,1,2\n", "a.csv", "'a.csv' has the column 'score' twice."),
        (b"case," * 2000 + b"score\n", "a.csv", "'a.csv' has more than 1,000 columns."),
        (
            b"c\x00ase,score\n",
            "a.csv",
            "'a.csv' has no column 'case'; it has 'c\\x00ase' and 'score'. Rename the column 'c\\x00ase' to 'case'.",
        ),
        (b"\xff\xfec\x00", "a.csv", "'a.csv' is not UTF-8 text; save it as UTF-8."),
        (b"case,score\na,caf\xe9\n", "a.csv", "'a.csv' is not UTF-8 text; save it as UTF-8."),
        (b'case,score\na,"1\n', "a.csv", "'a.csv' is not valid CSV: line 2."),
        (b"case,score\n" + b"a,1\n" * 20, "a.csv", "'a.csv' has more than 10 lines."),
        (b"\r" * 20, "a.csv", "'a.csv' has more than 10 lines."),
        (b'[{"case": "a"}]', "a.json", "'a.json' has no column 'score'; it has 'case'."),
        (b'[{"score": 1}]', "a.json", "'a.json' has no column 'case'; it has 'score'."),
        (b"3", "a.json", "'a.json' must be a list of objects, or an object with one object per case."),
        (b"[" + b"1," * 20 + b"1]", "a.json", "'a.json' has more than 10 rows."),
        (b'{"a": 1, "a": 2}', "a.json", "'a.json' has the key 'a' twice in one object."),
    ],
)
def test_what_refuses_a_whole_table(
    tmp_path: Path, content: bytes, name: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("podium.readers.text.MAX_ROWS", 10)
    assert refusal(table, tmp_path, content, name) == words


def test_a_long_list_of_columns_is_cut(tmp_path: Path) -> None:
    header = ",".join(f"column {number}" * 20 for number in range(900)).encode()
    assert len(refusal(table, tmp_path, header + b"\n")) < 600


def test_ten_million_rows_are_refused_unread(tmp_path: Path) -> None:
    words = refusal(table, tmp_path, b"case,score\n" + b"a,1\n" * 10_000_000)
    assert words == "'a.csv' has more than 1,000,000 lines."


def test_bytes_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("podium.readers.text.TABLE_BYTES", 14)
    assert table(tmp_path, b"case,score\na,1").rows
    assert refusal(table, tmp_path, b"case,score\na,11") == "'a.csv' is larger than 14 bytes."


def test_the_rows_of_one_case_are_refused_together(tmp_path: Path) -> None:
    good = read_rows(safe(tmp_path, "a.csv", b"x,y\n1,2\n3,4\n"), columns=["x", "y"], optional=(), max_rows=10)
    assert [(row.number("x"), row.line) for row in good] == [(1, 2), (3, 3)]
    words = refusal(read_rows, safe(tmp_path, "a.csv", b"x,y\n1,2,3\n"), columns=["x", "y"], optional=(), max_rows=10)
    assert words == "'a.csv', line 2: there are more cells than columns (3 and 2)."


CELLS = st.text(alphabet=st.characters(codec="utf-8"), max_size=8)
CASES = st.text(alphabet='ab ä;,"=+-@\n', min_size=1, max_size=5).filter(str.strip)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tables")


@given(
    rows=st.lists(st.tuples(CASES, st.floats(allow_nan=False, allow_infinity=False)), max_size=6),
    delimiter=st.sampled_from(",;\t"),
    ending=st.sampled_from(["\n", "\r\n"]),
    quoting=st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
    mark=st.booleans(),
)
def test_what_a_csv_writer_writes_is_read(
    *, folder: Path, rows: list[tuple[str, float]], delimiter: str, ending: str, quoting: Any, mark: bool
) -> None:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator=ending, quoting=quoting)
    writer.writerows([("case", "score"), *rows])
    found = table(folder, text.getvalue().encode("utf-8-sig" if mark else "utf-8"))
    expected: dict[str, list[float]] = {}
    for case, number in rows:
        expected.setdefault(case.strip(), []).append(number)
    assert {case: [row.number("score") for row in each] for case, each in found.rows.items()} == expected


@given(content=st.binary(max_size=80) | st.text(alphabet='case,o;\t"\r\n\x001.', max_size=60).map(str.encode))
def test_any_bytes_are_a_table_or_a_refusal(folder: Path, content: bytes) -> None:
    for name, text in (("a.csv", b"case,score\n" + content), ("b.csv", content), ("c.json", content)):
        with suppress(Refused):
            found = table(folder, text, name)
            for rows in found.rows.values():
                for row in rows:
                    with suppress(Refused):
                        assert math.isfinite(row.number("score"))


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | CELLS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["case", "score", "a"]), inner),
    max_leaves=8,
)


@given(JSON_VALUES)
def test_any_json_is_a_table_or_a_refusal(folder: Path, content: Any) -> None:
    with suppress(Refused):
        found = table(folder, content, "a.json")
        for case in {*found.rows, *found.broken}:
            with suppress(Refused):
                row = found.row_of(case)
                assert row is None or math.isfinite(row.number("score"))
