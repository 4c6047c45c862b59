"""Podium from Python: the three functions say what the commands say, and nothing else."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT

import podium
from podium import evaluate, rank, validate
from podium.cli import main
from podium.errors import SubmissionError
from podium.execution.executor import Serial

REPORTS = ROOT / "test" / "submissions" / "reports"
TRUTH = ROOT / "ground-truth" / "reports"


def test_evaluate_gives_what_the_command_writes(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    environment = dict(os.environ)
    result = evaluate(REPORTS / "molar", ground_truth=TRUTH, output=tmp_path / "api")
    assert capfd.readouterr() == ("", "")
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == handlers
    assert dict(os.environ) == environment
    paths = ("--input", str(REPORTS / "molar"), "--output", str(tmp_path / "cli"), "--ground-truth", str(TRUTH))
    assert main(["evaluate", *paths]) == 0
    assert (tmp_path / "api/metrics.json").read_bytes() == (tmp_path / "cli/metrics.json").read_bytes()
    assert result.document() == json.loads((tmp_path / "api/metrics.json").read_text())


def test_executors_give_the_same_figures_and_no_file_without_an_output(tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    serial = evaluate(str(REPORTS / "cuspid"), ground_truth=str(TRUTH), executor=Serial())
    assert serial == evaluate(REPORTS / "cuspid", ground_truth=ROOT / "ground-truth", challenge="reports")
    assert sorted(tmp_path.iterdir()) == before


def test_errors_are_raised_for_whom_they_concern(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SubmissionError, match="The submission is empty"):
        evaluate(tmp_path, ground_truth=TRUTH, executor=Serial())
    assert capfd.readouterr() == ("", "")


def test_validate(tmp_path: Path) -> None:
    fine = ROOT / "test/submissions/carotid/bifurcation"
    assert validate(fine, challenge="carotid", ground_truth=ROOT / "ground-truth", executor=Serial()).problems == []
    (tmp_path / "reports.json").write_text('{"A": 5}')
    assert [problem.where for problem in validate(tmp_path, executor=Serial()).problems] == ["A"]


def test_rank(tmp_path: Path) -> None:
    for team in ("north", "south"):
        submission = ROOT / "test/submissions/lesions/glow"
        evaluate(submission, ground_truth=ROOT / "ground-truth/lesions", output=tmp_path / team, executor=Serial())
    (ranking,) = rank(tmp_path)
    assert [(team.name, team.rank) for team in ranking.teams] == [("north", 1), ("south", 1)]


def test_the_package_itself_imports_none_of_its_modules() -> None:
    program = "import sys; before = set(sys.modules); import podium; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True, text=True)
    ours = [name for name in done.stdout.split() if name.startswith("podium")]
    assert ours == ["podium"]
    assert sorted(podium.__all__) == ["__version__", "evaluate", "rank", "validate"]
    with pytest.raises(AttributeError, match="no attribute 'judge'"):
        _ = podium.judge
