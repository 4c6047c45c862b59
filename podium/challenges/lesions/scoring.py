"""Scoring one case of lesions: every step of its interaction is read and compared with the reference."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.challenges.base import Scorer
from podium.challenges.geometry import differing_geometry
from podium.challenges.lesions.format import LesionsFormat
from podium.challenges.lesions.reference import LesionReference
from podium.challenges.lesions.settings import LesionsSettings
from podium.challenges.lesions.step_figures import failed_step, score_step
from podium.challenges.lesions.steps import LesionsPrediction
from podium.errors import Refused
from podium.figures import Figures
from podium.metrics.components import Components
from podium.metrics.lesions import centroid_hits
from podium.readers.files import SafeFile
from podium.readers.volumes import Volume

MISSING_STEP = "There is no prediction for this step."

_MOST_CENTROIDS = 10_000  # evalutils compares them one by one in Python


@dataclass(frozen=True, eq=False)
class FinalStep:
    """The last step's mask and its components."""

    volume: Volume
    components: Components

    @property
    def mask(self) -> NDArray[np.bool_]:
        """A value for every voxel, made when it is asked for."""
        return self.volume.labels.view(np.bool_)


@dataclass(frozen=True, eq=False)
class LesionsCase:
    """One case, compared: the figures of every step; `final` is None where the last step has no usable prediction."""

    reference: LesionReference
    steps: Sequence[Mapping[str, Any]]
    final: FinalStep | None = None
    warnings: Sequence[str] = ()

    def along_steps(self, name: str, area: Callable[[Sequence[float]], float]) -> float | None:
        """An area under the curve of a figure; None where a step has no value, which all then have."""
        values = [step[name] for step in self.steps]
        defined = [value for value in values if value is not None]
        return area(defined) if len(defined) == len(values) else None


class LesionsScorer(Scorer[LesionsPrediction, SafeFile, LesionReference, LesionsCase]):
    """Reads a case step by step."""

    def __init__(self, format: LesionsFormat, settings: LesionsSettings) -> None:  # noqa: A002  (the part's name)
        self._format, self._settings = format, settings

    def import_packages(self) -> None:
        import cc3d  # noqa: F401
        import numpy.ma  # noqa: F401  (np.unique asks for it)

        if self._settings.per_component_dice:
            import monai.metrics.meandice  # noqa: F401

    def read_reference(self, reference: SafeFile) -> LesionReference:
        return self._format.read_reference(reference)

    def compare(self, prediction: LesionsPrediction, expected: LesionReference) -> LesionsCase:
        steps: list[dict[str, Any]] = []
        warnings: list[str] = []
        final = None
        for step in self._format.expected_steps(prediction):
            final = None  # the next step's volume should find this one's memory free
            if step not in prediction.steps:
                steps.append(failed_step(step, expected, self._settings, status="missing", error=MISSING_STEP))
                continue
            try:
                volume, components, name = self._format.read_step(prediction.steps[step], shape=expected.lesions.shape)
            except Refused as refusal:
                steps.append(failed_step(step, expected, self._settings, status="failed", error=str(refusal)))
                continue
            sentence = differing_geometry(name, volume.geometry, expected.geometry)
            warnings += [sentence] if sentence else []
            final = FinalStep(volume, components)
            steps.append(score_step(step, final.components, expected, self._settings))
            del volume, components
        if not any(step["status"] == "scored" for step in steps):
            raise Refused(next(step["error"] for step in steps if step["status"] == "failed"))
        warnings += [f"step {step['step']}: {step['error']}" for step in steps if step["status"] == "failed"]
        warnings += _missing_warnings([step["step"] for step in steps if step["status"] == "missing"])
        return LesionsCase(expected, steps, final, warnings)

    def lost(self, reference: SafeFile, kept: LesionReference | None) -> LesionsCase:
        """Every expected step failed; where their number is not fixed, one."""
        expected = kept or self._format.read_reference(reference)
        count = self._settings.steps if self._settings.regime == "simulated" else 1
        steps = [
            failed_step(step, expected, self._settings, status="missing", error=MISSING_STEP) for step in range(count)
        ]
        return LesionsCase(expected, steps)

    def facts(self, case: LesionsCase) -> Figures:
        facts: dict[str, Any] = {
            "final_detections": {name: case.steps[-1][name] for name in ("tp", "fp", "fn")},
            "lesions": case.reference.describe(),
            "steps": list(case.steps),
        }
        if self._settings.centroid_radius_mm is not None:
            facts["final_centroid_hits"] = _centroid_hits(case, self._settings.centroid_radius_mm)
        return facts

    def warnings(self, case: LesionsCase) -> Sequence[str]:
        return case.warnings


def _centroid_hits(case: LesionsCase, radius_mm: float) -> dict[str, int] | None:
    if case.final is None:
        return {"tp": 0, "fp": 0, "fn": case.reference.lesions.count}
    if case.final.components.count > _MOST_CENTROIDS:
        return None
    spacing = np.array(case.reference.geometry.spacing)[::-1]
    found = centroid_hits(
        prediction=(case.final.components.centroids() * spacing).tolist(),
        reference=(case.reference.lesions.centroids() * spacing).tolist(),
        radius_mm=radius_mm,
    )
    return {"tp": found.tp, "fp": found.fp, "fn": found.fn}


def _missing_warnings(steps: Sequence[int]) -> list[str]:
    """One for all missing steps of a case, such as "steps 1, 6-7 missing"."""
    if not steps:
        return []
    runs: list[list[int]] = []
    for step in steps:
        if runs and runs[-1][-1] == step - 1:
            runs[-1].append(step)
        else:
            runs.append([step])
    words = ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
    return [f"step{'s' if len(steps) > 1 else ''} {words} missing"]
