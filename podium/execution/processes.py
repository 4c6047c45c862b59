"""The executor of local processes. A case that raises, kills its worker or never ends costs that case and no other.

The standard library's pools do not do that: `ProcessPoolExecutor` gives up on every waiting task when one worker dies,
and neither pool can end a single task that hangs.
"""

import gc
import math
import mmap
import multiprocessing
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from threading import Thread
from typing import ClassVar, Generic

import threadpoolctl

from podium.errors import MachineError, PodiumError, UsageError
from podium.execution.executor import (
    ONE_THREAD,
    SCORING,
    TRIES,
    CaseOutcome,
    Meanwhile,
    Progress,
    ProgressFactory,
    Value,
    attempt,
    died,
    how_it_ended,
    no_progress,
    out_of_time,
    took_too_long,
)
from podium.kernel import die_with, is_linux, request_to_end, set_oom_score, signals_blocked, unblock_signals

# A crash may be caused by another case (memory is shared), so a case is tried again, alone, before it fails. One that
# crashes by itself fails at the second try. A signal from outside may be an accident, which hits the same case again
# only by chance, or the kernel's response to a case that fills the memory, which recurs at every try: such a case fails
# at the sixth. So that a submission full of them does not take three times as long, all cases of a run together get 20
# tries beyond their second. With a kill every half second, a case of 0.1 s dies in a try with a probability of at most
# 18 %, and six times in a row once in 29,000 cases.
_TRIES_WHEN_KILLED = 6
_TRIES_BEYOND_THE_SECOND = 20
_FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP)

# When this many workers in a row die before they start a case, there is no use in going on.
_DEATHS_WITHOUT_A_CASE = 50

_KILLED_BEFORE_THE_COLLECTOR = 900

CASE_TIMEOUT_SECONDS = 600.0
"""The time limit of one case, unless a command says otherwise."""


@dataclass(frozen=True, kw_only=True)
class Processes:
    """At most `workers` forked processes; a case that takes longer than its time limit fails.

    `work` may be a closure: workers are forked from this process and inherit what it has loaded.
    """

    is_local: ClassVar = True

    workers: int
    case_timeout_seconds: float = CASE_TIMEOUT_SECONDS
    progress: ProgressFactory = no_progress
    score_until: float | None = None

    def run(
        self, cases: Sequence[str], work: Callable[[str], Value], *, label: str, meanwhile: Meanwhile = None
    ) -> Mapping[str, CaseOutcome[Value]]:
        with closing(self.progress(label, len(cases))) as progress:
            until = self.score_until if label == SCORING else None
            limits = (self.case_timeout_seconds, math.inf if until is None else until)
            pool = _Pool(work, limits=limits, progress=progress, meanwhile=meanwhile)
            try:
                found = pool.run(cases, workers=max(1, min(self.workers, len(cases))))
            finally:
                pool.stop()
        return {case: found[case] for case in cases}


@dataclass
class _Worker:
    process: BaseProcess
    connection: Connection
    has_started: mmap.mmap  # one shared byte: whether the worker has taken the case that it was sent
    case: str | None = None
    deadline: float = 0.0


@dataclass
class _Left:
    """The cases that still need a worker. What was tried before waits until it can run alone."""

    waiting: deque[str]
    again: deque[str] = field(default_factory=deque)
    deaths: dict[str, int] = field(default_factory=dict)
    beyond_the_second: int = _TRIES_BEYOND_THE_SECOND
    deaths_without_a_case: int = 0

    def put_back(self, case: str) -> None:
        """Its worker died before it started the case: that does not count as a try."""
        self.deaths_without_a_case += 1
        if self.deaths_without_a_case >= _DEATHS_WITHOUT_A_CASE:
            raise MachineError(
                "The workers stop before they start their cases, possibly because memory ran out. The organisers "
                "can find details in the log.",
                detail=f"{self.deaths_without_a_case} workers in a row died before they started a case",
            )
        (self.again if case in self.deaths else self.waiting).appendleft(case)

    def may_try_again(self, case: str, *, from_outside: bool) -> bool:
        """Whether a case whose worker died gets another try; if so, it is waiting again."""
        tries = self.deaths[case] = self.deaths.get(case, 0) + 1
        if tries >= TRIES:
            if not from_outside or tries >= _TRIES_WHEN_KILLED or not self.beyond_the_second:
                return False
            self.beyond_the_second -= 1
        self.again.append(case)
        return True


class _Pool(Generic[Value]):
    def __init__(
        self,
        work: Callable[[str], Value],
        *,
        limits: tuple[float, float],
        progress: Progress,
        meanwhile: Callable[[], None] | None,
    ) -> None:
        self._work = work
        # Not a daemon: Python must not end while a package is being imported.
        self._meanwhile = None if meanwhile is None else Thread(target=meanwhile)
        self._timeout_seconds, self._until = limits  # of one case, and when all must end
        self._progress = progress
        self._workers: list[_Worker] = []
        self._outcomes: dict[str, CaseOutcome[Value]] = {}

    def run(self, cases: Sequence[str], *, workers: int) -> Mapping[str, CaseOutcome[Value]]:
        left = _Left(deque(cases))
        while len(self._outcomes) < len(cases):
            if request_to_end.was_made:
                raise KeyboardInterrupt
            busy = [worker for worker in self._workers if worker.case is not None]
            while left.waiting and len(busy) < workers:
                busy.append(self._assign(self._idle(), left.waiting.popleft()))
            if not busy:
                busy.append(self._assign(self._idle(), left.again.popleft()))
            if self._meanwhile is not None and self._meanwhile.ident is None:
                self._meanwhile.start()  # after the first workers: none is forked while another thread works
            soonest = min(worker.deadline for worker in busy) - time.monotonic()
            ready = wait([worker.connection for worker in busy], timeout=max(0.0, soonest))
            for worker in busy:
                if worker.connection in ready:
                    self._take(worker, left)
                elif time.monotonic() >= worker.deadline:
                    too_late: CaseOutcome[Value] = took_too_long(self._timeout_seconds, worker.process.pid)
                    self._bury(worker)
                    self._finish(worker, out_of_time() if worker.deadline == self._until else too_late)
        return self._outcomes

    def _take(self, worker: _Worker, left: _Left) -> None:
        """Take what a worker sent, or notice that it died."""
        case = worker.case
        assert case is not None
        outcome = self._receive(worker)
        if outcome is not None:
            left.deaths_without_a_case = 0
            if outcome.was_killed and left.may_try_again(case, from_outside=True):
                worker.case = None
                return
            self._finish(worker, outcome)
            return
        cause = self._bury(worker)
        if not worker.has_started[0]:
            left.put_back(case)
        elif not left.may_try_again(case, from_outside=-(worker.process.exitcode or 0) in _FROM_OUTSIDE):
            self._finish(worker, died(cause, tries=left.deaths[case]))

    def _join(self) -> None:
        """Wait for what is done meanwhile: a process forked from two threads would inherit locks that nobody frees."""
        if self._meanwhile is not None and self._meanwhile.ident is not None:
            self._meanwhile.join()

    def stop(self) -> None:
        self._join()
        for worker in self._workers:
            if worker.case is None:
                worker.connection.close()  # an idle worker ends by itself when it notices
            else:
                worker.process.kill()
        for worker in list(self._workers):
            self._bury(worker)

    def _start(self) -> _Worker:
        self._join()
        context = multiprocessing.get_context("fork")
        ours, theirs = context.Pipe()
        # A sibling that kept our ends open would keep an orphaned worker waiting forever.
        inherited = [worker.connection for worker in self._workers] + [ours]
        has_started = mmap.mmap(-1, 1)
        process = context.Process(
            target=_serve, args=(os.getpid(), theirs, inherited, has_started, self._work), daemon=True
        )
        with signals_blocked():
            process.start()
        theirs.close()
        worker = _Worker(process=process, connection=ours, has_started=has_started)
        self._workers.append(worker)
        return worker

    def _idle(self) -> _Worker:
        """A worker without a case. One that died meanwhile costs no case a try."""
        for worker in [worker for worker in self._workers if worker.case is None]:
            if worker.process.is_alive():
                return worker
            self._bury(worker)
        return self._start()

    def _assign(self, worker: _Worker, case: str) -> _Worker:
        worker.case = case
        worker.has_started[0] = False
        now = time.monotonic()
        worker.deadline = now + self._timeout_seconds
        if now < self._until:  # else the work itself says that it came too late
            worker.deadline = min(worker.deadline, self._until)
        with suppress(OSError):  # a worker that died meanwhile is noticed when its connection ends
            worker.connection.send(case)
        return worker

    def _receive(self, worker: _Worker) -> CaseOutcome[Value] | None:
        """What the worker sent, None if it died instead."""
        try:
            outcome = worker.connection.recv()
        except (EOFError, OSError):
            return None
        if isinstance(outcome, PodiumError):
            raise outcome
        return outcome if isinstance(outcome, CaseOutcome) else None

    def _finish(self, worker: _Worker, outcome: CaseOutcome[Value]) -> None:
        assert worker.case is not None
        self._outcomes[worker.case] = outcome
        worker.case = None
        self._progress.advance()

    def _bury(self, worker: _Worker) -> str:
        """End the worker for good; returns how it ended."""
        if worker.process.is_alive():
            # A worker that just closed its connection may still be ending by itself: its own cause is worth knowing.
            worker.process.join(timeout=0.2)
        if worker.process.is_alive():
            worker.process.kill()
        worker.process.join()
        worker.connection.close()
        self._workers.remove(worker)
        return how_it_ended(worker.process.exitcode or 0)


def _serve(
    main: int,
    connection: Connection,
    inherited: Sequence[Connection],
    has_started: mmap.mmap,
    work: Callable[[str], object],
) -> None:
    """What a worker does: take a case, send its outcome, until the connection ends."""
    if is_linux():
        die_with(main)  # a case that never ends would hold the output of the main process open
    sys.stderr = sys.stdout  # a traceback is for the organiser's log; only the main process addresses participants
    for other in inherited:
        other.close()
    gc.freeze()  # what is inherited is not searched for garbage again and again, which would also copy its memory
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    unblock_signals()
    # Where memory runs out, the kernel should kill a worker (one case), not the process that collects the results.
    set_oom_score(_KILLED_BEFORE_THE_COLLECTOR)
    _use_one_thread()
    while True:
        try:
            case = connection.recv()
        except (EOFError, OSError):
            return
        has_started[0] = True
        try:
            outcome: object = attempt(work, case)
        except (UsageError, MachineError) as error:
            outcome = error
        with suppress(BrokenPipeError):  # nobody is left to tell; the next turn ends this process
            connection.send(outcome)


def _use_one_thread() -> None:
    """One BLAS/OpenMP thread per worker: the workers already fill the cores."""
    threadpoolctl.threadpool_limits(limits=1)
    os.environ.update(ONE_THREAD)
