"""The executor of local processes. A case that raises, kills its worker or never ends costs that case and no other.

A pool of our own rather than the standard library's: `ProcessPoolExecutor` gives up on every waiting task when one
worker dies, and neither pool can end a single task that hangs.
"""

import multiprocessing
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Generic

from podium.errors import UsageError
from podium.execution.executor import CaseOutcome, Value, attempt
from podium.execution.progress import Progress, ProgressFactory, no_progress
from podium.sandbox.limits import offer_to_the_out_of_memory_killer

# A crash may be another case's doing (memory is shared), so a case is tried again once, alone, before it is given up.
_TRIES = 2

_KILLED_BEFORE_THE_COLLECTOR = 900

CASE_TIMEOUT_SECONDS = 600.0
"""The time limit of one case, unless a command says otherwise."""


@dataclass(frozen=True, kw_only=True)
class Processes:
    """At most `workers` forked processes; a case that takes longer than its time limit is failed.

    `work` may be a closure: workers are forked from this process and inherit what it has loaded.
    """

    workers: int
    case_timeout_seconds: float = CASE_TIMEOUT_SECONDS
    progress: ProgressFactory = no_progress

    @property
    def is_local(self) -> bool:
        return True

    def run(
        self, cases: Sequence[str], work: Callable[[str], Value], *, label: str
    ) -> Mapping[str, CaseOutcome[Value]]:
        with closing(self.progress(label, len(cases))) as progress:
            pool = _Pool(work, timeout_seconds=self.case_timeout_seconds, progress=progress)
            try:
                found = pool.run(cases, workers=max(1, min(self.workers, len(cases))))
            finally:
                pool.stop()
        return {case: found[case] for case in cases}


@dataclass
class _Worker:
    process: BaseProcess
    connection: Connection
    case: str | None = None
    deadline: float = 0.0


class _Pool(Generic[Value]):
    def __init__(self, work: Callable[[str], Value], *, timeout_seconds: float, progress: Progress) -> None:
        self._work = work
        self._timeout_seconds = timeout_seconds
        self._progress = progress
        self._workers: list[_Worker] = []
        self._outcomes: dict[str, CaseOutcome[Value]] = {}

    def run(self, cases: Sequence[str], *, workers: int) -> Mapping[str, CaseOutcome[Value]]:
        waiting, again = deque(cases), deque[str]()
        crashes: dict[str, int] = {}
        while len(self._outcomes) < len(cases):
            busy = [worker for worker in self._workers if worker.case is not None]
            while waiting and len(busy) < workers:
                busy.append(self._assign(self._idle(), waiting.popleft()))
            if not busy:
                busy.append(self._assign(self._idle(), again.popleft()))
            soonest = min(worker.deadline for worker in busy) - time.monotonic()
            ready = wait([worker.connection for worker in busy], timeout=max(0.0, soonest))
            for worker in busy:
                case = worker.case
                assert case is not None
                if worker.connection in ready:
                    outcome = self._receive(worker)
                    if outcome is None:
                        crashes[case] = crashes.get(case, 0) + 1
                        cause = self._bury(worker)
                        if crashes[case] < _TRIES:
                            again.append(case)
                            continue
                        outcome = CaseOutcome(
                            error="Scoring this case ended its process twice, by a crash or because memory ran out.",
                            detail=f"the worker died {_TRIES} times, last {cause}",
                            was_killed=True,
                        )
                    self._finish(worker, case, outcome)
                elif time.monotonic() >= worker.deadline:
                    self._bury(worker)
                    limit = f"{self._timeout_seconds:g} seconds"
                    self._finish(worker, case, CaseOutcome(error=f"Scoring this case took longer than {limit}."))
        return self._outcomes

    def stop(self) -> None:
        for worker in self._workers:
            if worker.case is None:
                worker.connection.close()  # an idle worker ends by itself when it notices
            else:
                worker.process.kill()
        for worker in list(self._workers):
            self._bury(worker)

    def _start(self) -> _Worker:
        context = multiprocessing.get_context("fork")
        ours, theirs = context.Pipe()
        # A sibling that kept our ends open would keep an orphaned worker waiting forever.
        inherited = [worker.connection for worker in self._workers] + [ours]
        process = context.Process(target=_serve, args=(theirs, inherited, self._work), daemon=True)
        process.start()
        theirs.close()
        worker = _Worker(process=process, connection=ours)
        self._workers.append(worker)
        return worker

    def _idle(self) -> _Worker:
        """A worker without a case; one that died meanwhile is charged to no case."""
        for worker in [worker for worker in self._workers if worker.case is None]:
            if worker.process.is_alive():
                return worker
            self._bury(worker)
        return self._start()

    def _assign(self, worker: _Worker, case: str) -> _Worker:
        worker.case = case
        worker.deadline = time.monotonic() + self._timeout_seconds
        with suppress(OSError):  # a worker that died meanwhile is noticed when its connection ends
            worker.connection.send(case)
        return worker

    def _receive(self, worker: _Worker) -> CaseOutcome[Value] | None:
        """What the worker sent, None if it died instead."""
        try:
            outcome = worker.connection.recv()
        except (EOFError, OSError):
            return None
        if isinstance(outcome, UsageError):
            raise outcome
        return outcome if isinstance(outcome, CaseOutcome) else None

    def _finish(self, worker: _Worker, case: str, outcome: CaseOutcome[Value]) -> None:
        worker.case = None
        self._outcomes[case] = outcome
        self._progress.advance()

    def _bury(self, worker: _Worker) -> str:
        """End the worker for good; says how it ended."""
        if worker.process.is_alive():
            # A worker that just closed its connection may still be ending by itself: its own cause is worth knowing.
            worker.process.join(timeout=0.2)
        if worker.process.is_alive():
            worker.process.kill()
        worker.process.join()
        worker.connection.close()
        self._workers.remove(worker)
        code = worker.process.exitcode or 0
        with suppress(ValueError):
            return f"by signal {signal.Signals(-code).name}"
        return f"with exit code {code}"


def _serve(connection: Connection, inherited: Sequence[Connection], work: Callable[[str], object]) -> None:
    """What a worker does: take a case, send its outcome, until the connection ends."""
    for other in inherited:
        other.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # Where memory runs out, the kernel should end a worker (one case), not the process that collects the results.
    offer_to_the_out_of_memory_killer(_KILLED_BEFORE_THE_COLLECTOR)
    _use_one_thread()
    while True:
        try:
            case = connection.recv()
        except (EOFError, OSError):
            return
        try:
            connection.send(attempt(work, case))
        except UsageError as error:
            connection.send(error)


def _use_one_thread() -> None:
    """One BLAS/OpenMP thread per worker: the workers already fill the cores."""
    from threadpoolctl import threadpool_limits

    threadpool_limits(limits=1)
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = "1"
