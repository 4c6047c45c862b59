"""A whole evaluation whose workers and decoders are killed gives the same metrics.json, byte for byte; one whose zygote
is killed, or that is asked to end, says so and leaves a whole metrics.json or none. bench/under_fire.py kills all the
time.
"""

import os
import signal
import subprocess
import sys
import time
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest
from challenges.carotid_files import write_case, write_ground_truth
from sandbox.processes import children

from podium.evaluation import evaluate
from podium.execution.executor import Serial
from podium.kernel import DECODER_OOM_SCORE, WORKER_OOM_SCORE

pytestmark = pytest.mark.system

CASES = {f"case{number}": number % 2 for number in range(40)}


def everyone_below(pid: int) -> list[int]:
    return [each for child in children(pid) for each in (child, *everyone_below(child))]


def role_of(pid: int) -> str | None:
    """By the memory score, which a worker and a decoder have before they do anything."""
    with suppress(OSError):
        score = int(Path(f"/proc/{pid}/oom_score_adj").read_text(encoding="ascii"))
        if b"podium.sandbox.zygote" in Path(f"/proc/{pid}/cmdline").read_bytes():
            return "decoder" if score == DECODER_OOM_SCORE else "zygote"
        return "worker" if score == WORKER_OOM_SCORE else None
    return None


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


def kill_one(process: subprocess.Popen[str], role: str) -> None:
    """Kill the first process of this role that is seen."""
    while process.poll() is None:
        if found := [pid for pid in everyone_below(process.pid) if role_of(pid) == role]:
            os.kill(found[0], signal.SIGKILL)
            return
        time.sleep(0.001)
    pytest.fail(f"no {role} was seen: {process.communicate()[0]}")


def test_killed_workers_and_decoders_change_nothing(submission: Path, truth: Path, tmp_path: Path) -> None:
    """A worker that checks references, a decoder, and a worker that scores: a case has one more try in each step."""
    evaluate(submission=submission, output=tmp_path / "calm", ground_truth=truth, challenge=None, executor=Serial())
    process = start(submission, truth, tmp_path / "fire")
    for role in ("worker", "decoder", "worker"):  # there are no decoders of cases while references are checked
        kill_one(process, role)
    printed, _ = process.communicate()
    assert process.returncode == 0, printed
    assert (tmp_path / "fire/metrics.json").read_bytes() == (tmp_path / "calm/metrics.json").read_bytes()


def test_a_killed_zygote_ends_the_evaluation_with_a_sentence(submission: Path, truth: Path, tmp_path: Path) -> None:
    process = start(submission, truth, tmp_path / "output")
    kill_one(process, "worker")  # the zygotes have started
    kill_one(process, "zygote")
    printed, _ = process.communicate()
    last = "The processes that read submitted files were killed, perhaps because memory ran out."
    assert (process.returncode, printed.strip().splitlines()[-1]) == (2, last)
    assert not list((tmp_path / "output").glob("*"))


@pytest.mark.parametrize("processes", [1, 2, 5])
def test_a_request_to_end_is_heard_at_any_moment(processes: int, submission: Path, truth: Path, tmp_path: Path) -> None:
    """The number of processes at which the signal is sent: while readers start, and while cases run."""
    process = start(submission, truth, tmp_path / "output")
    seen: set[int] = set()
    while process.poll() is None and len(seen) < processes:
        seen.update(everyone_below(process.pid))
        time.sleep(0.001)
    process.send_signal(signal.SIGTERM)
    printed, _ = process.communicate()  # ends only when nobody holds the streams any more
    last = printed.strip().splitlines()[-1]
    assert (process.returncode, last) == (130, "Stopped on request."), printed
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
    printed, _ = process.communicate(timeout=60)
    assert not list(temporary.iterdir())
    assert printed.strip().splitlines()[-1] == "Stopped on request." or times > 1, printed
    assert process.returncode == 130 or times > 1  # the last may reach Python itself, when the command has ended
