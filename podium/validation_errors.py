"""From pydantic's errors to words: every file that Podium reads names its mistakes in the same way."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

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


def all_problems(error: "ValidationError", *, prefix: tuple[str, ...] = ()) -> list[ValidationProblem]:
    """Every error; `prefix` is where the validated value stands in its file."""
    return [
        ValidationProblem(key=(*prefix, *each["loc"]), words=_in_words(each["type"], each["msg"]))
        for each in error.errors(include_url=False)
    ]


def _in_words(kind: str, message: str) -> str:
    if kind == "extra_forbidden":
        return "is not a known key"
    if kind == "missing":
        return "is missing"
    message = message.removeprefix("Value error, ").removesuffix(".")
    return f"is wrong: {message[0].lower()}{message[1:]}"
