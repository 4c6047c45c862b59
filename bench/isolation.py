"""What decoding apart from scoring costs: a carotid run of 300 cases and one lesions case, with and without it.

    .venv/bin/python bench/isolation.py [--cases N] [--repeats N]

Every run is a process of its own in which the packages are loaded already, so that only the work counts. The runs with
and without decoders alternate; CPU seconds of all processes, the best of each. Files are made on the fly and removed.
"""

import argparse
import os
import shutil
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import carotid
import lesions
from rich import box
from rich.console import Console
from rich.table import Table

from podium import evaluation
from podium.execution.processes import Processes

WORKERS = 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=carotid.CASES, metavar="N", help="carotid cases [%(default)s]")
    parser.add_argument("--repeats", type=int, default=3, metavar="N", help="runs of each [%(default)s]")
    options = parser.parse_args()
    title = f"CPU seconds, best of {options.repeats}, load {os.getloadavg()[0]:.1f}"
    table = Table(title=title, title_justify="left", box=box.SIMPLE)
    for heading in ("what", "without", "with", "cost"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    with TemporaryDirectory(prefix="podium-bench-") as temporary:
        carotid_folder, lesions_folder = Path(temporary) / "carotid", Path(temporary) / "lesions"
        carotid.write_cases(carotid_folder, options.cases)
        add_row(table, f"carotid, {options.cases} cases", carotid_folder, options.repeats)
        for count in lesions.LESIONS:
            write_lesions(lesions_folder, count)
            add_row(table, f"lesions, a case with {count} lesions", lesions_folder, options.repeats)
            shutil.rmtree(lesions_folder)
    Console().print(table)


def write_lesions(folder: Path, count: int) -> None:
    """A case of six steps of 400 x 400 x 326."""
    prediction, reference = lesions.pair_of(count)
    lesions.write(folder / "ground-truth/references/case.nii.gz", reference)
    (folder / "ground-truth/challenge.toml").write_text(lesions.CHALLENGE, encoding="utf-8")
    first = folder / "submission/case/iter_0.nii.gz"
    lesions.write(first, prediction)
    for step in range(1, lesions.STEPS):
        shutil.copy(first, first.with_name(f"iter_{step}.nii.gz"))


def add_row(table: Table, what: str, folder: Path, repeats: int) -> None:
    evaluation.import_packages(folder / "ground-truth", challenge=None)
    without = apart = float("inf")
    for _ in range(repeats):
        without = min(without, cpu_seconds(lambda: evaluate_here(folder)))
        apart = min(apart, cpu_seconds(lambda: evaluate(folder)))
    table.add_row(what, f"{without:.2f}", f"{apart:.2f}", f"{100 * (apart / without - 1):+.1f} %")


def evaluate(folder: Path) -> None:
    evaluation.evaluate(
        submission=folder / "submission",
        output=folder / "output",
        ground_truth=folder / "ground-truth",
        challenge=None,
        executor=Processes(workers=WORKERS),
    )


def evaluate_here(folder: Path) -> None:
    with patch.object(evaluation, "decoders", lambda *_, **__: nullcontext()):
        evaluate(folder)


def cpu_seconds(work: Callable[[], None]) -> float:
    """Of a process that does the work, and of all that it starts."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
        except BaseException as fault:
            print(fault, file=sys.stderr)
            os._exit(1)
        os._exit(0)
    _, status, usage = os.wait4(pid, 0)
    if status:
        sys.exit("A run failed.")
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
