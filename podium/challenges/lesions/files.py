"""Settings, references and predictions of lesions: one mask per step of the interaction.

Steps are submitted as numbered files, or as one job per step in no particular order.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, SerializerFunctionWrapHandler, StrictBool, StrictInt, model_serializer, model_validator

from podium.challenges.settings import ENGINE, Settings, Slug, Tables
from podium.errors import Refused
from podium.metrics.components import Connectivity, Lesions
from podium.metrics.engines import EngineName
from podium.pairing import Candidate
from podium.platform.jobs import Job
from podium.readers.files import SafeFile
from podium.readers.geometry import Geometry, GeometryRule

VOLUME = "segmentation"  # the one array of a case, as its shape is called in the list of cases

_REGIME_OF = {"steps": "simulated", "missing_steps": "simulated", "clinician_auc": "clinician"}  # of one regime only
MAX_STEPS = 1000
_MM3_PER_ML = 1000.0


class LesionsSockets(Settings):
    """`[lesions.sockets]`: the slugs of an algorithm's output and of the inputs that identify the step."""

    segmentation: Slug = "tumor-lesion-segmentation"
    clicks: Slug = "lesion-clicks"
    step: Slug = "interaction-step"


class LesionsSettings(Settings):
    """The `[lesions]` table of challenge.toml; the defaults are the published rules of autoPET V.

    regime              simulated: every case has `steps` predictions; clinician: as many as were submitted
    steps               predictions per case, step 0 (no scribbles) included
    missing_steps       repeat: a last prediction that equals the reference counts for the steps missing after it
    clinician_auc       raw: clinicians' cases are ranked by their areas, which grow with the number of corrections;
                        normalised: by the areas divided by that number
    iou_threshold       from this IoU on, a component and a lesion match
    connectivity        6 (faces), 18 (and edges) or 26 (and corners)
    empty_reference     undefined: a case without lesions has no Dice; score: 1 if the prediction is empty too, else 0;
                        without a default, since the organisers' scripts disagree, and it can reverse a ranking
    per_component_dice  MONAI's Dice per reference component at the last step
    geometry            what a header that differs from the reference's means
    """

    misplaced: ClassVar = {ENGINE: "belongs at the top of challenge.toml, above all tables"}

    sockets: LesionsSockets = LesionsSockets()
    regime: Literal["simulated", "clinician"] = "simulated"
    steps: Annotated[StrictInt, Field(ge=1, le=MAX_STEPS)] = 6
    missing_steps: Literal["fail", "repeat"] = "fail"
    clinician_auc: Literal["normalised", "raw"] = "raw"
    iou_threshold: Annotated[float, Field(strict=True, gt=0, le=1)] = 0.1
    connectivity: Connectivity = 18
    empty_reference: Literal["undefined", "score"] = Field(
        description="no Dice without lesions, or 1 for an empty prediction, else 0: the organisers' scripts disagree"
    )
    per_component_dice: StrictBool = True
    geometry: GeometryRule = "warn"

    @model_validator(mode="after")
    def _check_regime(self) -> Self:
        for key, regime in _REGIME_OF.items():
            if self.regime != regime and key in self.model_fields_set:
                raise ValueError(f"'{key}' belongs to the regime '{regime}'")
        return self

    @model_serializer(mode="wrap")
    def _without_the_other_regime(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leaves out the keys of the other regime, which would be refused when the output is read back."""
        content: dict[str, Any] = dump(self)
        return {key: value for key, value in content.items() if _REGIME_OF.get(key, self.regime) == self.regime}

    @property
    def fixed_steps(self) -> int | None:
        """Predictions per case, None where their number is not fixed."""
        return self.steps if self.regime == "simulated" else None

    @property
    def ranked_suffix(self) -> str:
        """Suffix of the areas that teams are ranked by: none for the published areas; `_normalised` where there is only
        one step, whose area is always 0, and for clinicians' cases if the settings say so."""
        is_normalised = self.steps == 1 if self.regime == "simulated" else self.clinician_auc == "normalised"
        return "_normalised" if is_normalised else ""


class LesionsTables(Tables):
    """The tables of a challenge of lesions. `engine` computes Dice and Dice per component."""

    engine: EngineName = "monai"
    lesions: LesionsSettings = Field(description='write [lesions] with empty_reference = "undefined" or "score"')


@dataclass(frozen=True, eq=False)
class LesionReference:
    """A case's lesions and the geometry of its image."""

    lesions: Lesions
    geometry: Geometry

    @property
    def is_empty(self) -> bool:
        return self.lesions.count == 0

    def ml(self, voxels: int) -> float:
        """Volume of this many voxels of the reference image."""
        return voxels * float(np.prod(self.geometry.spacing)) / _MM3_PER_ML

    @property
    def total_ml(self) -> float | None:
        """Volume of all lesions; None if there are none, since nothing can then be missed."""
        return None if self.is_empty else self.ml(self.lesions.total_voxels)

    def describe(self) -> list[dict[str, Any]]:
        """Every lesion's id, size and centroid (voxel indices x, y, z)."""
        return [
            {
                "id": int(name),
                "voxels": int(voxels),
                "volume_ml": self.ml(int(voxels)),
                "centroid": [float(place) for place in reversed(centroid)],
            }
            for name, voxels, centroid in zip(
                self.lesions.ids, self.lesions.voxels, self.lesions.centroids(), strict=True
            )
        ]

    def mask(self) -> NDArray[np.bool_]:
        """All lesions as one mask."""
        mask = np.zeros(self.lesions.shape, dtype=np.bool_)
        mask.reshape(-1)[self.lesions.places] = True
        return mask


@dataclass(frozen=True)
class StepSource:
    """The file or job of one step's prediction; without one, `refusal` says why it cannot be opened."""

    label: str
    source: SafeFile | Job | None
    socket: str
    refusal: str | None = None

    def file(self) -> SafeFile:
        """The image; raises Refused if there is none."""
        if self.source is None:
            raise Refused(self.refusal or f"'{self.label}' cannot be opened.")
        return self.source.output_image(self.socket) if isinstance(self.source, Job) else self.source


@dataclass(frozen=True)
class LesionsPrediction:
    """The submitted steps of one case."""

    steps: Mapping[int, StepSource]


def unusable_steps(failed: Mapping[int, str], missing: Sequence[int], words: str = "missing") -> list[str]:
    """A warning for every step that failed, and one for all that are missing, such as "steps 1, 6-7 missing"."""
    warnings = [f"step {step}: {error}" for step, error in failed.items()]
    runs: list[list[int]] = []
    for step in missing:
        if runs and runs[-1][-1] == step - 1:
            runs[-1].append(step)
        else:
            runs.append([step])
    listed = ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
    return [*warnings, f"step{'s' if len(missing) > 1 else ''} {listed} {words}"] if missing else warnings


def numbered_steps(candidates: Sequence[Candidate], settings: LesionsSettings) -> list[tuple[int, Candidate]]:
    """The step of each candidate: its file number, the value of the step socket, or its rank by number of points."""
    if not isinstance(candidates[0].source, Job):
        return [(int(candidate.part), candidate) for candidate in candidates]
    sockets = settings.sockets
    jobs = {candidate.label: candidate.source for candidate in candidates if isinstance(candidate.source, Job)}
    stated = [job for job in jobs.values() if sockets.step in job.inputs]
    if stated and len(stated) < len(jobs):
        raise Refused(
            f"{len(stated)} of the {len(jobs)} jobs of this case have an input '{sockets.step}' and the others do not; "
            "their order is unknown."
        )
    if stated:
        return [(_stated_step(jobs[candidate.label], sockets.step), candidate) for candidate in candidates]
    by_points: dict[int, list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        by_points[_count_points(jobs[candidate.label], sockets.clicks)].append(candidate)
    for count, equal in by_points.items():
        if len(equal) > 1:
            names = ", ".join(candidate.label for candidate in equal[:5])
            raise Refused(
                f"{len(equal)} jobs of this case have {count} points each ({names}), and nothing else identifies "
                f"their steps; the input '{sockets.step}' would."
            )
    return [(rank, by_points[count][0]) for rank, count in enumerate(sorted(by_points))]


def refuse_absent_jobs(steps: Mapping[int, StepSource], settings: LesionsSettings) -> None:
    """Refuse jobs ranked by their points if any is absent: later and better results would belong to earlier steps."""
    jobs = [step.source for step in steps.values() if isinstance(step.source, Job)]
    is_ranked = bool(jobs) and settings.sockets.step not in jobs[0].inputs
    if is_ranked and len(jobs) < (settings.fixed_steps or 0):
        raise Refused(
            f"Only {len(jobs)} of the {settings.steps} jobs of this case exist, and nothing identifies their steps; "
            f"the input '{settings.sockets.step}' would."
        )


def _stated_step(job: Job, socket: str) -> int:
    value = job.inputs[socket].value
    if type(value) not in (int, float) or not 0 <= value < math.inf or value != int(value):
        raise Refused(f"The input '{socket}' of {job.label} is not a non-negative whole number.")
    return int(value)


def _count_points(job: Job, socket: str) -> int:
    """Points of all scribbles so far; a job without the socket ran before the first scribble."""
    clicks = job.inputs.get(socket)
    if clicks is None or clicks.value is None:
        return 0
    points = clicks.value.get("points") if isinstance(clicks.value, dict) else None
    if not isinstance(points, list):
        raise Refused(f"The input '{socket}' of {job.label} has no list of points.")
    return len(points)
