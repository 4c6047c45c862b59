"""The commands as functions for use from Python: they print nothing, set no signal handler and raise PodiumError."""

import os
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from podium import evaluation, validation
from podium.execution.executor import Executor, available_workers
from podium.execution.processes import Processes
from podium.platform.metrics_file import MetricsFile
from podium.tools.ranking import rank as ranking
from podium.tools.ranking.consensus import rank_tasks
from podium.tools.ranking.documents import read_cohorts
from podium.tools.ranking.result import Ranking
from podium.tools.ranking.schemes import RankingOptions
from podium.tools.ranking.tables import TableOptions, read_score_table, table_cohorts
from podium.validation import read_manifest

AnyPath = str | os.PathLike[str]


def evaluate(
    submission: AnyPath,
    *,
    ground_truth: AnyPath,
    challenge: str | None = None,
    output: AnyPath | None = None,
    executor: Executor | None = None,
) -> MetricsFile:
    """Score a submission: everything that metrics.json holds, with the rows of all cases whatever `per_case` says.

    ground_truth  a challenge's folder, or a folder of several; `challenge` then names one
    output        a folder for metrics.json, which is not written without it
    executor      what works on the cases; by default as many processes as there are cores

    Raises SubmissionError where the submission cannot be scored, OrganiserError where the ground truth is wrong.
    """
    run = executor or Processes(workers=available_workers())
    with TemporaryDirectory(prefix="podium-") as unused:
        return evaluation.evaluate(
            submission=Path(submission),
            output=Path(output or unused),
            ground_truth=Path(ground_truth),
            challenge=challenge,
            executor=run,
        )


def validate(
    submission: AnyPath,
    *,
    cases: AnyPath | None = None,
    challenge: str | None = None,
    ground_truth: AnyPath | None = None,
    executor: Executor | None = None,
) -> validation.ValidationReport:
    """Check a submission without ground truth: every problem at once.

    cases      the challenge's public case list, as `podium manifest` writes it
    challenge  without a case list, which challenge it is; by default what the submission looks like
    ground_truth  a challenge's folder, or a folder of several: without a case list, a declared challenge needs its
                  challenge.toml; references are not read
    """
    return validation.validate(
        Path(submission),
        manifest=read_manifest(Path(cases)) if cases is not None else None,
        challenge=challenge,
        executor=executor or Processes(workers=available_workers()),
        ground_truth=Path(ground_truth) if ground_truth is not None else None,
    )


def rank(
    *paths: AnyPath, options: RankingOptions | None = None, table: TableOptions | None = None
) -> Sequence[Ranking]:
    """Rank the teams of a challenge: team folders, metrics.json files, or a folder of either; or one table of scores.

    One ranking for every part that is ranked on its own, such as a regime or a task; most challenges have one.

    table  what a table of scores does not say of itself; with it, the path is that of a table
    """
    wanted = options or RankingOptions(workers=available_workers())
    if table is None:
        return [ranking.rank(cohort, wanted) for cohort in read_cohorts([Path(path) for path in paths])]
    (path,) = paths
    drawn = rank_tasks(table_cohorts(read_score_table(Path(path)), table), wanted)
    return [each.ranking for each in drawn]
