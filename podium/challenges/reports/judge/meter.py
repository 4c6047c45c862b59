"""What a run costs, counted while it runs and shown on stderr: calls, cache hits, failures, tokens, time left."""

import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TextIO

_SECONDS_BETWEEN_LINES = 5.0


@dataclass
class Totals:
    """Counted over a whole run."""

    calls: int = 0
    hits: int = 0
    failures: int = 0
    prompt_tokens: int = 0
    answer_tokens: int = 0
    reasons: Counter[str] = field(default_factory=Counter)  # of the failures


class Meter:
    """Thread-safe. Prices are in the currency of the price list, per million tokens; 0 shows tokens alone."""

    def __init__(self, *, prompt_price: float = 0.0, answer_price: float = 0.0, stream: TextIO | None = None) -> None:
        self.totals = Totals()
        self._prices = (prompt_price, answer_price)
        self._stream = stream or sys.stderr
        self._lock = threading.Lock()
        self._label, self._done, self._total = "", 0, 0
        self._started = self._shown = time.monotonic()

    def start(self, label: str, total: int) -> None:
        """A new stage of `total` questions."""
        with self._lock:
            self._label, self._done, self._total = label, 0, total
            self._started = self._shown = time.monotonic()

    def answered(self, *, prompt_tokens: int, answer_tokens: int) -> None:
        with self._lock:
            self.totals.calls += 1
            self.totals.prompt_tokens += prompt_tokens
            self.totals.answer_tokens += answer_tokens

    def found(self) -> None:
        with self._lock:
            self.totals.hits += 1

    def failed(self, reason: str) -> None:
        with self._lock:
            self.totals.failures += 1
            self.totals.reasons[reason] += 1

    def advance(self) -> None:
        """One question of the stage is settled."""
        with self._lock:
            self._done += 1
            now = time.monotonic()
            live = self._stream.isatty()
            if live or now - self._shown >= _SECONDS_BETWEEN_LINES:
                self._shown = now
                line = self._line(now)
                print(f"\r\x1b[2K{line}" if live else line, file=self._stream, end="" if live else "\n", flush=True)

    def close(self) -> None:
        """Leave a terminal's line as it was found."""
        if self._stream.isatty():
            print("\r\x1b[2K", file=self._stream, end="", flush=True)

    def _line(self, now: float) -> str:
        left = (now - self._started) / self._done * (self._total - self._done)
        return f"{self._label}: {self._done} of {self._total}, {self.summary()}, {left:.0f} s left"

    def summary(self) -> str:
        """The totals in words."""
        totals = self.totals
        words = (
            f"{totals.calls} calls, {totals.hits} from the cache, {totals.failures} failed, "
            f"{totals.prompt_tokens + totals.answer_tokens:,} tokens"
        )
        cost = self.cost(prompt_tokens=totals.prompt_tokens, answer_tokens=totals.answer_tokens)
        return words if cost is None else f"{words}, cost {cost:.2f}"

    def cost(self, *, prompt_tokens: int, answer_tokens: int) -> float | None:
        """In the currency of the prices; None where there are none."""
        if not any(self._prices):
            return None
        return (prompt_tokens * self._prices[0] + answer_tokens * self._prices[1]) / 1e6


def by_count(reasons: Counter[str]) -> str:
    """ "connection refused: 20, status 500: 3", the most frequent first."""
    return ", ".join(
        f"{reason}: {count}" for reason, count in sorted(reasons.items(), key=lambda each: (-each[1], each[0]))
    )
