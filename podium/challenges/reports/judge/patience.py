"""How long to wait before asking again."""

import math
import random
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_LONGEST_BACKOFF_SECONDS = 60.0
_LONGEST_REQUESTED_SECONDS = 3600.0


def backoff_seconds(attempt: int, *, first: float) -> float:
    """`first`, doubled with every attempt (the first is 0), up to a minute; up to a quarter more, so that many threads
    turned away together do not come back together."""
    return min(first * 2.0**attempt, _LONGEST_BACKOFF_SECONDS) * (1 + 0.25 * random.random())  # noqa: S311


def requested_seconds(headers: Mapping[str, str]) -> float | None:
    """What the server asks for: `retry-after-ms`, or `retry-after` in seconds or as a date. At most an hour."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        seconds = _number(headers.get(name), unit)
        if seconds is not None:
            return min(seconds, _LONGEST_REQUESTED_SECONDS)
    try:
        moment = parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return min(max(0.0, (moment - datetime.now(UTC)).total_seconds()), _LONGEST_REQUESTED_SECONDS)


def _number(text: str | None, unit: float) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value * unit if math.isfinite(value) and value >= 0 else None
