"""What a cluster costs: local processes and a Dask cluster on this machine, on the same submissions in one run.

    .venv/bin/python bench/scale.py [--lesions N] [--carotid N N ...]

Lesions cases (6 steps of 400 x 400 x 326) show the overhead on long cases, carotid cases that on short ones and how
cost and memory grow with their number. Each row is the batch of one team with nothing kept yet, the references checked
first. Everything is made on the fly from one seed and removed afterwards.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread

import carotid
import lesions
from rich import box
from rich.console import Console
from rich.table import Table
from whole_run import tree_bytes

from podium.batch import run_batch
from podium.execution.dask import Dask
from podium.execution.executor import Executor
from podium.execution.processes import Processes

REPOSITORY = Path(__file__).resolve().parents[1]
ROUNDS = 3
EMPTY_CASES = 1000
MOST_WITH_ONE_WORKER = 300  # cases: more would take too long
DRAWN = 30  # carotid cases that are really drawn; the others are links to them
PORT = 18790


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lesions", type=int, default=4, metavar="N", help="lesions cases [%(default)s]")
    parser.add_argument("--carotid", type=int, nargs="+", default=[30, 300, 3000], metavar="N", help="carotid cases")
    options = parser.parse_args()
    table = Table(title=f"podium batch, one team, load {os.getloadavg()[0]:.1f}", box=box.SIMPLE)
    for title in ("kind", "cases", "workers", "executor", "seconds", "ms per case", "memory, all processes"):
        table.add_column(title, justify="left" if title in ("kind", "executor") else "right")
    with TemporaryDirectory(prefix="podium-bench-") as temporary:
        folders = [(write_lesions(Path(temporary) / "lesions", options.lesions), options.lesions)]
        folders += [
            (write_carotid(Path(temporary) / str(cases) / "carotid", cases), cases) for cases in options.carotid
        ]
        for workers in (1, 2):
            with cluster(Path(temporary), workers) as (address, processes):
                executors = {"processes": Processes(workers=workers), "dask": Dask(address=address)}
                add_empty_row(table, workers, executors["dask"])
                for folder, cases in folders:
                    if workers == 2 or cases <= MOST_WITH_ONE_WORKER:
                        add_rows(table, folder, cases, workers, executors, processes)
    Console().print(table)


def add_empty_row(table: Table, workers: int, executor: Executor) -> None:
    """What Dask adds to a case that takes no time at all."""
    cases = [str(number) for number in range(EMPTY_CASES)]
    seconds = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        executor.run(cases, str.upper, label="nothing")
        seconds.append(time.perf_counter() - began)
    each = f"{1000 * min(seconds) / EMPTY_CASES:.2f}"
    row = ("nothing", str(EMPTY_CASES), str(workers), "dask", f"{min(seconds):.1f}", each, "")
    table.add_row(*row)
    print(*row, file=sys.stderr, flush=True)


def add_rows(  # noqa: PLR0913, PLR0917
    table: Table, folder: Path, cases: int, workers: int, executors: Mapping[str, Executor], cluster: Sequence[int]
) -> None:
    """The executors in turn, and the fastest run of each: what others do on the machine only ever adds to it."""
    runs: dict[str, list[tuple[float, int]]] = {name: [] for name in executors}
    for _ in range(ROUNDS if cases <= MOST_WITH_ONE_WORKER else 1):
        for name, executor in executors.items():
            runs[name].append(timed(folder, executor, without=() if name == "dask" else cluster))
    fastest = {name: min(seconds for seconds, _ in each) for name, each in runs.items()}
    for name, seconds in fastest.items():
        more = "" if name == "processes" else f" ({seconds / fastest['processes'] - 1:+.0%})"
        memory = max(memory for _, memory in runs[name]) >> 20
        row = (
            folder.name,
            cases,
            workers,
            name,
            f"{seconds:.1f}{more}",
            f"{1000 * seconds / cases:.1f}",
            f"{memory} MiB",
        )
        table.add_row(*map(str, row))
        print(*row, file=sys.stderr, flush=True)


def timed(folder: Path, executor: Executor, *, without: Sequence[int]) -> tuple[float, int]:
    """Seconds and the most memory of a batch with nothing kept, less that of these processes."""
    most, is_over = [0], Event()

    def look() -> None:
        while not is_over.wait(0.5):
            most[0] = max(most[0], tree_bytes(os.getpid()) - sum(map(tree_bytes, without)))

    looking = Thread(target=look)
    with TemporaryDirectory(prefix="podium-bench-") as output:
        looking.start()
        began = time.perf_counter()
        try:
            run_batch(
                submissions=folder / "teams",
                output=Path(output),
                ground_truth=folder / "ground-truth",
                challenge=None,
                executor=lambda _: executor,
            )
            return time.perf_counter() - began, most[0]
        finally:
            is_over.set()
            looking.join()


@contextmanager
def cluster(folder: Path, workers: int) -> Iterator[tuple[str, Sequence[int]]]:
    """A scheduler and workers of one thread on loopback: its address and its processes."""
    address = f"tcp://127.0.0.1:{PORT}"
    commands = [["scheduler", "--host", "127.0.0.1", "--port", str(PORT)]]
    commands += [["worker", address, "--no-nanny", "--nthreads", "1"]] * workers
    paths = os.pathsep.join([str(REPOSITORY), os.environ.get("PYTHONPATH", "")])
    started = [
        subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.dask_{kind}", *arguments, "--no-dashboard"],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": paths},
            stderr=subprocess.DEVNULL,
        )
        for kind, *arguments in commands
    ]
    try:
        yield address, [process.pid for process in started]
    finally:
        for process in reversed(started):
            process.kill()
            process.wait()


def write_lesions(folder: Path, cases: int) -> Path:
    prediction, reference = lesions.pair_of(lesions.LESIONS[0])
    for number in range(cases):
        lesions.write(folder / f"ground-truth/references/case{number}.nii.gz", reference)
        first = folder / f"teams/one/case{number}/iter_0.nii.gz"
        lesions.write(first, prediction)
        for step in range(1, lesions.STEPS):
            os.link(first, first.with_name(f"iter_{step}.nii.gz"))
    (folder / "ground-truth/challenge.toml").write_text(lesions.CHALLENGE, encoding="utf-8")
    return folder


def write_carotid(folder: Path, cases: int) -> Path:
    drawn = folder / "drawn"
    carotid.write_cases(drawn, min(cases, DRAWN))
    references, team = folder / "ground-truth/references", folder / "teams/one"
    references.mkdir(parents=True)
    team.mkdir(parents=True)
    for number in range(cases):
        model = f"c{number % DRAWN}"
        os.link(drawn / f"ground-truth/references/{model}_label.h5", references / f"c{number}_label.h5")
        os.link(drawn / f"submission/{model}_pred.h5", team / f"c{number}_pred.h5")
    shutil.copy(REPOSITORY / "ground-truth/carotid/challenge.toml", folder / "ground-truth")
    return folder


if __name__ == "__main__":
    main()
