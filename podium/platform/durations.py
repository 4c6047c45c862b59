"""ISO 8601 durations (`PT1M3.5S`), as predictions.json writes how long a job ran."""

import re

# Digits are bounded: what a job took fits in them, and no sum of such durations overflows.
_DURATION = re.compile(
    r"P(?:(?P<weeks>\d{1,9}(?:\.\d{1,12})?)W)?(?:(?P<days>\d{1,9}(?:\.\d{1,12})?)D)?"
    r"(?:T(?:(?P<hours>\d{1,9}(?:\.\d{1,12})?)H)?(?:(?P<minutes>\d{1,9}(?:\.\d{1,12})?)M)?(?:(?P<seconds>\d{1,9}(?:\.\d{1,12})?)S)?)?",
    re.ASCII,
)
_SECONDS_IN = {"weeks": 604_800.0, "days": 86_400.0, "hours": 3_600.0, "minutes": 60.0, "seconds": 1.0}


def duration_seconds(text: str) -> float | None:
    """Seconds of an ISO 8601 duration; None for anything else, also for years and months, whose length varies."""
    match = _DURATION.fullmatch(text.replace(",", "."))
    if match is None or not any(match.groups()):
        return None
    return sum(float(amount) * _SECONDS_IN[unit] for unit, amount in match.groupdict().items() if amount)
