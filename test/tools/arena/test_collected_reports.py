"""A team's reports for the arena: every form of submission, and an empty report wherever there is none to show."""

import json
import zipfile
from pathlib import Path

import pytest
from places import ROOT
from samples.reports_cases import CASES
from samples.reports_teams import teams

from podium.errors import UsageError
from podium.tools.arena.setup import collect_reports

SUBMISSIONS = ROOT / "test/submissions/reports"


def write_reports(folder: Path, **texts: object) -> Path:
    folder.mkdir()
    (folder / "reports.json").write_text(json.dumps(texts))
    return folder


@pytest.mark.parametrize("team", ["molar", "cuspid"])
def test_an_algorithm_and_a_folder_of_texts_give_what_their_authors_wrote(team: str) -> None:
    texts, problems = collect_reports(SUBMISSIONS / team, cases=CASES)
    assert texts == teams()[team].answers
    assert problems == {}


def test_faults_become_empty_reports_with_a_reason() -> None:
    texts, problems = collect_reports(SUBMISSIONS / "wisdom", cases=CASES)
    assert sorted(texts) == sorted(CASES)
    assert problems == {
        "B004": "The report is empty.",
        "B009": "The report is empty.",
        "T003": "'reports.json: T003' must hold the report as text, it holds a number.",
        "T006": "There is no report of this case.",
    }
    assert {case for case, text in texts.items() if not text} == set(problems)
    assert texts["B001"] == teams()["wisdom"].answers["B001"]


def test_fewer_cases_than_were_scored() -> None:
    """Jobs of other cases are a fault where a submission is scored; in an arena they are left aside."""
    for team in ("molar", "cuspid", "wisdom"):
        texts, problems = collect_reports(SUBMISSIONS / team, cases=["B001", "T002"])
        assert texts == {case: teams()[team].answers[case] for case in ("B001", "T002")}
        assert problems == {}


def test_names_are_matched_as_the_challenge_does(tmp_path: Path) -> None:
    sent = write_reports(tmp_path / "team", **{"a1.nii.gz": "one", "A2": "two"})
    assert collect_reports(sent, cases=["A1", "a2"])[0] == {"A1": "one", "a2": "two"}


def test_a_table_and_an_archive(tmp_path: Path) -> None:
    table = tmp_path / "table"
    table.mkdir()
    (table / "reports.csv").write_text('case,report\nA1,"one, and more"\n')
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as archive:
        archive.writestr("texts/A1.txt", "one, and more")
    for sent in (table, tmp_path / "packed.zip"):
        assert collect_reports(sent, cases=["A1"])[0] == {"A1": "one, and more"}


def test_two_reports_of_one_case_are_none(tmp_path: Path) -> None:
    sent = write_reports(tmp_path / "team", A1="one", A2="two")
    (sent / "A1.txt").write_text("another")
    texts, problems = collect_reports(sent, cases=["A1", "A2"])
    assert texts == {"A1": "", "A2": "two"}
    assert problems["A1"].startswith("There are 2 predictions for this case (")


def test_a_report_that_is_no_text(tmp_path: Path) -> None:
    sent = write_reports(tmp_path / "team", A2="two")
    (sent / "A1.txt").write_bytes(b"\xff\xfe\xfa")
    texts, problems = collect_reports(sent, cases=["A1", "A2"])
    assert texts["A1"] == ""
    assert problems == {"A1": "'A1.txt' is not UTF-8 text; save it as UTF-8."}


def test_a_submission_without_any_of_the_cases_is_the_wrong_one(tmp_path: Path) -> None:
    sent = write_reports(tmp_path / "team", C1="one")
    with pytest.raises(UsageError, match=r"team contains no report of any of the 2 cases; their names must agree\.$"):
        collect_reports(sent, cases=["A1", "A2"])


def test_a_submission_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^The reports in .*nowhere cannot be read: There is no submission: "):
        collect_reports(tmp_path / "nowhere", cases=["A1"])
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "reports.json").write_text("{")
    with pytest.raises(UsageError, match=r"broken cannot be read: 'reports\.json' is not valid JSON"):
        collect_reports(broken, cases=["A1"])
