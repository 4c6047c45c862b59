"""A process with everything imported that forks a child for every job: jobs begin at once and share no state.

The process has one thread: a fork never copies a lock that another thread holds. A server with threads therefore asks
it from outside.
"""

import multiprocessing
import signal
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection

from podium.kernel import heed_requests, requests_held_back

_FORK = multiprocessing.get_context("fork")
_SECONDS_TO_END = 10.0


class Prefork:
    """Runs `warm_up` once, then `job` in a child of its own whenever that is asked for.

    Make it before the first thread is started. Everything that the process has then is there for the jobs.
    """

    def __init__(self, *, warm_up: Callable[[], None], job: Callable[[], int]) -> None:
        self._connection, theirs = _FORK.Pipe()
        self._process = _FORK.Process(target=_serve, args=(theirs, self._connection, warm_up, job))
        with requests_held_back():
            self._process.start()
        theirs.close()

    def wait_until_warm(self) -> None:
        """Raises EOFError if the process ended instead."""
        self._connection.recv()

    def run(self) -> int:
        """The exit code of one job, negative for a signal; one job at a time. Raises EOFError or OSError if the process
        has ended."""
        self._connection.send(None)
        code: int = self._connection.recv()
        return code

    def join(self) -> None:
        """Wait until the process ends, which it does by itself only if something is wrong."""
        self._process.join()

    def stop(self) -> None:
        """End the process and the job that runs, each as SIGTERM ends it."""
        self._process.terminate()
        self._process.join(_SECONDS_TO_END)
        self._process.kill()
        self._process.join()
        self._connection.close()


def _serve(connection: Connection, other: Connection, warm_up: Callable[[], None], job: Callable[[], int]) -> None:
    other.close()  # or the end of the asking process would not be noticed
    signal.signal(signal.SIGTERM, _end_on_request)
    with suppress(EOFError, OSError, KeyboardInterrupt):
        heed_requests()
        warm_up()
        connection.send(None)
        while True:
            connection.recv()
            connection.send(_run(connection, job))


def _run(connection: Connection, job: Callable[[], int]) -> int:
    child = _FORK.Process(target=_exit_with, args=(connection, job))
    try:
        with requests_held_back():
            child.start()
        child.join()
    finally:  # also where we are to stop
        if child.pid is not None:
            child.terminate()
            child.join()
    assert child.exitcode is not None, "the child has ended"
    return child.exitcode


def _end_on_request(_signal: int, _frame: object) -> None:
    raise KeyboardInterrupt


def _exit_with(connection: Connection, job: Callable[[], int]) -> None:
    connection.close()
    heed_requests()
    raise SystemExit(job())
