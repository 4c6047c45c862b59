"""Every error Podium raises on purpose and its exit code, and validation errors as sentences.

PodiumError
├── SubmissionError      the submission as a whole is unusable              exit 1
├── Refused              one file cannot be accepted; the message is for its author
│   │                    (costs its case; a refused reference becomes a GroundTruthError)
│   ├── ReaderDied           reading it crashed, possibly not because of the file: its case is tried again
│   └── OwnMetricFailed      the organiser's metrics.py raised; on every case, that is an OrganiserError
└── OrganiserError       something on the organiser's side is wrong         exit 2
    ├── GroundTruthError     a reference is missing, broken or contradictory
    ├── ConfigurationError   challenge.toml is wrong; the message names key and line
    ├── UsageError           the command line is wrong
    ├── StorageError         files behind a URL cannot be reached
    └── MachineError         the machine kills processes, so that other cases would fail too

Messages are complete sentences. The platform shows the last line of stderr to participants whatever went wrong, so each
message must be fit for that: it names what was submitted or published, never a reference's content, a hidden case or a
path of the container. What only the organiser may know goes into `detail`, which is printed to the log (stdout).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic import ValidationError

UNKNOWN_KEY = "unknown_key"  # the type of a validation error whose message already says what is wrong with a key
_WRONG = "is wrong: "
_TYPES = {"tuple_type", "dict_type", "model_type", "string_type"}
_EXPECTED = {
    **dict.fromkeys(("tuple_type", "list_type"), "a list"),
    **dict.fromkeys(("dict_type", "model_type"), "a table of keys and values"),
    "string_type": "a string",
}
_Found = tuple[tuple[str | int, ...], str, str]


class PodiumError(Exception):
    """Base of all errors with a message meant for people."""

    exit_code = 2

    def __init__(self, message: str, *, detail: str | None = None) -> None:
        super().__init__(message)
        self.detail = detail


class SubmissionError(PodiumError):
    """The submission cannot be scored at all; the message tells its author how to fix it."""

    exit_code = 1


class Refused(PodiumError):
    """One file is not acceptable; the message names it as its author does and says what to send instead."""

    exit_code = 1


class ReaderDied(Refused):
    """The process that read one file ended, because of the file or because it was killed."""


class OwnMetricFailed(Refused):
    """An organiser's own metric raised on one case; `failure` says which one and with what."""

    def __init__(self, failure: str, *, detail: str) -> None:
        super().__init__(f"{failure} on this case. The organisers can find details in the log.", detail=detail)
        self.failure = failure


class OrganiserError(PodiumError):
    """Ground truth, configuration or command line are wrong: nothing is scored until that is fixed."""


class GroundTruthError(OrganiserError):
    """A reference is missing, unreadable or contradicts the configuration."""


class ConfigurationError(OrganiserError):
    """challenge.toml is wrong."""


class UsageError(OrganiserError):
    """The command line is wrong."""


class StorageError(OrganiserError):
    """What a URL points to does not exist, may not be used or does not answer."""


class MachineError(OrganiserError):
    """Processes are killed faster than they can be replaced."""


# Validation errors of pydantic as sentences: every file that Podium reads names its mistakes in the same way.


@dataclass(frozen=True, kw_only=True)
class ValidationProblem:
    """One thing that is wrong with a document: where, and what, as words that follow the place."""

    key: tuple[str | int, ...]
    words: str

    @property
    def place(self) -> str:
        """The key as a dotted path; empty where the whole document is meant."""
        return ".".join(map(str, self.key))

    def __str__(self) -> str:
        """`'counts.expected' is missing`, or the words alone where the whole document is meant."""
        return f"'{self.place}' {self.words}" if self.key else self.words


def first_problem(error: "ValidationError") -> ValidationProblem:
    """The first of the errors."""
    return all_problems(error)[0]


def all_problems(error: "ValidationError", *, content: Any = None) -> list[ValidationProblem]:
    """Every error.

    Where a value may be of several types, pydantic names every type that did not fit, as if it were a key. With the
    `content` that was validated, keys lead to what the file says, and a type that was not meant is not mentioned.
    """
    found = [
        (_key(each["loc"], content, each["type"]), each["type"], each["msg"])
        for each in error.errors()
        if each["type"] != "default_factory_not_called"  # a default that depends on a key that is wrong
    ]
    if content is not None:
        found = [each for each in found if each[1] not in _TYPES or not _is_explained(each, found)]
    words: dict[tuple[str | int, ...], list[str]] = {}
    for key, kind, message in found:
        words.setdefault(key, []).append(_in_words(kind, message))
    return [ValidationProblem(key=key, words=_joined(list(dict.fromkeys(each)))) for key, each in words.items()]


def _key(location: tuple[str | int, ...], content: Any, kind: str) -> tuple[str | int, ...]:
    """The parts of a location that lead through the content, and the last one also where the key is missing."""
    if content is None:
        return location
    key: list[str | int] = []
    for number, part in enumerate(location):
        inside = range(len(content)) if isinstance(content, list | tuple) else content
        if isinstance(inside, dict | range) and part in inside:
            content = content[part]
        elif kind != "missing" or number < len(location) - 1:
            continue
        key.append(part)
    return tuple(key)


def _is_explained(problem: _Found, others: Iterable[_Found]) -> bool:
    """Whether another problem at the same place, or inside it, says more than that the type is wrong."""
    key = problem[0]
    return any(other[0][: len(key)] == key and (len(other[0]) > len(key) or other[1] not in _TYPES) for other in others)


def _in_words(kind: str, message: str) -> str:
    if kind == "extra_forbidden":
        return "is not a known key"
    if kind == UNKNOWN_KEY:
        return message
    if kind == "missing":
        return f"is missing{message.removeprefix('Field required')}"
    if kind in _EXPECTED:
        return f"{_WRONG}it must be {_EXPECTED[kind]}"
    if kind == "too_short":
        return f"{_WRONG}it must not be empty" if " at least 1 " in message else f"{_WRONG}it has too few parts"
    message = message.removeprefix("Value error, ").removesuffix(".")
    return f"{_WRONG}{message[0].lower()}{message[1:]}"


def _joined(words: Sequence[str]) -> str:
    return "; or: ".join([words[0], *(each.removeprefix(_WRONG) for each in words[1:])])


def read_given(path: "Path") -> bytes:
    """The content of a file that the user named; UsageError where it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from None


def listed(words: Sequence[str], *, most: int | None = None, before_last: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`; of more than `most`, the first ones and how many more there are."""
    if most is not None and len(words) > most:
        return f"{', '.join(words[:most])} and {len(words) - most:,} more"
    return f" {before_last} ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'nsd.mean'?`, or nothing where no known name is close."""
    close = get_close_matches(name, [each for each in known if each != name], n=1)
    return f"; did you mean '{close[0]}'?" if close else ""
