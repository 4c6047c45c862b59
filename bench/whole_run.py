"""How long a command and all its processes take, and their peak memory."""

import os
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from threading import Event, Thread

SECONDS_BETWEEN_LOOKS = 0.2


@dataclass(frozen=True, kw_only=True)
class Measured:
    """`tree_bytes` counts every page once, however many processes share it; `largest_bytes` is one process alone."""

    seconds: float
    cpu_seconds: float
    tree_bytes: int
    largest_bytes: int
    printed: str


def measure(command: Sequence[str]) -> Measured:
    """Run `command` to its end, looking at it now and then; a command that fails raises."""
    began = time.perf_counter()
    with TemporaryFile() as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.DEVNULL)
        done = Event()
        looking = Thread(target=_look, args=(process.pid, done, found := [0]))
        looking.start()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        done.set()
        looking.join()
        output.seek(0)
        printed = output.read().decode()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return Measured(
        seconds=seconds,
        cpu_seconds=usage.ru_utime + usage.ru_stime,
        tree_bytes=found[0],
        largest_bytes=usage.ru_maxrss * 1024,
        printed=printed,
    )


def _look(pid: int, done: Event, most: list[int]) -> None:
    """Measures the memory in a thread, so that the end of the command is noticed at once."""
    while not done.wait(SECONDS_BETWEEN_LOOKS):
        most[0] = max(most[0], tree_bytes(pid))


def tree_bytes(pid: int) -> int:
    """What a process and all below it hold, each shared page divided by the number of its users."""
    return sum(_shared_fairly(each) for each in processes_below(pid)) * 1024


def processes_below(pid: int) -> list[int]:
    """A process and all below it, whichever of its threads started them."""
    found = [pid]
    for parent in found:  # grows while it is walked
        with suppress(OSError):  # it ended meanwhile
            for thread in Path(f"/proc/{parent}/task").iterdir():
                found.extend(int(child) for child in (thread / "children").read_text(encoding="ascii").split())
    return found


def _shared_fairly(pid: int) -> int:
    """KiB of a process, each shared page divided by the number of its users."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0  # it ended between two looks
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)
