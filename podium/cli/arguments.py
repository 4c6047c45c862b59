"""What the commands share: how one is added to the command line, the options of several, how one ends, and the log.

The organiser's log goes to stdout and is kept short, since the platform shows only about the last 500 lines of a
stream: together with the lines of progress on stderr, an evaluation prints at most 400 lines.
"""

import argparse
import logging
import math
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from podium.errors import require
from podium.execution.executor import MAX_WORKERS_VARIABLE, Executor, ProgressFactory, available_workers, show_progress
from podium.execution.processes import CASE_TIMEOUT_SECONDS, Processes
from podium.readers.files import escape_for_display

Command = Callable[[argparse.Namespace], int]
Verbs: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

BAKED_GROUND_TRUTH = Path(__file__).resolve().parents[2] / "ground-truth"
CHALLENGE_VARIABLE = "PODIUM_CHALLENGE"
TIME_LIMIT_VARIABLE = "PODIUM_TIME_LIMIT"
EXIT_CODES = (
    "exit codes: 0: success; 1: error in the submission; "
    "2: error in the ground truth, the configuration or the arguments"
)

_LOG = logging.getLogger("podium")
_LONGEST_SENTENCE = 1000
_LONGEST_LINE = 10_000  # of the log: the platform drops lines of more than 64 KiB
_MOST_LINES = 260
_KEPT_FOR_THE_END = 40
_MOST_OF_A_KIND = 15
_MOST_LINES_OF_A_RECORD = 12


def add_verb(verbs: Verbs, name: str, command: Command, summary: str) -> argparse.ArgumentParser:
    """Add one command, with its summary in both help texts."""
    parser = verbs.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.", epilog=EXIT_CODES)
    parser.set_defaults(command=command)
    return parser


def add_group(verbs: Verbs, name: str, summary: str) -> Verbs:
    """Add a command with subcommands, such as `podium freehand pack`."""
    parser = verbs.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.", epilog=EXIT_CODES)
    return parser.add_subparsers(title="commands", metavar="COMMAND", required=True)


def add_ground_truth(parser: argparse.ArgumentParser, *, kind: Callable[[str], object] = Path) -> None:
    """`kind` parses the argument, for commands that also take a URL."""
    parser.add_argument(
        "--ground-truth",
        type=kind,
        metavar="DIR",
        help="a challenge folder, or a folder of challenge folders "
        "[/opt/ml/input/data/ground_truth if it is not empty, else ground-truth]",
    )


def add_challenge(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--challenge",
        metavar="NAME",
        help=f"the challenge, if there are several [${CHALLENGE_VARIABLE}]",
    )


def chosen_challenge(options: argparse.Namespace) -> str | None:
    """The challenge that was named on the command line or in the environment."""
    return options.challenge or os.environ.get(CHALLENGE_VARIABLE) or None


def add_workers(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--workers",
        type=positive_int,
        default=available_workers(),
        metavar="N",
        help=f"number of worker processes [as cores and memory allow, at most ${MAX_WORKERS_VARIABLE}: %(default)s]",
    )


def add_case_timeout(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--case-timeout",
        type=_positive_seconds,
        default=CASE_TIMEOUT_SECONDS,
        metavar="SECONDS",
        help="time limit per case; a case that takes longer fails [%(default)g]",
    )


def add_time_limit(parser: argparse.ArgumentParser) -> None:
    given = os.environ.get(TIME_LIMIT_VARIABLE) or None
    parser.add_argument(
        "--time-limit",
        type=_positive_seconds,
        default=given,  # argparse checks a default that is text as if it had been typed
        metavar="SECONDS",
        help=f"for the whole evaluation: cases that are not scored by then fail [${TIME_LIMIT_VARIABLE}, else none]",
    )


def chosen_executor(options: argparse.Namespace) -> Processes:
    """Local processes as --workers, --case-timeout and --time-limit say; a command without one gets its default."""
    time_limit = getattr(options, "time_limit", None)
    return Processes(
        workers=getattr(options, "workers", None) or available_workers(),
        case_timeout_seconds=getattr(options, "case_timeout", CASE_TIMEOUT_SECONDS),
        progress=show_progress,
        score_until=None if time_limit is None else time.monotonic() + time_limit,
    )


def add_scheduler(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="tcp://HOST:PORT or the scheduler file of a Dask cluster, instead of this machine alone",
    )


def dask_executor(
    options: argparse.Namespace, *, case_timeout_seconds: float, resources: Mapping[str, float] | None = None
) -> "Callable[[ProgressFactory], Executor]":
    """The Dask cluster of --scheduler, once it is known how to show progress."""
    require("distributed", extra="score,cluster")
    from podium.tools.batch.dask import Dask

    return lambda progress: Dask(
        address=options.scheduler,
        case_timeout_seconds=case_timeout_seconds,
        progress=progress,
        resources=resources or {},
    )


def add_images_and_references(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--images",
        type=Path,
        required=True,
        metavar="DIR",
        help="<case>_0000 (CT) and <case>_0001 (PET), .nii.gz or .mha",
    )
    parser.add_argument("--references", type=Path, required=True, metavar="DIR", help="<case>.nii.gz or <case>.mha")


def positive_int(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return value


def count(text: str) -> int:
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text} is negative")
    return value


def share(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 1")
    return value


def inner_share(text: str) -> float:
    value = float(text)
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 1")
    return value


def _positive_seconds(text: str) -> float:
    value = float(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number of seconds")
    return value


def say(sentence: str) -> None:
    """Print one line on stderr, escaped: names of teams and cases come from others' files."""
    print(escape_for_display(" ".join(sentence.split()), longest=_LONGEST_SENTENCE), file=sys.stderr, flush=True)


def end(sentence: str, code: int = 0) -> int:
    """Print the last line of a command: the platform shows the last line of stderr to participants."""
    end_log()
    sys.stdout.flush()
    say(sentence)
    return code


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
