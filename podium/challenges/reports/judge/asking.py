"""What the engine's questions are put to: a server, or nothing in a dry run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from podium.errors import OrganiserError

ResponseFormat = Mapping[str, Any]


class Message(Protocol):
    """One message of a question, as radfact-lite makes it."""

    @property
    def role(self) -> str: ...

    @property
    def content(self) -> str: ...


@dataclass(frozen=True, kw_only=True)
class JudgeReply:
    """JSON that follows the question's schema, and the day it was given (UTC, `2026-06-12`)."""

    content: dict[str, Any]
    day: str


class Asker(Protocol):
    """Answers a question or raises CallFailed; may be called from several threads."""

    def ask(self, messages: Sequence[Message], response_format: ResponseFormat) -> JudgeReply: ...


class CallFailed(Exception):
    """One question has no answer after all attempts. It costs the verdicts that needed it, nothing else."""


class JudgeStopped(OrganiserError):
    """No further question makes sense: the key is refused, the model is unknown, the server does not answer."""
