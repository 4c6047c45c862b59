"""The options of a command are the fields of the dataclass that its function takes: `option`, `choice`, `flag` and
`argument` declare them, `CommandParser` reads them. Options of several commands are dataclasses to inherit from."""

import argparse
import math
import os
import shutil
import textwrap
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from functools import partial
from inspect import get_annotations
from itertools import takewhile
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from podium.errors import did_you_mean
from podium.execution.executor import MAX_WORKERS_VARIABLE, Executor, ProgressFactory, available_workers, show_progress
from podium.execution.processes import CASE_TIMEOUT_SECONDS, Processes
from podium.packages import require

if TYPE_CHECKING:
    from podium.challenges.ground_truth import ChallengeFolder


Number = TypeVar("Number", int, float)

BAKED_GROUND_TRUTH = Path(__file__).resolve().parents[2] / "ground-truth"
CHALLENGE_VARIABLE = "PODIUM_CHALLENGE"
TIME_LIMIT_VARIABLE = "PODIUM_TIME_LIMIT"
GROUND_TRUTH = (
    "a challenge folder, or a folder of challenge folders [/opt/ml/input/data/ground_truth if it is not empty, else "
    "ground-truth]"
)
EXIT_CODES = (
    "exit codes: 0: success; 1: error in the submission; "
    "2: error in the ground truth, the configuration or the arguments; 130: stopped on request"
)


def option(metavar: str, words: str, default: Any = MISSING, *, section: str = "", **more: Any) -> Any:
    """Declare a field of a dataclass that is an option of a command. A field of the type Sequence may be repeated.

    Args:
        metavar: what the value stands for, such as N.
        words: the help; the default is added, in brackets, unless there are brackets already.
        default: a value, or a function that returns it; without one, the option is required unless it may be None.
        section: the part of the help that the option stands in.
        more: `names`, instead of the field's own; `variable`, from which the default is taken if it is set; everything
            else goes to `add_argument`, such as `type`, a function that reads the value.
    """
    metadata = {"metavar": metavar, "help": words, "section": section, **more}
    return field(metadata=metadata, **{"default_factory" if callable(default) else "default": default})


argument = partial(option, names=())
"""Declare a positional argument, as `option` declares an option."""


def choice(words: str, default: Any = MISSING, **more: Any) -> Any:
    """Declare an option of the type Literal."""
    return option("", words, default, **more)


def flag(words: str, *, section: str = "") -> Any:
    """Declare an option without a value, of the type bool."""
    return option("", words, False, section=section)


class CommandParser(argparse.ArgumentParser):
    """Reads words into the dataclass `kind`; suggests what was probably meant by an unknown option or choice.

    `kind` may have a `usage`, an `example` and `sections`, with the descriptions of parts of its help.
    """

    def __init__(self, prog: str, kind: type[Any], summary: str) -> None:
        example = f"example:\n  {prog} {kind.example}\n\n" if hasattr(kind, "example") else ""
        super().__init__(
            prog=prog,
            usage=getattr(kind, "usage", None),
            description=f"{summary[0].upper()}{summary[1:]}.",
            epilog=example + fill(EXIT_CODES),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        self.kind = kind
        self.options = ["--help"]
        self.first_argument: argparse.Action | None = None
        sections: dict[str, Any] = {"": self}
        hints, own = get_type_hints(kind, include_extras=True), get_annotations(kind)
        # Options shared with other commands come last; the order of arguments without a name is that of the fields.
        for each in sorted(fields(kind), key=lambda each: each.name not in own and each.metadata.get("names") != ()):
            if each.metadata:
                names, given = _add_argument_values(each, hints[each.name])
                title = each.metadata["section"]
                if title not in sections:
                    sections[title] = self.add_argument_group(title, fill(getattr(kind, "sections", {}).get(title, "")))
                action = sections[title].add_argument(*names, **given)
                self.options += action.option_strings
                self.first_argument = self.first_argument or (None if action.option_strings else action)

    def read(self, words: Sequence[str]) -> Any:
        """The dataclass; an unknown option is reported before arguments that are missing."""
        refuse_unknown_option(self, words, known=self.options)
        return self.kind(**vars(self.parse_args(words)))


def refuse_unknown_option(parser: argparse.ArgumentParser, words: Sequence[str], *, known: Collection[str]) -> None:
    for word in takewhile("--".__ne__, words):
        name = word.partition("=")[0]
        if word.startswith("--") and " " not in word and not any(each.startswith(name) for each in known):
            parser.error(f"there is no option {name}{did_you_mean(name, known)}")


def one_of(known: Sequence[str]) -> Callable[[str], str]:
    """How an argument is read that must be one of several."""

    def read(text: str) -> str:
        if text not in known:
            meant = did_you_mean(text, known) or f"; choose from: {', '.join(known)}"
            raise argparse.ArgumentTypeError(f"'{text}' is not known{meant}")
        return text

    return read


def numeric(kind: Callable[[str], Number], is_right: Callable[[Number], bool], wrong: str) -> Callable[[str], Number]:
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


PositiveInt = Annotated[int, numeric(int, lambda value: value >= 1, "is not a positive number")]
Count = Annotated[int, numeric(int, lambda value: value >= 0, "is negative")]
Fraction = Annotated[float, numeric(float, lambda value: 0 <= value <= 1, "is not between 0 and 1")]
InnerFraction = Annotated[float, numeric(float, lambda value: 0 < value < 1, "is not between 0 and 1")]
Positive = Annotated[float, numeric(float, lambda value: 0 < value < math.inf, "is not a positive number")]
Seconds = Annotated[float, numeric(float, lambda value: 0 < value < math.inf, "is not a positive number of seconds")]


def fill(text: str) -> str:
    """Break a paragraph into lines as argparse does."""
    return textwrap.fill(text, shutil.get_terminal_size().columns - 2)


def _add_argument_values(declared: "Field[Any]", hint: Any) -> tuple[Sequence[str], dict[str, Any]]:
    """What `add_argument` is called with for a field of the type `hint`."""
    given = {name: value for name, value in declared.metadata.items() if name not in ("names", "variable", "section")}
    names = declared.metadata.get("names", [f"--{declared.name.replace('_', '-')}"])
    default = declared.default if declared.default_factory is MISSING else declared.default_factory()
    if variable := declared.metadata.get("variable"):
        default = os.environ.get(variable) or default  # argparse checks text as if it had been typed
    kind = hint
    if get_origin(hint) in (Union, UnionType):
        kind = next(each for each in get_args(hint) if each is not NoneType)
        default = None if default is MISSING else default
    if kind is bool or get_origin(kind) is Literal:
        del given["metavar"]
    if kind is bool:
        given["action"] = argparse.BooleanOptionalAction if default is None else "store_true"
    elif get_origin(kind) is Literal:
        given |= {"choices": get_args(kind), "type": one_of(get_args(kind))}
    elif get_origin(kind) is Sequence:
        repeated = {"action": "append"} if names else {"nargs": "+"}
        given = {"type": _reader(get_args(kind)[0]), **repeated, **given}
    else:
        given.setdefault("type", _reader(kind))
    if default is MISSING:
        given |= {"required": True} if names else {}
    elif isinstance(default, tuple | dict):
        given["default"] = argparse.SUPPRESS  # the dataclass has it
    else:
        given |= {"default": default} if names else {"default": default, "nargs": "?"}
        if default is not None and default is not False and "[" not in given["help"]:
            given["help"] += " [%(default)s]"
    return (names, {**given, "dest": declared.name}) if names else ([declared.name], given)


def _reader(kind: Any) -> Any:
    """What reads a value of this type from text."""
    return get_args(kind)[1] if get_origin(kind) is Annotated else kind


# Options of several commands.


@dataclass
class NoOptions:
    """Of a command without any."""


@dataclass(kw_only=True)
class GroundTruthOptions:
    ground_truth: Path | None = option("DIR", GROUND_TRUTH)

    @property
    def ground_truth_folder(self) -> Path:
        """The folder of --ground-truth, or the one that is used without it."""
        from podium.challenges.ground_truth import locate_ground_truth

        return locate_ground_truth(self.ground_truth, beside=BAKED_GROUND_TRUTH)


@dataclass(kw_only=True)
class ChallengeOptions(GroundTruthOptions):
    challenge: str | None = option(
        "NAME", f"the challenge, if there are several [${CHALLENGE_VARIABLE}]", variable=CHALLENGE_VARIABLE
    )

    def folder(self) -> "ChallengeFolder":
        """The challenge that was chosen, or the only one."""
        from podium.evaluation import find_challenge

        return find_challenge(self.ground_truth_folder, self.challenge)


@dataclass(kw_only=True)
class WorkerOptions:
    workers: PositiveInt = option(
        "N",
        f"number of worker processes [%(default)s: as cores and memory allow, at most ${MAX_WORKERS_VARIABLE}]",
        available_workers,
    )
    case_timeout: float = CASE_TIMEOUT_SECONDS
    time_limit: float | None = None

    def executor(self) -> Processes:
        """Local processes."""
        return Processes(
            workers=self.workers,
            case_timeout_seconds=self.case_timeout,
            progress=show_progress,
            score_until=None if self.time_limit is None else time.monotonic() + self.time_limit,
        )


@dataclass(kw_only=True)
class CaseOptions(WorkerOptions):
    case_timeout: Seconds = option(
        "SECONDS", "time limit per case; a case that takes longer fails [%(default)g]", CASE_TIMEOUT_SECONDS
    )


@dataclass(kw_only=True)
class SchedulerOptions:
    scheduler: str | None = option(
        "ADDRESS", "tcp://HOST:PORT or the scheduler file of a Dask cluster, instead of this machine alone"
    )


@dataclass(kw_only=True)
class ImageOptions:
    images: Path = option("DIR", "<case>_0000 (CT) and <case>_0001 (PET), .nii.gz or .mha")
    references: Path = option("DIR", "<case>.nii.gz or <case>.mha")


def dask_executor(
    scheduler: str, *, case_timeout_seconds: float, resources: Sequence[tuple[str, float]] = ()
) -> Callable[[ProgressFactory], Executor]:
    """The Dask cluster of --scheduler, once it is known how to show progress."""
    require("distributed", extra="score,cluster")
    from podium.tools.batch.dask import Dask

    return lambda progress: Dask(
        address=scheduler,
        case_timeout_seconds=case_timeout_seconds,
        progress=progress,
        resources=dict(resources),
    )
