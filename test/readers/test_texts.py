"""Plain text and tables from files nobody vouches for."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.errors import Refused
from podium.readers.files import SafeFile
from podium.readers.text import read_csv_rows, read_text


def submitted(folder: Path, content: bytes, name: str = "a.txt") -> SafeFile:
    (folder / name).write_bytes(content)
    return SafeFile.inside(folder, name)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", ""),
        (b"\xef\xbb\xbfL\xe2\x80\x99elemento \xc3\xa8\r\n", "L’elemento è\r\n"),
        (b"a\x00b", "a\x00b"),
    ],
)
def test_text(tmp_path: Path, content: bytes, text: str) -> None:
    assert read_text(submitted(tmp_path, content), limit_bytes=100) == text


@pytest.mark.parametrize("content", [b"\xff\xfeT\x00", b"caf\xe9", b"\xed\xa0\x80"])
def test_what_is_not_utf_8_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(Refused, match=r"^'a\.txt' is not UTF-8 text; save it as UTF-8\.$"):
        read_text(submitted(tmp_path, content), limit_bytes=100)


def test_text_has_a_limit(tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"^'a\.txt' is larger than 4 bytes\.$"):
        read_text(submitted(tmp_path, b"12345"), limit_bytes=4)


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
    assert list(read_csv_rows(submitted(tmp_path, content, "a.csv"), limit_bytes=1000)) == rows


def test_a_broken_table_is_refused_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"^'a\.csv' is not valid CSV: line 2\.$"):
        list(read_csv_rows(submitted(tmp_path, b'a,b\n"c"d,e\n', "a.csv"), limit_bytes=1000))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("csv")


@given(content=st.binary(max_size=60) | st.text(alphabet='a,;\t"\r\n\x00', max_size=30).map(str.encode))
def test_any_bytes_are_rows_or_a_refusal(folder: Path, content: bytes) -> None:
    rows = []
    with suppress(Refused):
        rows = list(read_csv_rows(submitted(folder, content, "a.csv"), limit_bytes=1000))
    assert all(any(cell.strip() for cell in row) for _, row in rows)
