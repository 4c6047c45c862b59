"""Synapse's ORCA workflow: one file of predictions and a folder of ground truth in, results.json out.

The workflow runs a validation and then a scoring step on the same results.json, stores its content as annotations of
the submission, and takes what a step prints to stdout for the submission's status. A step that exits with an error
stops the workflow, so an unusable submission is a status and only an error of the organisers is an exit code.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from podium import evaluation
from podium.adapters.flat import leaderboard_figures
from podium.challenges import KINDS, load_challenge
from podium.challenges.format import read_challenge_folders
from podium.errors import SubmissionError, UsageError
from podium.execution.executor import Executor
from podium.manifest import make_manifest
from podium.platform.metrics_file import METRICS_FILE, read_metrics
from podium.validation import MISSING, validate

Status = Literal["VALIDATED", "SCORED", "INVALID"]
_LONGEST_ERRORS = 500  # what fits into the e-mail to the participant


def validate_submission(
    *, predictions: Path, ground_truth: Path, results: Path, challenge: str | None, executor: Executor
) -> Status:
    """The validation step. A submission is invalid where no case of it can be scored; other problems cost their case
    only, and are listed."""
    try:
        problems, is_usable = _problems(predictions, ground_truth, challenge, executor)
    except SubmissionError as error:
        problems, is_usable = [str(error)], False
    status: Status = "VALIDATED" if is_usable else "INVALID"
    _write(results, {"validation_status": status, "validation_errors": _shortened("\n".join(problems))}, status=status)
    return status


def evaluate(
    *, predictions: Path, ground_truth: Path, results: Path, challenge: str | None, executor: Executor
) -> Status:
    """The scoring step: the leaderboard's figures by flat name, and metrics.json beside results.json.

    What an earlier validation wrote is kept, and a submission that was invalid there is not scored.
    """
    found = _read(results) or {"validation_status": "VALIDATED", "validation_errors": ""}
    status: Status = "INVALID"
    errors = "The submission was not scored: its validation failed."
    figures: Mapping[str, Any] = {}
    if found.get("validation_status") != "INVALID":
        try:
            evaluation.evaluate(
                submission=predictions,
                output=results.parent,
                ground_truth=ground_truth,
                challenge=challenge,
                executor=executor,
            )
            published = read_metrics(results.parent / METRICS_FILE)
            figures = {**leaderboard_figures(published), **_counts(published.counts.model_dump())}
            status, errors = "SCORED", ""
        except SubmissionError as error:
            errors = _shortened(str(error))
    _write(results, {**found, "score_status": status, "score_errors": errors, **figures}, status=status)
    return status


def _problems(
    predictions: Path, ground_truth: Path, challenge: str | None, executor: Executor
) -> tuple[list[str], bool]:
    """Everything that is wrong, and whether at least one case can be scored all the same."""
    folders = read_challenge_folders(ground_truth, known=KINDS, named=challenge)
    folder = evaluation.choose_challenge(folders, named=challenge)
    task = evaluation.prepare(folder, load_challenge(folder), executor)
    manifest = make_manifest(task)
    report = validate(predictions, manifest=manifest, challenge=None, executor=executor)
    lost = {problem.where for problem in report.problems} & manifest.cases.keys()
    found = [f"{problem.where}: {problem.what}" for problem in report.problems if problem.what != MISSING]
    # Counted, not named: a participant may not know the names of the hidden cases.
    if missing := len(report.problems) - len(found):
        found.append(f"{missing} of {len(manifest.cases)} cases have no prediction.")
    return found, len(lost) < len(manifest.cases)


def _counts(counts: Mapping[str, int]) -> dict[str, int]:
    return {f"cases_{name}": number for name, number in counts.items()}


def _read(results: Path) -> dict[str, Any]:
    """What the step before wrote; nothing where there was none, or where it is no JSON object."""
    try:
        content = json.loads(results.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _write(results: Path, content: Mapping[str, Any], *, status: Status) -> None:
    """In place, since the workflow may have linked it. Older workflows read `submission_status`."""
    errors = content["score_errors"] if "score_errors" in content else content["validation_errors"]
    older = {"submission_status": status, "submission_errors": errors}
    try:
        results.write_text(json.dumps({**content, **older}, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"The results cannot be written: {error.strerror}.", detail=str(results)) from None


def _shortened(errors: str) -> str:
    return errors if len(errors) <= _LONGEST_ERRORS else f"{errors[: _LONGEST_ERRORS - 3]}..."
