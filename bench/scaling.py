"""What a second worker brings, and how cost and memory grow with the number of cases: whole evaluations by the command.

    python bench/scaling.py [--cases N N ...] [--lesions N] [--rounds N]

Best of N rounds, the two numbers of workers in turn. Everything is made on the fly and removed afterwards.
"""

import argparse
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import lesions
from under_fire import write_cases
from whole_run import Measured, measure

SMALLEST_OF_TWO_WORKERS = 300  # carotid cases: starting takes a third of the time of 30


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, nargs="+", default=[30, 300, 3000], metavar="N", help="carotid cases")
    parser.add_argument("--lesions", type=int, default=40, metavar="N", help="lesions cases [%(default)s]")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="rounds [%(default)s]")
    options = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f}", flush=True)
    for cases in options.cases:
        with TemporaryDirectory(prefix="podium-bench-") as temporary:
            folder = write_cases(Path(temporary), cases)
            show(f"carotid, {cases} cases", folder, cases, options.rounds, both=cases >= SMALLEST_OF_TWO_WORKERS)
    with TemporaryDirectory(prefix="podium-bench-") as temporary:
        folder = write_lesions(Path(temporary), options.lesions)
        show(f"lesions, {options.lesions} cases", folder, options.lesions, options.rounds, both=True)


def show(what: str, folder: Path, cases: int, rounds: int, *, both: bool) -> None:
    """One line for each number of workers, and how much faster two are than one."""
    numbers = (1, 2) if both else (2,)
    runs: dict[int, list[Measured]] = {workers: [] for workers in numbers}
    for _ in range(rounds):
        for workers in numbers:
            runs[workers].append(evaluate(folder, workers))
    for workers, found in runs.items():
        seconds, cpu = min(run.seconds for run in found), min(run.cpu_seconds for run in found)
        memory = max(run.tree_bytes for run in found) >> 20
        each = f"{1000 * seconds / cases:.1f} ms per case"
        print(f"{what}, {workers} workers: {seconds:.1f} s, {cpu:.1f} s of CPU, {each}, {memory} MiB", flush=True)
    if both:
        one, two = (min(run.seconds for run in runs[workers]) for workers in numbers)
        print(f"{what}: 2 workers are {one / two:.2f} times as fast as 1", flush=True)


def evaluate(folder: Path, workers: int) -> Measured:
    with TemporaryDirectory(prefix="podium-bench-") as output:
        paths = {"--input": folder / "submission", "--output": output, "--ground-truth": folder / "ground-truth"}
        command = [sys.executable, "-m", "podium", "evaluate", "--workers", str(workers)]
        return measure([*command, *(str(word) for pair in paths.items() for word in pair)])


def write_lesions(folder: Path, cases: int, count: int = lesions.LESIONS[0]) -> Path:
    """One case of 400 x 400 x 326 with `count` lesions under many names."""
    prediction, reference = lesions.pair_of(count)
    drawn = {"reference": reference, "prediction": prediction}
    for name, volume in drawn.items():
        lesions.write(folder / f"drawn/{name}.nii.gz", volume)
    for number in range(cases):
        link(folder / "drawn/reference.nii.gz", folder / f"ground-truth/references/case{number}.nii.gz")
        for step in range(lesions.STEPS):
            link(folder / "drawn/prediction.nii.gz", folder / f"submission/case{number}/iter_{step}.nii.gz")
    (folder / "ground-truth/challenge.toml").write_text(lesions.CHALLENGE, encoding="utf-8")
    return folder


def link(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    os.link(source, target)


if __name__ == "__main__":
    main()
