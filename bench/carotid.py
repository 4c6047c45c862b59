"""Times a whole carotid evaluation of 300 cases, and the metric core against a literal SciPy reading of the rules.

    .venv/bin/python bench/carotid.py [CASES]

Everything is made on the fly from one seed and removed afterwards. See results.md for figures and how to read them.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import h5py
import numpy as np
import torch
from carotid_masks import PLAQUE, VESSEL, Mask, reference_and_prediction
from literal_scipy import dice_and_nsd
from numpy.typing import NDArray
from podium.metrics.surface import surface_dice
from rich import box
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits
from whole_run import measure

from podium.execution.cores import available_workers
from podium.metrics.crop import crop_to_union
from podium.metrics.overlap import dice

SEED = 20260
CASES = 300
CASES_FOR_THE_CORE = 40
TOLERANCE_PX = 3.0
VIEWS = ("long", "trans")
STRUCTURES = {"vessel": VESSEL, "plaque": PLAQUE}

CHALLENGE = (Path(__file__).resolve().parent.parent / "ground-truth/carotid/challenge.toml").read_text(encoding="utf-8")

Pair = tuple[NDArray[np.bool_], NDArray[np.bool_]]


def main(cases: int) -> None:
    with TemporaryDirectory(prefix="podium-bench-") as temporary:
        folder = Path(temporary)
        masks = write_cases(folder, cases)
        console = Console()
        console.print(evaluation_table(folder, cases))
        console.print(core_table(masks))


def write_cases(folder: Path, cases: int) -> dict[str, list[tuple[Mask, Mask]]]:
    """Ground truth and one submission; the masks of the first cases by view, for the core."""
    references, submission = folder / "ground-truth" / "references", folder / "submission"
    references.mkdir(parents=True)
    submission.mkdir()
    (folder / "ground-truth" / "challenge.toml").write_text(CHALLENGE, encoding="utf-8")
    kept: dict[str, list[tuple[Mask, Mask]]] = {view: [] for view in VIEWS}
    for number in range(cases):
        rng = np.random.default_rng([SEED, number])
        views = {view: reference_and_prediction(rng, view) for view in VIEWS}
        for place, path in enumerate((references / f"c{number}_label.h5", submission / f"c{number}_pred.h5")):
            with h5py.File(path, "w") as file:
                for view, pair in views.items():
                    file.create_dataset(f"{view}_mask", data=pair[place], compression="gzip")
                file["cls"] = number % 2
        if number < CASES_FOR_THE_CORE:
            for view, pair in views.items():
                kept[view].append(pair)
    return kept


def evaluation_table(folder: Path, cases: int) -> Table:
    """The real command, from its start to metrics.json: with one worker and with one a core."""
    table = Table(title=f"podium evaluate, {cases} cases of two 512x512 views", title_justify="left", box=box.SIMPLE)
    for title in ("workers", "seconds", "of CPU", "memory, all processes", "largest process"):
        table.add_column(title, justify="right")
    for workers in sorted({1, available_workers()}):
        command = [sys.executable, "-m", "podium", "evaluate", "--workers", str(workers)]
        for option, name in (("--input", "submission"), ("--output", "output"), ("--ground-truth", "ground-truth")):
            command += [option, str(folder / name)]
        found = measure(command)
        table.add_row(
            str(workers),
            f"{found.seconds:.1f}",
            f"{found.cpu_seconds:.1f}",
            f"{found.tree_bytes / 2**20:.0f} MiB",
            f"{found.largest_bytes / 2**20:.0f} MiB",
        )
    return table


def core_table(masks: dict[str, list[tuple[Mask, Mask]]]) -> Table:
    """Dice and NSD of single pairs, the two implementations in turn on the same masks."""
    threadpool_limits(limits=1)
    torch.set_num_threads(1)
    table = Table(title="Dice and NSD of one pair, milliseconds on one core", title_justify="left", box=box.SIMPLE)
    table.add_column("structure")
    for title in ("literal", "podium", "times faster"):
        table.add_column(title, justify="right")
    literal_total = podium_total = pairs_total = 0.0
    for view in VIEWS:
        for structure, value in STRUCTURES.items():
            pairs = [(prediction == value, reference == value) for reference, prediction in masks[view]]
            literal, ours = seconds_of(pairs)
            literal_total, podium_total, pairs_total = (
                literal_total + literal,
                podium_total + ours,
                pairs_total + len(pairs),
            )
            add_row(table, f"{view} {structure}", literal / len(pairs), ours / len(pairs))
    add_row(table, "all", literal_total / pairs_total, podium_total / pairs_total)
    return table


def add_row(table: Table, name: str, literal: float, ours: float) -> None:
    table.add_row(name, f"{1000 * literal:.2f}", f"{1000 * ours:.2f}", f"{literal / ours:.1f}")


def seconds_of(pairs: list[Pair]) -> tuple[float, float]:
    """Seconds of the literal reading and of ours, who must agree on every figure."""
    podium_core(*pairs[0])  # imports are no part of a pair's time
    literal_core(*pairs[0])
    literal = ours = 0.0
    for prediction, reference in pairs:
        seconds, expected = timed(literal_core, prediction, reference)
        literal += seconds
        seconds, found = timed(podium_core, prediction, reference)
        ours += seconds
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    return literal, ours


def timed(
    core: Callable[[NDArray[np.bool_], NDArray[np.bool_]], tuple[float, float]],
    prediction: NDArray[np.bool_],
    reference: NDArray[np.bool_],
) -> tuple[float, tuple[float, float]]:
    began = time.process_time()  # of this process: others on the machine do not count
    figures = core(prediction, reference)
    return time.process_time() - began, figures


def podium_core(prediction: NDArray[np.bool_], reference: NDArray[np.bool_]) -> tuple[float, float]:
    """What the carotid challenge does with a pair of masks."""
    predicted, expected = crop_to_union(prediction=prediction, reference=reference)
    return (
        dice(prediction=predicted, reference=expected),
        surface_dice(prediction=predicted, reference=expected, tolerance_px=TOLERANCE_PX),
    )


def literal_core(prediction: NDArray[np.bool_], reference: NDArray[np.bool_]) -> tuple[float, float]:
    return dice_and_nsd(prediction=prediction, reference=reference, tolerance_px=TOLERANCE_PX)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else CASES)
