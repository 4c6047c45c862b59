"""How long is waited before asking again."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from podium.tools.judge.server import backoff_seconds, requested_seconds


def test_backoff_doubles_up_to_a_minute() -> None:
    for attempt, expected in enumerate([0.5, 1, 2, 4, 8, 16, 32, 60, 60]):
        assert expected <= backoff_seconds(attempt, first=0.5) <= 1.25 * expected
    assert backoff_seconds(3, first=0) == 0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after": "99999"}, 3600),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "soon"}, None),
    ],
)
def test_what_the_server_asks_for(headers: dict[str, str], seconds: float | None) -> None:
    assert requested_seconds(headers) == seconds


@pytest.mark.parametrize(("offset", "low", "high"), [(30, 27, 30), (-30, 0, 0)])
def test_a_date_to_wait_for(offset: int, low: float, high: float) -> None:
    moment = format_datetime(datetime.now(UTC) + timedelta(seconds=offset), usegmt=True)
    seconds = requested_seconds({"retry-after": moment})
    assert seconds is not None
    assert low <= seconds <= high
