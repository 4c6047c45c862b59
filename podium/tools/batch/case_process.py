"""A process for the cases of one Dask worker, which protects the worker from what a case does to its process.

A Dask worker cannot end a task that hangs, and when it dies, all of its tasks are lost. It also has threads, so forking
it is not safe. So a worker starts this program, sends it the work once and then one case after the other.
"""

import multiprocessing
import os
import pickle
import platform
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from podium.errors import MachineError, UsageError
from podium.execution.children import reap
from podium.execution.executor import ONE_THREAD, CaseOutcome, attempt, took_too_long
from podium.kernel import WORKER_OOM_SCORE, set_oom_score

_SECONDS_BETWEEN_LOOKS = 1.0
_SECONDS_TO_END = 5.0


class CaseProcess:
    """One process that works on one case at a time."""

    def __init__(self) -> None:
        self._connection, theirs = multiprocessing.Pipe()
        command = [sys.executable, "-m", "podium.tools.batch.case_process", str(theirs.fileno()), str(os.getpid())]
        # The folder of the package first: a worker may have been started anywhere.
        paths = [str(Path(__file__).resolve().parents[3]), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = os.environ | ONE_THREAD | {"PYTHONPATH": os.pathsep.join(paths)}
        self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()], env=environment)  # noqa: S603
        theirs.close()
        self._has: str | None = None

    def run(self, name: str, work: bytes, case: str, *, limit_seconds: float) -> CaseOutcome[Any] | str:
        """The outcome of a case, or how the process ended instead; it cannot be used again then.

        `work` is the pickled function and `name` identifies it. Raises those errors of the work that end a run.
        """
        try:
            if self._has != name:
                self._connection.send(work)
                if (problem := self._connection.recv()) is not None:  # starting and importing is not the case's time
                    raise problem
                self._has = name
            self._connection.send(case)
            if not self._connection.poll(limit_seconds):
                self.kill()
                return took_too_long(limit_seconds)
            outcome = self._connection.recv()
        except (EOFError, OSError):
            return self.kill()
        if isinstance(outcome, UsageError | MachineError):
            raise outcome
        assert isinstance(outcome, CaseOutcome)
        return outcome

    @property
    def is_alive(self) -> bool:
        return not self._connection.closed and self._process.poll() is None

    def kill(self) -> str:
        """End the process unless it has ended; says how it ended."""
        cause = reap(self._process)
        self._connection.close()
        return cause


_idle: list[CaseProcess] = []


@contextmanager
def borrowed_process() -> Iterator[CaseProcess]:
    """A process for one case: an idle one of this worker, else a new one. It is idle again afterwards."""
    try:
        process = _idle.pop()  # atomic: a worker may have several threads
    except IndexError:
        process = CaseProcess()
    try:
        yield process
    finally:
        if process.is_alive:
            _idle.append(process)


def _serve(connection: Connection, worker: int) -> None:
    """Take the work and cases until the connection ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    threading.Thread(target=_end_with, args=(worker,), daemon=True).start()
    set_oom_score(WORKER_OOM_SCORE)
    work: Any = None
    while True:
        try:
            given = connection.recv()
        except (EOFError, OSError):
            return
        if isinstance(given, bytes):
            problem = None
            try:
                work = pickle.loads(given)  # noqa: S301  (from our own worker)
            except Exception:
                message = f"The worker on {platform.node()} cannot load its work: install the same packages there."
                problem = UsageError(message, detail=traceback.format_exc())
            connection.send(problem)
            continue
        try:
            connection.send(attempt(work, given))
        except (UsageError, MachineError) as error:
            connection.send(error)


def _end_with(worker: int) -> None:
    """End with the worker: if it is killed, the connection closes, but a case that never ends would not notice."""
    while os.getppid() == worker:
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    os.kill(os.getpid(), signal.SIGTERM)  # what the case has started, such as a container, is ended by its own code
    time.sleep(_SECONDS_TO_END)
    os._exit(1)


if __name__ == "__main__":
    _serve(Connection(int(sys.argv[1])), int(sys.argv[2]))
