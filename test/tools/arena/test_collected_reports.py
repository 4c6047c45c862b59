"""A team's reports for the arena: every form of submission, and an empty report wherever there is none to show."""

import json
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


def test_two_reports_of_one_case_and_one_that_is_no_text_are_empty(tmp_path: Path) -> None:
    sent = write_reports(tmp_path / "team", A1="one", A2="two")
    (sent / "A1.txt").write_text("another")
    (sent / "A3.txt").write_bytes(b"\xff\xfe\xfa")
    texts, problems = collect_reports(sent, cases=["A1", "A2", "A3"])
    assert texts == {"A1": "", "A2": "two", "A3": ""}
    assert sorted(problems) == ["A1", "A3"]
    assert "'A3.txt'" in problems["A3"]


def test_a_submission_without_any_of_the_cases_is_the_wrong_one(tmp_path: Path) -> None:
    sent = write_reports(tmp_path / "team", C1="one")
    with pytest.raises(
        UsageError, match=r"team contains no report of any of the 2 cases\. The arena compares texts only"
    ):
        collect_reports(sent, cases=["A1", "A2"])


def test_a_submission_that_cannot_be_opened(tmp_path: Path) -> None:
    broken = write_reports(tmp_path / "broken")
    (broken / "reports.json").write_text("{")
    for sent in (tmp_path / "nowhere", broken):
        with pytest.raises(UsageError, match=rf"^The reports in {sent} cannot be read: "):
            collect_reports(sent, cases=["A1"])
