"""Files and jobs of lesions: a mask per step of the interaction, as numbered files or as one job per step."""

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, SerializerFunctionWrapHandler, StrictBool, StrictInt, model_serializer, model_validator

from podium.challenges.format import Collected, Description, Format, ReferenceProblem, Shapes, doubts_about_spacing
from podium.challenges.settings import CasesSettings, Positive, Settings, Text
from podium.errors import Refused
from podium.metrics.components import (
    Components,
    Connectivity,
    Lesions,
    find_lesions,
    find_lesions_at,
    label_components,
    label_voxels,
)
from podium.pairing import Candidate, Layout, Template, Unmatched
from podium.platform.jobs import Job, case_of
from podium.platform.submission import Submission
from podium.readers.files import SafeFile
from podium.readers.formats import VOLUME_ENDINGS
from podium.readers.images import Geometry
from podium.readers.volumes import Volume, read_label_volume, read_mask_volume

# The reference of a lesions case, read and labelled once for all of its steps.

MM3_IN_ML = 1000.0


@dataclass(frozen=True, eq=False)
class LesionReference:
    """A case's lesions and the geometry of its image."""

    lesions: Lesions
    geometry: Geometry

    @property
    def is_empty(self) -> bool:
        return self.lesions.count == 0

    def ml(self, voxels: int) -> float:
        """The volume of this many voxels, by the reference's own spacing."""
        return voxels * float(np.prod(self.geometry.spacing)) / MM3_IN_ML

    @property
    def total_ml(self) -> float | None:
        """Volume of all lesions, None where there are none: what was not there cannot be missed."""
        return None if self.is_empty else self.ml(self.lesions.total_voxels)

    def describe(self) -> list[dict[str, Any]]:
        """Every lesion's id, size and centroid (voxel index in the order x, y, z)."""
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


# The `[lesions]` table of challenge.toml: the published rules of autoPET V, their published values as defaults.


class LesionsSockets(Settings):
    """`[lesions.sockets]`: the slugs of an algorithm's output and of the inputs that tell the step."""

    segmentation: Text = "tumor-lesion-segmentation"
    clicks: Text = "lesion-clicks"
    step: Text = "interaction-step"


_REGIME_OF = {"steps": "simulated", "clinician_auc": "clinician"}  # keys that mean nothing in the other regime


class LesionsSettings(Settings):
    """The `[lesions]` table of challenge.toml.

    regime              simulated: every case has `steps` predictions; clinician: as many as were submitted
    steps               predictions per case, step 0 (no scribbles) included
    clinician_auc       raw: clinicians' cases are ranked by their areas, which grow with the number of corrections;
                        normalised: by the areas divided by that number
    iou_threshold       from this IoU on, a component and a lesion match
    connectivity        6 (faces), 18 (and edges) or 26 (and corners)
    empty_reference     undefined: a case without lesions has no Dice; score: 1 if the prediction is empty too, else 0
    per_component_dice  MONAI's Dice per reference component at the last step: seconds and gigabytes on a whole body
    centroid_radius_mm  where given, evalutils' centroid hits at the last step
    """

    sockets: LesionsSockets = LesionsSockets()
    regime: Literal["simulated", "clinician"] = "simulated"
    steps: Annotated[StrictInt, Field(ge=1, le=1000)] = 6
    clinician_auc: Literal["normalised", "raw"] = "normalised"
    iou_threshold: Annotated[float, Field(strict=True, gt=0, le=1)] = 0.1
    connectivity: Connectivity = 18
    empty_reference: Literal["undefined", "score"] = "undefined"
    per_component_dice: StrictBool = False
    centroid_radius_mm: Positive | None = None

    @model_validator(mode="after")
    def _belongs_to_the_regime(self) -> Self:
        for key, regime in _REGIME_OF.items():
            if self.regime != regime and key in self.model_fields_set:
                raise ValueError(f"'{key}' belongs to the regime '{regime}'")
        return self

    @model_serializer(mode="wrap")
    def _without_what_does_not_belong(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """What is written can be read again: defaults of the other regime's keys would be refused."""
        content: dict[str, Any] = dump(self)
        return {key: value for key, value in content.items() if _REGIME_OF.get(key, self.regime) == self.regime}

    @property
    def ranked_suffix(self) -> str:
        """Of the areas that teams are ranked by: the published ones, or their mean heights where cases differ in their
        number of steps (unless the settings say otherwise), or have but one, whose area is 0 whatever it shows."""
        if self.regime == "clinician":
            return "_normalised" if self.clinician_auc == "normalised" else ""
        return "_normalised" if self.steps == 1 else ""


# Which candidate of a case is which step: steps come as numbered files, or as jobs in no order at all.

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


VOLUME = "segmentation"  # the one array of a case, as its shape is called in the list of cases
CASE_INPUTS = ("ct", "pet")

_BYTES_PER_VOXEL = 8  # a mask saved as float64 or int64 is wasteful but honest
_BYTES_PER_CASE = 16_000_000  # headers, scribbles, logs
_EMPTY = "empty"
_CLINICIAN_STEPS = 64  # an archive may unpack to this many steps per case where their number is not fixed


class LesionsFormat(Format[LesionsPrediction, SafeFile, LesionReference]):
    """A sequence of masks per case."""

    def __init__(self, cases: CasesSettings, settings: LesionsSettings) -> None:
        self._settings = settings
        self._layout = Layout(
            outputs=(settings.sockets.segmentation,),
            inputs=(cases.input,) if cases.input else CASE_INPUTS,
            files=(Template("{case}/iter_{step}.{extension}"),),
            words="<case>/iter_<k>.nii.gz or <case>/iter_<k>.mha",
            ignored=(".json", ".png", ".txt", ".log", ".md", ".md5", ".sha256"),  # scribbles, pictures, notes
            ignore_case=bool(cases.ignore_case),
            suffixes=("_0000", "_0001"),  # channels of nnU-Net
        )

    @property
    def layout(self) -> Layout:
        return self._layout

    @property
    def libraries(self) -> Collection[str]:
        return ("SimpleITK",)

    def sort_references(self, files: Sequence[SafeFile], problems: list[ReferenceProblem]) -> Mapping[str, SafeFile]:
        references: dict[str, SafeFile] = {}
        for file in files:
            where, case = f"references/{file.name}", case_of(file.name)
            if "/" in file.name or not file.name.endswith(VOLUME_ENDINGS):
                what = "A reference is not named <case>.nii.gz or <case>.mha."
                problems.append(ReferenceProblem(what=what, where=where))
            elif case in references:
                problems.append(ReferenceProblem(what="A case has two references.", where=where))
            else:
                references[case] = file
        return references

    def reference_files(self, reference: SafeFile) -> Sequence[SafeFile]:
        return (reference,)

    def select(self, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
        return candidates  # one per step

    def prediction(self, candidates: Sequence[Candidate]) -> LesionsPrediction:
        return sort_steps(candidates, self._settings)

    def collect(self, submission: Submission, cases: Collection[str] | None) -> Collected[LesionsPrediction]:
        """Steps that are not scored are unmatched."""
        found = super().collect(submission, cases)
        limit = self._settings.steps if self._settings.regime == "simulated" else MOST_STEPS
        reason = f"and only steps 0 to {limit - 1} are scored"
        surplus = [
            Unmatched(name=source.label, reason=f"it is step {step}, {reason}")
            for prediction in found.predictions.values()
            for step, source in prediction.steps.items()
            if step >= limit
        ]
        kept = {
            case: LesionsPrediction({step: source for step, source in prediction.steps.items() if step < limit})
            for case, prediction in found.predictions.items()
        }
        return Collected(
            predictions={case: prediction for case, prediction in kept.items() if prediction.steps},
            refused=found.refused,
            unmatched=[*found.unmatched, *surplus],
        )

    def expected_steps(self, prediction: LesionsPrediction) -> range:
        """The steps that are scored, submitted or not."""
        if self._settings.regime == "simulated":
            return range(self._settings.steps)
        return range(max(prediction.steps) + 1)

    def read_reference(self, reference: SafeFile) -> LesionReference:
        volume, connectivity = read_label_volume(reference, as_voxels=True), self._settings.connectivity
        if volume.voxels is None:
            lesions = find_lesions(volume.labels, connectivity=connectivity)
        else:
            places, labels = volume.voxels.places, volume.voxels.labels
            lesions = find_lesions_at(places, labels, volume.shape, connectivity=connectivity)
        return LesionReference(lesions, volume.geometry)

    def shapes(self, content: LesionReference) -> Shapes:
        return {VOLUME: content.lesions.shape}

    def describe_reference(self, content: LesionReference) -> Description:
        spacing = content.geometry.spacing
        return Description(
            shapes=self.shapes(content),
            categories={"reference": _EMPTY if content.is_empty else "with lesions"},
            figures={
                "lesions": content.lesions.count,
                "volume (ml)": content.total_ml or 0.0,
                "smallest spacing (mm)": min(spacing),
                "largest spacing (mm)": max(spacing),
            },
            doubts=doubts_about_spacing(spacing),
        )

    def doubts_about_all(self, descriptions: Sequence[Description]) -> Sequence[str]:
        if all(each.categories["reference"] == _EMPTY for each in descriptions):
            return ["All references are empty: there is no lesion to find."]
        return ()

    def check_prediction(self, prediction: LesionsPrediction, shapes: Shapes | None) -> None:
        """Every step is read; the first problem, and how many there are, in one sentence."""
        problems: list[str] = []
        for step in self.expected_steps(prediction):
            try:
                if step not in prediction.steps:
                    raise Refused(f"There is no prediction for step {step}.")
                read_mask_volume(prediction.steps[step].file(), shape=shapes[VOLUME] if shapes else None)
            except Refused as refusal:
                problems.append(str(refusal))
        if problems:
            more = f" ({len(problems)} steps of this case have a problem.)" if len(problems) > 1 else ""
            raise Refused(problems[0] + more)

    def submission_bytes(self, shapes: Sequence[Shapes]) -> int:
        steps = self._settings.steps if self._settings.regime == "simulated" else _CLINICIAN_STEPS
        voxels = sum(math.prod(case[VOLUME]) for case in shapes)
        return voxels * steps * _BYTES_PER_VOXEL + len(shapes) * _BYTES_PER_CASE

    def read_step(self, source: StepSource, *, shape: tuple[int, ...]) -> tuple[Volume, Components, str]:
        """A step's mask, its components and the name of its file."""
        file, connectivity = source.file(), self._settings.connectivity
        volume = read_mask_volume(file, shape=shape)
        if volume.voxels is None:
            return volume, label_components(volume.labels.view(np.bool_), connectivity=connectivity), file.name
        return volume, label_voxels(volume.voxels.places, volume.shape, connectivity=connectivity), file.name
