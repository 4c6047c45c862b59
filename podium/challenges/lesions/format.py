"""Files and jobs of lesions: a mask per step of the interaction, as numbered files or as one job per step."""

import math
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from podium.challenges.format import Collected, Description, Format, Shapes
from podium.challenges.geometry import doubts_about_spacing
from podium.challenges.ground_truth import ReferenceProblem
from podium.challenges.lesions.reference import LesionReference
from podium.challenges.lesions.settings import LesionsSettings
from podium.challenges.lesions.steps import MOST_STEPS, LesionsPrediction, StepSource, sort_steps
from podium.challenges.settings import CasesSettings
from podium.errors import Refused
from podium.metrics.components import Components, find_lesions, find_lesions_at, label_components, label_voxels
from podium.pairing import Candidate, Layout, Template, Unmatched
from podium.platform.jobs import case_of
from podium.platform.submission import Submission
from podium.readers.files import SafeFile
from podium.readers.formats import VOLUME_ENDINGS
from podium.readers.volumes import Volume, read_label_volume, read_mask_volume

VOLUME = "segmentation"  # the one array of a case, as its shape is called in the list of cases
CASE_INPUTS = ("ct", "pet")

_BYTES_PER_VOXEL = 8  # a mask saved as float64 or int64 is wasteful but honest
_BYTES_PER_CASE = 16_000_000  # headers, scribbles, logs
_EMPTY = "empty"
_CLINICIAN_STEPS = 64  # an archive may unpack to this many steps per case where their number is not fixed


class LesionsFormat(Format[LesionsPrediction, SafeFile]):
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

    def check_reference(self, reference: SafeFile) -> Shapes:
        return self.check_and_read(reference)[0]

    def check_and_read(self, reference: SafeFile) -> tuple[Shapes, LesionReference]:
        content = self.read_reference(reference)
        return {VOLUME: content.lesions.shape}, content

    def describe_reference(self, reference: SafeFile) -> Description:
        content = self.read_reference(reference)
        spacing = content.geometry.spacing
        return Description(
            shapes={VOLUME: content.lesions.shape},
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

    def read_reference(self, file: SafeFile) -> LesionReference:
        """A reference, labelled."""
        volume, connectivity = read_label_volume(file, as_voxels=True), self._settings.connectivity
        if volume.voxels is None:
            lesions = find_lesions(volume.labels, connectivity=connectivity)
        else:
            places, labels = volume.voxels.places, volume.voxels.labels
            lesions = find_lesions_at(places, labels, volume.shape, connectivity=connectivity)
        return LesionReference(lesions, volume.geometry)

    def read_step(self, source: StepSource, *, shape: tuple[int, ...]) -> tuple[Volume, Components, str]:
        """A step's mask, its components and the name of its file."""
        file, connectivity = source.file(), self._settings.connectivity
        volume = read_mask_volume(file, shape=shape)
        if volume.voxels is None:
            return volume, label_components(volume.labels.view(np.bool_), connectivity=connectivity), file.name
        return volume, label_voxels(volume.voxels.places, volume.shape, connectivity=connectivity), file.name
