"""The executor of a Dask cluster: the cases run on its workers, and the outcomes are the same as on one machine.

Dask finds a worker for every case, moves cases away from workers that are lost, and uses workers that join late. Each
case runs in a process of its worker (case_process.py), as it would on one machine.
"""

import logging
import math
import platform
import queue
import time
import uuid
import zlib
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic

from podium.errors import MachineError, PodiumError, UsageError
from podium.execution.executor import TRIES, CaseOutcome, Meanwhile, Progress, ProgressFactory, Value, died, no_progress
from podium.execution.processes import CASE_TIMEOUT_SECONDS
from podium.tools.batch.case_process import borrowed_process
from podium.tools.batch.kept import code_version

LOG = logging.getLogger(__name__)

_TASKS_PER_THREAD = 4  # submitted at the same time: enough that no worker waits for us, and never all cases
_TASK_SECONDS = 0.2  # Dask takes milliseconds per task, so short cases share one that takes about as long as this
_MOST_CASES_PER_TASK = 16
_SECONDS_BETWEEN_COUNTS = 2.0
_RETRIES = 2  # of a task that Dask itself could not run


@dataclass(frozen=True, kw_only=True)
class Dask:
    """Workers of the scheduler at `address`: `tcp://host:port`, or the path of its scheduler file. `resources` are what
    each case needs from its worker, such as one `GPU`.

    `work` may be a closure: it is pickled by value and sent to every worker once. The files that it reads must have
    the same path on every machine.
    """

    workers: ClassVar = 1  # a case has one thread of a worker, however few cases there are
    is_local: ClassVar = False
    score_until: ClassVar = None

    address: str
    case_timeout_seconds: float = CASE_TIMEOUT_SECONDS
    patience_seconds: float = 300.0  # for a scheduler that cannot be reached, and for the first worker
    progress: ProgressFactory = no_progress
    resources: Mapping[str, float] = field(default_factory=dict)

    def run(
        self, cases: Sequence[str], work: Callable[[str], Value], *, label: str, meanwhile: Meanwhile = None
    ) -> Mapping[str, CaseOutcome[Value]]:
        import cloudpickle

        if meanwhile is not None:
            meanwhile()

        packed = _Work(zlib.compress(cloudpickle.dumps(work), 1), self.case_timeout_seconds, code_version())
        with closing(self.progress(label, len(cases))) as progress:
            run: _Run[Value] = _Run(cases, packed, progress, self)
            while not run.is_finished:
                with closing(self._connect()) as client:
                    run.drive(client)
        return {case: run.outcomes[case] for case in cases}

    def _connect(self) -> Any:
        """A client with at least one worker."""
        from distributed import Client

        given = {"address" if ":" in self.address else "scheduler_file": self.address}
        try:
            client = Client(**given, timeout=self.patience_seconds, set_as_default=False)
        except (OSError, ValueError) as error:
            raise UsageError(f"There is no Dask scheduler at {self.address}.", detail=str(error)) from None
        try:
            client.wait_for_workers(1, timeout=self.patience_seconds)
        except TimeoutError:
            client.close()
            raise UsageError(f"No worker has joined the Dask scheduler at {self.address}.") from None
        end = time.monotonic() + self.patience_seconds
        # Dask itself would wait silently for a worker that offers what a case needs.
        while not any(
            all(each["resources"].get(name, 0) >= number for name, number in self.resources.items())
            for each in client.scheduler_info(n_workers=-1)["workers"].values()
        ):
            if time.monotonic() > end:
                client.close()
                wanted = " ".join(f"{name}={number:g}" for name, number in self.resources.items())
                raise UsageError(f"No worker offers {wanted}: start one with --resources '{wanted}'.")
            time.sleep(_SECONDS_BETWEEN_COUNTS)
        return client


@dataclass(frozen=True)
class _Work:
    """The pickled work, compressed on its way to a worker; the worker keeps it for all cases."""

    pickled: bytes
    limit_seconds: float
    version: str


class _Run(Generic[Value]):
    """The outcomes so far and the cases that are left; it continues where a scheduler was lost."""

    def __init__(self, cases: Sequence[str], packed: _Work, progress: Progress, cluster: Dask) -> None:
        self._options = {"pure": False, "retries": _RETRIES, "resources": dict(cluster.resources) or None}
        self.outcomes: dict[str, CaseOutcome[Value]] = {}
        self._waiting, self._cases, self._packed, self._progress = deque(cases), len(cases), packed, progress
        self._submitted: dict[str, Sequence[str]] = {}  # by key of the task
        self._deaths: Counter[str] = Counter()
        self._alone: set[str] = set()  # cases that were lost together with others
        self._case_seconds = math.inf  # in the latest task
        self._cluster = cluster

    @property
    def is_finished(self) -> bool:
        return len(self.outcomes) == self._cases

    def drive(self, client: Any) -> None:
        """Until all cases have an outcome, or the scheduler is lost."""
        try:
            self._drive(client)
        except Exception as error:
            is_disconnected = isinstance(error, _LostError | OSError | TimeoutError) or client.status != "running"
            if isinstance(error, PodiumError) or not is_disconnected:
                raise
            LOG.info("scheduler: the connection was lost; what is not kept starts again")
            self._waiting.extendleft(reversed([case for cases in self._submitted.values() for case in cases]))
            self._submitted.clear()

    def _drive(self, client: Any) -> None:
        name = f"podium-{uuid.uuid4().hex}"
        done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        work = client.submit(_unpack, self._packed, key=name, pure=False)
        futures: dict[str, Any] = {}  # a task whose future is forgotten is cancelled
        threads, counted, number, answered = 1, -math.inf, 0, time.monotonic()
        while not self.is_finished:
            # A client that has lost its scheduler finds the next one by itself, but not what it had submitted: it
            # cancels its tasks, and one that is submitted at that moment is silently forgotten.
            if work.cancelled() or client.status != "running":
                raise _LostError
            if time.monotonic() - counted > _SECONDS_BETWEEN_COUNTS:
                threads = max(1, sum(client.nthreads().values()))
                counted = time.monotonic()
            while self._waiting and len(futures) < threads * _TASKS_PER_THREAD:
                number += 1
                cases, key = self._next(threads), f"{name}-{number}"
                self._submitted[key] = cases
                future = client.submit(_run_cases, name, work, cases, key=key, priority=-number, **self._options)
                futures[key] = future
                future.add_done_callback(done.put)
            ready: list[Any] = []
            with suppress(queue.Empty):
                ready.append(done.get(timeout=_SECONDS_BETWEEN_COUNTS))
                while True:
                    ready.append(done.get_nowait())
            # The scheduler moves the tasks of a worker that does not answer within 10 minutes; there may be no other.
            most = max(map(len, self._submitted.values()))
            limit = 3 * self._cluster.patience_seconds + most * self._cluster.case_timeout_seconds
            if ready:
                answered = time.monotonic()
            elif time.monotonic() > answered + limit:
                raise UsageError(f"No Dask worker has returned a result for {limit:g} seconds. Are they stopped?")
            for key, found in _outcomes(client, ready):
                del futures[key]
                cases = self._submitted.pop(key)
                if isinstance(found, str) and len(cases) > 1:  # run each alone to see which one it was
                    self._alone.update(cases)
                    self._waiting.extend(cases)
                    continue
                outcomes, seconds = ([found], math.inf) if isinstance(found, str) else found
                self._case_seconds = seconds / len(cases)
                for case, outcome in zip(cases, outcomes, strict=True):
                    self._receive(case, outcome)

    def _next(self, threads: int) -> Sequence[str]:
        """The cases of the next task: several short ones, while there are enough for all workers."""
        first = self._waiting.popleft()
        size = min(_TASK_SECONDS / max(self._case_seconds, 1e-6), _MOST_CASES_PER_TASK, len(self._waiting) // threads)
        cases = [first]
        while len(cases) < size and first not in self._alone and self._waiting[0] not in self._alone:
            cases.append(self._waiting.popleft())
        return cases

    def _receive(self, case: str, outcome: CaseOutcome[Value] | str) -> None:
        """`outcome` may be how the process of the case ended."""
        if isinstance(outcome, str):
            self._deaths[case] += 1
            if self._deaths[case] < TRIES:
                self._waiting.append(case)
                return
            outcome = died(outcome)
        self.outcomes[case] = outcome
        self._progress.advance()


class _LostError(Exception):
    """The scheduler does not know a task any more."""


def _outcomes(client: Any, ready: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """What tasks have returned, or how they were lost. They are fetched together, which is faster for small cases."""
    finished = [future for future in ready if future.status == "finished"]
    values: Sequence[Any] = ()
    with suppress(Exception):  # errors are found below, one task at a time
        values = client.gather(finished)
    yield from ((future.key, value) for future, value in zip(finished, values, strict=False))
    for future in ready:
        if not values or future not in finished:
            yield future.key, _outcome(future)


def _outcome(future: Any) -> Any:
    """What a task has returned. Raises _LostError where the scheduler, not the task, failed."""
    from distributed import KilledWorker

    try:
        return future.result()
    except (UsageError, MachineError):
        raise
    except KilledWorker:  # Dask gives up a task after several lost workers, even if it was only waiting there
        return "together with its Dask worker"
    except Exception as error:
        if future.status != "error":
            raise _LostError from error
        message = f"A Dask worker could not run a case because of an unexpected {type(error).__name__}."
        raise UsageError(message, detail=str(error)) from error


# What runs on a worker.


def _unpack(packed: _Work) -> _Work:
    """A task rather than scattered data: if the only worker that has it is lost, Dask computes it again."""
    if packed.version != code_version():
        raise UsageError(
            f"The worker on {platform.node()} runs Podium {code_version()}, and this is {packed.version}: install the "
            "same source and the same packages on every machine."
        )
    return replace(packed, pickled=zlib.decompress(packed.pickled))


def _run_cases(name: str, work: _Work, cases: Sequence[str]) -> tuple[Sequence[CaseOutcome[Any] | str], float]:
    """The outcome of every case, or how its process ended; and the seconds of all."""
    start = time.monotonic()
    outcomes: list[CaseOutcome[Any] | str] = []
    for case in cases:
        with borrowed_process() as process:
            outcomes.append(process.run(name, work.pickled, case, limit_seconds=work.limit_seconds))
    return outcomes, time.monotonic() - start
