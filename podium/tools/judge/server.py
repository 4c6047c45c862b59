"""Questions to a server that supports OpenAI's chat completions with JSON-schema output."""

import math
import random
import re
import socket
import ssl
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal

import openai
from pydantic import BaseModel, ConfigDict

from podium.tools.judge.asking import (
    AnswerCache,
    CallFailed,
    JudgeReply,
    JudgeStopped,
    Message,
    Meter,
    ResponseFormat,
    by_count,
)

# radfact-lite pins these too; a server that does not support one of them says so once, and is not sent it again.
_PINNED = {"temperature": 0, "reasoning_effort": "low"}
_REMINDER = "The last answer did not follow the JSON schema. Answer with JSON that follows it, and nothing else."
_RESUME = "Answers so far are in the cache: run it again to ask the rest."

_BROKE_SCHEMA = "answer not in the requested form"
_TEMPORARY = frozenset((408, 409, 425, 429))  # asking again may help, as it may from 500 on
_QUOTA = "insufficient_quota"
_MAX_BACKOFF_SECONDS = 60.0
_MAX_REQUESTED_SECONDS = 3600.0
_FENCE = re.compile(r"(`{3,}|~{3,})[\w-]*")


@dataclass(frozen=True, kw_only=True)
class RetryPolicy:
    """How often a question is asked before it fails, and how many failures in a row end the run."""

    attempts: int
    backoff_seconds: float
    give_up_after: int = 20


class _BrokeSchema(Exception):
    """The answer is not JSON, or does not follow the schema."""


class Judge:
    """Asks a server, stores its answers in the cache, and retries after temporary errors.

    Error messages never quote the server: some servers repeat the key they refuse.
    """

    def __init__(
        self, client: openai.OpenAI, *, model: str, cache: AnswerCache, meter: Meter, retries: RetryPolicy
    ) -> None:
        self._client: Any = client  # its types list the parameters per model; we send the same to all
        self._model = model
        self._cache = cache
        self._meter = meter
        self._retries = retries
        self._unsupported: set[str] = set()
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._failures_in_a_row: Counter[str] = Counter()

    def stop(self) -> None:
        """From now on no thread waits or asks."""
        self._stop.set()

    def ask(self, messages: Sequence[Message], response_format: ResponseFormat) -> JudgeReply:
        """From the cache, else from the server; raises CallFailed when all attempts are used up."""
        key = self._cache.key(messages, response_format)
        known = self._cache.get(key)
        if known is not None:
            self._meter.found()
            return known
        try:
            content = self._ask_until_answered(messages, response_format)
        except CallFailed as failure:
            if not self._stop.is_set():  # otherwise the server did not fail
                self._meter.failed(str(failure))
                self._stop_after_many(str(failure))
            raise
        with self._lock:
            self._failures_in_a_row.clear()
        answer = JudgeReply(content=content, day=datetime.now(UTC).date().isoformat())
        self._cache.put(key, answer)
        return answer

    def _ask_until_answered(self, messages: Sequence[Message], response_format: ResponseFormat) -> dict[str, Any]:
        chat = [{"role": message.role, "content": message.content} for message in messages]
        reason = "stopped"
        for attempt in range(self._retries.attempts):
            if self._stop.is_set():
                break
            wait = backoff_seconds(attempt, first=self._retries.backoff_seconds)
            try:
                return self._ask_once(chat, response_format)
            except _BrokeSchema:
                reason = _BROKE_SCHEMA
                chat = [*chat[: len(messages)], {"role": "user", "content": _REMINDER}]
                wait = 0.0
            except openai.APIConnectionError as error:
                reason = connection_fault(error)
            except openai.APIStatusError as error:
                reason = f"access denied (status {code})" if (code := error.status_code) == 403 else f"status {code}"
                totals = self._meter.totals
                if problem := final_fault(error, has_answered=totals.calls + totals.hits > 0):
                    self.stop()
                    raise JudgeStopped(problem) from None
                if code not in _TEMPORARY and code < 500:
                    break
                requested = requested_seconds(error.response.headers)
                wait = wait if requested is None else requested
            if attempt + 1 < self._retries.attempts:
                self._stop.wait(wait)
        raise CallFailed(reason)

    def _ask_once(self, chat: list[dict[str, str]], response_format: ResponseFormat) -> dict[str, Any]:
        while True:
            pinned = {name: value for name, value in _PINNED.items() if name not in self._unsupported}
            arguments: dict[str, Any] = {"model": self._model, "messages": chat, "response_format": response_format}
            try:
                completion = self._client.chat.completions.create(**arguments, **pinned)
                break
            except openai.BadRequestError as error:
                rejected = [name for name in pinned if error.param == name or name in str(error)]
                if not rejected:
                    raise
                self._unsupported.update(rejected)
            except (openai.APIResponseValidationError, ValueError):  # the body is not JSON
                self._meter.answered(prompt_tokens=0, answer_tokens=0)
                raise _BrokeSchema from None
        usage = getattr(completion, "usage", None)
        self._meter.answered(
            prompt_tokens=getattr(usage, "prompt_tokens", None) or 0,
            answer_tokens=getattr(usage, "completion_tokens", None) or 0,
        )
        return _content(completion, response_format)

    def _stop_after_many(self, reason: str) -> None:
        with self._lock:
            self._failures_in_a_row[reason] += 1
            reasons = self._failures_in_a_row.copy()
        # Not "at least": questions in progress in other threads would change the reported count.
        if reasons.total() == self._retries.give_up_after:
            self.stop()
            raise JudgeStopped(
                f"The judge's server gave no usable answer to {reasons.total()} questions in a row "
                f"({by_count(reasons)}). {_RESUME}"
            )


# Why a question has no answer, in terms that can be counted, and which faults end a run. The server is never quoted.


def connection_fault(error: openai.APIConnectionError) -> str:
    """Which step of the connection failed; the SDK keeps this only in the chain of causes."""
    if isinstance(error, openai.APITimeoutError):
        return "no answer in time"
    cause: BaseException | None = error
    while cause is not None:
        match cause:
            case ConnectionRefusedError():
                return "connection refused"
            case socket.gaierror():
                return "unknown host name"
            case ssl.SSLError():
                return "no secure connection"
        cause = cause.__cause__ or cause.__context__
    return "connection broken"


def final_fault(error: openai.APIStatusError, *, has_answered: bool) -> str | None:
    """The fault if it affects all further questions; None if it may be this question alone.

    403 can be either: a key without access, or a server that rejects one report. A server that has answered before may
    reject a single report without ending the run.
    """
    if _QUOTA in (error.code, error.type):
        return f"The quota of the key for the judge's server is used up (status {error.status_code})."
    problem = {
        401: "refuses the key",
        402: "asks for payment: the account has no credit left",
        403: None if has_answered else "denies this key access to the model",
        404: "knows no such model or address",
    }.get(error.status_code)
    return f"The judge's server {problem} (status {error.status_code})." if problem else None


# How long to wait before asking again


def backoff_seconds(attempt: int, *, first: float) -> float:
    """`first`, doubled with every attempt (counted from 0), up to a minute; plus up to a quarter at random, so that
    threads rejected at the same time do not all retry at the same time."""
    return min(first * 2.0**attempt, _MAX_BACKOFF_SECONDS) * (1 + 0.25 * random.random())  # noqa: S311


def requested_seconds(headers: Mapping[str, str]) -> float | None:
    """The wait the server asks for: `retry-after-ms`, or `retry-after` in seconds or as a date. At most an hour."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        seconds = _number(headers.get(name), unit)
        if seconds is not None:
            return min(seconds, _MAX_REQUESTED_SECONDS)
    try:
        moment = parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return min(max(0.0, (moment - datetime.now(UTC)).total_seconds()), _MAX_REQUESTED_SECONDS)


def _number(text: str | None, unit: float) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value * unit if math.isfinite(value) and value >= 0 else None


# The replies to radfact-lite's questions: the engine's response schemas as types, which a test compares. A reply in
# another form is asked for again.


class _Reply(BaseModel):
    model_config = ConfigDict(extra="forbid")


class SplitSentence(_Reply):
    orig: str
    new: list[str]


class ParsedReport(_Reply):
    sentence_list: list[SplitSentence]


class KeptPhrases(_Reply):
    phrases: list[str]


class EvidencedPhrase(_Reply):
    phrase: str
    evidence: list[str]
    status: Literal["entailment", "not_entailment"]


REPLIES: dict[str, type[_Reply]] = {
    "parsed_report": ParsedReport,
    "kept_phrases": KeptPhrases,
    "evidenced_phrase": EvidencedPhrase,
}


def parse_reply(text: str | None, *, schema_name: str) -> dict[str, Any]:
    """The content of a reply, which may be in a Markdown code fence.

    Raises ValueError if it is not JSON of the requested schema.
    """
    return REPLIES[schema_name].model_validate_json(_without_fence(text or "")).model_dump()


def _without_fence(text: str) -> str:
    """The content of a code fence around the whole text. Other fences may belong to the report, and stay."""
    stripped = text.strip()
    opening = _FENCE.match(stripped)
    if opening and stripped.endswith(opening[1]) and len(stripped) >= opening.end() + len(opening[1]):
        return stripped[opening.end() : -len(opening[1])]
    return text


def _content(completion: Any, response_format: ResponseFormat) -> dict[str, Any]:
    """The JSON of an answer that follows the requested schema."""
    try:
        text = completion.choices[0].message.content
        return parse_reply(text, schema_name=response_format["json_schema"]["name"])
    except (AttributeError, IndexError, TypeError, ValueError):
        raise _BrokeSchema from None
