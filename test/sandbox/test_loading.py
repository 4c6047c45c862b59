"""The libraries that read submitted files are loaded before the first file comes, and only those that are expected."""

import os
import time
from pathlib import Path

import pytest
from sandbox.processes import children

from podium.sandbox.decoders import decoders

SECONDS = 30.0  # until a program has loaded a library, on any machine


def loaded(pid: int) -> set[str]:
    """Which of the two libraries a process has mapped."""
    mapped = Path(f"/proc/{pid}/maps").read_text(encoding="utf-8")
    return {name for name, part in (("h5py", "/h5py/"), ("SimpleITK", "/SimpleITK/")) if part in mapped}


@pytest.mark.parametrize("libraries", [["h5py"], ["SimpleITK"], ["h5py", "SimpleITK"]], ids="+".join)
def test_what_is_expected_is_loaded_without_a_request(libraries: list[str]) -> None:
    before = children(os.getpid())
    with decoders(libraries=libraries, logged=False):
        zygotes = [pid for pid in children(os.getpid()) if pid not in before]
        end = time.monotonic() + SECONDS
        while {name for pid in zygotes for name in loaded(pid)} < set(libraries) and time.monotonic() < end:
            time.sleep(0.02)
        assert sorted(name for pid in zygotes for name in loaded(pid)) == sorted(libraries)
        # Decoders are forked without Python's own care for threads.
        assert [len(list(Path(f"/proc/{pid}/task").iterdir())) for pid in zygotes] == [1] * len(zygotes)


def test_what_is_not_expected_is_not_loaded() -> None:
    before = children(os.getpid())
    with decoders(libraries=(), logged=False):
        (zygote,) = (pid for pid in children(os.getpid()) if pid not in before)
        time.sleep(1.0)  # several times what loading takes
        assert loaded(zygote) == set()


def test_something_else_is_done_while_the_processes_start() -> None:
    done: list[int] = []
    with decoders(libraries=(), logged=False, meanwhile=lambda: done.append(len(children(os.getpid())))):
        assert done
        assert done[0] >= 1, "they were started already"
