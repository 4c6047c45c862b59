"""What decoding apart from scoring costs: whole evaluations with it and without it, in turns.

    python bench/isolation.py [--cases N] [--rounds N]

Every run is a process of its own, from its start to its end; the best of each counts. What one more lesions case costs
is the difference between runs of many and of few cases: starting the decoders is paid once for all of them. Files are
made on the fly and removed.
"""

import argparse
import os
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import carotid
import lesions
from rich import box
from rich.console import Console
from rich.table import Table
from whole_run import Measured, measure

from podium import evaluation
from podium.execution.processes import Processes

WORKERS = 2
FEW, MANY = 2, 10  # lesions cases
WITH, WITHOUT = "with", "without"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=carotid.CASES, metavar="N", help="carotid cases [%(default)s]")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="runs of each [%(default)s]")
    parser.add_argument("--one", nargs=2, metavar=("HOW", "FOLDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        evaluate(options.one[0], Path(options.one[1]))
        return
    title = f"seconds, best of {options.rounds}, load {os.getloadavg()[0]:.1f}"
    table = Table(title=title, title_justify="left", box=box.SIMPLE)
    for heading in ("what", "clock without", "with", "cost", "CPU without", "with", "cost"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    with TemporaryDirectory(prefix="podium-bench-") as temporary:
        folder = Path(temporary) / "carotid"
        carotid.write_cases(folder, options.cases)
        add_row(table, f"carotid, {options.cases} cases", in_turns(folder, options.rounds))
        for count in lesions.LESIONS:
            runs = {
                cases: in_turns(
                    lesions.write_lesions(Path(temporary) / f"{count}-{cases}", cases, count), options.rounds
                )
                for cases in (FEW, MANY)
            }
            add_row(table, f"lesions, {MANY} cases with {count} lesions", runs[MANY])
            add_row(table, "one more of these", {how: one_more(runs[FEW][how], runs[MANY][how]) for how in runs[FEW]})
    Console(width=None if sys.stdout.isatty() else 120).print(table)


def in_turns(folder: Path, rounds: int) -> Mapping[str, tuple[float, float]]:
    """Seconds by the clock and of CPU, the best of each, with and without decoders."""
    runs: dict[str, list[Measured]] = {WITHOUT: [], WITH: []}
    for _ in range(rounds):
        for how, found in runs.items():
            found.append(measure([sys.executable, __file__, "--one", how, str(folder)]))
    return {
        how: (min(run.seconds for run in found), min(run.cpu_seconds for run in found)) for how, found in runs.items()
    }


def one_more(few: tuple[float, float], many: tuple[float, float]) -> tuple[float, float]:
    clock, cpu = ((of_many - of_few) / (MANY - FEW) for of_few, of_many in zip(few, many, strict=True))
    return clock, cpu


def add_row(table: Table, what: str, found: Mapping[str, tuple[float, float]]) -> None:
    cells = []
    for without, apart in zip(found[WITHOUT], found[WITH], strict=True):
        cells += [f"{without:.2f}", f"{apart:.2f}", f"{100 * (apart / without - 1):+.0f} %"]
    table.add_row(what, *cells)


def evaluate(how: str, folder: Path) -> None:
    """As the command does, but for the decoders."""
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    here = patch.object(evaluation, "decoders", lambda *_, **__: nullcontext()) if how == WITHOUT else nullcontext()
    with here, TemporaryDirectory(prefix="podium-bench-") as output:
        evaluation.evaluate(
            submission=folder / "submission",
            output=Path(output),
            ground_truth=folder / "ground-truth",
            challenge=None,
            executor=Processes(workers=WORKERS),
        )


if __name__ == "__main__":
    main()
