"""Requests to end (SIGTERM, Ctrl-C) around a fork.

What their handler raises in one of Python's own functions around a fork is printed and lost, and the process goes on as
if nobody had asked. So they wait until the fork is over.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_REQUESTS_TO_END = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def requests_held_back() -> Iterator[None]:
    """While a process is forked. The new process calls `heed_requests` once it has its own handlers."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _REQUESTS_TO_END)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def heed_requests() -> None:
    """In a process that was forked while requests were held back."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _REQUESTS_TO_END)


requested_to_end = threading.Event()
"""Set by a command's handler. What the handler raises may be lost in a callback of Python's own, so long work asks."""
