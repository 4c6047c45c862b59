"""The executor of local processes. A case that raises, kills its worker or never ends costs that case and no other.

The standard library's pools do not do that: `ProcessPoolExecutor` gives up on every waiting task when one worker dies,
and neither pool can end a single task that hangs. Of Pebble's pool, one killed idle worker breaks all of it, and its
workers outlive a main process that is killed.
"""

import gc
import math
import mmap
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from threading import Thread
from typing import ClassVar, Generic

import threadpoolctl

from podium.errors import MachineError, PodiumError, UsageError
from podium.execution.children import FORK, fork, reap
from podium.execution.executor import (
    ONE_THREAD,
    SCORING,
    CaseOutcome,
    Meanwhile,
    Progress,
    ProgressFactory,
    Value,
    attempt,
    died,
    no_progress,
    took_too_long,
)
from podium.kernel import WORKER_OOM_SCORE, request_to_end

# When this many workers in a row die before they start a case, there is no use in going on.
_DEATHS_WITHOUT_A_CASE = 50

# A worker that the main process no longer needs ends by itself; one that it interrupts is killed.
_HANDLERS = {signal.SIGINT: signal.SIG_IGN, signal.SIGTERM: signal.SIG_DFL, signal.SIGHUP: signal.SIG_DFL}

CASE_TIMEOUT_SECONDS = 600.0  # the time limit of one case, unless a command says otherwise


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
        until = self.score_until if label == SCORING else None
        with closing(self.progress(label, len(cases))) as progress:
            pool = _Pool(
                work=work,
                timeout_seconds=self.case_timeout_seconds,
                until=math.inf if until is None else until,
                progress=progress,
                # Not a daemon: Python must not end while a package is being imported.
                meanwhile=None if meanwhile is None else Thread(target=meanwhile),
            )
            try:
                pool.run(cases, workers=max(1, min(self.workers, len(cases))))
            finally:
                pool.stop()
        return {case: pool.outcomes[case] for case in cases}


@dataclass
class _Worker:
    process: BaseProcess
    connection: Connection
    has_started: mmap.mmap  # one shared byte: whether the worker has taken the case that it was sent
    case: str | None = None
    deadline: float = 0.0


@dataclass
class _Queue:
    """The cases that still need a worker. A crash may be caused by another case (memory is shared), so a case is tried
    again, alone, before it fails."""

    waiting: deque[str]
    again: deque[str] = field(default_factory=deque)
    tried: set[str] = field(default_factory=set)
    deaths_without_a_case: int = 0

    def may_try_again(self, case: str) -> bool:
        """Whether a case whose worker or decoder died gets a second try; if so, it is waiting again."""
        if case in self.tried:
            return False
        self.tried.add(case)
        self.again.append(case)
        return True

    def put_back(self, case: str) -> None:
        """The worker died before it started the case: that does not count as a try."""
        self.deaths_without_a_case += 1
        if self.deaths_without_a_case >= _DEATHS_WITHOUT_A_CASE:
            raise MachineError(
                "The workers stop before they start their cases, possibly because memory ran out. The organisers "
                "can find details in the log.",
                detail=f"{self.deaths_without_a_case} workers in a row died before they started a case",
            )
        (self.again if case in self.tried else self.waiting).appendleft(case)


@dataclass(kw_only=True)
class _Pool(Generic[Value]):
    work: Callable[[str], Value]
    timeout_seconds: float  # of one case
    until: float  # when all must end
    progress: Progress
    meanwhile: Thread | None
    workers: list[_Worker] = field(default_factory=list)
    outcomes: dict[str, CaseOutcome[Value]] = field(default_factory=dict)

    def run(self, cases: Sequence[str], *, workers: int) -> None:
        """Give every case an outcome."""
        queue = _Queue(deque(cases))
        while len(self.outcomes) < len(cases):
            if request_to_end.was_made:
                raise KeyboardInterrupt
            busy = [worker for worker in self.workers if worker.case is not None]
            while queue.waiting and len(busy) < workers:
                busy.append(self._assign(queue.waiting.popleft()))
            if not busy:
                busy.append(self._assign(queue.again.popleft()))
            if self.meanwhile is not None and self.meanwhile.ident is None:
                self.meanwhile.start()  # after the first workers: none is forked while another thread works
            soonest = min(worker.deadline for worker in busy) - time.monotonic()
            ready = wait([worker.connection for worker in busy], timeout=max(0.0, soonest))
            for worker in busy:
                case, outcome = worker.case, None
                assert case is not None
                if worker.connection in ready:
                    outcome = self._received(worker, case, queue)
                elif time.monotonic() < worker.deadline:
                    continue
                elif worker.deadline == self.until:
                    outcome = CaseOutcome(error="The time limit was reached while this case was scored.")
                    self._reap(worker)
                else:
                    outcome = took_too_long(self.timeout_seconds, worker.process.pid)
                    self._reap(worker)
                worker.case = None
                if outcome is not None:
                    self.outcomes[case] = outcome
                    self.progress.advance()

    def _received(self, worker: _Worker, case: str, queue: _Queue) -> CaseOutcome[Value] | None:
        """What a worker sent, or that it died; None where the case is waiting again."""
        outcome: CaseOutcome[Value]
        try:
            outcome = worker.connection.recv()
        except (EOFError, OSError):
            outcome = died(self._reap(worker))
            if not worker.has_started[0]:
                queue.put_back(case)
                return None
        else:
            if isinstance(outcome, PodiumError):
                raise outcome
            queue.deaths_without_a_case = 0
        return None if outcome.was_killed and queue.may_try_again(case) else outcome

    def _assign(self, case: str) -> _Worker:
        """Send the case to an idle worker, else to a new one. An idle worker that died meanwhile costs no try."""
        for worker in [worker for worker in self.workers if worker.case is None]:
            if worker.process.is_alive():
                break
            self._reap(worker)
        else:
            worker = self._start()
        worker.case = case
        worker.has_started[0] = False
        now = time.monotonic()
        worker.deadline = now + self.timeout_seconds
        if now < self.until:  # else the work itself reports that it came too late
            worker.deadline = min(worker.deadline, self.until)
        with suppress(OSError):  # a worker that died meanwhile is noticed when its connection ends
            worker.connection.send(case)
        return worker

    def _start(self) -> _Worker:
        self._join_thread()
        ours, theirs = FORK.Pipe()
        # A sibling that kept our ends open would keep an orphaned worker waiting forever.
        inherited = [worker.connection for worker in self.workers] + [ours]
        has_started = mmap.mmap(-1, 1)
        process = fork(
            partial(_serve, theirs, inherited, has_started, self.work),
            oom_score=WORKER_OOM_SCORE,
            handlers=_HANDLERS,
            daemon=True,
        )
        theirs.close()
        worker = _Worker(process=process, connection=ours, has_started=has_started)
        self.workers.append(worker)
        return worker

    def _join_thread(self) -> None:
        """Wait for what is done meanwhile: a process forked from two threads would inherit locks that nobody frees."""
        if self.meanwhile is not None and self.meanwhile.ident is not None:
            self.meanwhile.join()

    def _reap(self, worker: _Worker) -> str:
        """End the worker for good; returns how it ended."""
        self.workers.remove(worker)
        cause = reap(worker.process)
        worker.connection.close()
        return cause

    def stop(self) -> None:
        self._join_thread()
        for worker in self.workers:
            if worker.case is None:
                worker.connection.close()  # an idle worker ends by itself when it notices
            else:
                worker.process.kill()
        for worker in list(self.workers):
            self._reap(worker)


def _serve(
    connection: Connection, inherited: Sequence[Connection], has_started: mmap.mmap, work: Callable[[str], object]
) -> None:
    """What a worker does: take a case, send its outcome, until the connection ends."""
    sys.stderr = sys.stdout  # a traceback is for the organiser's log; only the main process addresses participants
    for other in inherited:
        other.close()
    gc.freeze()  # what is inherited is not searched for garbage again and again, which would also copy its memory
    threadpoolctl.threadpool_limits(limits=1)  # BLAS and OpenMP: the workers already fill the cores
    os.environ.update(ONE_THREAD)
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
        with suppress(BrokenPipeError):  # the main process has ended; the next turn ends this one
            connection.send(outcome)
