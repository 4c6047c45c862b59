"""ISO 8601 durations as the platform writes them."""

import pytest

from podium.platform.jobs import duration_seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("PT1M3.5S", 63.5),
        ("PT6.5S", 6.5),
        ("P0DT00H00M06.000000S", 6.0),
        ("P1DT2H", 93_600.0),
        ("P2W", 1_209_600.0),
        ("PT0S", 0.0),
        ("PT1,5S", 1.5),
    ],
)
def test_duration(text: str, seconds: float) -> None:
    assert duration_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "P", "PT", "1M3S", "P1Y", "P1M", "-PT5S", "PT-5S", "PT5S ", "PTS", "٣S", "63.5"])
def test_not_a_duration(text: str) -> None:
    assert duration_seconds(text) is None
