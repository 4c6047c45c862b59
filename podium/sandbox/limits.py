"""Limits a process puts on itself: resources, privileges, and who may look into it."""

import os
import resource
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from podium.kernel import is_linux, prctl

_SET_PDEATHSIG, _GET_DUMPABLE, _SET_DUMPABLE, _SET_NO_NEW_PRIVS = 1, 3, 4, 38
_OPEN_FILES = 16


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Of one decoder: memory beyond what it starts with, and seconds of CPU time."""

    memory_bytes: int = 6 * 1024**3  # the largest image twice, as the library's and as an array, and what is read
    cpu_seconds: int = 3600  # the time limit of a case is the worker's; this one is for who outlives it

    def resources(self) -> Sequence[tuple[int, int]]:
        """The limits that a process like this one sets itself, none higher than it is: no file grows, no process
        starts, few files are open; bounded memory and time."""
        used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[5]) * resource.getpagesize()
        wanted = {
            resource.RLIMIT_DATA: used + self.memory_bytes,
            resource.RLIMIT_CPU: self.cpu_seconds,
            resource.RLIMIT_FSIZE: 0,
            resource.RLIMIT_NOFILE: _OPEN_FILES,
            resource.RLIMIT_NPROC: 0,
            resource.RLIMIT_CORE: 0,
            resource.RLIMIT_MEMLOCK: 0,
        }
        most = {what: resource.getrlimit(what)[1] for what in wanted}
        return [
            (what, value if most[what] == resource.RLIM_INFINITY else min(value, most[what]))
            for what, value in wanted.items()
        ]


def limit_resources(resources: Sequence[tuple[int, int]]) -> None:
    """Put limits in force, for good."""
    for what, value in resources:
        resource.setrlimit(what, (value, value))


def refuse_new_privileges() -> None:
    """No program that this process starts gains rights from a file's owner or capabilities."""
    prctl(_SET_NO_NEW_PRIVS, 1)


def die_with(parent: int) -> None:
    """End this process when its parent ends, also if that happened already."""
    prctl(_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def offer_to_the_out_of_memory_killer(score: int) -> None:
    """Where memory runs out, the kernel should end this process before those with a lower score (0 to 1000)."""
    if not is_linux():
        return
    # The file belongs to root while the process is closed to others of its user.
    with suppress(OSError), _dumpable(1):
        Path("/proc/self/oom_score_adj").write_text(str(score), encoding="ascii")


@contextmanager
def closed_to_others() -> Iterator[None]:
    """Other processes of the same user can neither read this process's memory nor trace it. Children inherit that."""
    with _dumpable(0):
        yield


@contextmanager
def _dumpable(wanted: int) -> Iterator[None]:
    before = prctl(_GET_DUMPABLE)
    prctl(_SET_DUMPABLE, wanted)
    try:
        yield
    finally:
        prctl(_SET_DUMPABLE, min(before, 1))
