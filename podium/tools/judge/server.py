"""Questions to a server that supports OpenAI's chat completions with JSON-schema output."""

import re
import socket
import sqlite3
import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal

import httpx2  # what openai asks with
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
_TOO_LATE = "no answer in time"
_QUOTA = "insufficient_quota"
_MOST_BYTES = 1_000_000  # of one answer
_MOST_TOKENS = 100_000_000  # of one question or answer
_LONGEST_WAIT = 60  # seconds that a server may ask for; after more, the client decides
_GIVE_UP_AFTER = 20  # questions in a row without an answer
_FENCE = re.compile(r"(`{3,}|~{3,})[\w-]*")


class _BrokeSchema(Exception):
    """The answer is not JSON, or does not follow the schema."""


class _Bounded(httpx2.SyncByteStream):
    """The bytes of an answer, as long as they are few and in time: the client's own limit is for each of its parts."""

    def __init__(self, stream: Any, seconds: float) -> None:
        self._stream, self._until = stream, time.monotonic() + seconds

    def __iter__(self) -> Iterator[bytes]:
        left = _MOST_BYTES
        for part in self._stream:
            left -= len(part)
            if left < 0:
                raise httpx2.ReadError("too large")
            if time.monotonic() > self._until:
                raise httpx2.ReadTimeout("too slow")
            yield part

    def close(self) -> None:
        self._stream.close()


def bounded_client(*, timeout: float, **options: Any) -> openai.OpenAI:
    """A client whose answers are bounded in size and time, and that waits for a minute at most before it asks again."""

    def bound(response: httpx2.Response) -> None:
        response.stream = _Bounded(response.stream, timeout)
        response.headers.pop("content-encoding", None)  # it was asked not to compress: what it did is not unpacked
        for header, second in (("retry-after", 1), ("retry-after-ms", 1000)):
            with suppress(ValueError):
                if 0 < float(response.headers.get(header, 0)) <= _LONGEST_WAIT * second:
                    continue
            response.headers.pop(header, None)

    http_client = openai.DefaultHttpxClient(event_hooks={"response": [bound]})
    plain = {"Accept-Encoding": "identity"}
    return openai.OpenAI(timeout=timeout, http_client=http_client, default_headers=plain, **options)


class Judge:
    """Asks a server and stores its answers in the cache. The client retries after temporary errors.

    An answer in the wrong form is asked for again, up to `attempts` times in all, with a reminder. Error messages never
    quote the server: some servers repeat the key they refuse.
    """

    def __init__(self, client: openai.OpenAI, *, model: str, cache: AnswerCache, meter: Meter, attempts: int) -> None:
        self._client: Any = client  # its types list the parameters per model; we send the same to all
        self._model = model
        self._cache = cache
        self._meter = meter
        self._attempts = attempts
        self._unsupported: set[str] = set()
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._failures_in_a_row: Counter[str] = Counter()

    def stop(self) -> None:
        """From now on no question is asked."""
        self._stop.set()

    def ask(self, messages: Sequence[Message], response_format: ResponseFormat) -> JudgeReply:
        """The answer from the cache, else from the server."""
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
        try:
            self._cache.put(key, answer)
        except sqlite3.Error as error:  # what cannot be kept would be paid for again
            self.stop()
            raise JudgeStopped(f"The judge's cache cannot be written: {error}. {_RESUME}") from None
        return answer

    def _ask_until_answered(self, messages: Sequence[Message], response_format: ResponseFormat) -> dict[str, Any]:
        chat = [{"role": message.role, "content": message.content} for message in messages]
        reminder = {"role": "user", "content": _REMINDER}
        for attempt in range(self._attempts):
            if self._stop.is_set():
                raise CallFailed("stopped")
            try:
                return self._ask_once(chat if attempt == 0 else [*chat, reminder], response_format)
            except _BrokeSchema:
                continue
            except openai.APIConnectionError as error:
                raise CallFailed(connection_fault(error)) from None
            except openai.APIStatusError as error:
                if problem := final_fault(error, has_answered=self._meter.calls + self._meter.hits > 0):
                    self.stop()
                    raise JudgeStopped(problem) from None
                status = f"status {error.status_code}"
                raise CallFailed(f"access denied ({status})" if error.status_code == 403 else status) from None
        raise CallFailed(_BROKE_SCHEMA)

    def _ask_once(self, chat: list[dict[str, str]], response_format: ResponseFormat) -> dict[str, Any]:
        while True:
            pinned = {name: value for name, value in _PINNED.items() if name not in self._unsupported}
            arguments: dict[str, Any] = {"model": self._model, "messages": chat, "response_format": response_format}
            try:
                completion = self._in_time(partial(self._client.chat.completions.create, **arguments, **pinned))
                break
            except openai.BadRequestError as error:
                rejected = [name for name in pinned if error.param == name or name in str(error)]
                if not rejected:
                    raise
                self._unsupported.update(rejected)
            except (openai.APIResponseValidationError, ValueError, RecursionError):  # the body is not JSON, or too deep
                self._meter.answered(prompt_tokens=0, answer_tokens=0)
                raise _BrokeSchema from None
        usage = getattr(completion, "usage", None)
        given = (getattr(usage, name, None) for name in ("prompt_tokens", "completion_tokens"))
        tokens = [each if isinstance(each, int) and 0 < each < _MOST_TOKENS else 0 for each in given]
        self._meter.answered(prompt_tokens=tokens[0], answer_tokens=tokens[1])
        try:
            text = completion.choices[0].message.content
            return parse_reply(text, schema_name=response_format["json_schema"]["name"])
        except (AttributeError, IndexError, TypeError, ValueError):
            raise _BrokeSchema from None

    def _in_time(self, call: Callable[[], Any]) -> Any:
        """What a call returns. The client limits the time of every read: a server that sends the head of its answer
        byte by byte would keep it for hours, so its thread is left behind."""
        found: Future[Any] = Future()

        def run() -> None:
            try:
                found.set_result(call())
            except Exception as error:
                found.set_exception(error)

        threading.Thread(target=run, daemon=True).start()
        try:
            return found.result((self._client.max_retries + 1) * (self._client.timeout + _LONGEST_WAIT))
        except TimeoutError:
            raise CallFailed(_TOO_LATE) from None

    def _stop_after_many(self, reason: str) -> None:
        with self._lock:
            self._failures_in_a_row[reason] += 1
            reasons = self._failures_in_a_row.copy()
        # Not "at least": questions in progress in other threads would change the reported count.
        if reasons.total() == _GIVE_UP_AFTER:
            self.stop()
            raise JudgeStopped(
                f"The judge's server gave no usable answer to {reasons.total()} questions in a row "
                f"({by_count(reasons)}). {_RESUME}"
            )


# Why a question has no answer, in terms that can be counted, and which faults end a run. The server is never quoted.


def connection_fault(error: openai.APIConnectionError) -> str:
    """Which step of the connection failed; the SDK keeps this only in the chain of causes."""
    if isinstance(error, openai.APITimeoutError):
        return _TOO_LATE
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
        404: "does not know this model or URL",
    }.get(error.status_code)
    return f"The judge's server {problem} (status {error.status_code})." if problem else None


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
    content = (text or "").strip()
    opening = _FENCE.match(content)  # a fence inside may belong to the report, and stays
    if opening and content.endswith(opening[1]) and len(content) >= opening.end() + len(opening[1]):
        content = content[opening.end() : -len(opening[1])]
    return REPLIES[schema_name].model_validate_json(content).model_dump()
