"""A key changes with everything that a result depends on, and with nothing else; what is kept is whole."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.challenges.declared.files import TableCase
from podium.execution.executor import CaseOutcome
from podium.platform.jobs import Job, SocketValue
from podium.platform.metrics_file import CaseScore
from podium.readers.files import SafeFile
from podium.readers.text import read_table
from podium.tools.batch.kept import KeptScores, content_digest

pytestmark = pytest.mark.slow

SCORE = CaseOutcome(value=CaseScore(metrics={"dice": 0.1 + 0.2, "n": 3, "none": None}, warnings=("small",)))


def file(folder: Path, name: str = "a.txt", text: str = "a") -> SafeFile:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    return SafeFile.inside(folder, name)


def test_a_files_key_is_its_name_and_its_bytes_wherever_it_lies(tmp_path: Path) -> None:
    here = content_digest(file(tmp_path / "x"))
    assert content_digest(file(tmp_path / "y")) == here
    assert content_digest(file(tmp_path / "y", text="b")) != here
    assert content_digest(file(tmp_path / "y", name="b.txt")) != here


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(values, values)
def test_other_values_have_other_keys(one: object, other: object) -> None:
    assert (content_digest(one) == content_digest(other)) == (repr(one) == repr(other))


def test_of_a_job_every_output_counts_and_the_time_does_not(tmp_path: Path) -> None:
    folder = tmp_path / "pk" / "output"
    folder.mkdir(parents=True)
    (folder / "mask.txt").write_text("1")

    def job(*, seconds: float = 1.0, value: object = 1) -> Job:
        output = SocketValue(relative_path=None, value=value, name=None)
        return Job(root=tmp_path, pk="pk", inputs={}, outputs={"s": output}, durations={"exec": seconds})

    before = content_digest(job())
    assert content_digest(job(seconds=2.0)) == before
    assert content_digest(job(value=2)) != before
    (folder / "mask.txt").write_text("2")
    assert content_digest(job()) != before


def test_of_a_table_only_the_rows_of_the_case_count(tmp_path: Path) -> None:
    def digests(text: str) -> list[bytes | None]:
        table = read_table(file(tmp_path, "t.csv", text), columns=("value",))
        return [content_digest(TableCase(table=table, case=case)) for case in ("a", "b")]

    before, after = digests("case,value\na,1\nb,2\n"), digests("case,value\na,1\nb,3\n")
    assert before[0] == after[0]
    assert before[1] != after[1]


def test_what_is_not_known_has_no_key() -> None:
    @dataclass
    class Strange:
        part: object

    with pytest.raises(TypeError, match="holds a set"):
        content_digest(Strange({1}))


def test_a_prediction_that_cannot_be_read_has_no_key(tmp_path: Path) -> None:
    gone = file(tmp_path)
    gone.path.unlink()
    assert content_digest(gone) is None


def test_what_is_kept_is_found_to_the_last_bit(tmp_path: Path) -> None:
    kept = KeptScores(folder=tmp_path, basis="1")
    key = kept.key(b"reference", b"prediction")
    assert kept.find(key) is None
    assert kept.keep(key, SCORE)
    assert kept.find(key) == SCORE
    assert kept.keep(key, CaseOutcome(error="It is refused."))
    assert kept.find(key) == CaseOutcome(error="It is refused.")
    assert KeptScores(folder=tmp_path, basis="2").key(b"reference", b"prediction") != key


def test_accidents_are_not_kept(tmp_path: Path) -> None:
    kept = KeptScores(folder=tmp_path, basis="")
    assert not kept.keep("aa", CaseOutcome(error="unexpected", detail="Traceback"))
    assert kept.find("aa") is None


@pytest.mark.parametrize("content", ["", '{"metrics": {', "[]", '{"metrics": {}}', "null"])
def test_a_broken_file_is_no_result(tmp_path: Path, content: str) -> None:
    kept = KeptScores(folder=tmp_path, basis="")
    kept.keep("aa", SCORE)
    next(tmp_path.glob("*/*.json")).write_text(content)
    assert kept.find("aa") is None


def test_where_nothing_can_be_written_nothing_is_left(tmp_path: Path) -> None:
    kept = KeptScores(folder=tmp_path / "kept", basis="")
    assert not kept.keep("aa", SCORE)  # there is no folder
    (tmp_path / "kept").mkdir()
    kept.keep("aa", SCORE)
    target = next((tmp_path / "kept").glob("*/*.json"))
    target.unlink()
    target.mkdir()  # what cannot be replaced by a file
    assert not kept.keep("aa", SCORE)
    assert list(target.parent.iterdir()) == [target]
    shutil.rmtree(tmp_path / "kept")
