"""Which file or job is which step of which case: steps come as numbered files, or as jobs in no order at all."""

import math
import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from podium.errors import Refused
from podium.platform.jobs import Job
from podium.platform.names import case_of, is_ignored_file, normalize_nfc
from podium.platform.results import Unmatched
from podium.platform.submission import Submission
from podium.readers.files import SafeFile

OUTPUT_SOCKET = "tumor-lesion-segmentation"
CASE_SOCKETS = ("ct", "pet")
CLICKS_SOCKET = "lesion-clicks"
STEP_SOCKET = "interaction-step"
MOST_STEPS = 1000

STEP_NAME = re.compile(r"iter_(?P<step>[0-9]{1,6})(?P<extension>\..+)", re.ASCII | re.IGNORECASE)
_BESIDE_PREDICTIONS = (".json", ".png")  # scribbles, timing, pictures
_CHANNEL_SUFFIXES = ("_0000", "_0001")


@dataclass(frozen=True)
class StepSource:
    """Where one step's prediction lies; `refusal` says why it will not be opened, if it will not."""

    label: str
    source: SafeFile | Job | None
    refusal: str | None = None

    def file(self) -> SafeFile:
        """The image, once it is really looked for."""
        if self.source is None:
            raise Refused(self.refusal or f"'{self.label}' cannot be opened.")
        return self.source.output_image(OUTPUT_SOCKET) if isinstance(self.source, Job) else self.source


@dataclass(frozen=True)
class LesionsPrediction:
    """The submitted steps of one case."""

    steps: Mapping[int, StepSource]


@dataclass
class Sorted:
    """A submission's steps by case, what is wrong with whole cases, and what belongs to none."""

    cases: dict[str, LesionsPrediction] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    unmatched: list[Unmatched] = field(default_factory=list)


def sort_steps(submission: Submission, cases: Collection[str] | None, *, steps: int | None) -> Sorted:
    """Every step of every case; `steps` is the number that will be scored, None for any."""
    candidates: dict[str, list[tuple[int, StepSource]]] = defaultdict(list)
    result = Sorted()
    if submission.is_algorithm:
        _sort_jobs(submission.jobs, cases, candidates, result)
    else:
        _sort_files(submission, cases, candidates, result)
    limit = MOST_STEPS if steps is None else steps
    for case, found in candidates.items():
        _take(case, found, limit, result)
    return result


def looks_like_a_step(name: str) -> bool:
    """Whether a submitted path is `<case>/iter_<k>.<image>`."""
    path = PurePosixPath(name)
    match = STEP_NAME.fullmatch(path.name)
    return match is not None and len(path.parts) > 1 and match["extension"].lower() in (".nii.gz", ".nii", ".mha")


def _take(case: str, found: Sequence[tuple[int, StepSource]], limit: int, result: Sorted) -> None:
    """One source a step; two for the same step cost the case, since choosing one would be a guess."""
    by_step: dict[int, list[StepSource]] = defaultdict(list)
    for step, source in found:
        by_step[step].append(source)
    steps: dict[int, StepSource] = {}
    for step, sources in sorted(by_step.items()):
        if step >= limit:
            reason = f"it is step {step}, and only steps 0 to {limit - 1} are scored"
            result.unmatched.extend(Unmatched(name=source.label, reason=reason) for source in sources)
        elif len(sources) > 1:
            names = ", ".join(f"'{source.label}'" for source in sources[:5])
            result.refused[case] = (
                f"There are {len(sources)} predictions for step {step} of this case ({names}); send one."
            )
            return
        else:
            steps[step] = sources[0]
    if steps:
        result.cases[case] = LesionsPrediction(steps)


# A participant's own files


def _sort_files(
    submission: Submission,
    cases: Collection[str] | None,
    candidates: dict[str, list[tuple[int, StepSource]]],
    result: Sorted,
) -> None:
    sources = [(file.name, StepSource(file.name, file)) for file in submission.files]
    sources += [(bad.name, StepSource(bad.name, None, bad.reason)) for bad in submission.refused]
    for name, source in sources:
        path = PurePosixPath(name)
        if is_ignored_file(path.name) or name.lower().endswith(_BESIDE_PREDICTIONS):
            continue
        match = STEP_NAME.fullmatch(path.name)
        if match is None:
            reason = source.refusal or "it is not named <case>/iter_<k>.nii.gz or <case>/iter_<k>.mha"
            result.unmatched.append(Unmatched(name=name, reason=reason))
            continue
        folder = path.parent.name
        case = _known_case(folder, cases)
        if case is None:
            where = f"its folder '{folder}' is no expected case" if folder else "it lies in no folder named like a case"
            result.unmatched.append(Unmatched(name=name, reason=where))
        else:
            candidates[case].append((int(match["step"]), source))


def _known_case(name: str, cases: Collection[str] | None) -> str | None:
    """The case a folder or an image is named after, with or without the channel suffix of nnU-Net."""
    name = normalize_nfc(name)
    stems = [name, *(name.removesuffix(suffix) for suffix in _CHANNEL_SUFFIXES if name.endswith(suffix))]
    if cases is None:
        return min(stems, key=len) or None
    return next((stem for stem in stems if stem in cases), None)


# An algorithm's jobs


def _sort_jobs(
    jobs: Sequence[Job],
    cases: Collection[str] | None,
    candidates: dict[str, list[tuple[int, StepSource]]],
    result: Sorted,
) -> None:
    by_case: dict[str, list[Job]] = defaultdict(list)
    for job in jobs:
        names = [job.inputs[slug].name for slug in CASE_SOCKETS if slug in job.inputs]
        name = next((name for name in names if name is not None), None)
        if name is None:
            reason = f"it has no input {' or '.join(repr(slug) for slug in CASE_SOCKETS)} with a name"
            result.unmatched.append(Unmatched(name=job.label, reason=reason))
            continue
        case = _known_case(case_of(name), cases)
        if case is None:
            result.unmatched.append(Unmatched(name=job.label, reason=f"its input '{name}' is no expected case"))
        else:
            by_case[case].append(job)
    for case, found in by_case.items():
        try:
            numbered = _number(found)
        except Refused as refusal:
            result.refused[case] = str(refusal)
            continue
        candidates[case] += [(step, StepSource(job.label, job)) for step, job in numbered]


def _number(jobs: Sequence[Job]) -> list[tuple[int, Job]]:
    """The step of each job of one case: what `interaction-step` says, else its rank by the number of points.

    Jobs with equally many points cannot be ranked: nothing tells which came first.
    """
    told = [job for job in jobs if STEP_SOCKET in job.inputs]
    if told and len(told) < len(jobs):
        raise Refused(
            f"{len(told)} of the {len(jobs)} jobs of this case have an input '{STEP_SOCKET}' and the others do not; "
            "their order is not known."
        )
    if told:
        return [(_told_step(job), job) for job in jobs]
    by_points: dict[int, list[Job]] = defaultdict(list)
    for job in jobs:
        by_points[_count_points(job)].append(job)
    for count, equal in by_points.items():
        if len(equal) > 1:
            names = ", ".join(job.label for job in equal[:5])
            raise Refused(
                f"{len(equal)} jobs of this case have {count} points each ({names}), and nothing else tells which step "
                f"is which; the input '{STEP_SOCKET}' would."
            )
    return [(rank, by_points[count][0]) for rank, count in enumerate(sorted(by_points))]


def _told_step(job: Job) -> int:
    value = job.inputs[STEP_SOCKET].value
    if type(value) not in (int, float) or not 0 <= value < math.inf or value != int(value):
        raise Refused(f"The input '{STEP_SOCKET}' of {job.label} is not a whole number from 0 on.")
    return int(value)


def _count_points(job: Job) -> int:
    """Points of all scribbles so far; a job without the socket is the one before any scribble."""
    socket = job.inputs.get(CLICKS_SOCKET)
    if socket is None or socket.value is None:
        return 0
    points = socket.value.get("points") if isinstance(socket.value, dict) else None
    if not isinstance(points, list):
        raise Refused(f"The input '{CLICKS_SOCKET}' of {job.label} has no list of points.")
    return len(points)
