"""Codabench: /app/input/ref and /app/input/res in, /app/output/scores.json and detailed_results.html out.

The worker unpacks the reference data into `ref` and the participant's archive into `res`, beside a file `metadata` of
its own. It takes a run without scores.json for failed, whatever the exit code is.
"""

import json
from dataclasses import replace
from pathlib import Path

from podium import evaluation
from podium.adapters.flat import leaderboard_figures
from podium.errors import UsageError
from podium.execution.executor import Executor
from podium.platform.metrics_file import METRICS_FILE, MetricsFile
from podium.ranking.documents import read_cohorts
from podium.report.page import write_page
from podium.report.submission_report import submission_report

SCORES_FILE = "scores.json"
PAGE = "detailed_results.html"


def evaluate(*, folder: Path, output: Path, challenge: str | None, executor: Executor) -> MetricsFile:
    """Score `folder`/res against `folder`/ref; metrics.json is written too.

    Page and scores are made of the published metrics.json, so they show no more than `per_case` allows.
    """
    _delete_older(output)
    metrics = evaluation.evaluate(
        submission=folder / "res",
        output=output,
        ground_truth=folder / "ref",
        challenge=challenge,
        executor=executor,
    )
    (cohort,) = read_cohorts([output / METRICS_FILE])
    file = replace(cohort.files[0], team="this submission")
    write_page(submission_report(file, cohort.challenge), output / PAGE)
    (output / SCORES_FILE).write_text(json.dumps(leaderboard_figures(file.content), indent=2) + "\n", encoding="utf-8")
    return metrics


def _delete_older(output: Path) -> None:
    """Scores of an earlier run must not be taken for those of one that fails."""
    try:
        for name in (SCORES_FILE, PAGE):
            (output / name).unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(f"The output folder cannot be written to: {error.strerror}.", detail=str(output)) from None
