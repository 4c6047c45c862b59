"""How long a submission took: from the platform's own clock for jobs, from a participant's own file otherwise."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from podium.errors import Refused
from podium.platform.jobs import Job
from podium.readers.files import SafeFile
from podium.readers.formats.json import read_json
from podium.readers.names import escape_for_display

TIMING_FILE = "timing.json"
RUNTIME_FILE = "runtime.json"
LONGEST_SECONDS = 1e9  # thirty years: no evaluation lasts longer, and sums of such numbers stay finite


@dataclass(frozen=True, kw_only=True)
class Runtime:
    """How long a submission took, as far as it is known.

    total_seconds  of everything, where that alone was given
    by_case        of the cases whose time is known
    problem        what is wrong with the times, if anything
    warning        what is not wrong, but costs points or is unfair
    """

    total_seconds: float | None = None
    by_case: Mapping[str, float] = field(default_factory=dict)
    problem: str | None = None
    warning: str | None = None

    def of(self, cases: Iterable[str]) -> float | None:
        """The sum over these cases, or the total where no single case was timed. None where it is not known for all of
        them: a sum over some would make the team look faster than it is."""
        if not self.by_case:
            return self.total_seconds
        seconds = [self.by_case.get(case) for case in cases]
        known = [each for each in seconds if each is not None]
        return math.fsum(known) if len(known) == len(seconds) else None


def job_runtime(jobs: Mapping[str, Sequence[Job]]) -> Runtime:
    """`exec_duration` of the jobs of every case, or `invoke_duration` where that is missing; `jobs` by case."""
    every = [job for together in jobs.values() for job in together]
    unknown = sum(job.seconds is None for job in every)
    by_case = {}
    for case, together in jobs.items():
        known = [job.seconds for job in together if job.seconds is not None]
        if len(known) == len(together):
            by_case[case] = math.fsum(known)
    return Runtime(
        by_case=by_case,
        problem=f"{unknown} of {len(every)} jobs have no duration that can be read: the time of their cases is unknown."
        if unknown
        else None,
    )


def timing_file_runtime(files: Sequence[SafeFile], *, cases: Collection[str]) -> Runtime:
    """What `timing.json` says: `{"total_seconds": s}`, or `{"cases": {case: s}}`."""
    return _file_runtime(files, TIMING_FILE, cases)


def runtime_file_runtime(files: Sequence[SafeFile], *, cases: Collection[str]) -> Runtime:
    """What `runtime.json` says: `{"<case>": s}`; other entries than `cases` are ignored."""
    return _file_runtime(files, RUNTIME_FILE, cases)


def _file_runtime(files: Sequence[SafeFile], name: str, cases: Collection[str]) -> Runtime:
    if not files:
        return Runtime(warning=f"There is no {name}: the time is unknown.")
    if len(files) > 1:
        return Runtime(problem=f"There is more than one {name}: the time is unknown.")
    try:
        content = read_json(files[0])
        if name == TIMING_FILE:
            return _timing(content, cases)
        if not isinstance(content, dict):
            raise Refused(f'{RUNTIME_FILE} must be {{"<case>": seconds}}.')
        return _by_case({case: content[case] for case in cases if case in content}, cases, file=name)
    except Refused as refusal:
        return Runtime(problem=str(refusal))


def _timing(content: Any, cases: Collection[str]) -> Runtime:
    match content:
        case {"cases": dict() as by_case}:
            return _by_case(by_case, cases, file=TIMING_FILE)
        case {"total_seconds": total}:
            return Runtime(total_seconds=checked_seconds(total, file=TIMING_FILE, key="total_seconds"))
    raise Refused(f'{TIMING_FILE} must be {{"total_seconds": s}} or {{"cases": {{"<case>": s}}}}.')


def _by_case(by_case: Mapping[str, Any], cases: Collection[str], *, file: str) -> Runtime:
    uncovered = sum(case not in by_case for case in cases)
    return Runtime(
        by_case={case: checked_seconds(value, file=file, key=case) for case, value in by_case.items()},
        problem=f"{file} lacks {uncovered} of the submitted cases: their time is unknown." if uncovered else None,
    )


def checked_seconds(value: Any, *, file: str, key: str) -> float:
    """A duration under `key` of a participant's `file`; raises Refused where it is none."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= LONGEST_SECONDS or math.copysign(1, value) < 0:  # -0.0 is not below 0
        raise Refused(f"{file}: '{escape_for_display(key)}' must be a number of seconds, not negative and at most 1e9.")
    return float(value)
