"""A whole evaluation whose processes are killed all the time gives the same metrics.json, byte for byte.

bench/under_fire.py does the same with 300 cases, twenty times.
"""

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from challenges.carotid_files import write_case, write_ground_truth

from podium.evaluation import evaluate
from podium.execution.serial import Serial

CASES = {f"case{number}": number % 2 for number in range(40)}


def children(pid: int) -> list[int]:
    """The processes below `pid` that have not ended."""
    found = []
    with suppress(OSError):
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split():
            found += [int(child), *children(int(child))]
    return found


def test_killed_processes_change_nothing(tmp_path: Path) -> None:
    truth, submission = write_ground_truth(tmp_path / "truth", CASES), tmp_path / "submission"
    for case, cls in CASES.items():
        write_case(submission / f"{case}_pred.h5", cls=cls)
    evaluate(submission=submission, output=tmp_path / "calm", ground_truth=truth, challenge=None, executor=Serial())
    paths = ("--input", submission, "--output", tmp_path / "fire", "--ground-truth", truth)
    command = [sys.executable, "-m", "podium", "evaluate", "--workers", "2", *map(str, paths)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
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
