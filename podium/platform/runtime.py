"""How long a submission took: from the platform's own clock for jobs, from `timing.json` for a participant's files."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from podium.errors import Refused
from podium.platform.jobs import Job
from podium.readers.files import SafeFile
from podium.readers.formats.json import read_json
from podium.readers.names import escape_for_display

TIMING_FILE = "timing.json"
_LONGEST_SECONDS = 1e9  # thirty years: no evaluation lasts longer, and sums of such numbers stay finite


@dataclass(frozen=True, kw_only=True)
class Timing:
    """`total_seconds` is None where it is not known for all of the work; `problem` then says why, if anything is wrong.

    A sum over some of the cases would make the team look faster than it is, so a gap makes the whole unknown.
    """

    total_seconds: float | None = None
    problem: str | None = None


def job_timing(jobs: Sequence[Job]) -> Timing:
    """The sum over all jobs of `exec_duration`, or `invoke_duration` where that is missing."""
    seconds = [job.seconds for job in jobs if job.seconds is not None]
    if not seconds:
        return Timing()
    if len(seconds) < len(jobs):
        return Timing(problem=f"{len(jobs) - len(seconds)} of {len(jobs)} jobs have no duration: the time is unknown.")
    return Timing(total_seconds=math.fsum(seconds))


def file_timing(files: Sequence[SafeFile], *, cases: Collection[str]) -> Timing:
    """What `timing.json` says: `{"total_seconds": s}`, or `{"cases": {case: s}}` that covers all of `cases`."""
    if not files:
        return Timing()
    if len(files) > 1:
        return Timing(problem=f"There is more than one {TIMING_FILE}: the time is unknown.")
    try:
        return Timing(total_seconds=_total(read_json(files[0]), cases))
    except Refused as refusal:
        return Timing(problem=str(refusal))


def _total(content: Any, cases: Collection[str]) -> float:
    match content:
        case {"total_seconds": total}:
            return checked_seconds(total, file=TIMING_FILE, key="total_seconds")
        case {"cases": dict() as by_case}:
            return _sum_of_cases(by_case, cases)
    raise Refused(f'{TIMING_FILE} must be {{"total_seconds": s}} or {{"cases": {{"<case>": s}}}}.')


def _sum_of_cases(by_case: Mapping[str, Any], cases: Collection[str]) -> float:
    uncovered = [case for case in cases if case not in by_case]
    if uncovered:
        raise Refused(f"{TIMING_FILE} lacks {len(uncovered)} of the submitted cases: the time is unknown.")
    return math.fsum(checked_seconds(value, file=TIMING_FILE, key=case) for case, value in by_case.items())


def checked_seconds(value: Any, *, file: str, key: str) -> float:
    """A duration under `key` of a participant's `file`; raises Refused where it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _LONGEST_SECONDS:
        raise Refused(f"{file}: '{escape_for_display(key)}' must be a number of seconds, not negative and at most 1e9.")
    return float(value)
