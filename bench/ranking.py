"""Times `podium rank`: every scheme with its bootstrap, the tests, and the whole command from files to files.

The command of a large table of scores must take at most 15 s on an idle machine with two cores; its ratio to the same
command without replicates means the same on any machine.

    python bench/ranking.py

Teams are made on the fly from one seed and removed afterwards. See docs/ranking.md for figures and how to read them.
"""

import csv
import json
import sys
import time
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table
from scipy.stats import wilcoxon
from threadpoolctl import threadpool_limits
from whole_run import measure

from podium.challenges import load_challenge, published_settings
from podium.challenges.ground_truth import read_challenge_folders
from podium.metrics.declaration import Metric
from podium.metrics.resampling import Resamples
from podium.platform.jobs import Runtime
from podium.platform.metrics_file import SCHEMA_NAME, CaseResult, Counts, MetricsFile
from podium.tools.ranking.schemes import SCHEMES, CaseTable, RankingOptions, apply_scheme, case_table
from podium.tools.ranking.statistics import stability

SEED = 20260
REPLICATES = 1000
METRIC = Metric(name="m", title="M", direction="higher", lowest=0.0, highest=1.0, worst=0.0)
BY_TESTS = ("test-then-rank", "test-then-rank-holm")


def main() -> None:
    threadpool_limits(limits=1)  # as the command line does
    console = Console()
    console.print(large_table())
    console.print(tests_table())
    with TemporaryDirectory(prefix="podium-bench-") as folder:
        console.print(command_table(Path(folder)))
        console.print(many_metrics_table(Path(folder)))


def made_up(teams: int, cases: int, metrics: int) -> list[CaseTable]:
    """Teams of slightly different skill on cases of different difficulty, as challenges have them."""
    generator = np.random.default_rng(SEED)
    skill, difficulty = generator.normal(0, 0.3, (teams, 1)), generator.normal(0, 1, (1, cases))
    return [
        case_table(METRIC, 1 / (1 + np.exp(-(1 + skill + difficulty + generator.normal(0, 0.5, (teams, cases))))))
        for _ in range(metrics)
    ]


def large_table() -> Table:
    """Every scheme but the tests, with stability, at the size of the largest challenges."""
    tables = made_up(50, 1000, 5)
    resamples = Resamples.draw(cases=1000, replicates=REPLICATES, seed=0)
    table = headed("50 teams, 1,000 cases, 5 metrics, 1,000 replicates", "scheme", "seconds", "of CPU")
    total = [0.0, 0.0]
    for name in (name for name in SCHEMES if name not in BY_TESTS):
        seconds = timed(lambda name=name: replicated(name, tables, resamples))
        total = [before + more for before, more in zip(total, seconds, strict=True)]
        table.add_row(name, *(f"{each:.2f}" for each in seconds))
    table.add_row("all", *(f"{each:.2f}" for each in total))
    return table


def tests_table() -> Table:
    """The paired tests; beside them SciPy's, one pair and replicate at a time, from a sample of replicates."""
    tables = made_up(10, 300, 1)
    resamples = Resamples.draw(cases=300, replicates=REPLICATES, seed=0)
    table = headed("10 teams, 300 cases, 1 metric, 1,000 replicates", "scheme", "seconds", "of CPU")
    for name in BY_TESTS:
        table.add_row(name, *(f"{each:.2f}" for each in timed(lambda name=name: replicated(name, tables, resamples))))
    sample = 10
    seconds = timed(lambda: literal_tests(tables[0].values, resamples.counts[:sample]))
    table.add_row("SciPy, pair by pair", *(f"{each * REPLICATES / sample:.0f}" for each in seconds))
    return table


def literal_tests(values: np.ndarray, counts: np.ndarray) -> None:
    for drawn in counts:
        cases = np.repeat(values, drawn, axis=1)
        for first, second in permutations(cases, 2):
            wilcoxon(first, second, alternative="greater", correction=True, method="asymptotic")


def replicated(name: str, tables: list[CaseTable], resamples: Resamples) -> None:
    options = RankingOptions()
    full = apply_scheme(SCHEMES[name], tables, Resamples.whole(resamples.cases), options).ranks[0]
    stability(apply_scheme(SCHEMES[name], tables, resamples, options).ranks, full, confidence=0.95)


def timed(work: Callable[[], None]) -> tuple[float, float]:
    began, began_cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - began, time.process_time() - began_cpu


def command_table(folder: Path) -> Table:
    """The real command, from reading the files to writing ranking.json: official rule, five schemes, two metrics."""
    table = headed(
        "podium rank, carotid, 1,000 replicates of all schemes", "teams x cases", "seconds", "of CPU", "memory"
    )
    for teams, cases in ((10, 300), (50, 1000)):
        source = folder / f"{teams}x{cases}"
        write_teams(source, teams, cases)
        found = measure([sys.executable, "-m", "podium", "rank", str(source), "--output", str(folder / "out")])
        memory = f"{found.tree_bytes / 2**20:.0f} MiB"
        table.add_row(f"{teams} x {cases}", f"{found.seconds:.1f}", f"{found.cpu_seconds:.1f}", memory)
    return table


def many_metrics_table(folder: Path) -> Table:
    """The real command on a table of scores with many metrics, page and figures included; the best of three runs."""
    title = "podium rank, 40 teams x 26 metrics x 100 cases, table of scores"
    table = headed(title, "replicates", "seconds", "of CPU", "times CPU without")
    source = folder / "scores.csv"
    write_scores(source, teams=40, cases=100, metrics=26)
    command = [
        sys.executable,
        "-m",
        "podium",
        "rank",
        str(source),
        "--direction",
        "higher",
        "--output",
        str(folder / "out"),
    ]
    without = 0.0
    for replicates in ("0", "1000"):
        runs = [measure([*command, "--replicates", replicates]) for _ in range(3)]
        seconds, cpu = min(each.seconds for each in runs), min(each.cpu_seconds for each in runs)
        without = without or cpu
        table.add_row(replicates, f"{seconds:.1f}", f"{cpu:.1f}", f"{cpu / without:.2f}")
    return table


def write_scores(path: Path, *, teams: int, cases: int, metrics: int) -> None:
    tables = made_up(teams, cases, metrics)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["team", "case", *(f"m{number:02}" for number in range(metrics))])
        for team, case in np.ndindex(teams, cases):
            writer.writerow([f"team {team:02}", f"c{case:03}", *(table.values[team, case] for table in tables)])


RISKS = ("low_risk", "high_risk")


def write_teams(folder: Path, teams: int, cases: int) -> None:
    (segmentation, correct) = made_up(teams, cases, 2)
    (folder_of_carotid,) = read_challenge_folders(Path("ground-truth/carotid")).values()
    challenge = load_challenge(folder_of_carotid)
    folder.mkdir()
    for team in range(teams):
        results = []
        for case in range(cases):
            value, truth = float(segmentation.values[team, case]), case % 2
            names = [metric.name.split(".") for metric in challenge.scoreboard.metrics if "." in metric.name]
            figures: dict[str, Any] = {family: {} for family, _ in names}
            for family, name in names:
                figures[family][name] = value
            answer = truth if correct.values[team, case] > 0.3 else 1 - truth
            risk = {"reference": RISKS[truth], "prediction": RISKS[answer], "correct": int(answer == truth)}
            figures |= {"segmentation": value, "risk": risk}
            results.append(CaseResult(case=f"c{case:04}", status="scored", metrics=figures))
        metrics = MetricsFile(
            schema=SCHEMA_NAME,
            challenge="carotid",
            kind="declared",
            title="Benchmark",
            version="1",
            settings=published_settings(challenge),
            aggregates=challenge.aggregate(results, Runtime(total_seconds=60.0 + team)),
            counts=Counts.of(results),
            results=results,
        )
        (folder / f"team{team:02}.json").write_text(json.dumps(metrics.document()), encoding="utf-8")


def headed(title: str, first: str, *others: str) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE)
    table.add_column(first)
    for name in others:
        table.add_column(name, justify="right")
    return table


if __name__ == "__main__":
    main()
