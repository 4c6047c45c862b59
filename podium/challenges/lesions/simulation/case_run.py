"""One case on its way through the steps: predict, scribble where it is wrong, predict again.

What comes out is what the scorer reads: `<case>/iter_<k>.mha`, `<case>/iter_<k>_scribbles.json`. Beside it `steps.json`
holds what became of every step and how long it took. A run that was stopped goes on at the first missing step.
"""

import json
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from podium.challenges.lesions.simulation.algorithm import OUTPUT_FOLDER, Algorithm, StepFailedError
from podium.challenges.lesions.simulation.clicks import Scribbles, read_scribbles, write_scribbles
from podium.challenges.lesions.simulation.images import ImageCase
from podium.challenges.lesions.simulation.scribbles import Strategy, correct, strategy_of
from podium.errors import Refused, UsageError
from podium.errors import SimpleITK as sitk
from podium.metrics import Mask
from podium.metrics.components import count_overlap, find_lesions, label_components
from podium.metrics.lesions import voxel_dice
from podium.readers.files import SafeFile
from podium.readers.formats import VOLUME_ENDINGS
from podium.readers.volumes import read_label_volume, read_mask_volume

STEPS_FILE = "steps.json"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is the same for all cases; `spec` names the algorithm on the command line, `strategy` None deals one to each
    case."""

    spec: str
    output: Path
    steps: int
    strategy: Strategy | None
    timeout_seconds: float


@dataclass(frozen=True, kw_only=True)
class StepOutcome:
    """What became of a step; `dice` is None where the reference is empty or the step failed.

    `seconds` are those of the whole step, `invoke_seconds` what the platform measures as `invoke_duration`: the answer
    of an algorithm that is a web server, without its start. None for other algorithms and failed steps.
    """

    case: str
    step: int
    status: str  # "done", "failed", or "repeated": an empty reference gets no scribbles
    seconds: float
    dice: float | None
    error: str | None
    invoke_seconds: float | None = None
    resumed: bool = False


StepListener = Callable[[StepOutcome], None]


class CaseRun:
    """One case on its way through the steps."""

    def __init__(self, case: ImageCase, plan: Plan, algorithm: Algorithm) -> None:
        self.case, self.plan, self.algorithm = case, plan, algorithm
        self.folder = plan.output / case.name
        self.strategy = plan.strategy or strategy_of(case.number)
        labels = read_label_volume(case.reference).labels
        self.lesions = find_lesions(labels, connectivity=18)
        self.reference: Mask = labels != 0

    def run(self, tell: StepListener) -> None:
        """Every step that an earlier run has not left; `tell` hears of all of them."""
        self.folder.mkdir(exist_ok=True)
        outcomes = self._earlier()
        for outcome in outcomes:
            tell(outcome)
        prediction, scribbles = self._state(len(outcomes))
        with self.algorithm.case():
            for step in range(len(outcomes), self.plan.steps):
                if step > 0 and self.reference.any():
                    scribbles = self._next(scribbles, prediction, after_failure=outcomes[-1].status == "failed")
                outcome, found = self._step(step, scribbles)
                if found is not None:
                    prediction = found
                outcomes.append(outcome)
                self._remember(outcomes)
                tell(outcome)

    def _next(self, scribbles: Scribbles, prediction: Mask | None, *, after_failure: bool) -> Scribbles:
        """One more scribble for the last prediction; after a failed step the same again, with nothing to correct."""
        if after_failure or prediction is None:
            return scribbles
        correction = correct(prediction=_xyz(prediction), reference=_xyz(self.reference), strategy=self.strategy)
        return scribbles.with_points(correction.name, correction.points)

    def _step(self, step: int, scribbles: Scribbles) -> tuple[StepOutcome, Mask | None]:
        write_scribbles(scribbles, self._scribbles_file(step))
        if step > 0 and not self.reference.any():
            return self._repeat(step)
        started = time.monotonic()
        error: str | None = None
        prediction: Mask | None = None
        invoke_seconds: float | None = None
        try:
            prediction, invoke_seconds = self._ask(step, scribbles)
        except (StepFailedError, Refused) as failure:
            error = str(failure)
        outcome = StepOutcome(
            case=self.case.name,
            step=step,
            status="done" if error is None else "failed",
            seconds=round(time.monotonic() - started, 3),
            dice=None if prediction is None else self._dice(prediction),
            error=error,
            invoke_seconds=None if invoke_seconds is None else round(invoke_seconds, 3),
        )
        return outcome, prediction

    def _ask(self, step: int, scribbles: Scribbles) -> tuple[Mask, float | None]:
        """The algorithm's output, kept as this step's prediction once it was read, and its `invoke_seconds`."""
        with self.algorithm.folders() as folders:
            for channel, image in (("ct", self.case.ct), ("pet", self.case.pet)):
                _write_image(image, folders.input / "images" / channel / f"{self.case.name}.mha")
            write_scribbles(scribbles, folders.input / "lesion-clicks.json")
            invoke_seconds = self.algorithm.run(folders, timeout_seconds=self.plan.timeout_seconds)
            file = _only_image(folders.output)
            volume = read_mask_volume(file, shape=self.reference.shape)
            target = self.folder / f"iter_{step}{_ending(file.name)}"
            part = target.with_name(f".{target.name}")
            shutil.copyfile(file.path, part)
            part.replace(target)
        return volume.labels.view(np.bool_), invoke_seconds

    def _repeat(self, step: int) -> tuple[StepOutcome, Mask | None]:
        """An empty reference gets no scribbles, so whatever step 0 was is what this step is."""
        first = find_prediction(self.folder, 0)
        if first is not None:
            shutil.copyfile(first, self.folder / f"iter_{step}{_ending(first.name)}")
        status = "failed" if first is None else "repeated"
        error = "Step 0, which this step repeats, failed." if first is None else None
        return StepOutcome(case=self.case.name, step=step, status=status, seconds=0.0, dice=None, error=error), None

    def _dice(self, prediction: Mask) -> float | None:
        if not self.reference.any():
            return None
        return voxel_dice(count_overlap(label_components(prediction, connectivity=18), self.lesions))

    # What an earlier run left

    def _earlier(self) -> list[StepOutcome]:
        """The steps that need not be run again: all up to the first that is missing."""
        try:
            noted = json.loads((self.folder / STEPS_FILE).read_text(encoding="utf-8"))
            outcomes = [StepOutcome(case=self.case.name, resumed=True, **entry) for entry in noted["steps"]]
            begun_with = {option: noted[option] for option in self._options()}
        except (OSError, ValueError, KeyError, TypeError):
            return []
        for option, mine in self._options().items():
            if (theirs := begun_with[option]) != mine:
                raise UsageError(
                    f"'{self.folder}' was begun with --{option} '{theirs}', not '{mine}'; give another --output."
                )
        kept: list[StepOutcome] = []
        for step, outcome in enumerate(outcomes[: self.plan.steps]):
            there = outcome.status == "failed" or find_prediction(self.folder, step) is not None
            if outcome.step != step or not there or not self._scribbles_file(step).is_file():
                break
            kept.append(outcome)
        return kept

    def _state(self, steps: int) -> tuple[Mask | None, Scribbles]:
        """The last prediction and all scribbles after a number of steps."""
        prediction: Mask | None = None
        for step in reversed(range(steps)):
            path = find_prediction(self.folder, step)
            if path is not None:
                file = SafeFile.inside(self.folder, path.name)
                prediction = read_mask_volume(file, shape=self.reference.shape).labels.view(np.bool_)
                break
        return prediction, read_scribbles(self._scribbles_file(steps - 1)) if steps else Scribbles()

    def _options(self) -> dict[str, str]:
        """What all steps of a case must have in common."""
        return {"algorithm": self.plan.spec, "strategy": self.strategy}

    def _remember(self, outcomes: Sequence[StepOutcome]) -> None:
        keys = ("step", "status", "seconds", "invoke_seconds", "dice", "error")
        document = {
            "case": self.case.name,
            **self._options(),
            "steps": [{key: getattr(outcome, key) for key in keys} for outcome in outcomes],
        }
        part = self.folder / f".{STEPS_FILE}"
        part.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        part.replace(self.folder / STEPS_FILE)

    def _scribbles_file(self, step: int) -> Path:
        return self.folder / f"iter_{step}_scribbles.json"


def find_prediction(folder: Path, step: int) -> Path | None:
    """A case's prediction at a step, in whichever format the algorithm wrote it."""
    candidates = (folder / f"iter_{step}{ending}" for ending in VOLUME_ENDINGS)
    return next((path for path in candidates if path.is_file()), None)


def _only_image(output_folder: Path) -> SafeFile:
    folder = output_folder / OUTPUT_FOLDER
    found = sorted(folder.iterdir()) if folder.is_dir() else []
    if len(found) != 1 or not found[0].name.endswith(VOLUME_ENDINGS):
        names = ", ".join(path.name for path in found[:5]) or "nothing"
        raise StepFailedError(f"The algorithm must leave one .mha image in '{OUTPUT_FOLDER}', it left: {names}.")
    return SafeFile.inside(output_folder, f"{OUTPUT_FOLDER}/{found[0].name}")


def _ending(name: str) -> str:
    return next(ending for ending in VOLUME_ENDINGS if name.endswith(ending))


def _xyz(volume: Mask) -> Mask:
    """From numpy's (z, y, x) to the order in which scribbles are drawn."""
    return volume.transpose(2, 1, 0)


def _write_image(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        image = sitk.ReadImage(str(source))
    except RuntimeError:
        raise UsageError(f"--images: '{source.name}' cannot be read as an image.") from None
    sitk.WriteImage(image, str(target))
