"""Executors run one function on every case, with the same outcomes in the same order wherever it runs.

Here are the interface, the serial executor, the display of progress (always on stderr: a bar on a terminal, otherwise a
plain line now and then), and how many workers this process may really use.
"""

import math
import os
import resource
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import ClassVar, Generic, Protocol, TextIO, TypeVar

from podium.errors import MachineError, OwnMetricFailed, ReaderDied, Refused, UsageError
from podium.kernel import is_stopped

Value = TypeVar("Value")
Meanwhile = Callable[[], None] | None  # done in this process while others work on the cases
TRIES = 2  # a crash may be caused by another case (memory is shared), so a case is tried again before it fails

MAX_WORKERS_VARIABLE = "PODIUM_MAX_WORKERS"  # the platform lets no variable through that starts with GRAND_CHALLENGE_
WORKER_BYTES = 1_500_000_000  # per worker: with fewer workers an evaluation is slower, with less memory cases fail
SCORING = "scoring"  # the label of the work that ends at `score_until`
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""Variables for processes that share the cores, set before a numeric library is loaded: it then has one thread."""

_SECONDS_BETWEEN_LINES = 5.0
_SHARE_BETWEEN_LINES = 0.25  # of the time so far: a day's work takes 42 lines, of which the platform keeps 500


@dataclass(frozen=True, kw_only=True)
class CaseOutcome(Generic[Value]):
    """`value`, or else `error`, a message for the case's author, and `detail` for the organiser's log; `was_killed`
    where a process ended before there was either, or all of the value, which need not be the case's fault; `own_metric`
    how the organiser's own metric failed, where it did."""

    value: Value | None = None
    error: str | None = None
    detail: str | None = None
    was_killed: bool = False
    own_metric: str | None = None


class Executor(Protocol):
    """Runs work on cases. Which executor runs it changes the time it takes, never a value."""

    @property
    def workers(self) -> int:
        """How many cases run at the same time; where there are fewer cases, one may use several threads."""

    @property
    def is_local(self) -> bool:
        """Whether cases run on this machine, which has its files."""

    @property
    def score_until(self) -> float | None:
        """The moment of `time.monotonic` after which no new case is scored; None where there is none."""

    def run(
        self, cases: Sequence[str], work: Callable[[str], Value], *, label: str, meanwhile: Meanwhile = None
    ) -> Mapping[str, CaseOutcome[Value]]:
        """`work(case)` for every case; outcomes in the order of `cases`. `label` names the work for its progress.

        `meanwhile` is done in this process while others work on the cases, such as imports for what comes next.
        A case that raises costs that case only. A UsageError or MachineError is raised again: no other case would do
        better.
        """


def attempt(work: Callable[[str], Value], case: str) -> CaseOutcome[Value]:
    """Work on one case: its value, or why there is none."""
    try:
        value = work(case)
        return CaseOutcome(value=value, was_killed=getattr(value, "was_killed", False))
    except (UsageError, MachineError):
        raise
    except Refused as refusal:
        return CaseOutcome(
            error=str(refusal),
            detail=refusal.detail,
            was_killed=isinstance(refusal, ReaderDied),
            own_metric=refusal.failure if isinstance(refusal, OwnMetricFailed) else None,
        )
    except MemoryError:
        return CaseOutcome(
            error="Scoring this case needed more memory than is available.", detail=traceback.format_exc()
        )
    except Exception as error:  # whatever went wrong, it costs this case only
        return CaseOutcome(
            error=f"This case could not be scored because of an unexpected {type(error).__name__}.",
            detail=traceback.format_exc(),
        )


def died(cause: str) -> CaseOutcome[Value]:
    """The outcome of a case whose process died whenever it was tried; `cause` says how the last one ended."""
    return CaseOutcome(
        error="Scoring this case crashed or ran out of memory on every attempt.",
        detail=f"the worker died {TRIES} times, last {cause}",
        was_killed=True,
    )


def took_too_long(limit_seconds: float, process: int | None = None) -> CaseOutcome[Value]:
    """The outcome of a case past its time limit, which is not the case's fault where its process is stopped."""
    error = f"Scoring this case took longer than {limit_seconds:g} seconds."
    if process is not None and is_stopped(process):
        return CaseOutcome(error=error, detail="the worker was stopped", was_killed=True)
    return CaseOutcome(error=error)


# Progress.


class Progress:
    """Shows how far some work is; this one shows nothing."""

    def advance(self) -> None:
        """One more step is done."""

    def close(self) -> None:
        """Remove what disappears when the work is done."""


ProgressFactory = Callable[[str, int], Progress]
"""Starts the progress of some work from its label and its number of steps."""


def no_progress(label: str, total: int) -> Progress:  # noqa: ARG001  (a ProgressFactory)
    """Shows nothing: for work that is called from Python."""
    return Progress()


def show_progress(label: str, total: int, *, stream: TextIO | None = None) -> Progress:
    """The progress display that suits `stream`, by default stderr."""
    stream = stream or sys.stderr
    return _Bar(label, total, stream) if stream.isatty() else _Lines(label, total, stream)


class _Lines(Progress):
    def __init__(self, label: str, total: int, stream: TextIO) -> None:
        self._label, self._total, self._stream = label, total, stream
        self._done = 0
        self._start = self._last_line = time.monotonic()

    def advance(self) -> None:
        self._done += 1
        now = time.monotonic()
        if now - self._last_line >= max(_SECONDS_BETWEEN_LINES, _SHARE_BETWEEN_LINES * (self._last_line - self._start)):
            self._last_line = now
            left = timedelta(seconds=round((self._total - self._done) * (now - self._start) / self._done))
            print(f"{self._label}: {self._done} of {self._total}, {left} left", file=self._stream, flush=True)


class _Bar(Progress):
    def __init__(self, label: str, total: int, stream: TextIO) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        self._bar = RichProgress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=Console(file=stream),
            transient=True,
        )
        self._task = self._bar.add_task(label, total=total)
        self._bar.start()

    def advance(self) -> None:
        self._bar.advance(self._task)

    def close(self) -> None:
        self._bar.stop()


class OverallProgress(Progress):
    """One progress for several runs, which none of them closes."""

    def __init__(self, shown: Progress) -> None:
        self.shown = shown

    def start(self, label: str, total: int) -> Progress:  # noqa: ARG002  (a ProgressFactory)
        return self

    def advance(self) -> None:
        self.shown.advance()

    def finish(self) -> None:
        self.shown.close()


@dataclass(frozen=True, kw_only=True)
class Serial:
    """One case after the other in this process: for tests, debuggers and use from Python. There is no time limit, and a
    case that crashes ends this process."""

    workers: ClassVar = 1
    is_local: ClassVar = True
    score_until: ClassVar = None

    progress: ProgressFactory = no_progress

    def run(
        self, cases: Sequence[str], work: Callable[[str], Value], *, label: str, meanwhile: Meanwhile = None
    ) -> Mapping[str, CaseOutcome[Value]]:
        outcomes: dict[str, CaseOutcome[Value]] = {}
        if meanwhile is not None:
            meanwhile()
        with closing(self.progress(label, len(cases))) as progress:
            for case in cases:
                outcomes[case] = attempt(work, case)
                progress.advance()
        return outcomes


# Workers: affinity, cgroup and memory limits count, not the size of the machine.


def available_workers(*, cgroup: Path = Path("/sys/fs/cgroup")) -> int:
    """The number of workers that keeps every usable core busy, with enough memory for each; at least 1."""
    data, _ = resource.getrlimit(resource.RLIMIT_DATA)  # by which the platform says how much memory is usable
    limits = [len(os.sched_getaffinity(0)), *([] if data == resource.RLIM_INFINITY else [data // WORKER_BYTES])]
    # Version 2 of cgroups has quota and period ("max" or -1: no limit) in one file, version 1 has a file for each.
    for controller in ("", "cpu", "cpu,cpuacct"):
        files = ("cpu.cfs_quota_us", "cpu.cfs_period_us") if controller else ("cpu.max",)
        words = [word for name in files for word in _words(cgroup / controller / name)]
        if len(words) == 2 and all(word.isdigit() and int(word) for word in words):
            limits.append(math.ceil(int(words[0]) / int(words[1])))
    # "max" or a huge number: no limit.
    for words in (_words(cgroup / "memory.max"), _words(cgroup / "memory/memory.limit_in_bytes")):
        limits += [int(word) // WORKER_BYTES for word in words if word.isdigit()]
    cap = os.environ.get(MAX_WORKERS_VARIABLE, "").strip()
    if cap.isascii() and cap.isdigit() and int(cap) > 0:
        limits.append(int(cap))
    return max(1, min(limits))


def _words(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii").split()
    except (OSError, UnicodeDecodeError):
        return []
