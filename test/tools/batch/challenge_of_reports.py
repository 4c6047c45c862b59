"""A challenge of short reports for many teams: scoring a case takes a millisecond, so that runs have many cases."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from podium.execution.executor import Executor, Progress, ProgressFactory, Serial
from podium.execution.processes import Processes
from podium.tools.batch.run import TeamOutcome, run_batch
from podium.tools.batch.storage import Location

CONFIGURATION = 'kind = "reports"\ntitle = "Many"\nversion = "1"\nper_case = "full"\n'
_WORDS = (
    *("tooth", "root", "bone", "loss", "crown", "sinus", "implant"),
    *("caries", "normal", "lesion", "left", "upper", "of"),
)


def _report(team: int, case: int) -> str:
    """Some words in an order of its own; no two are equal."""
    words = [_WORDS[(case * 7 + team * 3 + place * (team + 1)) % len(_WORDS)] for place in range(12)]
    return " ".join([f"team{team}", *words])


def write_ground_truth(folder: Path, *, cases: int) -> Path:
    (folder / "references").mkdir(parents=True)
    (folder / "challenge.toml").write_text(CONFIGURATION)
    for case in range(cases):
        (folder / "references" / f"case_{case:03d}.txt").write_text(_report(0, case))
    return folder


def write_teams(folder: Path, *, teams: int, cases: int) -> Path:
    for team in range(teams):
        own = folder / f"team_{team:02d}"
        own.mkdir(parents=True)
        for case in range(cases):
            (own / f"case_{case:03d}.txt").write_text(_report(team + 1, case))
    return folder


def all_metrics(output: Path) -> dict[str, bytes]:
    """The bytes of every team's metrics.json."""
    return {path.parent.name: path.read_bytes() for path in sorted((output / "teams").glob("*/metrics.json"))}


def kept_scores(output: Path) -> int:
    return sum(1 for _ in (output / "kept").glob("*/*.json"))


def serial(progress: ProgressFactory) -> Executor:
    return Serial(progress=progress)


def processes(progress: ProgressFactory) -> Executor:
    return Processes(workers=2, progress=progress)


def run_teams(
    submissions: Location,
    truth: Location,
    output: Location,
    executor: Callable[[ProgressFactory], Executor] = serial,
    *,
    challenge: str | None = None,
    **more: Any,
) -> dict[str, TeamOutcome]:
    """The outcomes of `run_batch` by team."""
    outcomes = run_batch(
        submissions=submissions, ground_truth=truth, output=output, challenge=challenge, executor=executor, **more
    )
    return {each.team: each for each in outcomes}


def new_cases(outcomes: dict[str, TeamOutcome]) -> list[int]:
    return [outcomes[team].new for team in sorted(outcomes)]


def after_each_case(call: Callable[[int], None]) -> ProgressFactory:
    """A progress that calls `call` with the number of cases scored so far."""

    class Watched(Progress):
        def __init__(self, label: str, _: int) -> None:
            self._is_scoring, self._done = label.startswith("scoring"), 0

        def advance(self) -> None:
            if self._is_scoring:
                self._done += 1
                call(self._done)

        def close(self) -> None:
            pass

    return Watched
