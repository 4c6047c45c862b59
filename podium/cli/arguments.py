"""What the commands share: how one is added to the command line, the options of several, what a table looks like, how a
command ends, and the log.

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
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from podium.errors import did_you_mean, require
from podium.execution.executor import MAX_WORKERS_VARIABLE, Executor, ProgressFactory, available_workers, show_progress
from podium.execution.processes import CASE_TIMEOUT_SECONDS, Processes
from podium.readers.files import escape_for_display

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from podium.challenges.format import ChallengeFolder

Command = Callable[[argparse.Namespace], int]
Number = TypeVar("Number", int, float)
Group = Literal["score", "prepare", "rank", "review", "run"]
"""Every module of commands declares its `GROUP`: `podium --help` lists the commands by it, in this order."""
Verbs: TypeAlias = "argparse._SubParsersAction[Parser]"

BAKED_GROUND_TRUTH = Path(__file__).resolve().parents[2] / "ground-truth"
CHALLENGE_VARIABLE = "PODIUM_CHALLENGE"
TIME_LIMIT_VARIABLE = "PODIUM_TIME_LIMIT"
UNBOUNDED = 10_000  # characters: wider than any table
EXIT_CODES = (
    "exit codes: 0: success; 1: error in the submission; "
    "2: error in the ground truth, the configuration or the arguments; 130: stopped on request"
)
EXAMPLES = {
    "podium evaluate": "--input my-submission --output out --ground-truth ground-truth/carotid",
    "podium validate": "my-submission --cases cases.json",
    "podium new": "liver --like panther",
    "podium check": "ground-truth/carotid",
    "podium bundle codabench": "carotid --image docker.io/you/podium-codabench-carotid:0.2.0",
    "podium rank": "results/ --output ranking",
    "podium judge": "teams/* --references ground-truth/reports --model NAME --no-remove-normal-findings",
    "podium arena init": "arena --ranking ranking/ranking.json --submissions submissions --cases images",
    "podium arena invite": "arena 'Dr Rossi' --language it",
    "podium batch": "submissions/ --ground-truth ground-truth/carotid --output rescored",
    "podium simulate": "--algorithm docker:my-algorithm --images images --references references --output simulation",
}
"""What `--help` shows of a command in use."""

_LOG = logging.getLogger("podium")
_LONGEST_SENTENCE = 1000
_LONGEST_LINE = 10_000  # of the log: the platform drops lines of more than 64 KiB
_MOST_LINES = 260
_KEPT_FOR_THE_END = 40
_MOST_OF_A_KIND = 15
_MOST_LINES_OF_A_RECORD = 12


class _Help(argparse.HelpFormatter):
    """Indented lines, such as examples, stay as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        fill = super()._fill_text
        return "\n".join(line if line.startswith(" ") else fill(line, width, indent) for line in text.splitlines())


class _Arguments(argparse._ActionsContainer):
    """`words` are the help of an argument."""

    def add_value(self, name: str, values: str | Collection[str], words: str, **more: Any) -> None:
        """An argument that takes a value: one of several, or what a word such as N stands for; DIR, FILE, FOLDER and
        PATH stand for paths. A default is added to the help, in brackets, unless it already has some."""
        kind = {"metavar": values} if isinstance(values, str) else {"choices": values}
        if values in ("DIR", "FILE", "FOLDER", "PATH"):
            more.setdefault("type", Path)
        if more.get("default") is not None and "[" not in words:
            words = f"{words} [%(default)s]".lstrip()
        self.add_argument(name, help=words, **kind, **more)

    def add_flag(self, name: str, words: str) -> None:
        self.add_argument(name, action="store_true", help=words)


class _Group(_Arguments, argparse._ArgumentGroup):
    """A part of the help."""


class Parser(_Arguments, argparse.ArgumentParser):
    """Has the arguments of several commands, and suggests what was probably meant by an unknown command, option or
    choice."""

    def add_argument_group(self, *args: Any, **kwargs: Any) -> _Group:
        group = _Group(self, *args, **kwargs)
        self._action_groups.append(group)
        return group

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """An unknown option is reported here, by the command's own parser, before arguments that are missing."""
        words = list(sys.argv[1:] if args is None else args)
        own = takewhile(lambda word: word.startswith("-"), words) if subcommands(self) else words
        for word in takewhile("--".__ne__, own):
            option, known = word.partition("=")[0], self._option_string_actions
            if word.startswith("--") and " " not in word and not any(each.startswith(option) for each in known):
                self.error(f"there is no option {option}{did_you_mean(option, known)}")
        return super().parse_known_args(words, namespace)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            known = [str(choice) for choice in action.choices]
            meant = did_you_mean(str(value), known) or f"; choose from: {', '.join(known)}"
            raise argparse.ArgumentError(action, f"'{value}' is not known{meant}")

    def add_ground_truth(self, *, kind: Callable[[str], object] = Path) -> None:
        """`kind` parses the argument, for commands that also take a URL."""
        self.add_value(
            "--ground-truth",
            "DIR",
            "a challenge folder, or a folder of challenge folders [/opt/ml/input/data/ground_truth if it is not empty, "
            "else ground-truth]",
            type=kind,
        )

    def add_challenge(self) -> None:
        self.add_value("--challenge", "NAME", f"the challenge, if there are several [${CHALLENGE_VARIABLE}]")

    def add_workers(self) -> None:
        self.add_value(
            "--workers",
            "N",
            f"number of worker processes [%(default)s: as cores and memory allow, at most ${MAX_WORKERS_VARIABLE}]",
            type=positive_int,
            default=available_workers(),
        )

    def add_case_timeout(self) -> None:
        self.add_value(
            "--case-timeout",
            "SECONDS",
            "time limit per case; a case that takes longer fails [%(default)g]",
            type=_positive_seconds,
            default=CASE_TIMEOUT_SECONDS,
        )

    def add_time_limit(self) -> None:
        self.add_value(
            "--time-limit",
            "SECONDS",
            f"time limit for the whole evaluation; cases not scored by then fail [${TIME_LIMIT_VARIABLE}, else none]",
            type=_positive_seconds,
            default=os.environ.get(TIME_LIMIT_VARIABLE) or None,  # argparse checks text as if it had been typed
        )

    def add_scheduler(self) -> None:
        self.add_value(
            "--scheduler",
            "ADDRESS",
            "tcp://HOST:PORT or the scheduler file of a Dask cluster, instead of this machine alone",
        )

    def add_images_and_references(self) -> None:
        self.add_value("--images", "DIR", "<case>_0000 (CT) and <case>_0001 (PET), .nii.gz or .mha", required=True)
        self.add_value("--references", "DIR", "<case>.nii.gz or <case>.mha", required=True)


def add_verb(verbs: Verbs, name: str, command: Command | None, summary: str) -> Parser:
    """Add one command, with its summary in both help texts."""
    parser = verbs.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.", epilog=EXIT_CODES)
    parser.formatter_class = _Help
    if example := EXAMPLES.get(parser.prog):
        parser.epilog = f"example:\n  {parser.prog} {example}\n\n{EXIT_CODES}"
    parser.set_defaults(command=command)
    return parser


def add_group(verbs: Verbs, name: str, summary: str) -> Verbs:
    """Add a command with subcommands, such as `podium freehand pack`."""
    return add_verb(verbs, name, None, summary).add_subparsers(title="commands", metavar="COMMAND", required=True)


def subcommands(parser: argparse.ArgumentParser) -> "Verbs | None":
    """What follows this command, if anything does."""
    return next((each for each in parser._actions if isinstance(each, argparse._SubParsersAction)), None)


def summaries(verbs: Verbs, before: str = "") -> Iterator[tuple[str, str]]:
    """Every command that can be run, in one or two words, and its summary."""
    for listed in verbs._choices_actions:
        inner = subcommands(verbs.choices[listed.dest])
        if inner is None:
            yield f"{before}{listed.dest}", listed.help or ""
        else:
            yield from summaries(inner, f"{before}{listed.dest} ")


def chosen_challenge(options: argparse.Namespace) -> str | None:
    """The challenge that was named on the command line or in the environment."""
    return options.challenge or os.environ.get(CHALLENGE_VARIABLE) or None


def ground_truth(options: argparse.Namespace) -> Path:
    """The folder of --ground-truth, or the one that is used without it."""
    from podium.challenges.format import locate_ground_truth

    return locate_ground_truth(options.ground_truth, beside=BAKED_GROUND_TRUTH)


def chosen_folder(options: argparse.Namespace) -> "ChallengeFolder":
    """The challenge that was chosen, or the only one."""
    from podium.evaluation import find_challenge

    return find_challenge(ground_truth(options), chosen_challenge(options))


def chosen_executor(options: argparse.Namespace) -> Processes:
    """Local processes as --workers, --case-timeout and --time-limit say; a command without one gets its default."""
    time_limit = getattr(options, "time_limit", None)
    return Processes(
        workers=getattr(options, "workers", None) or available_workers(),
        case_timeout_seconds=getattr(options, "case_timeout", CASE_TIMEOUT_SECONDS),
        progress=show_progress,
        score_until=None if time_limit is None else time.monotonic() + time_limit,
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


def number(kind: Callable[[str], Number], is_right: Callable[[Number], bool], wrong: str) -> Callable[[str], Number]:
    """How an argument is read that must be a number; `wrong` says what is wrong with another one."""

    def read(text: str) -> Number:
        try:
            value = kind(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"'{text}' is not a number") from None
        if not is_right(value):
            raise argparse.ArgumentTypeError(f"{text} {wrong}")
        return value

    return read


positive_int = number(int, lambda value: value >= 1, "is not a positive number")
count = number(int, lambda value: value >= 0, "is negative")
share = number(float, lambda value: 0 <= value <= 1, "is not between 0 and 1")
inner_share = number(float, lambda value: 0 < value < 1, "is not between 0 and 1")
_positive_seconds = number(float, lambda value: 0 < value < math.inf, "is not a positive number of seconds")


# Tables look the same in all commands.


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


def say(sentence: str) -> None:
    """Print one line on stderr, escaped: names of teams and cases come from others' files."""
    print(escape_for_display(" ".join(sentence.split()), longest=_LONGEST_SENTENCE), file=sys.stderr, flush=True)


def end(sentence: str, code: int = 0) -> int:
    """Print the last line of a command: the platform shows the last line of stderr to participants."""
    end_log()
    sys.stdout.flush()
    say(sentence)
    return code


def is_one_stream() -> bool:
    """Whether stdout and stderr go to the same terminal or file: what is said on both would be read twice."""
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
