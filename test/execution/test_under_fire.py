"""A whole evaluation whose processes are killed all the time gives the same metrics.json, byte for byte; one that is
asked to end says so, and leaves a whole metrics.json or none.

bench/under_fire.py does the same with 300 cases, twenty times.
"""

import os
import random
import signal
import subprocess
import sys
import time
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest
from challenges.carotid_files import write_case, write_ground_truth

from podium.evaluation import evaluate
from podium.execution.executor import Serial

CASES = {f"case{number}": number % 2 for number in range(40)}


def children(pid: int) -> list[int]:
    """The processes below `pid` that have not ended."""
    found = []
    with suppress(OSError):
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split():
            found += [int(child), *children(int(child))]
    return found


@pytest.fixture
def truth(tmp_path: Path) -> Path:
    return write_ground_truth(tmp_path / "truth", CASES)


@pytest.fixture
def submission(tmp_path: Path) -> Path:
    folder = tmp_path / "submission"
    for case, cls in CASES.items():
        write_case(folder / f"{case}_pred.h5", cls=cls)
    return folder


def start(submission: Path, truth: Path, output: Path, **environment: str) -> subprocess.Popen[str]:
    paths = ("--input", submission, "--output", output, "--ground-truth", truth)
    command = [sys.executable, "-m", "podium", "evaluate", "--workers", "2", *map(str, paths)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=os.environ | environment
    )


def test_killed_processes_change_nothing(submission: Path, truth: Path, tmp_path: Path) -> None:
    evaluate(submission=submission, output=tmp_path / "calm", ground_truth=truth, challenge=None, executor=Serial())
    process = start(submission, truth, tmp_path / "fire")
    chance, kills = random.Random(1), 0
    while process.poll() is None:
        time.sleep(chance.expovariate(1 / 0.3))
        if below := children(process.pid):
            with suppress(ProcessLookupError):
                os.kill(chance.choice(below), signal.SIGKILL)
                kills += 1
    said, _ = process.communicate()
    assert process.returncode == 0, said
    assert kills > 0
    assert (tmp_path / "fire/metrics.json").read_bytes() == (tmp_path / "calm/metrics.json").read_bytes()


@pytest.mark.parametrize("processes", [1, 5, 8])
def test_a_request_to_end_is_heard_at_any_moment(processes: int, submission: Path, truth: Path, tmp_path: Path) -> None:
    """The number of processes at which the signal is sent: while readers start, while spares start, while cases run."""
    process = start(submission, truth, tmp_path / "output")
    seen: set[int] = set()
    while process.poll() is None and len(seen) < processes:
        seen.update(children(process.pid))
        time.sleep(0.001)
    process.send_signal(signal.SIGTERM)
    said, _ = process.communicate()  # ends only when nobody holds the streams any more
    last = said.strip().splitlines()[-1]
    assert (process.returncode, last) == (130, "Stopped on request."), said
    assert not list((tmp_path / "output").glob("*"))


@pytest.mark.parametrize("request_to_end", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("times", [1, 20])
def test_a_request_to_end_leaves_no_temporary_folder(
    request_to_end: signal.Signals, times: int, submission: Path, truth: Path, tmp_path: Path
) -> None:
    """A terminal that is closed sends SIGHUP, and impatient people press Ctrl-C again while files are deleted."""
    with zipfile.ZipFile(tmp_path / "predictions.zip", "w") as archive:
        for path in sorted(submission.iterdir()):
            archive.write(path, path.name)
        for number in range(3000):  # deleting these takes a moment
            archive.writestr(f"more/{number}.txt", "")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    process = start(tmp_path / "predictions.zip", truth, tmp_path / "output", TMPDIR=str(temporary))
    while process.poll() is None and len(list(temporary.glob("podium-*/more/*"))) < 1000:
        time.sleep(0.001)
    for _ in range(times):
        process.send_signal(request_to_end)
        time.sleep(0.01)
    said, _ = process.communicate(timeout=60)
    assert not list(temporary.iterdir())
    assert said.strip().splitlines()[-1] == "Stopped on request." or times > 1, said
    assert process.returncode == 130 or times > 1  # the last may reach Python itself, when the command has ended
