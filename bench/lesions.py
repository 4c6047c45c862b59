"""Times lesions: the metric core against a literal reading, a six-step case against its own decompression, memory.

    python bench/lesions.py [--large]

Everything is made on the fly from one seed and removed afterwards. `--large` adds a 512 x 512 x 1024 case, stored as
uint8, as float32 and as noise, and Dice per component by both engines. docs/performance.md has the figures.
"""

import gzip
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import literal_lesions
import numpy as np
import SimpleITK
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.table import Table
from whole_run import measure

from podium.challenges import challenge_from_settings
from podium.challenges.lesions.files import LesionReference, LesionsPrediction, LesionsSettings, StepSource
from podium.challenges.lesions.scoring import ReadStep, score_step
from podium.metrics.components import find_lesions, label_components
from podium.metrics.engines import EngineName, engine_named
from podium.metrics.overlap import VoxelCounts, count_voxels
from podium.readers import volumes
from podium.readers.files import SafeFile
from podium.readers.geometry import Geometry

SEED = 20267
SHAPE = (326, 400, 400)
LARGE = (1024, 512, 512)
STEPS = 6
LESIONS = (5, 300)
CORE_LESIONS = (5, 100)
REPEATS = 3
ENGINE_SHAPES = ((64, 64, 64), (100, 128, 128), (163, 200, 200), (326, 256, 256), SHAPE)
UNIT = Geometry((1.0,) * 3, (0.0,) * 3, (1, 0, 0, 0, 1, 0, 0, 0, 1))

CHALLENGE = """\
kind = "lesions"
title = "Benchmark"
version = "1"
per_case = "full"
engine = "native"

[lesions]
empty_reference = "undefined"
steps = 6
"""

Volume = NDArray[np.uint8]


def main(*, large: bool) -> None:
    console = Console()
    console.print(core_table())
    with TemporaryDirectory(prefix="podium-bench-") as temporary:
        console.print(file_table(Path(temporary)))
    if large:
        with TemporaryDirectory(prefix="podium-bench-") as temporary:
            console.print(memory_table(Path(temporary)))
        console.print(engine_table())


def volume_of(lesions: int, shape: tuple[int, ...], *, seed: int, radius: tuple[int, int]) -> Volume:
    """A volume with this number of balls at random places."""
    rng = np.random.default_rng([SEED, seed])
    volume = np.zeros(shape, np.uint8)
    for _ in range(lesions):
        r = int(rng.integers(*radius))
        centre = [int(rng.integers(r + 1, length - r - 1)) for length in shape]
        ball = sum(axis**2 for axis in np.ogrid[-r : r + 1, -r : r + 1, -r : r + 1]) <= r * r
        volume[tuple(slice(c - r, c + r + 1) for c in centre)] |= ball
    return volume


def pair_of(lesions: int, shape: tuple[int, ...] = SHAPE) -> tuple[Volume, Volume]:
    """(prediction, reference): the same balls two voxels off, and a few that only one of them has."""
    radius = (3, 9) if lesions > 50 else (5, 16)
    reference = volume_of(lesions, shape, seed=lesions, radius=radius)
    prediction = np.roll(reference, 2, axis=2) | volume_of(max(1, lesions // 10), shape, seed=1, radius=radius)
    return prediction, reference


def core_table() -> Table:
    """Both masks in memory; Podium gets the labels of the reference, as its scorer does."""
    table = Table(title=f"One step of {SHAPE}, masks in memory", title_justify="left", box=box.SIMPLE)
    for title in ("lesions", "literal, s", "podium, s", "times faster", "podium, further steps, s", "times faster"):
        table.add_column(title, justify="right")
    settings, engine = LesionsSettings(empty_reference="undefined"), engine_named("native")
    for lesions in CORE_LESIONS:
        prediction, reference = pair_of(lesions)

        def whole(prediction: Volume = prediction, reference: Volume = reference) -> dict[str, Any]:
            truth = LesionReference(find_lesions(reference, connectivity=18), UNIT)
            return score_step(0, read_step(prediction), truth, settings, engine)

        truth = LesionReference(find_lesions(reference, connectivity=18), UNIT)

        def further(prediction: Volume = prediction, truth: LesionReference = truth) -> dict[str, Any]:
            return score_step(0, read_step(prediction), truth, settings, engine)

        ours, found = best(whole)
        more, _ = best(further)
        literal, expected = best(
            lambda prediction=prediction, reference=reference: literal_lesions.score(  # type: ignore[misc]
                prediction=prediction, reference=reference
            ),
            repeats=1,
        )
        for figure, value in expected.items():
            np.testing.assert_allclose(found[figure], value, rtol=0, atol=1e-9, err_msg=figure)
        cells = (literal, ours, literal / ours, more, literal / more)
        table.add_row(str(lesions), *(f"{value:.3f}" if value < 10 else f"{value:.1f}" for value in cells))
    return table


def file_table(folder: Path) -> Table:
    """From compressed files to figures, against reading the same files to their last byte."""
    table = Table(title=f"A case of {STEPS} steps of {SHAPE}, from .nii.gz", title_justify="left", box=box.SIMPLE)
    for title in ("lesions", "gunzip, s", "SimpleITK reads, s", "podium, s", "of gunzip", "of SimpleITK"):
        table.add_column(title, justify="right")
    challenge = challenge_from_settings("lesions", "lesions", {"engine": "native"})
    for lesions in LESIONS:
        case = folder / f"case{lesions}"
        prediction, reference = pair_of(lesions)
        write(case / "reference.nii.gz", reference)
        for step in range(STEPS):
            write(case / f"iter_{step}.nii.gz", np.roll(prediction, step, axis=1))
        files = [SafeFile.inside(case, f"iter_{step}.nii.gz") for step in range(STEPS)]
        truth = SafeFile.inside(case, "reference.nii.gz")
        steps = LesionsPrediction({step: StepSource(file.name, file, "") for step, file in enumerate(files)})
        paths = [file.path for file in (*files, truth)]
        unzip, _ = best(lambda paths=paths: [len(gzip.decompress(path.read_bytes())) for path in paths])  # type: ignore[misc]
        sitk, _ = best(lambda paths=paths: [SimpleITK.ReadImage(str(path)).GetSize() for path in paths])  # type: ignore[misc]
        ours, _ = best(lambda steps=steps, truth=truth: challenge.score(steps, challenge.read_reference(truth)))  # type: ignore[misc]
        cells = (unzip, sitk, ours, ours / unzip, ours / sitk)
        table.add_row(str(lesions), *(f"{value:.2f}" for value in cells))
    return table


def memory_table(folder: Path) -> Table:
    """The real command on the largest case, with one worker."""
    table = Table(title=f"podium evaluate, one case of {STEPS} steps of {LARGE}", title_justify="left", box=box.SIMPLE)
    for title in ("stored as", "seconds", "memory, all processes"):
        table.add_column(title, justify="right")
    prediction, reference = pair_of(300, LARGE)
    write(folder / "ground-truth/references/case.nii.gz", reference)
    (folder / "ground-truth/challenge.toml").write_text(CHALLENGE, encoding="utf-8")
    noise = (np.random.default_rng(SEED).random(LARGE, dtype=np.float32) < 0.2).astype(np.uint8)
    for name, volume in (("uint8", prediction), ("float32", prediction.astype(np.float32)), ("uint8, noise", noise)):
        submission = folder / f"submission-{name}"
        write(submission / "case/iter_0.nii.gz", volume)
        for step in range(1, STEPS):
            (submission / f"case/iter_{step}.nii.gz").write_bytes((submission / "case/iter_0.nii.gz").read_bytes())
        command = [sys.executable, "-m", "podium", "evaluate", "--workers", "1"]
        command += ["--input", str(submission), "--output", str(folder / "out")]
        found = measure([*command, "--ground-truth", str(folder / "ground-truth")])
        table.add_row(name, f"{found.seconds:.1f}", f"{found.tree_bytes / 2**20:.0f} MiB")
    return table


@dataclass(frozen=True)
class Masks:
    """Two masks as an engine takes them."""

    prediction: NDArray[np.bool_]
    reference: NDArray[np.bool_]

    @property
    def counts(self) -> VoxelCounts:
        return count_voxels(prediction=self.prediction, reference=self.reference)

    def masks(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        return self.prediction, self.reference


def engine_table() -> Table:
    """CPU seconds of Dice per component for one pair of masks."""
    table = Table(title="Dice per component, one step", title_justify="left", box=box.SIMPLE)
    for title in ("voxels", "lesions", "monai, s", "native, s", "times faster"):
        table.add_column(title, justify="right")
    names: tuple[EngineName, ...] = ("monai", "native")
    for name in names:
        engine_named(name).import_packages(["monai"])  # imports are not part of the time
    for shape in ENGINE_SHAPES:
        for lesions in LESIONS if shape == SHAPE else LESIONS[:1]:
            pair = Masks(*(side.view(bool) for side in pair_of(lesions, shape)))
            (slow, expected), (fast, found) = (
                best(lambda name=name, pair=pair: engine_named(name).component_dice(pair), repeats=1)  # type: ignore[misc]
                for name in names
            )
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)
            size = " x ".join(map(str, reversed(shape)))
            table.add_row(size, str(lesions), f"{slow:.2f}", f"{fast:.3f}", f"{slow / fast:.0f}")
    return table


def read_step(prediction: Volume) -> ReadStep:
    components = label_components(prediction.view(bool), connectivity=18)
    return ReadStep(volumes.Volume(prediction.shape, UNIT, prediction), components)


def write(path: Path, volume: NDArray[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    SimpleITK.WriteImage(SimpleITK.GetImageFromArray(volume), str(path), useCompression=True, compressionLevel=1)


def best(work: Callable[[], Any], *, repeats: int = REPEATS) -> tuple[float, Any]:
    """CPU seconds of the fastest of some runs: other work on the machine only adds to it."""
    fastest, result = float("inf"), None
    for _ in range(repeats):
        started = time.process_time()
        result = work()
        fastest = min(fastest, time.process_time() - started)
    return fastest, result


def write_lesions(folder: Path, cases: int, count: int = LESIONS[0]) -> Path:
    """One case of 400 x 400 x 326 with `count` lesions under many names."""
    prediction, reference = pair_of(count)
    for name, volume in {"reference": reference, "prediction": prediction}.items():
        write(folder / f"drawn/{name}.nii.gz", volume)
    for number in range(cases):
        _link(folder / "drawn/reference.nii.gz", folder / f"ground-truth/references/case{number}.nii.gz")
        for step in range(STEPS):
            _link(folder / "drawn/prediction.nii.gz", folder / f"submission/case{number}/iter_{step}.nii.gz")
    (folder / "ground-truth/challenge.toml").write_text(CHALLENGE, encoding="utf-8")
    return folder


def _link(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.hardlink_to(source)


if __name__ == "__main__":
    main(large="--large" in sys.argv[1:])
