"""ISO 8601 durations (`PT1M3.5S`), as predictions.json writes how long a job ran."""

import re

_DURATION = re.compile(
    r"P(?:(?P<weeks>\d+(?:\.\d+)?)W)?(?:(?P<days>\d+(?:\.\d+)?)D)?"
    r"(?:T(?:(?P<hours>\d+(?:\.\d+)?)H)?(?:(?P<minutes>\d+(?:\.\d+)?)M)?(?:(?P<seconds>\d+(?:\.\d+)?)S)?)?",
    re.ASCII,
)
_SECONDS_IN = {"weeks": 604_800.0, "days": 86_400.0, "hours": 3_600.0, "minutes": 60.0, "seconds": 1.0}


def duration_seconds(text: str) -> float | None:
    """Seconds of an ISO 8601 duration; None for anything else, also for years and months, whose length varies."""
    match = _DURATION.fullmatch(text.replace(",", "."))
    if match is None or not any(match.groups()):
        return None
    return sum(float(amount) * _SECONDS_IN[unit] for unit, amount in match.groupdict().items() if amount)
