"""Which candidate of a case is which step: steps come as numbered files, or as jobs in no order at all."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from podium.challenges.lesions.settings import LesionsSettings
from podium.errors import Refused
from podium.pairing import Candidate
from podium.platform.jobs import Job
from podium.readers.files import SafeFile

MOST_STEPS = 1000


@dataclass(frozen=True)
class StepSource:
    """Where one step's prediction lies; `refusal` says why it will not be opened, if it will not."""

    label: str
    source: SafeFile | Job | None
    socket: str
    refusal: str | None = None

    def file(self) -> SafeFile:
        """The image, once it is really looked for."""
        if self.source is None:
            raise Refused(self.refusal or f"'{self.label}' cannot be opened.")
        return self.source.output_image(self.socket) if isinstance(self.source, Job) else self.source


@dataclass(frozen=True)
class LesionsPrediction:
    """The submitted steps of one case."""

    steps: Mapping[int, StepSource]


def sort_steps(candidates: Sequence[Candidate], settings: LesionsSettings) -> LesionsPrediction:
    """One source per step; two for the same step cost the case, since choosing one would be a guess."""
    by_step: dict[int, list[StepSource]] = defaultdict(list)
    socket = settings.sockets.segmentation
    for step, candidate in _numbered(candidates, settings):
        source = candidate.source
        assert source is None or isinstance(source, SafeFile | Job)
        by_step[step].append(StepSource(candidate.label, source, socket, candidate.refusal))
    for step, sources in sorted(by_step.items()):
        if len(sources) > 1:
            names = ", ".join(f"'{source.label}'" for source in sources[:5])
            raise Refused(f"There are {len(sources)} predictions for step {step} of this case ({names}); send one.")
    return LesionsPrediction({step: by_step[step][0] for step in sorted(by_step)})


def _numbered(candidates: Sequence[Candidate], settings: LesionsSettings) -> list[tuple[int, Candidate]]:
    """The step of each candidate: its number, what the step socket says, else its rank by the number of points.

    Jobs with equally many points cannot be ranked: nothing tells which came first. Where a job is absent the rank would
    move later and better steps forward.
    """
    sockets = settings.sockets
    if not isinstance(candidates[0].source, Job):
        return [(int(candidate.part), candidate) for candidate in candidates]
    jobs = {candidate.label: candidate.source for candidate in candidates if isinstance(candidate.source, Job)}
    told = [job for job in jobs.values() if sockets.step in job.inputs]
    if told and len(told) < len(jobs):
        raise Refused(
            f"{len(told)} of the {len(jobs)} jobs of this case have an input '{sockets.step}' and the others do not; "
            "their order is not known."
        )
    if told:
        return [(_told_step(jobs[candidate.label], sockets.step), candidate) for candidate in candidates]
    by_points: dict[int, list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        by_points[_count_points(jobs[candidate.label], sockets.clicks)].append(candidate)
    for count, equal in by_points.items():
        if len(equal) > 1:
            names = ", ".join(candidate.label for candidate in equal[:5])
            raise Refused(
                f"{len(equal)} jobs of this case have {count} points each ({names}), and nothing else tells which step "
                f"is which; the input '{sockets.step}' would."
            )
    if settings.regime == "simulated" and len(jobs) < settings.steps:
        raise Refused(
            f"{len(jobs)} of the {settings.steps} jobs of this case are there, and nothing tells which steps they are; "
            f"the input '{sockets.step}' would."
        )
    return [(rank, by_points[count][0]) for rank, count in enumerate(sorted(by_points))]


def _told_step(job: Job, socket: str) -> int:
    value = job.inputs[socket].value
    if type(value) not in (int, float) or not 0 <= value < math.inf or value != int(value):
        raise Refused(f"The input '{socket}' of {job.label} is not a whole number from 0 on.")
    return int(value)


def _count_points(job: Job, socket: str) -> int:
    """Points of all scribbles so far; a job without the socket is the one before any scribble."""
    clicks = job.inputs.get(socket)
    if clicks is None or clicks.value is None:
        return 0
    points = clicks.value.get("points") if isinstance(clicks.value, dict) else None
    if not isinstance(points, list):
        raise Refused(f"The input '{socket}' of {job.label} has no list of points.")
    return len(points)
