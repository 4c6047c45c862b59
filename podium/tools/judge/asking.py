"""Asking the judge: questions and replies, the cache of replies, what a run costs, and a dry run without a server."""

import hashlib
import json
import re
import sqlite3
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from podium.errors import OrganiserError, UsageError

_TABLE = "CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, content TEXT NOT NULL, day TEXT NOT NULL)"
_CHARACTERS_PER_TOKEN = 4
_SENTENCE_END = re.compile(r"(?<=[.;!?])\s+|\n+")

ResponseFormat = Mapping[str, Any]


class Message(Protocol):
    """One message of a question, as radfact-lite builds it."""

    @property
    def role(self) -> str: ...

    @property
    def content(self) -> str: ...


@dataclass(frozen=True, kw_only=True)
class JudgeReply:
    """JSON that follows the question's schema, and the day of the reply (UTC, `2026-06-12`)."""

    content: dict[str, Any]
    day: str


class Asker(Protocol):
    """Answers a question or raises CallFailed; may be called from several threads."""

    def ask(self, messages: Sequence[Message], response_format: ResponseFormat) -> JudgeReply: ...


class CallFailed(Exception):
    """One question has no answer after all attempts. Only the verdicts that need it fail."""


class JudgeStopped(OrganiserError):
    """The run cannot continue: the key is refused, the model is unknown, or the server does not answer."""


class AnswerCache:
    """A SQLite file with the answers of one model to one version of the engine.

    A stopped run resumes, and a second run asks nothing and gives the same result. An answer is on disk before `put`
    returns, so a killed process loses none.
    """

    def __init__(self, path: Path, *, model: str, engine_version: str) -> None:
        self._model, self._engine_version = model, engine_version
        self._lock = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(path, timeout=60, isolation_level=None, check_same_thread=False)
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = FULL")
            self._database.execute(_TABLE)
        except (OSError, sqlite3.Error) as error:
            raise UsageError(f"The judge's cache {path} cannot be used: {error}.") from None

    def key(self, messages: Sequence[Message], response_format: ResponseFormat) -> str:
        """A hash of everything that determines an answer: model, prompt, text, schema and the engine's version."""
        question = {
            "engine": self._engine_version,
            "model": self._model,
            "messages": [[message.role, message.content] for message in messages],
            "response_format": response_format,
        }
        return hashlib.sha256(json.dumps(question, sort_keys=True).encode()).hexdigest()

    def get(self, key: str) -> JudgeReply | None:
        with self._lock:
            row = self._database.execute("SELECT content, day FROM answers WHERE key = ?", (key,)).fetchone()
        return JudgeReply(content=json.loads(row[0]), day=row[1]) if row else None

    def put(self, key: str, answer: JudgeReply) -> None:
        """Keeps the first answer, so that two parallel runs give the same result."""
        content = json.dumps(answer.content, ensure_ascii=False)
        with self._lock:
            self._database.execute("INSERT OR IGNORE INTO answers VALUES (?, ?, ?)", (key, content, answer.day))

    def close(self) -> None:
        """After this no answer is looked up or stored, not even by a thread that is still waiting for one."""
        with self._lock:
            self._database.close()


class Meter:
    """Counts what a run costs, or would cost. Thread-safe.

    Prices are in the currency of the price list, per million tokens; without prices only tokens are counted.
    """

    def __init__(self, *, prompt_price: float = 0.0, answer_price: float = 0.0) -> None:
        self.calls = self.hits = self.failures = self.prompt_tokens = self.answer_tokens = 0
        self.reasons: Counter[str] = Counter()  # of the failures
        self._prices = (prompt_price, answer_price)
        self._lock = threading.Lock()

    def answered(self, *, prompt_tokens: int, answer_tokens: int) -> None:
        with self._lock:
            self.calls += 1
            self.prompt_tokens += prompt_tokens
            self.answer_tokens += answer_tokens

    def found(self) -> None:
        with self._lock:
            self.hits += 1

    def failed(self, reason: str) -> None:
        with self._lock:
            self.failures += 1
            self.reasons[reason] += 1

    def summary(self) -> str:
        """The totals as text."""
        counts = (
            f"{self.calls} calls, {self.hits} from the cache, {self.failures} failed, "
            f"{self.prompt_tokens + self.answer_tokens:,} tokens"
        )
        return counts if self.cost is None else f"{counts}, cost {self.cost:.2f}"

    @property
    def cost(self) -> float | None:
        """In the currency of the prices; None without prices."""
        if not any(self._prices):
            return None
        return (self.prompt_tokens * self._prices[0] + self.answer_tokens * self._prices[1]) / 1e6


def by_count(reasons: Counter[str]) -> str:
    """ "connection refused: 20, status 500: 3", the most frequent first."""
    return ", ".join(
        f"{reason}: {count}" for reason, count in sorted(reasons.items(), key=lambda each: (-each[1], each[0]))
    )


class DryRunAsker:
    """Answers from the cache; other questions as if every sentence were one finding and nothing were entailed.

    The meter counts these as calls, with approximately the tokens that they and their answers take.
    """

    def __init__(self, cache: AnswerCache | None, meter: Meter) -> None:
        self._cache, self._meter = cache, meter

    def ask(self, messages: Sequence[Message], response_format: ResponseFormat) -> JudgeReply:
        known = self._cache.get(self._cache.key(messages, response_format)) if self._cache else None
        if known:
            self._meter.found()
            return known
        content = _made_up(messages[-1].content, response_format["json_schema"]["name"])
        self._meter.answered(
            prompt_tokens=sum(len(message.content) for message in messages) // _CHARACTERS_PER_TOKEN,
            answer_tokens=len(json.dumps(content)) // _CHARACTERS_PER_TOKEN,
        )
        return JudgeReply(content=content, day="")


def _made_up(question: str, schema: str) -> dict[str, Any]:
    match schema:
        case "parsed_report":
            sentences = [part for part in _SENTENCE_END.split(question) if part.strip()]
            return {"sentence_list": [{"orig": sentence, "new": [sentence]} for sentence in sentences]}
        case "kept_phrases":
            return {"phrases": json.loads(question)}
    return {"phrase": json.loads(question)["hypothesis"], "evidence": [], "status": "not_entailment"}
