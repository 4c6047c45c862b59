"""How long a submission took: from the platform's own clock for jobs, from a participant's own file otherwise."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from podium.errors import Refused, SubmissionError
from podium.platform.jobs import CLOCKS, Clock, Job
from podium.readers.files import SafeFile, escape_for_display
from podium.readers.text import read_json

TIMING_FILE = "timing.json"
RUNTIME_FILE = "runtime.json"
_SHOWN = 5  # names in one sentence
LONGEST_SECONDS = 1e9  # thirty years: no evaluation lasts longer, and sums of such numbers stay finite


@dataclass(frozen=True, kw_only=True)
class Runtime:
    """How long a submission took, as far as it is known.

    total_seconds  of everything, where that alone was given
    by_case        of the cases whose time is known
    jobs           how many jobs each clock measured
    problem        what is wrong with the times, if anything
    warning        what is not wrong, but costs points or is unfair
    """

    total_seconds: float | None = None
    by_case: Mapping[str, float] = field(default_factory=dict)
    jobs: Mapping[Clock, int] = field(default_factory=dict)
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

    def clock_figures(self) -> dict[str, float]:
        """Which clock measured the jobs, for `aggregates`: all 0 where the participant's own file says the time."""
        return {clock_path(clock): self.jobs.get(clock, 0) for clock in CLOCKS}


def clock_path(clock: Clock) -> str:
    """Where `aggregates` holds the number of jobs that a clock measured."""
    return f"jobs.{clock}_duration"


def job_runtime(jobs: Mapping[str, Sequence[Job]], *, clock: Clock | None = None) -> Runtime:
    """`exec_duration` of the jobs of every case, or `invoke_duration` where that is missing; `jobs` by case.

    Raises SubmissionError where another clock measured a job than the one that counts, if only one does.
    """
    every = [job for together in jobs.values() for job in together]
    measured: dict[Clock, list[Job]] = {each: [job for job in every if job.clock == each] for each in CLOCKS}
    for other, theirs in measured.items():
        if clock is not None and other != clock and theirs:
            raise SubmissionError(
                f"{len(theirs)} of {len(every)} jobs were measured by {other}_duration ({_names(theirs)}), but only "
                f"{clock}_duration counts here; submit a container image whose label org.grand-challenge.api-method is "
                f"'{clock}'."
            )
    unknown = sum(job.seconds is None for job in every)
    by_case = {}
    for case, together in jobs.items():
        known = [job.seconds for job in together if job.seconds is not None]
        if len(known) == len(together):
            by_case[case] = math.fsum(known)
    return Runtime(
        by_case=by_case,
        jobs={each: len(theirs) for each, theirs in measured.items()},
        problem=f"{unknown} of {len(every)} jobs have no duration that can be read: the time of their cases is unknown."
        if unknown
        else None,
        warning=_mix(measured) if all(measured.values()) else None,
    )


def _mix(measured: Mapping[Clock, Sequence[Job]]) -> str:
    most, fewest = sorted(measured, key=lambda clock: len(measured[clock]), reverse=True)
    return (
        f"{len(measured[fewest])} of {sum(map(len, measured.values()))} measured jobs have {fewest}_duration "
        f"({_names(measured[fewest])}), the others {most}_duration: exec_duration includes starting the container, "
        "invoke_duration does not, so their sum is unfair."
    )


def _names(jobs: Sequence[Job]) -> str:
    shown = ", ".join(job.label for job in jobs[:_SHOWN])
    return shown if len(jobs) <= _SHOWN else f"{shown} and {len(jobs) - _SHOWN} more"


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
