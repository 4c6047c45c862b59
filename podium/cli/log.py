"""The organiser's log on stdout, kept short: the platform shows about the last 500 lines of a stream and no more.

Together with the lines of progress on stderr, an evaluation prints at most 400 lines.
"""

import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

_MOST_LINES = 260
_KEPT_FOR_THE_END = 40
_MOST_OF_A_KIND = 15
_MOST_LINES_OF_A_RECORD = 12
_LOG = logging.getLogger("podium")


class _PrintingHandler(logging.Handler):
    """Prints the first records of each kind and counts the others; the kind is the message without its values."""

    def __init__(self) -> None:
        super().__init__()
        self._lines = 0
        self._printed: Counter[str] = Counter()
        self._left_out: Counter[str] = Counter()

    def emit(self, record: logging.LogRecord) -> None:
        text = _shortened(record.getMessage(), most=_MOST_LINES_OF_A_RECORD)
        lines = text.count("\n") + 1
        if self._printed[record.msg] == _MOST_OF_A_KIND or self._lines + lines > _MOST_LINES - _KEPT_FOR_THE_END:
            self._left_out[record.msg] += 1
            return
        self._printed[record.msg] += 1
        self._lines += lines
        print(text, flush=True)

    def end(self, last: str) -> None:
        """Say how many records of each kind were left out, and then, if there is something, the last words."""
        for kind, number in self._left_out.items():
            print(f"{kind.partition(':')[0]}: and {number:,} more", flush=True)
        self._left_out.clear()
        if last:
            print(_shortened(last, most=_MOST_LINES - self._lines), flush=True)


@contextmanager
def printed_log() -> Iterator[None]:
    """The log goes to stdout while a command runs; without a command, from Python, it is not printed."""
    handler, level = _PrintingHandler(), _LOG.level
    _LOG.addHandler(handler)
    _LOG.setLevel(logging.INFO)
    try:
        yield
    finally:
        _LOG.setLevel(level)
        _LOG.removeHandler(handler)


def end_log(last: str = "") -> None:
    """Say in the log what was left out of it, and then `last`: nothing may stand below the summary or the error."""
    for handler in _LOG.handlers:
        if isinstance(handler, _PrintingHandler):
            handler.end(last)


def _shortened(text: str, *, most: int) -> str:
    """A bounded number of lines: of a longer text its beginning and its end, where a traceback says what went wrong."""
    lines = text.rstrip().splitlines()
    if len(lines) <= most:
        return "\n".join(lines)
    head, tail = most // 2, most - most // 2 - 1
    return "\n".join([*lines[:head], f"... and {len(lines) - head - tail:,} more lines ...", *lines[-tail:]])
