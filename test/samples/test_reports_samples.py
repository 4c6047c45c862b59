"""The committed reports are what the generators write, and as varied as they claim to be."""

import json
from pathlib import Path

from places import ROOT

from samples import expect_reports, reports
from samples.reports_cases import CASES
from samples.reports_teams import INJECTION, WISDOM_INJECTED_CASE, teams

FOLDERS = (*reports.FOLDERS, expect_reports.EXPECTED)
MOLAR, CUSPID, WISDOM = (ROOT / reports.SUBMISSIONS / team for team in ("molar", "cuspid", "wisdom"))


def contents(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for folder in FOLDERS
        for path in (root / folder).rglob("*")
        if path.is_file()
    }


def test_regenerating_gives_the_committed_bytes(tmp_path: Path) -> None:
    reports.write_samples(tmp_path)
    expect_reports.write_expected(tmp_path)
    assert contents(ROOT) == contents(tmp_path)


def test_there_are_twenty_reports_of_both_tasks() -> None:
    assert sorted(path.stem for path in (ROOT / reports.REFERENCES).iterdir()) == sorted(CASES)
    assert [sum(case.startswith(letter) for case in CASES) for letter in "BT"] == [10, 10]
    assert any("’" in texts.reference and "è" in texts.reference for texts in CASES.values())


def test_molar_is_an_algorithm_submission_in_no_order() -> None:
    jobs = json.loads((MOLAR / "predictions.json").read_text())
    assert len(jobs) == 20
    names = [job["inputs"][0]["image"]["name"] for job in jobs]
    assert names != sorted(names)
    assert {job["inputs"][0]["interface"]["slug"] for job in jobs} == {"cbct-image", "intra-oral-scan"}
    assert sum(job["pk"].startswith("job-") for job in jobs) == 2
    inline = [job["outputs"][0]["value"] is not None for job in jobs]
    assert (inline.count(True), inline.count(False)) == (10, 10)


def test_cuspid_is_a_folder_of_texts() -> None:
    files = sorted(path.suffix for path in (CUSPID / "texts").iterdir())
    assert (files.count(".txt"), files.count(".json")) == (16, 4)
    assert (CUSPID / "texts/B001.txt").read_bytes().startswith(b"\xef\xbb\xbf")


def test_wisdom_is_one_file_with_gaps_and_an_injection() -> None:
    sent = json.loads((WISDOM / "reports.json").read_text())
    assert sorted(case for case, text in sent.items() if text == "") == ["B004", "B009"]
    assert (sent["T003"], "T006" in sent, "T099" in sent) == (3.14, False, True)
    assert sent[WISDOM_INJECTED_CASE] == INJECTION
    assert "\r\n" in sent["B001"]


def test_paraphrases_score_best() -> None:
    scores = {
        team: json.loads((ROOT / expect_reports.EXPECTED / f"{team}.json").read_text())["aggregates"]["score"]
        for team in teams()
    }
    assert max(scores, key=lambda team: scores[team]) == "molar"
    assert min(scores.values()) > 0.1
