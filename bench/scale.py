"""What a cluster costs: local processes and a Dask cluster on this machine, on the same submissions in one run.

    python bench/scale.py [--lesions N] [--carotid N N ...] [--json FILE]

Lesions cases (6 steps of 400 x 400 x 326) show the overhead on long cases, carotid cases that on short ones and how
cost and memory grow with their number. Each row is the batch of one team with nothing kept yet, the references checked
first. Everything is made on the fly from one seed and removed afterwards.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread

import carotid
import lesions
from rich import box
from rich.console import Console
from rich.table import Table
from whole_run import processes_below, tree_bytes

from podium import __version__
from podium.execution.executor import Executor
from podium.execution.processes import Processes
from podium.tools.batch.dask import Dask
from podium.tools.batch.run import run_batch

REPOSITORY = Path(__file__).resolve().parents[1]
ROUNDS = 3
EMPTY_CASES = 1000
MOST_WITH_ONE_WORKER = 300  # cases: more would take too long
DRAWN = 30  # carotid cases that are really drawn; the others are links to them
PORT = 18790


@dataclass(frozen=True, kw_only=True)
class Row:
    """The best of several runs: other work on the machine only adds to it."""

    kind: str
    cases: int
    workers: int
    executor: str
    seconds: float
    cpu_seconds: float
    memory_mebibytes: int

    @property
    def cpu_ms_per_case(self) -> float:
        return 1000 * self.cpu_seconds / self.cases


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lesions", type=int, default=4, metavar="N", help="lesions cases [%(default)s]")
    parser.add_argument("--carotid", type=int, nargs="+", default=[30, 300, 3000], metavar="N", help="carotid cases")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows here [print them]")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    rows: list[Row] = []
    with TemporaryDirectory(prefix="podium-bench-") as temporary:
        folders = [(write_lesions(Path(temporary) / "lesions", options.lesions), options.lesions)]
        folders += [
            (write_carotid(Path(temporary) / str(cases) / "carotid", cases), cases) for cases in options.carotid
        ]
        for workers in (1, 2):
            with cluster(Path(temporary), workers) as (address, processes):
                executors = {"processes": Processes(workers=workers), "dask": Dask(address=address)}
                rows += empty_rows(workers, executors, processes)
                for folder, cases in folders:
                    if workers == 2 or cases <= MOST_WITH_ONE_WORKER:
                        rows += rows_of(folder, cases, workers, executors, processes)
    found = findings(rows)
    show(rows, found, load)
    document = {"version": __version__, "load": load, "rows": [asdict(row) for row in rows], "findings": found}
    text = json.dumps(document, indent=2) + "\n"
    if options.json is None:
        print(text, end="")
    else:
        options.json.write_text(text, encoding="utf-8")


def show(rows: Sequence[Row], found: Mapping[str, str], load: float) -> None:
    table = Table(title=f"podium batch, one team, load {load:.1f} when it began", box=box.SIMPLE)
    titles = ("kind", "cases", "workers", "executor", "seconds", "of CPU", "CPU ms per case", "memory, all processes")
    for title in titles:
        table.add_column(title, justify="left" if title in ("kind", "executor") else "right")
    for row in rows:
        figures = (f"{row.seconds:.2f}", f"{row.cpu_seconds:.2f}", f"{row.cpu_ms_per_case:.2f}")
        memory = f"{row.memory_mebibytes} MiB"
        table.add_row(row.kind, str(row.cases), str(row.workers), row.executor, *figures, memory)
    console = Console(width=120)
    console.print(table)
    for name, value in found.items():
        console.print(f"{name}: {value}", highlight=False)


def findings(rows: Sequence[Row]) -> Mapping[str, str]:
    """The rows beside the targets. CPU rather than seconds, since it does not depend on what else the machine does."""
    by = {(row.kind, row.cases, row.workers, row.executor): row for row in rows}
    found = {}
    for row in rows:
        local = by.get((row.kind, row.cases, row.workers, "processes"))
        if row.executor != "dask" or local is None:
            continue
        name = f"Dask on {row.cases} {row.kind} cases, {row.workers} workers"
        if row.kind == "lesions":
            cpu, seconds = row.cpu_seconds / local.cpu_seconds - 1, row.seconds / local.seconds - 1
            found[name] = f"{cpu:+.1%} of CPU, {seconds:+.1%} of time (target: at most +10 %)"
        else:
            more = row.cpu_ms_per_case - local.cpu_ms_per_case
            found[name] = f"{more:+.2f} ms of CPU per case (target: at most +5 ms)"
    for executor in ("processes", "dask"):
        carotid_rows = [row for row in rows if (row.kind, row.workers, row.executor) == ("carotid", 2, executor)]
        if len(carotid_rows) > 1:
            first, last = carotid_rows[0], carotid_rows[-1]
            found[f"{executor}, from {first.cases} to {last.cases} carotid cases"] = (
                f"{first.cpu_ms_per_case:.1f} to {last.cpu_ms_per_case:.1f} ms of CPU per case, "
                f"{first.memory_mebibytes} to {last.memory_mebibytes} MiB (target: linear, memory flat)"
            )
    return found


def empty_rows(workers: int, executors: Mapping[str, Executor], cluster: Sequence[int]) -> Sequence[Row]:
    """What each executor adds to cases that take no time at all."""
    cases = [str(number) for number in range(EMPTY_CASES)]

    def run(executor: Executor) -> None:
        executor.run(cases, str.upper, label="nothing")

    return best_of("empty", EMPTY_CASES, workers, executors, cluster, run)


def rows_of(
    folder: Path, cases: int, workers: int, executors: Mapping[str, Executor], cluster: Sequence[int]
) -> Sequence[Row]:
    """A batch of one team with nothing kept."""

    def run(executor: Executor) -> None:
        with TemporaryDirectory(prefix="podium-bench-") as output:
            run_batch(
                submissions=folder / "teams",
                output=Path(output),
                ground_truth=folder / "ground-truth",
                challenge=None,
                executor=lambda _: executor,
            )

    return best_of(folder.name, cases, workers, executors, cluster, run)


def best_of(  # noqa: PLR0913, PLR0917
    kind: str,
    cases: int,
    workers: int,
    executors: Mapping[str, Executor],
    cluster: Sequence[int],
    run: Callable[[Executor], None],
) -> Sequence[Row]:
    """The executors in turn."""
    runs: dict[str, list[Row]] = {name: [] for name in executors}
    for _ in range(ROUNDS if cases <= EMPTY_CASES else 1):
        for name, executor in executors.items():
            with measured(cluster if name == "dask" else (), without=() if name == "dask" else cluster) as figures:
                run(executor)
            seconds, cpu_seconds, memory = figures
            runs[name].append(
                Row(
                    kind=kind,
                    cases=cases,
                    workers=workers,
                    executor=name,
                    seconds=round(seconds, 3),
                    cpu_seconds=round(cpu_seconds, 3),
                    memory_mebibytes=int(memory) >> 20,
                )
            )
    best = []
    for each in runs.values():
        cheapest = min(each, key=lambda row: row.cpu_seconds)
        memory = max(row.memory_mebibytes for row in each)
        best.append(replace(cheapest, seconds=min(row.seconds for row in each), memory_mebibytes=memory))
        print(best[-1], file=sys.stderr, flush=True)
    return best


@contextmanager
def measured(cluster: Sequence[int], *, without: Sequence[int]) -> Iterator[list[float]]:
    """Seconds, CPU seconds and the most memory of this process, those it starts and those of the cluster; the memory of
    some processes does not count."""
    most, is_over = [0], Event()

    def look() -> None:
        while True:
            most[0] = max(most[0], tree_bytes(os.getpid()) - sum(map(tree_bytes, without)))
            if is_over.wait(0.5):
                return

    def cpu() -> float:
        times = os.times()
        return times.user + times.system + times.children_user + times.children_system + sum(map(cpu_of_tree, cluster))

    figures: list[float] = []
    looking = Thread(target=look)
    looking.start()
    began, cpu_began = time.perf_counter(), cpu()
    try:
        yield figures
        figures += [time.perf_counter() - began, cpu() - cpu_began]
    finally:
        is_over.set()
        looking.join()
    figures.append(most[0])


def cpu_of_tree(pid: int) -> float:
    """The CPU seconds of a process and of all below it, those that have ended included."""
    total = 0
    for each in processes_below(pid):
        with suppress(OSError):
            fields = Path(f"/proc/{each}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            total += sum(map(int, fields[11:15]))
    return total / os.sysconf("SC_CLK_TCK")


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
