"""What commands print: tables, the last sentence of a command, and the log.

The organiser's log goes to stdout and is kept short, since the platform shows only about the last 500 lines of a
stream: together with the lines of progress on stderr, an evaluation prints at most 400 lines.
"""

import logging
import os
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, TextIO

from podium.readers.files import escape_for_display

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

UNBOUNDED = 10_000  # characters: wider than any table

_LOG = logging.getLogger("podium")
_LONGEST_SENTENCE = 1000
_LONGEST_LINE = 10_000  # of the log: the platform drops lines of more than 64 KiB
_MOST_LINES = 260
_KEPT_FOR_THE_END = 40
_MOST_OF_A_KIND = 15
_MOST_LINES_OF_A_RECORD = 12


def console() -> "Console":
    """For stdout: as wide as the terminal or $COLUMNS; what goes to a file or another program is never shortened."""
    from rich.console import Console

    found = Console(highlight=False)
    return found if found.is_terminal or os.environ.get("COLUMNS") else Console(highlight=False, width=UNBOUNDED)


def table(title: str, *headings: str, texts: Collection[str] = (), rows: Iterable[Sequence[str]] = ()) -> "Table":
    """A table; `texts` are the headings of columns of words, which are on the left and may be folded."""
    from rich import box
    from rich.table import Table

    made = Table(
        title=cell(f"\n{title}") if title else None,
        title_justify="left",
        box=box.SIMPLE_HEAD,
        collapse_padding=True,
        pad_edge=False,
        show_edge=False,
    )
    for heading in headings:
        is_text = heading in texts
        made.add_column(cell(heading), justify="left" if is_text else "right", overflow="fold", no_wrap=not is_text)
    for row in rows:
        made.add_row(*map(cell, row))
    return made


def cell(text: str) -> str:
    """Text of a file, safe for a terminal: without control characters or markup; only its line breaks are kept."""
    from rich.markup import escape

    return escape("\n".join(escape_for_display(line, longest=_LONGEST_SENTENCE) for line in text.split("\n")))


def coloured(text: str, colour: Literal["red", "yellow"], stream: TextIO) -> str:
    """The text in a colour where the stream is a terminal that has colours."""
    if not stream.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") == "dumb":
        return text
    return f"\x1b[{31 if colour == 'red' else 33}m{text}\x1b[0m"


def say(sentence: str, *, is_failure: bool = False) -> None:
    """Print one line on stderr, escaped: names of teams and cases come from others' files."""
    line = escape_for_display(" ".join(sentence.split()), longest=_LONGEST_SENTENCE)
    print(coloured(line, "red", sys.stderr) if is_failure else line, file=sys.stderr, flush=True)


def end(sentence: str, code: int = 0) -> int:
    """Print the last line of a command: the platform shows the last line of stderr to participants."""
    end_log()
    sys.stdout.flush()
    say(sentence, is_failure=code in (1, 2))
    return code


def is_one_stream() -> bool:
    """Whether stdout and stderr go to the same terminal or file: what is printed on both would be read twice."""
    try:
        return os.path.sameopenfile(sys.stdout.fileno(), sys.stderr.fileno())
    except OSError:  # a stream that is no file
        return False


def end_log(last: str = "") -> None:
    """Say in the log what was left out of it, and then `last`: nothing may follow the summary or the error."""
    for handler in _LOG.handlers:
        if isinstance(handler, _PrintingHandler):
            handler.end(last)


@contextmanager
def printed_log() -> Iterator[None]:
    """Print the log to stdout while a command runs; from Python, without a command, it is not printed."""
    handler, level = _PrintingHandler(), _LOG.level
    _LOG.addHandler(handler)
    _LOG.setLevel(logging.INFO)
    try:
        yield
    finally:
        _LOG.setLevel(level)
        _LOG.removeHandler(handler)


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
        """Say how many records of each kind were left out, and then `last`, unless it is empty."""
        for kind, number in self._left_out.items():
            print(f"{kind.partition(':')[0]}: and {number:,} more", flush=True)
        self._left_out.clear()
        if last:
            print(_shortened(last, most=_MOST_LINES - self._lines), flush=True)


def _shortened(text: str, *, most: int) -> str:
    """At most `most` lines, none so long that the platform drops it: of a longer text its start and its end, where a
    traceback says what went wrong."""
    lines = [line[:_LONGEST_LINE] for line in text.rstrip().splitlines()]
    if len(lines) <= most:
        return "\n".join(lines)
    head, tail = most // 2, most - most // 2 - 1
    return "\n".join([*lines[:head], f"... and {len(lines) - head - tail:,} more lines ...", *lines[-tail:]])
