"""How a command is added to the command line, how it ends, and the options that several share."""

import argparse
import math
import os
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias

from podium.errors import UsageError
from podium.execution.cores import MAX_WORKERS_VARIABLE, available_workers
from podium.readers.names import escape_for_display

Command = Callable[[argparse.Namespace], int]
Verbs: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

BAKED_GROUND_TRUTH = Path(__file__).resolve().parents[2] / "ground-truth"
CHALLENGE_VARIABLE = "PODIUM_CHALLENGE"
EXIT_CODES = "exit codes: 0 done; 1 the submission is at fault; 2 ground truth, configuration or command line are."
_LONGEST_SENTENCE = 1000


def end(sentence: str, code: int = 0) -> int:
    """Say the last word: the platform shows the last line of stderr to participants."""
    sys.stdout.flush()
    print(escape_for_display(" ".join(sentence.split()), longest=_LONGEST_SENTENCE), file=sys.stderr, flush=True)
    return code


def add_verb(verbs: Verbs, name: str, command: Command, summary: str) -> argparse.ArgumentParser:
    """One command, with its summary in both helps."""
    parser = verbs.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.", epilog=EXIT_CODES)
    parser.set_defaults(command=command)
    return parser


def add_group(verbs: Verbs, name: str, summary: str) -> Verbs:
    """A command that has commands of its own, as `podium freehand pack`."""
    parser = verbs.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.", epilog=EXIT_CODES)
    return parser.add_subparsers(title="commands", metavar="COMMAND", required=True)


def require(*packages: str, extra: str) -> None:
    """Say what to install before a command fails on an import."""
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        raise UsageError(f"This command needs {', '.join(missing)}: install podium[{extra}].")


def chosen_challenge(options: argparse.Namespace) -> str | None:
    """The challenge that was named on the command line or in the environment."""
    return options.challenge or os.environ.get(CHALLENGE_VARIABLE) or None


def add_ground_truth(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--ground-truth",
        type=Path,
        metavar="DIR",
        help="a challenge folder, or a folder of them [/opt/ml/input/data/ground_truth if filled, else ground-truth]",
    )


def add_challenge(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--challenge",
        metavar="NAME",
        help=f"which challenge, where there are several [${CHALLENGE_VARIABLE}, else what the submission looks like]",
    )


def add_workers(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--workers",
        type=positive_int,
        default=available_workers(),
        metavar="N",
        help=f"processes [the cores this process may use, at most ${MAX_WORKERS_VARIABLE}: %(default)s]",
    )


def add_case_timeout(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--case-timeout",
        type=_positive_seconds,
        default=600.0,
        metavar="SECONDS",
        help="a case that takes longer is failed [%(default)g]",
    )


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


def _positive_seconds(text: str) -> float:
    value = float(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number of seconds")
    return value
