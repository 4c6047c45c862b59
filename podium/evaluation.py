"""The main job: one submission in, metrics.json out."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from podium.challenges import CHALLENGES
from podium.challenges.base import Challenge, Collected, Shapes
from podium.challenges.ground_truth import ChallengeFolder, read_challenge_folders
from podium.errors import GroundTruthError, SubmissionError, UsageError
from podium.execution.processes import CaseOutcome, run_cases
from podium.execution.progress import show_progress
from podium.platform.metrics_file import SCHEMA_NAME, Counts, MetricsFile, prepare_output, write_metrics
from podium.platform.privacy import published_results
from podium.platform.results import CaseResult, CaseScore, Figures
from podium.platform.submission import open_submission, submission_names

MISSING = "There is no prediction for this case."


@dataclass(frozen=True, kw_only=True)
class Options:
    """How to run: everything that changes the time an evaluation takes, nothing that changes its figures."""

    workers: int
    case_timeout_seconds: float


@dataclass(frozen=True, kw_only=True)
class Task:
    """A challenge with its ground truth checked, ready to score any submission."""

    folder: ChallengeFolder
    challenge: Challenge[Any, Any]
    references: Mapping[str, Any]
    shapes: Mapping[str, Shapes]
    digest: bytes

    @property
    def cases(self) -> Sequence[str]:
        return sorted(self.references)


def evaluate(
    *, submission: Path, output: Path, ground_truth: Path, challenge: str | None, options: Options
) -> MetricsFile:
    """Score the submission and write metrics.json; the same with every row, also those that are not published.

    Raises SubmissionError (after writing metrics.json) when not a single case could be scored.
    """
    folder = choose_challenge(
        read_challenge_folders(ground_truth, known=CHALLENGES), named=challenge, submission=submission
    )
    task = prepare(folder, options)
    prepare_output(output)
    limit = task.challenge.submission_bytes(list(task.shapes.values()))
    with open_submission(submission, max_bytes=limit) as opened:
        collected = task.challenge.collect(opened, task.references.keys())
        _log_pairing(collected)
        if not collected.predictions and not collected.refused:
            raise SubmissionError(_nothing_matched(collected))
        results = _score(task, collected, options)
    evaluation = MetricsFile(
        schema=SCHEMA_NAME,
        challenge=task.challenge.name,
        kind=task.challenge.name,
        title=folder.common.title,
        version=folder.common.version,
        settings=task.challenge.settings.model_dump(mode="json"),
        aggregates=task.challenge.aggregate(results, collected.timing),
        counts=Counts.of(results, unmatched=len(collected.unmatched)),
        results=results,
    )
    rows = published_results(
        results,
        per_case=folder.common.per_case,
        key=task.digest,
        confidential=task.challenge.confidential_figures,
    )
    write_metrics(evaluation.model_copy(update={"results": rows}), output)
    if evaluation.counts.scored == 0:
        raise SubmissionError(_nothing_scored(results))
    return evaluation


def choose_challenge(
    folders: Mapping[str, ChallengeFolder], *, named: str | None, submission: Path | None
) -> ChallengeFolder:
    """The named challenge, else the only one, else the only one that the submission looks made for."""
    choices = ", ".join(sorted(folders))
    if named is not None:
        if named not in folders:
            raise UsageError(f"There is no ground truth for the challenge '{named}'; there is: {choices}.")
        return folders[named]
    if len(folders) == 1:
        return next(iter(folders.values()))
    if submission is None:
        raise UsageError(f"There are several challenges here ({choices}); name one with --challenge.")
    names = submission_names(submission)
    fitting = [folder for name, folder in folders.items() if CHALLENGES[name].recognises(names)]
    if not fitting:
        raise SubmissionError(
            f"The submission looks made for none of the challenges here ({choices}): check the names of its files, or "
            "name the challenge with --challenge or PODIUM_CHALLENGE."
        )
    if len(fitting) > 1:
        raise UsageError(
            f"The submission fits more than one of the challenges here ({choices}); "
            "name one with --challenge or PODIUM_CHALLENGE."
        )
    return fitting[0]


def load_challenge(folder: ChallengeFolder) -> Challenge[Any, Any]:
    """The challenge under the settings of its challenge.toml."""
    challenge_type = CHALLENGES[folder.common.challenge]
    return challenge_type(folder.file.own(challenge_type.settings_model))


def prepare(folder: ChallengeFolder, options: Options) -> Task:
    """Read every reference before anything is scored: a broken ground truth must stop the run, not colour it."""
    challenge = load_challenge(folder)
    if not folder.references.is_dir():
        raise GroundTruthError("The ground truth has no folder 'references'.", detail=str(folder.path))
    references = challenge.find_references(folder.references)
    if not references:
        raise GroundTruthError("The ground truth holds no reference.", detail=str(folder.references))
    challenge.share_cores(workers=options.workers, cases=len(references))

    def check(case: str) -> tuple[Shapes, bytes]:
        shapes = challenge.check_reference(references[case])
        digest = hashlib.sha256()
        for file in challenge.reference_files(references[case]):
            with file.path.open("rb") as stream:
                digest.update(hashlib.file_digest(stream, "sha256").digest())
        return shapes, digest.digest()

    outcomes = _run("checking references", sorted(references), check, options)
    broken = [(case, outcome) for case, outcome in outcomes.items() if outcome.value is None]
    if broken:
        raise GroundTruthError(
            f"{len(broken)} of {len(references)} references are broken; the organisers find the details in the log.",
            detail="\n".join(
                f"reference of {case}: {outcome.error} {outcome.detail or ''}" for case, outcome in broken
            ),
        )
    facts = {case: outcome.value for case, outcome in outcomes.items() if outcome.value is not None}
    digest = hashlib.sha256(b"".join(facts[case][1] for case in sorted(facts))).digest()
    return Task(
        folder=folder,
        challenge=challenge,
        references=references,
        shapes={case: shapes for case, (shapes, _) in facts.items()},
        digest=digest,
    )


def _score(task: Task, collected: Collected[Any], options: Options) -> list[CaseResult]:
    challenge, references = task.challenge, task.references

    def score(case: str) -> CaseScore:
        return challenge.score(collected.predictions[case], references[case])

    def unanswered(case: str) -> Figures:
        return challenge.unanswered(references[case])

    challenge.import_heavy_packages()
    challenge.share_cores(workers=options.workers, cases=len(collected.predictions))
    scored = _run("scoring", sorted(collected.predictions), score, options)
    errors = dict(collected.refused)
    for case, outcome in scored.items():
        if outcome.error is not None:
            errors[case] = outcome.error
            print(f"{case}: {outcome.error} {outcome.detail or ''}".rstrip(), flush=True)
    lacking = [case for case in task.cases if case in errors or case not in scored]
    worst = _run("filling in worst values", lacking, unanswered, options)
    return [_result(case, scored, errors, worst) for case in task.cases]


def _result(
    case: str,
    scored: Mapping[str, CaseOutcome[CaseScore]],
    errors: Mapping[str, str],
    worst: Mapping[str, CaseOutcome[Figures]],
) -> CaseResult:
    if case in worst:
        figures = worst[case].value
        if figures is None:
            raise GroundTruthError("A reference could not be read again.", detail=f"{case}: {worst[case].error}")
        if case in errors:
            return CaseResult(case=case, status="failed", metrics=figures, error=errors[case])
        return CaseResult(case=case, status="missing", metrics=figures, error=MISSING)
    score = scored[case].value
    assert score is not None, "a case without an error has a score"
    return CaseResult(case=case, status="scored", metrics=score.metrics, warnings=score.warnings)


def _run(label: str, cases: Sequence[str], work: Any, options: Options) -> Mapping[str, CaseOutcome[Any]]:
    return run_cases(
        cases,
        work,
        workers=options.workers,
        timeout_seconds=options.case_timeout_seconds,
        progress=show_progress(label, len(cases)),
    )


def _log_pairing(collected: Collected[Any]) -> None:
    """The organiser's detail; participants who run the image at home read it too, so it names only their files."""
    for unmatched in collected.unmatched:
        print(f"unmatched: {unmatched.name}: {unmatched.reason}", flush=True)
    for reason in collected.refused.values():
        print(f"refused: {reason}", flush=True)
    if collected.timing.problem:
        print(f"timing: {collected.timing.problem}", flush=True)


def _nothing_matched(collected: Collected[Any]) -> str:
    if not collected.unmatched:
        return "The submission holds no prediction for any expected case."
    first = collected.unmatched[0]
    return (
        f"None of the {len(collected.unmatched)} submitted predictions belongs to an expected case; "
        f"the first is {first.name}: {first.reason.removesuffix('.')}."
    )


def _nothing_scored(results: Sequence[CaseResult]) -> str:
    first = next(result.error for result in results if result.status == "failed")
    failed = sum(result.status == "failed" for result in results)
    return f"None of the {failed} submitted predictions could be scored; the first: {first}"
