"""The judge: any server that speaks OpenAI's chat completions with JSON-schema output."""

import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import openai

from podium.challenges.reports.judge.answers import AnswerCache
from podium.challenges.reports.judge.asking import CallFailed, JudgeReply, JudgeStopped, Message, ResponseFormat
from podium.challenges.reports.judge.faults import (
    BROKE_SCHEMA,
    connection_fault,
    final_fault,
    is_temporary,
    status_fault,
)
from podium.challenges.reports.judge.meter import Meter, by_count
from podium.challenges.reports.judge.patience import backoff_seconds, requested_seconds
from podium.challenges.reports.judge.replies import parse_reply

# radfact-lite pins these too; a server that does not support one of them says so once, and is not sent it again.
_PINNED = {"temperature": 0, "reasoning_effort": "low"}
_REMINDER = "The last answer did not follow the JSON schema. Answer with JSON that follows it, and nothing else."
_RESUME = "What was answered is in the cache: run it again to ask the rest."


@dataclass(frozen=True, kw_only=True)
class RetryPolicy:
    """How often a question is asked before it counts as failed, and how many in a row may fail."""

    attempts: int
    backoff_seconds: float
    give_up_after: int = 20


class _BrokeSchema(Exception):
    """The answer is no JSON, or not the JSON that was asked for."""


class Judge:
    """Asks a server, remembers its answers, retries temporary errors.

    Error messages never quote the server: some servers repeat the key they refuse.
    """

    def __init__(
        self, client: openai.OpenAI, *, model: str, cache: AnswerCache, meter: Meter, patience: RetryPolicy
    ) -> None:
        self._client: Any = client  # its types know the parameters of each model, ours are one request for all
        self._model = model
        self._cache = cache
        self._meter = meter
        self._patience = patience
        self._unsupported: set[str] = set()
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._failures_in_a_row: Counter[str] = Counter()

    def stop(self) -> None:
        """No thread waits or asks from now on."""
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
            if not self._stop.is_set():  # else it is no failure of the server's
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
        for attempt in range(self._patience.attempts):
            if self._stop.is_set():
                break
            wait = backoff_seconds(attempt, first=self._patience.backoff_seconds)
            try:
                return self._ask_once(chat, response_format)
            except _BrokeSchema:
                reason = BROKE_SCHEMA
                chat = [*chat[: len(messages)], {"role": "user", "content": _REMINDER}]
                wait = 0.0
            except openai.APIConnectionError as error:
                reason = connection_fault(error)
            except openai.APIStatusError as error:
                reason = status_fault(error)
                self._stop_where_final(error)
                if not is_temporary(error):
                    break
                requested = requested_seconds(error.response.headers)
                wait = wait if requested is None else requested
            if attempt + 1 < self._patience.attempts:
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
            except (openai.APIResponseValidationError, ValueError):  # a body that is no JSON
                self._meter.answered(prompt_tokens=0, answer_tokens=0)
                raise _BrokeSchema from None
        usage = getattr(completion, "usage", None)
        self._meter.answered(
            prompt_tokens=getattr(usage, "prompt_tokens", None) or 0,
            answer_tokens=getattr(usage, "completion_tokens", None) or 0,
        )
        return _content(completion, response_format)

    def _stop_where_final(self, error: openai.APIStatusError) -> None:
        totals = self._meter.totals
        problem = final_fault(error, has_answered=totals.calls + totals.hits > 0)
        if problem is not None:
            self.stop()
            raise JudgeStopped(problem) from None

    def _stop_after_many(self, reason: str) -> None:
        with self._lock:
            self._failures_in_a_row[reason] += 1
            reasons = self._failures_in_a_row.copy()
        # Not "at least": questions under way in other threads would add to the count that is told.
        if reasons.total() == self._patience.give_up_after:
            self.stop()
            raise JudgeStopped(
                f"The judge's server left {reasons.total()} questions in a row without a usable answer "
                f"({by_count(reasons)}). {_RESUME}"
            )


def _content(completion: Any, response_format: ResponseFormat) -> dict[str, Any]:
    """The JSON of an answer that follows the schema it was asked to follow."""
    try:
        text = completion.choices[0].message.content
        return parse_reply(text, schema_name=response_format["json_schema"]["name"])
    except (AttributeError, IndexError, TypeError, ValueError):
        raise _BrokeSchema from None
