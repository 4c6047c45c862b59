"""From pydantic's errors to words: every file that Podium reads names its mistakes in the same way."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the caller has imported pydantic, or there would be no error
    from pydantic import ValidationError


@dataclass(frozen=True, kw_only=True)
class ValidationProblem:
    """One thing that is wrong with a document: where, and what in words that follow the place."""

    key: tuple[str | int, ...]
    words: str

    @property
    def place(self) -> str:
        """The key as a dotted path; empty where the whole document is meant."""
        return ".".join(map(str, self.key))

    def __str__(self) -> str:
        """`'counts.expected' is missing`, or the words alone where the whole document is meant."""
        return f"'{self.place}' {self.words}" if self.key else self.words


def first_problem(error: "ValidationError", *, prefix: tuple[str, ...] = ()) -> ValidationProblem:
    """The first of the errors; `prefix` is where the validated value stands in its file."""
    return all_problems(error, prefix=prefix)[0]


def all_problems(
    error: "ValidationError", *, prefix: tuple[str, ...] = (), content: Any = None
) -> list[ValidationProblem]:
    """Every error; `prefix` is where the validated value stands in its file.

    Where a value may be of several types, pydantic names every type that did not fit, as if it were a key. With the
    `content` that was validated, keys lead to what the file says, and a type that was not meant is not mentioned.
    """
    found = [(_key(each["loc"], content, each["type"]), each["type"], each["msg"]) for each in error.errors()]
    if content is not None:
        found = [each for each in found if each[1] not in _TYPES or not _is_explained(each, found)]
    words: dict[tuple[str | int, ...], list[str]] = {}
    for key, kind, message in found:
        words.setdefault((*prefix, *key), []).append(_in_words(kind, message))
    return [ValidationProblem(key=key, words=_joined(list(dict.fromkeys(each)))) for key, each in words.items()]


def _joined(words: Sequence[str]) -> str:
    return "; or: ".join([words[0], *(each.removeprefix(_WRONG) for each in words[1:])])


_TYPES = {"tuple_type", "dict_type", "model_type", "string_type"}
_WRONG = "is wrong: "
_EXPECTED = {
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a table of keys and values",
    "model_type": "a table of keys and values",
    "string_type": "a text",
}
_Found = tuple[tuple[str | int, ...], str, str]


def _key(location: tuple[str | int, ...], content: Any, kind: str) -> tuple[str | int, ...]:
    """The parts of a location that lead through the content; the last is the key's own where it is missing."""
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
    """Whether another problem at the same place, or inside of it, says more than that the type is another."""
    key = problem[0]
    return any(other[0][: len(key)] == key and (len(other[0]) > len(key) or other[1] not in _TYPES) for other in others)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'nsd.mean'?`, or nothing where no known name is close."""
    close = get_close_matches(name, list(known), n=1)
    return f"; did you mean '{close[0]}'?" if close else ""


def _in_words(kind: str, message: str) -> str:
    if kind == "extra_forbidden":
        return "is not a known key"
    if kind == UNKNOWN_KEY:
        return message
    if kind == "missing":
        return "is missing"
    if kind in _EXPECTED:
        return f"{_WRONG}it must be {_EXPECTED[kind]}"
    if kind == "too_short":
        return f"{_WRONG}it must not be empty" if " at least 1 " in message else f"{_WRONG}it has too few parts"
    message = message.removeprefix("Value error, ").removesuffix(".")
    return f"{_WRONG}{message[0].lower()}{message[1:]}"


UNKNOWN_KEY = "unknown_key"
"""The type of an error whose message already says what is wrong with a key."""
