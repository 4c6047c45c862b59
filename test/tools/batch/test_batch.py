"""All teams: the files of `podium evaluate`, no case scored twice, no team harmed by another."""

import json
import mmap
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from evaluating import evaluate_command
from places import ROOT
from tools.batch.challenge_of_reports import (
    all_metrics,
    kept_scores,
    new_cases,
    processes,
    run_teams,
    write_ground_truth,
    write_teams,
)

from podium.challenges.reports.challenge import ReportsChallenge
from podium.challenges.reports.scoring import ReportsCase
from podium.cli import main
from podium.errors import UsageError
from podium.execution.executor import Progress
from podium.execution.processes import Processes
from podium.tools.batch import run
from podium.tools.batch.run import TeamOutcome, find_teams
from podium.tools.batch.storage import Output

pytestmark = pytest.mark.slow

KINDS = sorted(path.parent.name for path in (ROOT / "ground-truth").glob("*/challenge.toml"))


@pytest.fixture
def truth(tmp_path: Path) -> Path:
    return write_ground_truth(tmp_path / "truth", cases=6)


@pytest.fixture
def teams(tmp_path: Path) -> Path:
    return write_teams(tmp_path / "submissions", teams=4, cases=6)


@pytest.fixture
def batch(tmp_path: Path, truth: Path, teams: Path) -> Callable[..., dict[str, TeamOutcome]]:
    return partial(run_teams, teams, truth, tmp_path / "out")


@pytest.fixture
def command(tmp_path: Path, truth: Path, teams: Path) -> Callable[[], int]:
    """`podium batch`: its exit code."""
    return lambda: main(["batch", str(teams), "--ground-truth", str(truth), "--output", str(tmp_path / "out")])


@pytest.mark.parametrize("kind", KINDS)
def test_every_team_gets_the_file_of_an_evaluation(kind: str, tmp_path: Path) -> None:
    submissions, truth = ROOT / "test" / "submissions" / kind, ROOT / "ground-truth" / kind
    run_teams(submissions, truth, tmp_path / "batch", processes, teams_per_task=2)
    assert set(new_cases(run_teams(submissions, truth, tmp_path / "batch"))) == {0}
    for team, path in find_teams(submissions)[0].items():
        evaluate_command(path, truth, tmp_path / "single" / "teams" / team)
    assert all_metrics(tmp_path / "batch") == all_metrics(tmp_path / "single")


def test_only_what_has_changed_is_scored_again(batch: Any, truth: Path, teams: Path, tmp_path: Path) -> None:
    assert new_cases(batch()) == [6, 6, 6, 6]
    before = all_metrics(tmp_path / "out")
    assert new_cases(batch()) == [0, 0, 0, 0]
    assert all_metrics(tmp_path / "out") == before
    (truth / "references" / "case_003.txt").write_text("tooth root canal filling")
    assert new_cases(batch()) == [1, 1, 1, 1]
    assert all_metrics(tmp_path / "out").keys() == before.keys()
    assert all(all_metrics(tmp_path / "out")[team] != before[team] for team in before)
    (teams / "team_01" / "case_002.txt").write_text("crown")
    assert new_cases(batch()) == [0, 1, 0, 0]
    settings = truth / "challenge.toml"
    settings.write_text(settings.read_text() + "[reports.weights]\nclinical = 0.7\ncaptioning = 0.3\n")
    assert new_cases(batch()) == [6, 6, 6, 6]


def test_other_code_scores_again(batch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    batch()
    monkeypatch.setattr("podium.tools.batch.run.code_version", lambda: "another")
    assert new_cases(batch()) == [6, 6, 6, 6]


def test_the_score_of_a_file_that_changes_while_it_is_read_is_not_kept(
    batch: Any, teams: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would be that of other bytes, which the next run would find under the key of these."""
    file, real = teams / "team_01" / "case_002.txt", ReportsChallenge.compare
    given = file.read_text()

    def compare(self: ReportsChallenge, prediction: Any, expected: str) -> ReportsCase:
        if prediction.path == file:
            file.write_text("crown")
        return real(self, prediction, expected)

    monkeypatch.setattr(ReportsChallenge, "compare", compare)
    assert new_cases(batch()) == [6, 6, 6, 6]
    monkeypatch.undo()
    file.write_text(given)
    assert new_cases(batch()) == [0, 1, 0, 0]


def test_a_reference_is_read_once_for_the_teams_of_a_task(batch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    read: Counter[str] = Counter()
    real = ReportsChallenge.read_reference

    def counted(self: ReportsChallenge, reference: Any) -> str:
        read[reference.name] += 1
        return real(self, reference)

    monkeypatch.setattr(ReportsChallenge, "read_reference", counted)
    batch(teams_per_task=3)  # of four teams
    assert list(read.values()) == [3] * 6, "once by the check of the references, and once by each of two tasks"


def test_a_case_that_crashes_costs_its_team_only(
    batch: Any, teams: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = ReportsChallenge.compare

    def compare(self: ReportsChallenge, prediction: Any, expected: str) -> ReportsCase:
        if "poison" in prediction.path.read_text():
            os.kill(os.getpid(), signal.SIGKILL)
        if "forever" in prediction.path.read_text():
            time.sleep(600)
        return real(self, prediction, expected)

    monkeypatch.setattr(ReportsChallenge, "compare", compare)
    (teams / "team_01" / "case_002.txt").write_text("poison")
    (teams / "team_02" / "case_004.txt").write_text("forever")
    outcomes = batch(lambda progress: Processes(workers=2, case_timeout_seconds=3.0, progress=progress))
    counts = {team: (each.counts.scored, each.counts.failed) for team, each in outcomes.items()}
    assert counts == {"team_00": (6, 0), "team_01": (5, 1), "team_02": (5, 1), "team_03": (6, 0)}
    rows = {
        team: {row["case"]: row["error"] for row in json.loads(content)["results"]}
        for team, content in all_metrics(tmp_path / "out").items()
    }
    assert rows["team_01"]["case_002"].startswith("Scoring this case crashed")
    assert rows["team_02"]["case_004"] == "Scoring this case took longer than 3 seconds."
    monkeypatch.undo()
    assert new_cases(batch()) == [0, 1, 1, 0]  # what an accident may have caused is tried again


@pytest.mark.parametrize("end", ["killed", "memory", "error"])
def test_a_team_that_ends_the_process_that_evaluates_it_costs_no_other(
    batch: Any, teams: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    """Four teams are evaluated together, then one by one: what one of them does to the process costs that team."""
    (teams / "team_02" / "poison.txt").write_text("")
    real = run.open_predictions

    def open_predictions(task: Any, path: Path, **more: Any) -> Any:
        if (path / "poison.txt").exists():
            if end == "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            raise MemoryError if end == "memory" else ValueError
        return real(task, path, **more)

    monkeypatch.setattr(run, "open_predictions", open_predictions)
    outcomes = batch(processes)
    assert {team: each.counts and each.counts.scored for team, each in outcomes.items()} == {
        **{f"team_0{number}": 6 for number in (0, 1, 3)},
        "team_02": None,
    }
    how = "by signal SIGKILL" if end == "killed" else "with exit code 1"
    assert outcomes["team_02"].error == (
        f"The process that evaluated this team ended {how}, perhaps because memory ran out."
    )
    alone = all_metrics(tmp_path / "out")
    assert sorted(alone) == ["team_00", "team_01", "team_03"]
    assert not (tmp_path / "out" / "unpacked").exists()
    monkeypatch.undo()
    (teams / "team_02" / "poison.txt").unlink()
    assert batch(processes)["team_02"].counts.scored == 6
    assert {team: all_metrics(tmp_path / "out")[team] for team in alone} == alone


def test_a_team_whose_process_dies_by_accident_is_tried_again(batch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 30 teams whose processes were killed at random, 11 of 60 had no result."""
    deaths = mmap.mmap(-1, 1)  # shared with the child processes
    real = run.open_predictions

    def open_predictions(task: Any, path: Path, **more: Any) -> Any:
        if path.name == "team_02" and deaths[0] < 3:
            deaths[0] += 1
            os.kill(os.getpid(), signal.SIGKILL)
        return real(task, path, **more)

    monkeypatch.setattr(run, "open_predictions", open_predictions)
    outcomes = batch(processes)
    assert deaths[0] == 3, "once with the other teams, twice alone"
    assert [outcomes[team].counts.scored for team in sorted(outcomes)] == [6] * 4


def test_decoders_that_die_cost_no_team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the batch serve every group of teams: without them, all teams that are left had no result."""
    teams, truth = tmp_path / "teams", ROOT / "ground-truth" / "carotid"
    for team in ("carina", "aorta"):
        shutil.copytree(ROOT / "test/submissions/carotid" / team, teams / team)
    real, started_by = run.open_predictions, f", {os.getpid()}, ["

    def open_predictions(task: Any, path: Path, **more: Any) -> Any:
        for file in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                if started_by in file.read_text():
                    os.kill(int(file.parent.name), signal.SIGKILL)
                    killed[0] += 1
        return real(task, path, **more)

    killed = mmap.mmap(-1, 1)  # shared with the child processes
    monkeypatch.setattr(run, "open_predictions", open_predictions)
    outcomes = run_teams(teams, truth, tmp_path / "out", processes)
    assert killed[0] > 0
    assert [outcomes[team].counts.scored for team in ("carina", "aorta")] == [12, 12]


def test_a_team_that_cannot_be_scored_costs_no_other(
    command: Any, teams: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.make_archive(str(teams / "packed"), "zip", teams / "team_00")
    (teams / "empty").mkdir()
    (teams / "broken.zip").write_bytes(b"PK\3\4 but no more")
    (teams / "notes.txt").write_text("no team")
    (teams / ".hidden").mkdir()
    assert command() == 1
    printed = capsys.readouterr()
    # Equal files are scored once.
    assert printed.err.splitlines()[-1] == "5 of 7 teams have scores; 24 cases were scored in this run."
    for words in ("The submission is empty", "broken", "There is no ranking: "):  # reports are judged first
        assert words in " ".join(printed.out.split())
    metrics = all_metrics(tmp_path / "out")
    assert metrics["packed"] == metrics["team_00"]
    assert sorted(metrics) == ["packed", *(f"team_0{number}" for number in range(4))]
    assert not (tmp_path / "out" / "unpacked").exists()


def test_names_of_teams_are_shown_escaped_and_no_link_is_followed(
    command: Any, teams: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The organiser's terminal shows what a participant named a folder; a link may lead to another team's files."""
    for name in ("red\x1b[31m", "two\nlines", os.fsdecode(b"caf\xe9")):
        shutil.copytree(teams / "team_00", teams / name)
    (teams / "thief").symlink_to(teams / "team_01")
    (teams / "thief.zip").symlink_to(tmp_path / "elsewhere.zip")
    (teams / "lost").symlink_to(tmp_path / "nothing")
    (teams / "packed.rar").write_bytes(b"Rar!")
    shutil.copytree(teams / "team_00", teams / ".shy")
    assert command() == 1
    printed = capsys.readouterr()
    words = " ".join(printed.out.replace("│", " ").split())
    assert "\x1b" not in printed.out + printed.err
    assert "red\\x1b[31m 0" not in words
    for shown in ("red\\x1b[31m", "two\\nlines", "caf\\udce9", "unprintable characters", "is a symbolic link"):
        assert shown in words, shown
    assert "left out: '.shy' starts with a dot; rename it if it is a team" in words
    assert "left out: 'packed.rar' is neither a folder nor an archive (.zip, " in words
    assert "'lost' is a symbolic link; put the folder or archive itself there." in words
    assert printed.err.splitlines()[-1] == "4 of 10 teams have scores; 24 cases were scored in this run."
    assert sorted(all_metrics(tmp_path / "out")) == [f"team_0{number}" for number in range(4)]


def test_a_second_run_on_the_same_output_is_refused(
    command: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It would delete what the first one reads: honest teams got no score, with exit code 0."""
    with Output.at(tmp_path / "out", cache=tmp_path).locked():
        assert command() == 2
        assert capsys.readouterr().err.splitlines()[-1] == (
            f"Another 'podium batch' is using {tmp_path / 'out'}: wait until it has ended, or give another --output."
        )
    assert command() == 0


def test_an_older_file_of_a_team_that_fails_is_deleted(batch: Any, teams: Path, tmp_path: Path) -> None:
    batch()
    shutil.rmtree(teams / "team_00")
    (teams / "team_00").mkdir()
    assert batch()["team_00"].error == "The submission is empty; it must hold a prediction for every case."
    assert sorted(all_metrics(tmp_path / "out")) == ["team_01", "team_02", "team_03"]


def test_the_ranking_comes_last(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = (ROOT / "test/submissions/freehand", "--ground-truth", ROOT / "ground-truth/freehand", "--output", tmp_path)
    assert main(["batch", *map(str, paths), "--bootstraps", "10"]) == 0
    assert "Rule: " in capsys.readouterr().out
    ranking = json.loads((tmp_path / "ranking" / "ranking.json").read_text())
    assert {team["name"] for team in ranking["teams"]} == {"fathom", "gyro", "wander"}


def test_a_ranking_without_some_teams_is_written_only_on_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It would look complete; and an older one would look like that of this run."""
    teams, output = tmp_path / "teams", tmp_path / "out"
    shutil.copytree(ROOT / "test/submissions/freehand", teams)
    command = ["batch", str(teams), "--ground-truth", str(ROOT / "ground-truth/freehand"), "--output", str(output)]
    command += ["--bootstraps", "0"]
    assert main(command) == 0
    (teams / "broken.zip").write_bytes(b"PK\3\4 but no more")
    assert main(command) == 1
    assert not (output / "ranking").exists()
    assert "There is no ranking: teams without scores would be missing" in capsys.readouterr().out
    assert main([*command, "--allow-missing"]) == 1
    ranking = json.loads((output / "ranking" / "ranking.json").read_text())
    assert {team["name"] for team in ranking["teams"]} == {"fathom", "gyro", "wander"}


def test_one_team_has_one_submission(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a.tar.gz").touch()
    with pytest.raises(UsageError, match=r"are both of the team 'a'\."):
        find_teams(tmp_path)
    with pytest.raises(UsageError, match="holds no submission"):
        find_teams(tmp_path / "a")
    with pytest.raises(UsageError, match="is not a folder"):
        find_teams(tmp_path / "b")


def test_there_is_one_progress(batch: Any) -> None:
    started: list[tuple[str, int]] = []
    steps: Counter[str] = Counter()

    class Recorder(Progress):
        def __init__(self, label: str, total: int) -> None:
            self._label = label
            started.append((label, total))

        def advance(self) -> None:
            steps[self._label] += 1

        def close(self) -> None:
            steps[f"{self._label}, closed"] += 1

    batch(progress=Recorder, teams_per_task=3)
    scoring = "scoring 4 teams, 3 at a time"
    assert started == [("checking references", 6), (scoring, 12)]
    assert steps[scoring] == 12
    assert steps[f"{scoring}, closed"] == 1


def test_after_a_kill_only_the_rest_is_scored(tmp_path: Path) -> None:
    truth = write_ground_truth(tmp_path / "truth", cases=100)
    teams = write_teams(tmp_path / "submissions", teams=10, cases=100)

    def command(name: str) -> list[str]:
        arguments = (str(teams), "--ground-truth", str(truth), "--output", str(tmp_path / name), "--workers", "2")
        return [sys.executable, "-m", "podium", "batch", *arguments]

    quiet = {"cwd": ROOT, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    run = subprocess.Popen(command("killed"), **quiet)
    while kept_scores(tmp_path / "killed") < 100:
        assert run.poll() is None
    run.kill()
    run.communicate()
    before = kept_scores(tmp_path / "killed")
    assert before < 1000
    done = subprocess.run(command("killed"), check=False, **quiet)
    assert done.returncode == 0, done.stderr
    # Workers that lived on for a moment may have kept a few more.
    fresh = int(done.stderr.splitlines()[-1].split("; ")[1].split()[0])
    assert 0 < fresh <= 1000 - before
    subprocess.run(command("whole"), check=True, **quiet)
    assert all_metrics(tmp_path / "killed") == all_metrics(tmp_path / "whole")
