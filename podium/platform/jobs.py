"""The jobs of an algorithm submission, as predictions.json lists them, and how long a submission took.

A job is linked to its case by the name of an input and by nothing else: pks are random, the order means nothing. The
platform measures how long a job runs; for other submissions a file of the participant's says how long they took.
"""

import json
import math
import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Literal, get_args

from podium.errors import Refused, SubmissionError, listed
from podium.readers.files import SafeFile, escape_for_display
from podium.readers.formats import IMAGE_ENDINGS
from podium.readers.formats.metaimage import METAIMAGE
from podium.readers.formats.pictures import TIFF
from podium.readers.text import parse_json, read_json

Clock = Literal["exec", "invoke"]
"""What measured a job: `exec_duration` includes starting the container and loading the model, `invoke_duration` does
not. A job may have one of them, both or neither."""
CLOCKS: tuple[Clock, ...] = get_args(Clock)
PREDICTIONS_FILE = "predictions.json"
_PREDICTIONS_LIMIT_BYTES = 32_000_000
_PREDICTIONS_DEPTH = 200  # an algorithm may write deeply nested inline values: they are checked job by job
_PREDICTIONS_CONTAINERS = 1_500_000  # scribbles come point by point: 300 cases of 6 steps hold half a million and more
_LONGEST_NAME = 255
_OUTPUT_JSON_LIMIT_BYTES = 16_000_000
_IMAGE_ENDINGS = METAIMAGE.endings + TIFF.endings  # the platform stores images in no other format
_OTHER_ENDINGS = (".jpeg", ".jpg", ".dcm", ".h5", ".hdf5", ".npy", ".npz", ".json", ".txt", ".csv", ".zip", ".tar.gz")
_ENDINGS = (*IMAGE_ENDINGS, *_OTHER_ENDINGS)
TIMING_FILE = "timing.json"
RUNTIME_FILE = "runtime.json"
_NAMED = 5  # names listed in a message
LONGEST_SECONDS = 1e9  # thirty years: no evaluation lasts longer, and sums of such numbers stay finite
# Digits are bounded: what a job took fits in them, and no sum of such durations overflows.
_DURATION = re.compile(
    r"P(?:(?P<weeks>\d{1,9}(?:\.\d{1,12})?)W)?(?:(?P<days>\d{1,9}(?:\.\d{1,12})?)D)?"
    r"(?:T(?:(?P<hours>\d{1,9}(?:\.\d{1,12})?)H)?(?:(?P<minutes>\d{1,9}(?:\.\d{1,12})?)M)?(?:(?P<seconds>\d{1,9}(?:\.\d{1,12})?)S)?)?",
    re.ASCII,
)
_CLOCK_TIME = re.compile(  # as Django writes durations
    r"(?:(?P<days>\d{1,9}) )?(?P<hours>\d\d):(?P<minutes>[0-5]\d):(?P<seconds>[0-5]\d(?:\.\d{1,12})?)", re.ASCII
)
_SECONDS_IN = {"weeks": 604_800.0, "days": 86_400.0, "hours": 3_600.0, "minutes": 60.0, "seconds": 1.0}


@dataclass(frozen=True)
class SocketValue:
    """One input or output of a job: inline value, file or image, of which at most one is set."""

    relative_path: str | None
    value: Any
    name: str | None  # of the image, or the last part of the file


@dataclass(frozen=True)
class Job:
    """One run of the participant's algorithm on one case."""

    root: Path
    pk: str
    inputs: Mapping[str, SocketValue]
    outputs: Mapping[str, SocketValue]
    durations: Mapping[Clock, float] = field(default_factory=dict)  # seconds, by the clocks that measured it

    @property
    def label(self) -> str:
        """The job's name in messages."""
        return f"job {self.pk}"

    def output_json(self, slug: str) -> Any:
        """The JSON an output socket carries, inline or as the file at its relative path."""
        output = self._output(slug)
        if output.value is not None:
            return parse_json(json.dumps(output.value).encode(), name=f"{self.label}: {slug}")
        path = output.relative_path or f"{slug}.json"
        return read_json(self._safe(path), limit_bytes=_OUTPUT_JSON_LIMIT_BYTES)

    def output_image(self, slug: str) -> SafeFile:
        """The one image below an image socket's folder."""
        folder = self._output(slug).relative_path or f"images/{slug}"
        directory = self._below(folder)
        try:
            names = sorted(entry.name for entry in directory.iterdir() if not entry.name.startswith("."))
        except (OSError, ValueError):
            raise Refused(f"{self.label} has no folder '{folder}'.") from None
        images = [name for name in names if name.lower().endswith(_IMAGE_ENDINGS)]
        if len(names) != 1 or len(images) != 1:
            found = ", ".join(escape_for_display(name) for name in names[:5]) or "nothing"
            raise Refused(f"{self.label} must hold exactly one .mha or .tif image in '{folder}', found: {found}.")
        return self._safe(f"{folder}/{images[0]}")

    def output_file(self, slug: str, *, endings: Sequence[str]) -> SafeFile:
        """The file of a file socket: at its relative path, else the slug with the first of the endings that exists."""
        relative = self._output(slug).relative_path
        if relative is None:
            names = [f"{slug}{ending}" for ending in endings]
            relative = next((name for name in names if self._below(name).is_file()), names[0])
        return self._safe(relative)

    def _output(self, slug: str) -> SocketValue:
        try:
            return self.outputs[slug]
        except KeyError:
            raise Refused(f"{self.label} has no output '{slug}'.") from None

    def _below(self, relative: str) -> Path:
        """The path, checked as that of a file: no part of it is a link or leads outside."""
        name = f"{self.pk}/output/{relative}"
        parts = PurePosixPath(name).parts
        if PurePosixPath(relative).is_absolute() or ".." in parts:
            raise Refused(f"'{relative}' is not a path inside the job's output.")
        current = self.root
        for part in parts:
            current = current / part
            if current.is_symlink():
                raise Refused(f"'{name}' is a symbolic link or is reached through one; send the file itself.")
        return current

    def _safe(self, relative: str) -> SafeFile:
        return SafeFile.inside(self.root, f"{self.pk}/output/{relative}")


def read_jobs(root: Path) -> tuple[Job, ...]:
    """All jobs of `predictions.json` below `root`."""
    try:
        content = read_json(
            SafeFile.inside(root, PREDICTIONS_FILE),
            limit_bytes=_PREDICTIONS_LIMIT_BYTES,
            max_depth=_PREDICTIONS_DEPTH,
            max_containers=_PREDICTIONS_CONTAINERS,
            lenient=True,
        )
    except Refused as refusal:
        raise SubmissionError(str(refusal)) from None
    if not isinstance(content, list):
        raise SubmissionError(f"{PREDICTIONS_FILE} must be a list of jobs.")
    jobs = tuple(_job(root.resolve(), entry, number) for number, entry in enumerate(content, start=1))
    if len({job.pk for job in jobs}) != len(jobs):
        raise SubmissionError(f"{PREDICTIONS_FILE} names the same job twice.")
    return jobs


def _job(root: Path, entry: Any, number: int) -> Job:
    pk = entry.get("pk") if isinstance(entry, dict) else None
    if not isinstance(pk, str | int) or PurePosixPath(str(pk)).parts != (str(pk),) or not _is_name(str(pk)):
        raise SubmissionError(f"job {number} of {PREDICTIONS_FILE} has no usable pk.")
    texts = {clock: entry.get(f"{clock}_duration") for clock in CLOCKS}
    timed = {clock: duration_seconds(text) for clock, text in texts.items() if isinstance(text, str)}
    return Job(
        root=root,
        pk=str(pk),
        inputs=_sockets(entry.get("inputs"), number),
        outputs=_sockets(entry.get("outputs"), number),
        durations={clock: seconds for clock, seconds in timed.items() if seconds is not None},
    )


def _sockets(entries: Any, number: int) -> dict[str, SocketValue]:
    if entries is None:
        return {}
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise SubmissionError(f"the inputs and outputs of job {number} of {PREDICTIONS_FILE} must be lists of objects.")
    sockets: dict[str, SocketValue] = {}
    for entry in entries:
        socket = entry.get("socket") or entry.get("interface")
        slug = socket.get("slug") if isinstance(socket, dict) else None
        if not isinstance(slug, str) or not _is_name(slug):
            raise SubmissionError(f"job {number} of {PREDICTIONS_FILE} has an input or output without a slug.")
        if slug in sockets:
            raise SubmissionError(f"job {number} of {PREDICTIONS_FILE} has the socket '{slug}' twice.")
        path = socket.get("relative_path")
        sockets[slug] = SocketValue(
            relative_path=path if isinstance(path, str) and _is_name(path) else None,
            value=entry.get("value"),
            name=_name(entry),
        )
    return sockets


def _name(entry: Mapping[str, Any]) -> str | None:
    """Of the image, else the last part of the file, which is a URL in one spelling and an object in the other."""
    named = entry["image"] if isinstance(entry.get("image"), dict) else entry.get("file")
    name = named.get("name") if isinstance(named, dict) else named
    if isinstance(named, str):
        name = named.split("?", 1)[0]
    last = name.rstrip("/").rsplit("/", 1)[-1] if isinstance(name, str) else ""
    return last if _is_name(last) else None


def _is_name(text: str) -> bool:
    """Whether `text` can be part of a path and of a message."""
    return bool(text) and text != ".." and text.isprintable() and len(text.encode()) <= _LONGEST_NAME


def duration_seconds(text: str) -> float | None:
    """Seconds of an ISO 8601 duration or of `[D ]HH:MM:SS[.ffffff]`; None for anything else, also for years and months,
    whose length varies."""
    match = _DURATION.fullmatch(text.replace(",", ".")) or _CLOCK_TIME.fullmatch(text)
    if match is None or not any(match.groups()):
        return None
    return sum(float(amount) * _SECONDS_IN[unit] for unit, amount in match.groupdict().items() if amount)


# The name of a case.


def normalize_nfc(name: str) -> str:
    """`name` with accents as one character each: macOS writes them as two, and people cannot see the difference."""
    return unicodedata.normalize("NFC", name)


def case_of(name: str) -> str:
    """The last part of `name` without its file ending: `A003.nii.gz` -> `A003`.

    Only known endings are removed: a case may be called `1.2.840.7`.
    """
    last = normalize_nfc(name.rsplit("/", 1)[-1])
    lowered = last.lower()
    for ending in _ENDINGS:
        if lowered.endswith(ending) and len(last) > len(ending):
            return last[: -len(ending)]
    return last


# How long a submission took.


@dataclass(frozen=True, kw_only=True)
class Runtime:
    """How long a submission took, as far as it is known."""

    total_seconds: float | None = None  # of everything, where that alone was given
    by_case: Mapping[str, float] = field(default_factory=dict)  # of the cases whose time is known
    jobs: Mapping[Clock, int] = field(default_factory=dict)  # how many jobs each clock measured
    problem: str | None = None  # what is wrong with the times, if anything
    warning: str | None = None  # what is not wrong, but may cost points or be unfair

    def seconds_of(self, cases: Iterable[str]) -> float | None:
        """The sum over these cases, or the total where no single case was timed. None where it is not known for all of
        them: a sum over some would make the team look faster than it is."""
        if not self.by_case:
            return self.total_seconds
        seconds = [self.by_case.get(case) for case in cases]
        known = [each for each in seconds if each is not None]
        return math.fsum(known) if len(known) == len(seconds) else None

    def clock_figures(self) -> dict[str, float]:
        """How many jobs each clock measured, for `aggregates`: all 0 where the participant's file gives the time."""
        return {clock_path(clock): self.jobs.get(clock, 0) for clock in CLOCKS}


def clock_path(clock: Clock) -> str:
    """The path below `aggregates` of the number of jobs that a clock measured."""
    return f"jobs.{clock}_duration"


def job_runtime(jobs: Mapping[str, Sequence[Job]], *, clock: Clock | None = None) -> Runtime:
    """The durations of the jobs of every case, by case, as `clock` measured them. Without it, one clock that measured
    all jobs, `exec_duration` first; else the one that measured the job.

    Raises SubmissionError where `clock` is the only one that counts and the other one alone measured a job.
    """
    every = [job for together in jobs.values() for job in together]
    measured = [job for job in every if job.durations]
    if clock is not None and (other := [job for job in measured if clock not in job.durations]):
        (theirs,) = {*CLOCKS} - {clock}
        raise SubmissionError(
            f"{len(other)} of {len(every)} jobs were measured by {theirs}_duration ({_names(other)}), but only "
            f"{clock}_duration counts here; submit a container image whose label org.grand-challenge.api-method is "
            f"'{clock}'."
        )
    counts = {each: [job for job in measured if each in job.durations] for each in CLOCKS}
    common = clock or next((each for each, theirs in counts.items() if len(theirs) == len(measured)), None)
    used: dict[Clock, list[Job]] = {each: [] for each in CLOCKS}
    by_case = {}
    for case, together in jobs.items():
        seconds = []
        for job in together:
            if job.durations:
                counting = next(iter(job.durations)) if common is None else common
                used[counting].append(job)
                seconds.append(job.durations[counting])
        if len(seconds) == len(together):
            by_case[case] = math.fsum(seconds)
    unknown = len(every) - len(measured)
    return Runtime(
        by_case=by_case,
        jobs={each: len(theirs) for each, theirs in used.items()},
        problem=f"{unknown} of {len(every)} jobs have no duration that can be read: the time of their cases is unknown."
        if unknown
        else None,
        warning=_mix(used) if all(used.values()) else None,
    )


def _mix(measured: Mapping[Clock, Sequence[Job]]) -> str:
    most, fewest = sorted(measured, key=lambda clock: len(measured[clock]), reverse=True)
    return (
        f"{len(measured[fewest])} of {sum(map(len, measured.values()))} measured jobs have {fewest}_duration "
        f"({_names(measured[fewest])}), the others {most}_duration: exec_duration includes starting the container, "
        "invoke_duration does not, so their sum is unfair."
    )


def _names(jobs: Sequence[Job]) -> str:
    return listed([job.label for job in jobs], most=_NAMED)


def file_runtime(files: Sequence[SafeFile], *, name: str, cases: Collection[str]) -> Runtime:
    """What the files called `name` say, of which there must be one.

    `timing.json` is `{"total_seconds": s}` or `{"cases": {case: s}}`; `runtime.json` is `{"<case>": s}`, where other
    entries than `cases` are ignored.
    """
    if not files:
        return Runtime(warning=f"There is no {name}: the time is unknown.")
    if len(files) > 1:
        return Runtime(problem=f"There is more than one {name}: the time is unknown.")
    try:
        match read_json(files[0]):
            case {"cases": dict() as by_case} if name == TIMING_FILE:
                return _by_case(by_case, cases, file=name)
            case {"total_seconds": total} if name == TIMING_FILE:
                return Runtime(total_seconds=checked_seconds(total, file=name, key="total_seconds"))
            case dict() as content if name == RUNTIME_FILE:
                return _by_case({case: content[case] for case in cases if case in content}, cases, file=name)
        form = '{"total_seconds": s} or {"cases": {"<case>": s}}' if name == TIMING_FILE else '{"<case>": seconds}'
        raise Refused(f"{name} must be {form}.")
    except Refused as refusal:
        return Runtime(problem=str(refusal))


def _by_case(by_case: Mapping[str, Any], cases: Collection[str], *, file: str) -> Runtime:
    uncovered = sum(case not in by_case for case in cases)
    return Runtime(
        by_case={case: checked_seconds(value, file=file, key=case) for case, value in by_case.items()},
        problem=f"{file} lacks {uncovered} of the submitted cases: their time is unknown." if uncovered else None,
    )


def checked_seconds(value: Any, *, file: str, key: str) -> float:
    """A duration under `key` of a participant's `file`; raises Refused where it is not one."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= LONGEST_SECONDS or math.copysign(1, value) < 0:  # -0.0 is not below 0
        raise Refused(f"{file}: '{escape_for_display(key)}' must be a number of seconds, not negative and at most 1e9.")
    return float(value)
