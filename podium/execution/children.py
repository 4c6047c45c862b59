"""Child processes: how they are started, how they end with their parent, and how their end is reported.

For the workers of an evaluation (`processes.py`), the evaluations of `podium invoke`, the teams of `podium batch` and
the case processes of a Dask worker. The dangers: a request to end that arrives during a fork is dropped; a child whose
parent was killed holds its output open for ever; a child that hangs is never reaped.
"""

import os
import signal
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from typing import Any

from podium.kernel import die_with, set_oom_score, signals_blocked, unblock_signals

FORK = get_context("fork")
Handlers = Mapping[signal.Signals, Callable[[int, Any], Any] | signal.Handlers]


def fork(
    work: Callable[[], object], *, oom_score: int = 0, handlers: Handlers | None = None, daemon: bool = False
) -> BaseProcess:
    """Call `work` in a forked process, which is killed when this one ends.

    Args:
        work: What the process does; it ends when this returns. Nothing is pickled.
        oom_score: What is killed first where memory runs out (`podium/kernel.py`); 0 keeps this process's.
        handlers: Of signals, set in the process before it receives any.
        daemon: Python need not wait for the process, which has no children of its own.
    """

    def begin(parent: int) -> None:
        die_with(parent)
        if oom_score:
            set_oom_score(oom_score)
        for number, handler in (handlers or {}).items():
            signal.signal(number, handler)
        try:
            unblock_signals()
            work()
        except KeyboardInterrupt:  # what a handler raises on a request to end
            raise SystemExit(128 + signal.SIGINT) from None

    process = FORK.Process(target=begin, args=(os.getpid(),), daemon=daemon)
    with signals_blocked():
        process.start()
    return process


def reap(process: BaseProcess | subprocess.Popen[Any], *, within_seconds: float = 0.2) -> str:
    """Kill a child process that does not end by itself `within_seconds`; returns how it ended.

    A process that has just closed its connection may still be ending by itself: its own cause is worth knowing.
    """
    wait: Callable[..., object] = process.wait if isinstance(process, subprocess.Popen) else process.join
    with suppress(subprocess.TimeoutExpired):
        wait(timeout=within_seconds)
    process.kill()
    wait()
    return how_it_ended((process.returncode if isinstance(process, subprocess.Popen) else process.exitcode) or 0)


def how_it_ended(exit_code: int) -> str:
    """As words that follow "it ended"; the exit code is negative for a signal."""
    with suppress(ValueError):
        return f"by signal {signal.Signals(-exit_code).name}"
    return f"with exit code {exit_code}"
