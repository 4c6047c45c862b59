"""Simulated interaction: find the cases, run algorithms step by step with scribbles, log the steps, draw one of them.

Cases are PET/CT images in nnU-Net's naming, each with a reference. A case is predicted, scribbled on where the
prediction is wrong, and predicted again. The output is what the scorer reads: `<case>/iter_<k>.mha` and
`<case>/iter_<k>_scribbles.json`; `steps.json` beside them holds the outcome and duration of every step. A stopped run
resumes at the first missing step.
"""

import json
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.errors import Refused, UsageError
from podium.execution.executor import Executor
from podium.kernel import whole_file
from podium.metrics import Mask
from podium.metrics.overlap import count_voxels
from podium.packages import SimpleITK as sitk
from podium.platform.jobs import case_of
from podium.readers.files import SafeFile
from podium.readers.formats import VOLUME_ENDINGS
from podium.readers.geometry import Geometry, Shape
from podium.readers.volumes import read_mask_volume, read_volume
from podium.sandbox.client import decoders, ensure_decoders
from podium.tools.simulation.algorithms import OUTPUT_FOLDER, Algorithm, StepFailedError, find_algorithm
from podium.tools.simulation.scribbles import Scribbles, Strategy, correct, read_scribbles, strategy_of, write_scribbles

LOG_FILE = "simulation.log"
STEPS_FILE = "steps.json"

_CHANNELS = {"ct": "_0000", "pet": "_0001"}
_LIBRARIES = ("SimpleITK",)
# From the Okabe-Ito palette, which is distinguishable with every common kind of colour blindness.
_REFERENCE, _PREDICTION, _TUMOR, _BACKGROUND = "#009E73", "#E69F00", "#D55E00", "#56B4E9"
_BRIGHTEST_PERCENTILE = 99.7


@dataclass(frozen=True)
class ImageCase:
    """One case's files; `number` is its index among the sorted names, which selects the strategy."""

    name: str
    number: int
    ct: Path
    pet: Path
    reference: SafeFile


def find_cases(images: Path, references: Path) -> list[ImageCase]:
    """Every case with a reference; its images are `<case>_0000` (CT) and `<case>_0001` (PET)."""
    for folder, option in ((images, "--images"), (references, "--references")):
        if not folder.is_dir():
            raise UsageError(f"{option}: there is no folder '{folder}'.")
    files = sorted(path for path in references.iterdir() if path.name.endswith(VOLUME_ENDINGS))
    if not files:
        raise UsageError(f"--references: '{references}' holds no <case>.nii.gz or <case>.mha.")
    names = sorted(case_of(path.name) for path in files)
    if len(set(names)) != len(names):
        twice = next(name for name, after in pairwise(names) if name == after)
        raise UsageError(f"--references: there are two references of '{twice}'.")
    by_name = {case_of(path.name): path for path in files}
    return [
        ImageCase(
            name=name,
            number=number,
            ct=_channel(images, name, "ct"),
            pet=_channel(images, name, "pet"),
            reference=SafeFile.inside(references, by_name[name].name, trusted=True),
        )
        for number, name in enumerate(names)
    ]


def _channel(images: Path, case: str, channel: str) -> Path:
    stem = case + _CHANNELS[channel]
    found = [images / f"{stem}{ending}" for ending in VOLUME_ENDINGS if (images / f"{stem}{ending}").is_file()]
    if len(found) != 1:
        problem = "no" if not found else "more than one"
        raise UsageError(f"--images: there is {problem} {channel.upper()} of '{case}' ({stem}.nii.gz or .mha).")
    return found[0]


def recorded_scribbles(root: Path, case: str) -> Sequence[Scribbles]:
    """The recorded scribbles of a case by step; none at step 0 if it has no file. A file holds all points up to its
    step. The organisers' folders have the name of the CT."""
    files = {path.name: path for end in ("", _CHANNELS["ct"]) for path in (root / (case + end)).glob("iter_*.json")}
    first = 0 if "iter_0_scribbles.json" in files else 1
    names = [f"iter_{step}_scribbles.json" for step in range(first, first + len(files))]
    if not files or {*names} != {*files}:
        raise UsageError(f"--replay: '{case}' needs a folder with iter_1_scribbles.json and so on, without a gap.")
    found = [*[Scribbles()] * first, *(read_scribbles(files[name]) for name in names)]
    for step, (before, after) in enumerate(pairwise(found), start=1):
        if {*before.tumor} - {*after.tumor} or {*before.background} - {*after.background}:
            raise UsageError(f"--replay: step {step} of '{case}' lacks points of step {step - 1}; they accumulate.")
    return found


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The options for all cases; `spec` is the algorithm as on the command line, `strategy` is None to alternate by
    case. `replay` holds recorded scribbles by case and step, which then decide the number of steps."""

    spec: str
    output: Path
    steps: int
    strategy: Strategy | None
    timeout_seconds: float
    replay: Mapping[str, Sequence[Scribbles]] | None = None


@dataclass(frozen=True, kw_only=True)
class StepOutcome:
    """The outcome of a step; `dice` is None if the reference is empty or the step failed.

    `seconds` is the duration of the whole step, `invoke_seconds` what the platform measures as `invoke_duration`: the
    answer of an algorithm that is a web server, without its start. None for other algorithms and failed steps.
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


def simulate(cases: Sequence[ImageCase], plans: Sequence[Plan], report: StepListener) -> Sequence[list[StepOutcome]]:
    """All steps of all cases for each algorithm; `report` is called with each, those of an earlier run included."""
    algorithms = [find_algorithm(plan.spec) for plan in plans]
    with decoders(libraries=_LIBRARIES, logged=False):
        return [
            _logged(plan, (outcome for case in cases for outcome in CaseRun(case, plan, algorithm).run()), report)
            for plan, algorithm in zip(plans, algorithms, strict=True)
        ]


def simulate_on(
    executor: Executor, cases: Sequence[ImageCase], plans: Sequence[Plan], report: StepListener
) -> tuple[Sequence[list[StepOutcome]], Mapping[str, str]]:
    """Simulate on an executor, one task per algorithm and case. Returns all steps, and the errors of failed tasks by
    `<folder>/<case>`.

    Each task looks for its algorithm where it runs: images are those of the workers.
    """
    tasks = {f"{plan.output.name}/{case.name}": (plan, case) for plan in plans for case in cases}
    for plan in plans:
        plan.output.mkdir(parents=True, exist_ok=True)

    def work(name: str) -> list[StepOutcome]:
        ensure_decoders(*_LIBRARIES)  # another machine has none yet
        plan, case = tasks[name]
        return list(CaseRun(case, plan, find_algorithm(plan.spec)).run())

    found = executor.run(list(tasks), work, label="simulating")
    outcomes = [
        _logged(
            plan,
            (step for name, (other, _) in tasks.items() if other is plan for step in found[name].value or ()),
            report,
        )
        for plan in plans
    ]
    return outcomes, {name: outcome.error for name, outcome in found.items() if outcome.error is not None}


def _logged(plan: Plan, outcomes: Iterable[StepOutcome], report: StepListener) -> list[StepOutcome]:
    """The outcomes, each written to the log and reported as soon as it is known."""
    plan.output.mkdir(parents=True, exist_ok=True)
    logged: list[StepOutcome] = []
    with (plan.output / LOG_FILE).open("a", encoding="utf-8") as log:
        for outcome in outcomes:
            logged.append(outcome)
            if not outcome.resumed:
                dice = "-" if outcome.dice is None else f"{outcome.dice:.4f}"
                line = f"{outcome.case} step {outcome.step} {outcome.status} {outcome.seconds:.1f}s dice {dice}"
                print(line, outcome.error or "", file=log, flush=True)
            report(outcome)
    return logged


class CaseRun:
    """The steps of one case."""

    def __init__(self, case: ImageCase, plan: Plan, algorithm: Algorithm) -> None:
        self.case, self.plan, self.algorithm = case, plan, algorithm
        self.folder = plan.output / case.name
        self.strategy = plan.strategy or strategy_of(case.number)
        self.recorded = None if plan.replay is None else plan.replay[case.name]
        self.steps = plan.steps if self.recorded is None else len(self.recorded)
        volume = read_volume(case.reference)
        self.reference: Mask = volume.labels != 0
        self.geometry = volume.geometry

    def run(self) -> Iterator[StepOutcome]:
        """The outcomes of all steps; those of an earlier run are not run again."""
        self.folder.mkdir(exist_ok=True)
        outcomes = self._earlier()
        yield from tuple(outcomes)
        earlier = [path for step in range(len(outcomes)) if (path := find_prediction(self.folder, step)) is not None]
        prediction = _read_mask(earlier[-1], self.reference.shape, self.geometry) if earlier else None
        scribbles = read_scribbles(_scribbles_file(self.folder, len(outcomes) - 1)) if outcomes else Scribbles()
        with self.algorithm.case():
            for step in range(len(outcomes), self.steps):
                if self.recorded is not None:
                    scribbles = self.recorded[step]
                # A failed step leaves nothing to correct.
                elif prediction is not None and self.reference.any() and outcomes[-1].status != "failed":
                    masks = {"prediction": _xyz(prediction), "reference": _xyz(self.reference)}
                    scribbles = scribbles.with_points(*correct(**masks, strategy=self.strategy))
                outcome, found = self._step(step, scribbles)
                if found is not None:
                    prediction = found
                outcomes.append(outcome)
                self._remember(outcomes)
                yield outcome

    def _step(self, step: int, scribbles: Scribbles) -> tuple[StepOutcome, Mask | None]:
        write_scribbles(scribbles, _scribbles_file(self.folder, step))
        if step > 0 and self.recorded is None and not self.reference.any():
            return self._repeat(step)
        started = time.monotonic()
        error: str | None = None
        prediction: Mask | None = None
        invoke_seconds: float | None = None
        try:
            prediction, invoke_seconds = self._ask(step, scribbles)
        except (StepFailedError, Refused) as failure:
            error = str(failure)
        seconds, dice = round(time.monotonic() - started, 3), None
        if prediction is not None and self.reference.any():
            dice = count_voxels(prediction=prediction, reference=self.reference).dice()
        outcome = StepOutcome(
            case=self.case.name,
            step=step,
            status="done" if error is None else "failed",
            seconds=seconds,
            dice=dice,
            error=error,
            invoke_seconds=None if invoke_seconds is None else round(invoke_seconds, 3),
        )
        return outcome, prediction

    def _ask(self, step: int, scribbles: Scribbles) -> tuple[Mask, float | None]:
        """The algorithm's prediction, which is stored once it has been read, and its `invoke_seconds`."""
        with self.algorithm.folders() as folders:
            for channel, image in (("ct", self.case.ct), ("pet", self.case.pet)):
                target = folders.input / "images" / channel / f"{self.case.name}.mha"
                target.parent.mkdir(parents=True, exist_ok=True)
                try:
                    read = sitk.ReadImage(str(image))
                except RuntimeError:
                    raise UsageError(f"--images: '{image.name}' cannot be read as an image.") from None
                sitk.WriteImage(read, str(target))
            write_scribbles(scribbles, folders.input / "lesion-clicks.json")
            invoke_seconds = self.algorithm.run(folders, timeout_seconds=self.plan.timeout_seconds)
            file = _only_image(folders.output)
            volume = read_mask_volume(file, shape=self.reference.shape, onto=self.geometry)
            target = self.folder / f"iter_{step}{_ending(file.name)}"
            with whole_file(target) as temporary:
                shutil.copyfile(file.path, temporary)
        return volume.labels.view(np.bool_), invoke_seconds

    def _repeat(self, step: int) -> tuple[StepOutcome, Mask | None]:
        """Repeats step 0: an empty reference gets no scribbles, so the result would be the same."""
        first = find_prediction(self.folder, 0)
        if first is not None:
            shutil.copyfile(first, self.folder / f"iter_{step}{_ending(first.name)}")
        status = "failed" if first is None else "repeated"
        error = "Step 0, which this step repeats, failed." if first is None else None
        return StepOutcome(case=self.case.name, step=step, status=status, seconds=0.0, dice=None, error=error), None

    def _earlier(self) -> list[StepOutcome]:
        """The steps of an earlier run, up to the first that is missing; none if that would need their cache."""
        try:
            noted = json.loads((self.folder / STEPS_FILE).read_text(encoding="utf-8"))
            outcomes = [StepOutcome(case=self.case.name, resumed=True, **entry) for entry in noted["steps"]]
            used = {option: noted[option] for option in self._options()}
        except (OSError, ValueError, KeyError, TypeError):
            return []
        for option, mine in self._options().items():
            if (theirs := used[option]) != mine:
                raise UsageError(
                    f"'{self.folder}' was started with --{option} '{theirs}', not '{mine}'; give another --output."
                )
        kept: list[StepOutcome] = []
        for step, outcome in enumerate(outcomes[: self.steps]):
            there = outcome.status == "failed" or find_prediction(self.folder, step) is not None
            file = _scribbles_file(self.folder, step)
            is_same = file.is_file() and (self.recorded is None or read_scribbles(file) == self.recorded[step])
            if outcome.step != step or not there or not is_same:
                break
            kept.append(outcome)
        # What the next step would have found in the cache is gone.
        return [] if noted.get("has_cached") and len(kept) < self.steps else kept

    def _options(self) -> dict[str, str]:
        """The options that all steps of a case must share."""
        return {"algorithm": self.plan.spec, "strategy": self.strategy if self.recorded is None else "replay"}

    def _remember(self, outcomes: Sequence[StepOutcome]) -> None:
        keys = ("step", "status", "seconds", "invoke_seconds", "dice", "error")
        document = {
            "case": self.case.name,
            **self._options(),
            "has_cached": self.algorithm.has_cached(),
            "steps": [{key: getattr(outcome, key) for key in keys} for outcome in outcomes],
        }
        with whole_file(self.folder / STEPS_FILE) as temporary:
            temporary.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def find_prediction(folder: Path, step: int) -> Path | None:
    """A case's prediction at a step, in any format."""
    candidates = (folder / f"iter_{step}{ending}" for ending in VOLUME_ENDINGS)
    return next((path for path in candidates if path.is_file()), None)


def _read_mask(path: Path, shape: Shape, onto: Geometry) -> Mask:
    return read_mask_volume(SafeFile.inside(path.parent, path.name), shape=shape, onto=onto).labels.view(np.bool_)


def _scribbles_file(folder: Path, step: int) -> Path:
    return folder / f"iter_{step}_scribbles.json"


def _only_image(output_folder: Path) -> SafeFile:
    folder = output_folder / OUTPUT_FOLDER
    found = sorted(folder.iterdir()) if folder.is_dir() else []
    if len(found) != 1 or not found[0].name.endswith(VOLUME_ENDINGS):
        names = ", ".join(path.name for path in found[:5]) or "nothing"
        raise StepFailedError(f"The algorithm must write one .mha image to '{OUTPUT_FOLDER}', it wrote: {names}.")
    return SafeFile.inside(output_folder, f"{OUTPUT_FOLDER}/{found[0].name}")


def _ending(name: str) -> str:
    return next(ending for ending in VOLUME_ENDINGS if name.endswith(ending))


def _xyz(volume: Mask) -> Mask:
    """From numpy's (z, y, x) to the order in which scribbles are drawn."""
    return volume.transpose(2, 1, 0)


# One step as a picture


@dataclass(frozen=True, eq=False)
class Step:
    """The content of the picture; arrays in numpy order (z, y, x)."""

    case: str
    number: int
    pet: NDArray[Any]
    spacing: tuple[float, ...]
    reference: Mask
    prediction: Mask | None
    scribbles: Scribbles
    new: Scribbles


def read_step(case: ImageCase, simulation: Path, number: int) -> Step:
    """The step as `podium simulate` wrote it."""
    folder = simulation / case.name
    path = _scribbles_file(folder, number)
    if not path.is_file():
        raise UsageError(f"There is no step {number} of '{case.name}' in '{simulation}'.")
    scribbles = read_scribbles(path)
    before = read_scribbles(_scribbles_file(folder, number - 1)) if number else Scribbles()
    prediction = find_prediction(folder, number)
    pet = sitk.ReadImage(str(case.pet))
    volume = read_volume(case.reference)
    return Step(
        case=case.name,
        number=number,
        pet=sitk.GetArrayFromImage(pet),
        spacing=pet.GetSpacing(),
        reference=volume.labels != 0,
        prediction=None if prediction is None else _read_mask(prediction, volume.shape, volume.geometry),
        scribbles=scribbles,
        new=Scribbles(scribbles.tumor[len(before.tumor) :], scribbles.background[len(before.background) :]),
    )


def _slice_to_show(step: Step) -> int:
    """The slice of the new scribble, or with the most lesion voxels, or in the middle."""
    points = (*step.new.tumor, *step.new.background)
    if points:
        return points[0][2]
    if step.reference.any():
        return int(np.count_nonzero(step.reference, axis=(1, 2)).argmax())
    return len(step.reference) // 2


def draw_step(step: Step, path: Path) -> None:
    """Write a PNG: the PET in inverted grey as readers see it, outlines, and the scribbles of this slice."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    z = _slice_to_show(step)
    height, width = step.pet.shape[1] * step.spacing[1], step.pet.shape[2] * step.spacing[0]
    figure = Figure(figsize=(7.2, 7.2 * height / width + 1.3), dpi=140, facecolor="white", layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.imshow(
        step.pet[z], cmap="gray_r", vmin=0, vmax=float(np.percentile(step.pet, _BRIGHTEST_PERCENTILE)) or 1.0,
        aspect=step.spacing[1] / step.spacing[0], interpolation="nearest",
    )  # fmt: skip
    _outline(axes, step.reference[z], _REFERENCE, "solid")
    if step.prediction is not None:
        _outline(axes, step.prediction[z], _PREDICTION, (0, (1.2, 0.8)))
    handles = [
        Line2D([], [], color=_REFERENCE, linewidth=2.2, label="reference"),
        Line2D([], [], color=_PREDICTION, linewidth=2.2, linestyle="--", label="prediction"),
    ]
    for name, points, colour, marker in (
        ("tumor scribble", step.scribbles.tumor, _TUMOR, "o"),
        ("background scribble", step.scribbles.background, _BACKGROUND, "s"),
    ):
        here = [(x, y) for x, y, other in points if other == z]
        axes.plot(
            [x for x, _ in here], [y for _, y in here], marker, color=colour, markersize=6,
            markeredgecolor="black", markeredgewidth=0.8,
        )  # fmt: skip
        handles.append(Line2D([], [], linestyle="", marker=marker, color=colour, markeredgecolor="black", label=name))
    axes.set_title(f"{step.case}, step {step.number}, slice z = {z}", loc="left", fontsize=12)
    axes.set_axis_off()
    figure.legend(handles=handles, loc="outside lower left", ncols=2, frameon=False, fontsize=10)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Software": None})


def _outline(axes: Any, mask: Mask, colour: str, style: Any) -> None:
    """Along the edges of voxels: a smooth contour would show a shape that is not there."""
    padded = np.pad(mask, 1).astype(np.int8)
    for row, column in np.argwhere(np.diff(padded, axis=0)):
        axes.plot((column - 1.5, column - 0.5), (row - 0.5, row - 0.5), color=colour, linewidth=2.2, linestyle=style)
    for row, column in np.argwhere(np.diff(padded, axis=1)):
        axes.plot((column - 0.5, column - 0.5), (row - 1.5, row - 0.5), color=colour, linewidth=2.2, linestyle=style)
