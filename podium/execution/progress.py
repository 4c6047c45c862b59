"""Progress on long work: a bar on a terminal, otherwise a plain line now and then. Always on stderr."""

import sys
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Protocol, TextIO

_SECONDS_BETWEEN_LINES = 5.0
_SHARE_BETWEEN_LINES = 0.25  # of the time so far: a day's work takes 42 lines, of which the platform keeps 500


class Progress(Protocol):
    """Told after every finished step."""

    def advance(self) -> None: ...

    def close(self) -> None: ...


ProgressFactory = Callable[[str, int], Progress]
"""Starts the progress of some work from its label and its number of steps."""


def no_progress(label: str, total: int) -> Progress:  # noqa: ARG001  (a ProgressFactory)
    """Shows nothing: how work is done that is called from Python."""
    return _Silence()


def show_progress(label: str, total: int, *, stream: TextIO | None = None) -> Progress:
    """The progress display that suits `stream`, by default stderr."""
    stream = stream or sys.stderr
    return _Bar(label, total, stream) if stream.isatty() else _Lines(label, total, stream)


class _Silence:
    def advance(self) -> None:
        """Nothing is shown."""

    def close(self) -> None:
        """There is nothing to close."""


class _Lines:
    def __init__(self, label: str, total: int, stream: TextIO) -> None:
        self._label, self._total, self._stream = label, total, stream
        self._done = 0
        self._start = self._last_line = time.monotonic()

    def advance(self) -> None:
        self._done += 1
        now = time.monotonic()
        if now - self._last_line >= max(_SECONDS_BETWEEN_LINES, _SHARE_BETWEEN_LINES * (self._last_line - self._start)):
            self._last_line = now
            rate = self._done / (now - self._start)
            left = timedelta(seconds=round((self._total - self._done) / rate))
            line = f"{self._label}: {self._done} of {self._total}, {rate:.3g} per second, {left} left"
            print(line, file=self._stream, flush=True)

    def close(self) -> None:
        """There is nothing to close: the lines stay."""


class _Bar:
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
