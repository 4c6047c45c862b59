"""autoPET V: interactive PET/CT lesion segmentation (Dice and DMM over the steps of an interaction).

One case is a sequence of masks, one after every scribble; see docs/lesions.md for the rules and their sources.
"""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from podium.challenges.base import Challenge, Collected, Shapes
from podium.challenges.ground_truth import list_references
from podium.challenges.lesions.aggregates import aggregate_lesions
from podium.challenges.lesions.case import LesionReference, case_figures, failed_step, score_step
from podium.challenges.lesions.overlay import lesion_overlay
from podium.challenges.lesions.settings import LesionsSettings
from podium.challenges.lesions.steps import (
    OUTPUT_SOCKET,
    LesionsPrediction,
    StepSource,
    looks_like_a_step,
    sort_steps,
)
from podium.challenges.overlay import Overlay
from podium.challenges.ranking_rule import Criterion, RankingRule
from podium.challenges.settings import Settings
from podium.errors import GroundTruthError, Refused
from podium.metrics.component_dice import component_dice
from podium.metrics.components import Components, find_lesions, label_components
from podium.metrics.declaration import Curve, Direction, Metric
from podium.metrics.detection import centroid_hits
from podium.metrics.resampling import Floats, Resamples
from podium.platform.leaderboard import Column
from podium.platform.names import case_of
from podium.platform.results import CaseResult, CaseScore, Figures
from podium.platform.runtime import Timing
from podium.platform.submission import Submission, SubmissionNames
from podium.readers.files import SafeFile
from podium.readers.images import Geometry
from podium.readers.volumes import read_label_volume, read_mask_volume

VOLUME = "segmentation"  # the one array of a case, as its shape is called in the list of cases
MISSING_STEP = "There is no prediction for this step."

_REFERENCE_ENDINGS = (".nii.gz", ".mha", ".nii")
_GROUP_NAME = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)  # it becomes part of a leaderboard path
_BYTES_A_VOXEL = 8  # a mask saved as float64 or int64 is wasteful but honest
_BYTES_A_CASE = 16_000_000  # headers, scribbles, logs
_CLINICIAN_STEPS = 64  # an archive may unpack to so many steps a case where their number is not fixed
_MOST_CENTROIDS = 10_000  # evalutils compares them one by one in Python
_SPACING_TOLERANCE = 1e-3  # relative: NIfTI stores single precision
_DIRECTION_TOLERANCE = 1e-3
_ORIGIN_TOLERANCE_MM = 0.1


def _declare(settings: LesionsSettings) -> tuple[Metric, ...]:
    """What a case's figures are. An area is at most the number of steps less 1; a missed volume has no upper bound."""
    longest = settings.steps - 1 if settings.regime == "simulated" else math.inf
    shared: dict[str, Any] = {"direction": "higher", "lowest": 0.0, "worst": 0.0}
    volume: dict[str, Any] = {"direction": "lower", "lowest": 0.0, "highest": math.inf, "unit": "ml"}
    declared = [
        Metric(name="auc_dice", title="AUC-Dice", highest=longest, **shared),
        Metric(name="auc_dmm", title="AUC-DMM", highest=longest, **shared),
        Metric(name="auc_dice_normalised", title="AUC-Dice, normalised", highest=1.0, **shared),
        Metric(name="auc_dmm_normalised", title="AUC-DMM, normalised", highest=1.0, **shared),
        Metric(name="final_dice", title="Final Dice", highest=1.0, **shared),
        Metric(name="final_dmm", title="Final DMM", highest=1.0, **shared),
        Metric(name="final_fpv_ml", title="Final false positive volume", worst=math.inf, **volume),
        Metric(name="final_fnv_ml", title="Final false negative volume", worst=math.inf, **volume),
    ]
    if settings.per_component_dice:
        declared.append(Metric(name="final_component_dice", title="Final Dice per component", highest=1.0, **shared))
    return tuple(declared)


_CURVES = (
    Curve(name="steps.dice", title="Dice", along="Interaction step", direction="higher", lowest=0.0, highest=1.0),
    Curve(name="steps.dmm", title="DMM", along="Interaction step", direction="higher", lowest=0.0, highest=1.0),
)


class LesionSegmentation(Challenge[LesionsPrediction, SafeFile]):
    """Interactive PET/CT lesion segmentation."""

    name: ClassVar[str] = "lesions"
    settings_model: ClassVar[type[Settings]] = LesionsSettings
    output_sockets: ClassVar[frozenset[str]] = frozenset((OUTPUT_SOCKET,))
    format_settings: ClassVar[Mapping[str, Any]] = {"regime": "clinician"}  # any number of steps is fine

    def __init__(self, settings: LesionsSettings) -> None:
        self.settings = settings

    @classmethod
    def recognises(cls, names: SubmissionNames) -> bool:
        return bool(names.output_sockets & cls.output_sockets) or any(map(looks_like_a_step, names.files))

    @property
    def metrics(self) -> Sequence[Metric]:
        return _declare(self.settings)

    @property
    def curves(self) -> Sequence[Curve]:
        return _CURVES

    @property
    def confidential_figures(self) -> Sequence[str]:
        # Where the lesions are, how large, and how many there are to find.
        return (
            "lesions",
            "final_detections",
            "final_centroid_hits",
            "steps.tp",
            "steps.fn",
            "steps.voxels",
            "steps.pairs",
        )

    @classmethod
    def columns(cls) -> Sequence[Column]:
        figures: tuple[tuple[str, str, Direction], ...] = (
            ("auc_dice_normalised", "AUC-Dice, normalised", "higher"),
            ("auc_dmm_normalised", "AUC-DMM, normalised", "higher"),
            ("final_dice", "Final Dice", "higher"),
            ("final_dmm", "Final DMM", "higher"),
            ("final_fpv_ml", "Final FPV (ml)", "lower"),
            ("final_fnv_ml", "Final FNV (ml)", "lower"),
        )
        return (
            *(
                Column(
                    path=f"ranked.{name}.mean",
                    title=title,
                    direction="higher",
                    error_path=f"ranked.{name}.std",
                    headline=True,
                    ranked=True,
                )
                for name, title in (("auc_dice", "AUC-Dice"), ("auc_dmm", "AUC-DMM"))
            ),
            *(
                Column(
                    path=f"{name}.mean",
                    title=title,
                    direction=direction,
                    error_path=f"{name}.std",
                    headline=name.startswith("final"),
                )
                for name, title, direction in figures
            ),
            Column(path="dmm_pooled", title="DMM pooled", direction="higher"),
        )

    def import_heavy_packages(self) -> None:
        import cc3d  # noqa: F401

        if self.settings.per_component_dice:
            import monai.metrics.meandice  # noqa: F401

    # Finding and pairing

    def find_references(self, folder: Path) -> Mapping[str, SafeFile]:
        references: dict[str, SafeFile] = {}
        for file in list_references(folder):
            if "/" in file.name or not file.name.endswith(_REFERENCE_ENDINGS):
                raise GroundTruthError(
                    "A reference is not named <case>.nii.gz or <case>.mha.", detail=f"references/{file.name}"
                )
            case = case_of(file.name)
            if case in references:
                raise GroundTruthError("A case has two references.", detail=f"references/{file.name}")
            self._check_group(case)
            references[case] = file
        return references

    def _check_group(self, case: str) -> None:
        if self.settings.groups is None:
            return
        group = self.settings.group_of(case)
        if group is None or not _GROUP_NAME.fullmatch(group):
            raise GroundTruthError(
                "A case belongs to no group that the pattern 'groups' of challenge.toml could name.",
                detail=f"{case}: {'no match' if group is None else repr(group)}",
            )

    def reference_files(self, reference: SafeFile) -> Sequence[SafeFile]:
        return (reference,)

    def collect(self, submission: Submission, cases: Collection[str] | None) -> Collected[LesionsPrediction]:
        steps = self.settings.steps if self.settings.regime == "simulated" else None
        found = sort_steps(submission, cases, steps=steps)
        return Collected(predictions=found.cases, refused=found.refused, unmatched=found.unmatched)

    # Reading

    def check_reference(self, reference: SafeFile) -> Shapes:
        return {VOLUME: self._read_reference(reference).lesions.shape}

    def check_prediction(self, prediction: LesionsPrediction, shapes: Shapes | None) -> None:
        """Every step is read; the first problem, and how many there are, in one sentence."""
        problems: list[str] = []
        for step in self._expected_steps(prediction):
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
        steps = self.settings.steps if self.settings.regime == "simulated" else _CLINICIAN_STEPS
        voxels = sum(math.prod(case[VOLUME]) for case in shapes)
        return voxels * steps * _BYTES_A_VOXEL + len(shapes) * _BYTES_A_CASE

    def _read_reference(self, file: SafeFile) -> LesionReference:
        volume = read_label_volume(file)
        lesions = find_lesions(volume.labels, connectivity=self.settings.connectivity)
        return LesionReference(lesions, volume.geometry)

    def _read_step(self, source: StepSource, reference: LesionReference) -> tuple[NDArray[np.bool_], Geometry, str]:
        file = source.file()
        volume = read_mask_volume(file, shape=reference.lesions.shape)
        return volume.labels.view(np.bool_), volume.geometry, file.name

    def _expected_steps(self, prediction: LesionsPrediction) -> range:
        if self.settings.regime == "simulated":
            return range(self.settings.steps)
        return range(max(prediction.steps) + 1)

    # Scoring

    def score(self, prediction: LesionsPrediction, reference: SafeFile) -> CaseScore:
        truth = self._read_reference(reference)
        steps: list[dict[str, Any]] = []
        warnings: list[str] = []
        extras: dict[str, Any] = {}
        for step in (expected := self._expected_steps(prediction)):
            if step not in prediction.steps:
                steps.append(failed_step(step, truth, self.settings, status="missing", error=MISSING_STEP))
                continue
            try:
                mask, geometry, name = self._read_step(prediction.steps[step], truth)
            except Refused as refusal:
                steps.append(failed_step(step, truth, self.settings, status="failed", error=str(refusal)))
                continue
            warnings += _geometry_warnings(name, geometry, truth.geometry)
            components = label_components(mask, connectivity=self.settings.connectivity)
            steps.append(score_step(step, components, truth, self.settings))
            if step == expected[-1]:
                extras = self._descriptive_figures(mask, components, truth)
            del mask, components  # the next step's volume should find this one's memory free
        if not any(step["status"] == "scored" for step in steps):
            raise Refused(next(step["error"] for step in steps if step["status"] == "failed"))
        warnings += [f"step {step['step']}: {step['error']}" for step in steps if step["error"]]
        return CaseScore(metrics=self._row(steps, truth, extras), warnings=tuple(warnings))

    def unanswered(self, reference: SafeFile) -> Figures:
        """Every expected step failed; where their number is not fixed, one."""
        truth = self._read_reference(reference)
        count = self.settings.steps if self.settings.regime == "simulated" else 1
        steps = [failed_step(step, truth, self.settings, status="missing", error=MISSING_STEP) for step in range(count)]
        return self._row(steps, truth, {})

    def _row(self, steps: Sequence[dict[str, Any]], truth: LesionReference, extras: Figures) -> dict[str, Any]:
        figures = case_figures(steps)
        figures["final_detections"] = {name: steps[-1][name] for name in ("tp", "fp", "fn")}
        if self.settings.per_component_dice:
            figures["final_component_dice"] = None if truth.is_empty else 0.0
        if self.settings.centroid_radius_mm is not None:
            figures["final_centroid_hits"] = {"tp": 0, "fp": 0, "fn": truth.lesions.count}
        return {**figures, **extras, "lesions": truth.describe(), "steps": list(steps)}

    def _descriptive_figures(
        self, mask: NDArray[np.bool_], components: Components, truth: LesionReference
    ) -> dict[str, Any]:
        """What the settings ask for beyond the rules, at the last step."""
        figures: dict[str, Any] = {}
        if self.settings.per_component_dice:
            reference = np.zeros_like(mask)
            reference.reshape(-1)[truth.lesions.places] = True
            figures["final_component_dice"] = component_dice(prediction=mask, reference=reference)
        if self.settings.centroid_radius_mm is not None:
            hits = None
            if components.count <= _MOST_CENTROIDS:
                spacing = np.array(truth.geometry.spacing)[::-1]
                found = centroid_hits(
                    prediction=(components.centroids() * spacing).tolist(),
                    reference=(truth.lesions.centroids() * spacing).tolist(),
                    radius_mm=self.settings.centroid_radius_mm,
                )
                hits = {"tp": found.tp, "fp": found.fp, "fn": found.fn}
            figures["final_centroid_hits"] = hits
        return figures

    # Reports

    def overlays(
        self, case: str, prediction: LesionsPrediction, reference: SafeFile, images: Sequence[SafeFile]
    ) -> Sequence[Overlay]:
        """The last step over the PET image `<case>_0001`, or `<case>` or `<case>_0000` (CT); empty if it was lost."""
        volume = read_label_volume(reference)
        truth = volume.labels != 0
        last = self._expected_steps(prediction)[-1]
        mask = np.zeros_like(truth)
        if last in prediction.steps:
            with suppress(Refused):  # then nothing was found, as scoring has it
                mask = read_mask_volume(prediction.steps[last].file(), shape=truth.shape).labels.view(np.bool_)
        return [lesion_overlay(case, prediction=mask, reference=truth, spacing=volume.geometry.spacing, images=images)]

    # Adding up

    def aggregate(self, results: Sequence[CaseResult], timing: Timing) -> Figures:  # noqa: ARG002  (time is not scored)
        return aggregate_lesions(results, self.settings)

    # Ranking

    def ranking_rule(self) -> RankingRule:
        return RankingRule(
            words="teams are ranked by mean AUC-Dice and by mean AUC-DMM, then by the mean of the two positions with "
            "equal weights"
            + (", the areas divided by the number of corrections" if self.settings.ranked_suffix else ""),
            criteria=tuple(
                Criterion(path=path, title=f"Mean {self._metric(name).title}", direction="higher", weight=0.5)
                for path, name in self._ranked_areas().items()
            ),
            case_metrics=tuple(self._ranked_areas().values()),
            division="regime",
        )

    def resampled_figures(
        self,
        rows: Sequence[Figures],
        aggregates: Figures,  # noqa: ARG002  (all that is ranked comes from the cases)
        resamples: Resamples,
    ) -> Mapping[str, Floats] | None:
        """The two means in every replicate, over the drawn cases that have a value; 0 where none has, as in
        `aggregates`."""
        areas = self._ranked_areas()
        if not all(name in row for row in rows for name in areas.values()):
            return None
        figures = {}
        for path, name in areas.items():
            values = np.array([row[name] for row in rows], dtype=np.float64)
            defined = ~np.isnan(values)
            figures[path] = np.nan_to_num(resamples.only(defined).mean(values[defined]), nan=0.0)
        return figures

    def _ranked_areas(self) -> dict[str, str]:
        """Where the two ranked means stand below `aggregates`, and the metrics they are the means of."""
        suffix = self.settings.ranked_suffix
        return {f"ranked.{name}.mean": f"{name}{suffix}" for name in ("auc_dice", "auc_dmm")}

    def _metric(self, name: str) -> Metric:
        return next(metric for metric in self.metrics if metric.name == name)


def _geometry_warnings(name: str, found: Geometry, expected: Geometry) -> list[str]:
    """Voxels are compared index by index; a header that says otherwise deserves a word, since something is off."""
    differing = [
        what
        for what, same in (
            ("spacing", np.allclose(found.spacing, expected.spacing, rtol=_SPACING_TOLERANCE, atol=0)),
            ("direction", np.allclose(found.direction, expected.direction, rtol=0, atol=_DIRECTION_TOLERANCE)),
            ("origin", np.allclose(found.origin, expected.origin, rtol=0, atol=_ORIGIN_TOLERANCE_MM)),
        )
        if not same
    ]
    if not differing:
        return []
    verb = "differs" if len(differing) == 1 else "differ"
    return [f"The {' and '.join(differing)} of '{name}' {verb} from the image's; the image's geometry is used."]
