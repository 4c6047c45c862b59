"""How long a command and all its processes take, and how much memory they hold at their worst."""

import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SECONDS_BETWEEN_LOOKS = 0.2


@dataclass(frozen=True, kw_only=True)
class Measured:
    """`tree_bytes` counts every page once, however many processes share it; `largest_bytes` is one process alone."""

    seconds: float
    cpu_seconds: float
    tree_bytes: int
    largest_bytes: int


def measure(command: Sequence[str]) -> Measured:
    """Run `command` to its end, looking at it now and then; a command that fails raises."""
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    tree = 0
    while True:
        ended, status, usage = os.wait4(process.pid, os.WNOHANG)
        if ended:
            break
        tree = max(tree, tree_bytes(process.pid))
        time.sleep(SECONDS_BETWEEN_LOOKS)
    seconds = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return Measured(
        seconds=seconds,
        cpu_seconds=usage.ru_utime + usage.ru_stime,
        tree_bytes=tree,
        largest_bytes=usage.ru_maxrss * 1024,
    )


def tree_bytes(pid: int) -> int:
    """What a process and all below it hold, each shared page divided by the number of its users."""
    return sum(_shared_fairly(each) for each in _tree(pid)) * 1024


def _tree(pid: int) -> list[int]:
    found = [pid]
    for parent in found:  # grows while it is walked
        try:
            text = Path(f"/proc/{parent}/task/{parent}/children").read_text(encoding="ascii")
        except OSError:
            continue
        found.extend(int(child) for child in text.split())
    return found


def _shared_fairly(pid: int) -> int:
    """KiB of a process, each shared page divided by the number of its users."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0  # it ended between two looks
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)
