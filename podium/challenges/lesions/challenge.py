"""A challenge of lesions: a sequence of masks per case, read, paired, scored and drawn step by step."""

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from podium.challenges.board import RankingRule
from podium.challenges.challenge import Challenge
from podium.challenges.ground_truth import (
    Collected,
    Description,
    Geometries,
    ReferenceProblem,
    Shapes,
    collect,
    doubts_about_geometry,
)
from podium.challenges.lesions.files import (
    MAX_STEPS,
    VOLUME,
    LesionReference,
    LesionsPrediction,
    LesionsTables,
    StepSource,
    numbered_steps,
    refuse_absent_jobs,
    unusable_steps,
)
from podium.challenges.lesions.scoring import (
    MISSING_STEP,
    LesionsCase,
    ReadStep,
    computed_by,
    failed_step,
    ranking_rule,
    score_step,
    scoreboard,
)
from podium.challenges.pictures import LabelledVolume, Outlined, Overlay, slice_overlays
from podium.challenges.samples import CaseImage, CaseSamples, Part, Socket
from podium.errors import Refused
from podium.figures import Figures
from podium.metrics.components import Components, find_lesions, find_lesions_at, label_components, label_voxels
from podium.metrics.declaration import Scoreboard
from podium.metrics.engines import engine_named
from podium.metrics.overlap import count_voxels, damaged_labels
from podium.pairing import Candidate, Layout, Template, Unmatched, pair
from podium.platform.jobs import Job, case_of
from podium.platform.submission import Submission
from podium.readers.files import SafeFile
from podium.readers.formats import VOLUME_ENDINGS
from podium.readers.geometry import Geometry, Shape, check_place, differences, lps_turn, turned
from podium.readers.images import read_image
from podium.readers.volumes import Volume, read_mask_volume, read_volume

_CASE_INPUTS = ("ct", "pet")
_CLINICIAN_STEPS = 64  # an archive may unpack to this many steps per case where their number is not fixed
_BYTES_PER_VOXEL = 8  # a mask saved as float64 or int64 is wasteful but valid
_COSTS_POINTS = "missing: this costs points unless the last prediction equals the reference"
_REPEATED = "missing: the last prediction equals the reference and counts instead"
_BYTES_PER_CASE = 16_000_000  # headers, scribbles, logs
_CHANNELS = ("_0001", "", "_0000")  # PET, where lesions are bright, else any other image


class LesionsChallenge(Challenge[LesionsTables, LesionsPrediction, SafeFile, LesionReference, LesionsCase]):
    """A sequence of masks per case; without settings, of any length."""

    kind = "lesions"
    tables_model = LesionsTables
    without_settings: ClassVar = {"lesions": {"regime": "clinician", "empty_reference": "undefined"}}
    prediction_words = "a mask of the image's size for every step: 0 is background, any other value a lesion"
    has_overlays = True
    libraries = ("SimpleITK",)

    def __init__(self, name: str, tables: LesionsTables) -> None:
        super().__init__(name, tables)
        self.settings = tables.lesions
        self.engine = engine_named(tables.engine)
        self._repeats = self.settings.missing_steps == "repeat"
        self.layout = Layout(
            outputs=(self.settings.sockets.segmentation,),
            inputs=self.cases.inputs or _CASE_INPUTS,
            files=(Template("{case}/iter_{step}.{extension}"),),
            words="<case>/iter_<k>.nii.gz or <case>/iter_<k>.mha",
            ignored=(".json", ".png", ".txt", ".log", ".md", ".md5", ".sha256"),  # scribbles, pictures, notes
            ignore_case=bool(self.cases.ignore_case),
            suffixes=("_0000", "_0001"),  # channels of nnU-Net
        )

    # References

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

    def read_reference(self, reference: SafeFile) -> LesionReference:
        volume, connectivity = read_volume(reference, as_voxels=True), self.settings.connectivity
        if volume.voxels is None:
            lesions = find_lesions(volume.labels, connectivity=connectivity)
        else:
            places, labels = volume.voxels.places, volume.voxels.labels
            lesions = find_lesions_at(places, labels, volume.shape, connectivity=connectivity)
        return LesionReference(lesions, volume.geometry)

    def shapes(self, content: LesionReference) -> Shapes:
        return {VOLUME: content.lesions.shape}

    def geometries(self, content: LesionReference) -> Geometries:
        return {VOLUME: content.geometry}

    def describe_reference(self, content: LesionReference) -> Description:
        spacing = content.geometry.spacing
        empty = f'without lesions (empty_reference = "{self.settings.empty_reference}")'
        return Description(
            categories={"reference": empty if content.is_empty else "with lesions"},
            figures={
                "lesions": content.lesions.count,
                "volume (ml)": content.total_ml or 0.0,
                "smallest spacing (mm)": min(spacing),
                "largest spacing (mm)": max(spacing),
            },
            doubts=doubts_about_geometry(VOLUME, content.geometry, self.settings),
        )

    def doubts_about_all(self, descriptions: Sequence[Description]) -> Sequence[str]:
        if not any(each.figures["lesions"] for each in descriptions):
            return ["All references are empty: there is no lesion to find."]
        return ()

    # Predictions

    def pair(self, submission: Submission, cases: Collection[str] | None) -> Collected[LesionsPrediction]:
        """Reports steps that are not scored as unmatched."""
        found = collect(pair(submission, self.layout, cases), self._prediction)
        limit = self.settings.fixed_steps or MAX_STEPS
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

    def _prediction(self, candidates: Sequence[Candidate]) -> LesionsPrediction:
        """One source per step; a case with two for the same step is refused, since choosing one would be a guess."""
        by_step: dict[int, list[StepSource]] = defaultdict(list)
        socket = self.settings.sockets.segmentation
        for step, candidate in numbered_steps(candidates, self.settings):
            source = candidate.source
            assert source is None or isinstance(source, SafeFile | Job)
            by_step[step].append(StepSource(candidate.label, source, socket, candidate.refusal))
        for step, sources in sorted(by_step.items()):
            if len(sources) > 1:
                names = ", ".join(f"'{source.label}'" for source in sources[:5])
                raise Refused(f"There are {len(sources)} predictions for step {step} of this case ({names}); send one.")
        steps = {step: by_step[step][0] for step in sorted(by_step)}
        if not self._repeats:
            refuse_absent_jobs(steps, self.settings)
        return LesionsPrediction(steps)

    def expected_steps(self, prediction: LesionsPrediction) -> range:
        """The steps that are scored, submitted or not."""
        return range(self.settings.fixed_steps or max(prediction.steps) + 1)

    def check_prediction(
        self, prediction: LesionsPrediction, shapes: Shapes | None, geometries: Geometries
    ) -> Sequence[str]:
        """Reads every step. Scoring only warns about a step that is unusable or missing, where another can be used;
        here it is refused, since it costs points: with everything that scoring would say of the case."""
        warnings: list[str] = []
        failed: dict[int, str] = {}
        for step, source in prediction.steps.items():
            try:
                shape = shapes[VOLUME] if shapes else None
                warnings += self._read_mask(source.file(), shape, geometries.get(VOLUME))[1]
            except Refused as refusal:
                failed[step] = str(refusal)
        last = max(prediction.steps) if self._repeats else MAX_STEPS
        missing = [step for step in self.expected_steps(prediction) if step not in prediction.steps]
        warnings += unusable_steps({}, [step for step in missing if step > last], _COSTS_POINTS)
        unusable = unusable_steps(failed, [step for step in missing if step < last])
        if unusable:
            raise Refused(" ".join(f"{each.removesuffix('.')}." for each in (*unusable, *warnings)))
        return warnings

    def submission_bytes(self, shapes: Sequence[Shapes]) -> int:
        steps = self.settings.fixed_steps or _CLINICIAN_STEPS
        voxels = sum(math.prod(case[VOLUME]) for case in shapes)
        return voxels * steps * _BYTES_PER_VOXEL + len(shapes) * _BYTES_PER_CASE

    def _read_mask(self, file: SafeFile, shape: Shape | None, place: Geometry | None) -> tuple[Volume, list[str]]:
        """A step's mask on the grid of the reference, as far as that is known, and what its author should know."""
        rule = self.settings.geometry
        volume = read_mask_volume(file, shape=shape, onto=None if rule == "ignore" else place)
        return volume, check_place(file.name, volume.geometry, place, shape, rule)

    def _components(self, volume: Volume) -> Components:
        connectivity = self.settings.connectivity
        if volume.voxels is None:
            return label_components(volume.labels.view(np.bool_), connectivity=connectivity)
        return label_voxels(volume.voxels.places, volume.shape, connectivity=connectivity)

    # One case

    def import_packages(self) -> None:
        import cc3d  # noqa: F401
        import numpy.ma  # noqa: F401  (np.unique asks for it)

        self.engine.import_packages({*self.computed_by.values()})

    def compare(self, prediction: LesionsPrediction, expected: LesionReference) -> LesionsCase:
        steps: list[dict[str, Any]] = []
        warnings: list[str] = []
        final = None
        last = max(prediction.steps)
        for step in self.expected_steps(prediction):
            if self._repeats and step > last and final and len({*steps[last]["voxels"].values()}) == 1:  # equal masks
                steps.append({**steps[last], "step": step, "status": "repeated"})
                continue
            final = None  # frees this step's memory before the next volume is read
            if step not in prediction.steps:
                steps.append(failed_step(step, expected, self.settings, status="missing", error=MISSING_STEP))
                continue
            try:
                file = prediction.steps[step].file()
                volume, told = self._read_mask(file, expected.lesions.shape, expected.geometry)
                components = self._components(volume)
            except Refused as refusal:
                steps.append(failed_step(step, expected, self.settings, status="failed", error=str(refusal)))
                continue
            warnings += told
            final = ReadStep(volume, components)
            steps.append(score_step(step, final, expected, self.settings, self.engine))
            del volume, components
        if self._repeats and steps[-1]["status"] != "repeated":
            refuse_absent_jobs(prediction.steps, self.settings)
        if not any(step["status"] == "scored" for step in steps):
            raise Refused(next(step["error"] for step in steps if step["status"] == "failed"))
        warnings += unusable_steps(
            {step["step"]: step["error"] for step in steps if step["status"] == "failed"},
            [step["step"] for step in steps if step["status"] == "missing"],
        )
        warnings += unusable_steps({}, [step["step"] for step in steps if step["status"] == "repeated"], _REPEATED)
        return LesionsCase(expected, steps, final, warnings)

    def missing_case(self, expected: LesionReference) -> LesionsCase:
        """Every expected step failed; where their number is not fixed, one."""
        steps = range(self.settings.fixed_steps or 1)
        missing = {"status": "missing", "error": MISSING_STEP}
        return LesionsCase(expected, [failed_step(step, expected, self.settings, **missing) for step in steps])

    def lacks(self, case: LesionsCase, values: Collection[str]) -> bool:  # noqa: ARG002  (a case is one value)
        return all(step["status"] != "scored" for step in case.steps)

    def perfect_case(self, expected: LesionReference) -> LesionsCase:
        return self._same_at_every_step(expected, expected.mask().view(np.uint8), self.settings.fixed_steps or 1)

    def damaged_cases(self, expected: LesionReference) -> Sequence[LesionsCase]:
        return [self._same_at_every_step(expected, each, 1) for each in damaged_labels(expected.mask().view(np.uint8))]

    def samples(self, case: str, expected: LesionReference) -> CaseSamples:
        mask = expected.mask().view(np.uint8)
        images = {"wrong-size": mask[..., :-1], "wrong-label": mask.astype(np.float32) * 0.5}
        return CaseSamples(
            answers=[self._steps(case, each, expected.geometry) for each in (mask, *damaged_labels(mask))],
            broken={fault: self._steps(case, each, expected.geometry) for fault, each in images.items()},
        )

    def _steps(self, case: str, mask: NDArray[Any], geometry: Geometry) -> Sequence[Part]:
        sockets = self.settings.sockets
        return [
            Part(
                content=CaseImage(mask, geometry),
                socket=Socket(sockets.segmentation, "Segmentation"),
                file=f"{case}/iter_{step}.nii.gz",
                inputs={sockets.step: step},
            )
            for step in range(self.settings.fixed_steps or 1)
        ]

    def output_sockets(self) -> Sequence[Socket]:
        sockets = self.settings.sockets
        read = [
            Socket(sockets.clicks, "Multiple points", is_input=True),
            Socket(sockets.step, "Integer", is_input=True),
        ]
        return [*read, Socket(sockets.segmentation, "Segmentation")]

    def _same_at_every_step(self, expected: LesionReference, labels: Any, steps: int) -> LesionsCase:
        components = label_components(labels.view(np.bool_), connectivity=self.settings.connectivity)
        read = ReadStep(Volume(labels.shape, expected.geometry, labels), components)
        return LesionsCase(
            expected, [score_step(step, read, expected, self.settings, self.engine) for step in range(steps)], read
        )

    def facts(self, case: LesionsCase) -> Figures:
        return {
            "final_detections": {name: case.steps[-1][name] for name in ("tp", "fp", "fn")},
            "lesions": case.reference.describe(),
            "steps": list(case.steps),
        }

    def warnings(self, case: LesionsCase) -> Sequence[str]:
        return case.warnings

    # All cases

    def declare(self) -> Scoreboard[LesionsCase]:
        return scoreboard(self.settings, self.engine)

    def ranking_rule(self) -> RankingRule:
        return ranking_rule(self.settings)

    def confidential_paths(self) -> Sequence[str]:
        """They reveal where the lesions are, how large they are and how many there are."""
        return ("lesions", "final_detections", "steps.tp", "steps.fn", "steps.voxels", "steps.pairs")

    @property
    def computed_by(self) -> Mapping[str, str]:
        return computed_by(self.settings, self.engine)

    # Pictures

    def overlays(
        self, case: str, prediction: LesionsPrediction, reference: SafeFile, images: Sequence[SafeFile]
    ) -> Sequence[Overlay]:
        """A case's last step over the PET image `<case>_0001`, or `<case>` or `<case>_0000` (CT): the axial slice with
        the most error, a projection from the front, and the projection after every step.

        The prediction is empty if there is none.
        """
        volume = read_volume(reference)
        geometry, turn = volume.geometry, lps_turn(volume.geometry)
        expected, mask, steps = volume.labels != 0, np.zeros(volume.shape, np.bool_), []

        def front(values: NDArray[Any]) -> NDArray[Any]:
            return np.asarray(turned(values, turn).max(axis=1)[::-1])

        for step in self.expected_steps(prediction):
            if self._repeats and step > max(prediction.steps) and np.array_equal(mask, expected):
                continue
            mask = np.zeros_like(expected)
            with suppress(Refused):  # a missing or unreadable step found nothing, as in scoring
                if step in prediction.steps:
                    found, _ = self._read_mask(prediction.steps[step].file(), expected.shape, geometry)
                    mask = found.labels.view(np.bool_)
            dice = count_voxels(prediction=mask, reference=expected).dice()
            steps.append((f"step {step}, Dice {dice:.3f}", front(mask)))
        whole = LabelledVolume(
            title="last step",
            image=_image(images, case=case, shape=expected.shape, onto=geometry),
            prediction=mask,
            reference=expected,
            regions={"lesion": [1]},
            geometry=geometry,
        ).in_lps()
        z, _, x = whole.spacing

        def projection(title: str, found: NDArray[np.bool_], **more: Any) -> Overlay:
            layers = {"lesion": Outlined(prediction=found, reference=front(expected))}
            return Overlay(title=title, layers=layers, aspect=z / x, whole=whole, **{"image": None, **more})

        image = None if whole.image is None else np.asarray(whole.image.max(axis=1)[::-1])
        return [
            *slice_overlays(whole),
            projection("maximum projection, last step", front(mask), image=image, pixel_mm=x, letters="RLSI"),
            *(projection(words, each, small=True) for words, each in steps),
        ]

    def check_images(
        self, case: str, shapes: Shapes, geometries: Geometries, images: Sequence[SafeFile]
    ) -> Sequence[Sequence[str]]:
        names = {case + channel for channel in _CHANNELS}
        found = [read_image(file, shape=shapes[VOLUME]) for file in images if case_of(file.name) in names]
        return [[*differences(image.geometry, geometries.get(VOLUME))] for image in found]


def _image(
    images: Sequence[SafeFile], *, case: str, shape: tuple[int, ...], onto: Geometry
) -> NDArray[np.generic] | None:
    by_name = {case_of(PurePosixPath(file.name).name): file for file in images}
    found = next((by_name[case + channel] for channel in _CHANNELS if case + channel in by_name), None)
    return None if found is None else read_image(found, shape=shape, onto=onto).array
