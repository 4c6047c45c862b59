"""How long a submission took: from the platform's own clock for jobs, from a participant's own file otherwise."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from podium.errors import Refused
from podium.platform.jobs import Job
from podium.readers.files import SafeFile
from podium.readers.formats.json import read_json
from podium.readers.names import escape_for_display

TIMING_FILE = "timing.json"
RUNTIME_FILE = "runtime.json"
_LONGEST_SECONDS = 1e9  # thirty years: no evaluation lasts longer, and sums of such numbers stay finite


@dataclass(frozen=True, kw_only=True)
class Runtime:
    """`total_seconds` is None where it is not known for all of the work; `problem` then says why, if anything is wrong.

    A sum over some of the cases would make the team look faster than it is, so a gap makes the whole unknown.
    """

    total_seconds: float | None = None
    by_case: Mapping[str, float] = field(default_factory=dict)
    problem: str | None = None


def job_runtime(jobs: Mapping[str, Sequence[Job]]) -> Runtime:
    """The sum over all jobs of `exec_duration`, or `invoke_duration` where that is missing; `jobs` by case."""
    every = [job for together in jobs.values() for job in together]
    unknown = sum(job.seconds is None for job in every)
    if unknown == len(every):
        return Runtime()
    if unknown:
        return Runtime(problem=f"{unknown} of {len(every)} jobs have no duration: the time is unknown.")
    by_case = {case: math.fsum(job.seconds or 0.0 for job in together) for case, together in jobs.items()}
    return Runtime(total_seconds=math.fsum(job.seconds or 0.0 for job in every), by_case=by_case)


def timing_file_runtime(files: Sequence[SafeFile], *, cases: Collection[str]) -> Runtime:
    """What `timing.json` says: `{"total_seconds": s}`, or `{"cases": {case: s}}` that covers all of `cases`."""
    return _file_runtime(files, TIMING_FILE, cases)


def runtime_file_runtime(files: Sequence[SafeFile], *, cases: Collection[str]) -> Runtime:
    """What `runtime.json` says: `{"<case>": s}` that covers all of `cases`; other entries are ignored."""
    return _file_runtime(files, RUNTIME_FILE, cases)


def _file_runtime(files: Sequence[SafeFile], name: str, cases: Collection[str]) -> Runtime:
    if not files:
        return Runtime()
    if len(files) > 1:
        return Runtime(problem=f"There is more than one {name}: the time is unknown.")
    try:
        content = read_json(files[0])
        if name == TIMING_FILE:
            return _timing(content, cases)
        if not isinstance(content, dict):
            raise Refused(f'{RUNTIME_FILE} must be {{"<case>": seconds}}.')
        return _sum_of_cases({case: content[case] for case in cases if case in content}, cases, file=name)
    except Refused as refusal:
        return Runtime(problem=str(refusal))


def _timing(content: Any, cases: Collection[str]) -> Runtime:
    match content:
        case {"total_seconds": total}:
            return Runtime(total_seconds=checked_seconds(total, file=TIMING_FILE, key="total_seconds"))
        case {"cases": dict() as by_case}:
            return _sum_of_cases(by_case, cases, file=TIMING_FILE)
    raise Refused(f'{TIMING_FILE} must be {{"total_seconds": s}} or {{"cases": {{"<case>": s}}}}.')


def _sum_of_cases(by_case: Mapping[str, Any], cases: Collection[str], *, file: str) -> Runtime:
    uncovered = [case for case in cases if case not in by_case]
    if uncovered:
        raise Refused(f"{file} lacks {len(uncovered)} of the submitted cases: the time is unknown.")
    seconds = {case: checked_seconds(value, file=file, key=case) for case, value in by_case.items()}
    return Runtime(total_seconds=math.fsum(seconds.values()), by_case=seconds)


def checked_seconds(value: Any, *, file: str, key: str) -> float:
    """A duration under `key` of a participant's `file`; raises Refused where it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _LONGEST_SECONDS:
        raise Refused(f"{file}: '{escape_for_display(key)}' must be a number of seconds, not negative and at most 1e9.")
    return float(value)
