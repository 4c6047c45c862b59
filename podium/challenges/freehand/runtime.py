"""How long each scan took: `runtime.json` of a participant's files, or the platform's clock for jobs."""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from podium.errors import Refused
from podium.platform.jobs import Job
from podium.platform.runtime import Timing, checked_seconds
from podium.readers.files import SafeFile
from podium.readers.formats.json import read_json

RUNTIME_FILE = "runtime.json"


def read_runtimes(files: Sequence[SafeFile], *, cases: Collection[str]) -> tuple[Mapping[str, float], str | None]:
    """Seconds of every submitted scan; nothing, and why, where one of them lacks: a mean over some would flatter."""
    if not files:
        return {}, None
    if len(files) > 1:
        return {}, f"There is more than one {RUNTIME_FILE}: the runtime is unknown."
    try:
        return _runtimes(read_json(files[0]), cases), None
    except Refused as refusal:
        return {}, str(refusal)


def _runtimes(content: Any, cases: Collection[str]) -> dict[str, float]:
    if not isinstance(content, dict):
        raise Refused(f'{RUNTIME_FILE} must be {{"<scan>": seconds}}.')
    lacking = [case for case in cases if case not in content]
    if lacking:
        raise Refused(f"{RUNTIME_FILE} lacks {len(lacking)} of the submitted scans: the runtime is unknown.")
    return {case: checked_seconds(content[case], file=RUNTIME_FILE, key=case) for case in cases}


def job_runtimes(jobs: Mapping[str, Sequence[Job]]) -> tuple[Mapping[str, float], str | None]:
    """Seconds of every scan's jobs together; nothing, and why, where some job has no duration."""
    each = [job for together in jobs.values() for job in together]
    unknown = sum(job.seconds is None for job in each)
    if unknown:
        some = unknown < len(each)
        return {}, f"{unknown} of {len(each)} jobs have no duration: the runtime is unknown." if some else None
    return {case: math.fsum(job.seconds or 0.0 for job in together) for case, together in jobs.items()}, None


def total_timing(runtimes: Mapping[str, float], problem: str | None) -> Timing:
    """The runtimes as the evaluation carries them."""
    return Timing(total_seconds=math.fsum(runtimes.values()) if runtimes else None, problem=problem)
