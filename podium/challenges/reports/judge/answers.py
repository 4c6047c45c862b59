"""All answers of the judge, on disk: a stopped run resumes, a second run asks nothing and gives the same result."""

import hashlib
import json
import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path

from podium.challenges.reports.judge.asking import JudgeReply, Message, ResponseFormat
from podium.errors import UsageError

_TABLE = "CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, content TEXT NOT NULL, day TEXT NOT NULL)"


class AnswerCache:
    """A SQLite file, asked for the answers of one model to one version of the engine.

    An answer is on disk before `put` returns, so a killed process loses none.
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
        """A hash of all that decides an answer: model, prompt, text, schema and the engine's version."""
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
        """The first answer stays: two runs side by side must not end in two results."""
        content = json.dumps(answer.content, ensure_ascii=False)
        with self._lock:
            self._database.execute("INSERT OR IGNORE INTO answers VALUES (?, ?, ?)", (key, content, answer.day))

    def close(self) -> None:
        """No answer is looked up or kept after this, not even by a thread that is still waiting for one."""
        with self._lock:
            self._database.close()
