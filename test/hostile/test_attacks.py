"""All attacks, without a container; test/container/test_hostile.py plays the same ones in it."""

import re
from pathlib import Path

import pytest
from evaluating import evaluate, evaluate_command
from hostile.attacks import CASE_ATTACKS
from hostile.playing import FORGED, check_case_attacks, check_job_attacks, write_case_attacks, write_job_attacks
from hostile.scene import HONEST, write_ground_truth
from hostile.whole import JOB_CASES, WHOLE_ATTACKS, archive_with_a_link, write_whole
from places import ROOT

pytestmark = pytest.mark.slow

SECURITY = ROOT / "docs/security.md"
SECTIONS = ("Reading the hidden reference", "Filling memory, disk or time", "Forging the result")


def test_every_attack_on_a_case_costs_that_case_alone(tmp_path: Path) -> None:
    scene = write_case_attacks(tmp_path, hidden=tmp_path / "truth/references")
    check_case_attacks(evaluate(scene.submission, scene.ground_truth, tmp_path / "output"))


def test_every_attack_of_a_job_costs_its_case_alone(tmp_path: Path) -> None:
    scene = write_job_attacks(tmp_path, hidden=tmp_path / "truth/references")
    check_job_attacks(evaluate(scene.submission, scene.ground_truth, tmp_path / "output"))


@pytest.mark.parametrize("name", WHOLE_ATTACKS)
def test_attacks_on_a_whole_submission_end_in_a_sentence(
    name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    truth = write_ground_truth(tmp_path / "truth", [HONEST], shape="any")
    submission = write_whole(WHOLE_ATTACKS[name], tmp_path / "submission")
    assert evaluate_command(submission, truth, tmp_path / "output") == 1
    last = capfd.readouterr().err.splitlines()[-1]
    assert WHOLE_ATTACKS[name].words in last
    assert str(tmp_path) not in last
    assert list((tmp_path / "output").iterdir()) == []


def test_a_link_in_an_archive_costs_its_case_alone(tmp_path: Path) -> None:
    truth = write_ground_truth(tmp_path / "truth", [HONEST, "linked"])
    submission = tmp_path / "submission"
    submission.mkdir()
    (submission / "s.zip").write_bytes(archive_with_a_link(tmp_path / "files", hidden=truth / "references"))
    rows = evaluate(submission, truth, tmp_path / "output")["results"]
    assert rows[HONEST]["metrics"]["dice"]["image_lesion"] == 1.0
    assert rows["linked"]["missing"] == {
        "image": "'linked.mha' is a link in 's.zip'; put the file itself into the archive."
    }


def documented() -> dict[str, list[str]]:
    """The rows of the tables of docs/security.md: the attack, and the other cells."""
    rows: dict[str, list[str]] = {}
    for section in SECTIONS:
        text = SECURITY.read_text().split(f"## {section}\n")[1].split("\n## ")[0]
        lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
        rows |= {attack: cells for attack, *cells in lines[2:]}
    return rows


def test_the_documentation_lists_every_attack_and_where_it_is_played() -> None:
    rows = documented()
    played = {attack.row for attack in (*CASE_ATTACKS.values(), *WHOLE_ATTACKS.values())}
    played |= {row for row, _ in (*JOB_CASES.values(), *FORGED.values())}
    assert played <= rows.keys(), "each attack has its row"
    elsewhere = {row for row, cells in rows.items() if "test/" in cells[-1]}
    assert rows.keys() - played == elsewhere, "each other row names the test that plays it"
    repository = SECURITY.parents[1]
    for cells in rows.values():
        assert all((repository / name).is_file() for name in re.findall(r"`(test/[^`]+)`", cells[-1])), cells
