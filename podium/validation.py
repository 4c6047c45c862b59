"""A participant's own check before submitting: every problem at once, without ground truth."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from podium.challenges import KINDS, challenge_for_format
from podium.challenges.base import AnyChallenge
from podium.errors import UsageError
from podium.execution.executor import Executor
from podium.extras import preload_readers
from podium.manifest import Manifest
from podium.platform.submission import open_submission, submission_names

# Without a case list the size of the predictions is unknown; a generous limit for a home computer.
_UNPACKED_LIMIT_BYTES = 64 * 1024**3
MISSING = "is missing."


@dataclass(frozen=True, kw_only=True)
class Problem:
    """`where` is a case or a file, `what` a sentence."""

    where: str
    what: str


@dataclass(frozen=True, kw_only=True)
class Report:
    """What was looked at, what is wrong with it, and sentences on what is not wrong but may cost points."""

    challenge: str
    cases: int
    problems: Sequence[Problem]
    warnings: Sequence[str] = ()


def validate(submission: Path, *, manifest: Manifest | None, challenge: str | None, executor: Executor) -> Report:
    """Read the submission as the evaluation would; a manifest adds what is missing, extra or of a wrong shape."""
    chosen = manifest.load_challenge() if manifest else _challenge_without_manifest(submission, challenge)
    limit = _UNPACKED_LIMIT_BYTES
    if manifest:
        limit = chosen.format.submission_bytes(list(manifest.cases.values()))
    shape = manifest.submission if manifest else "any"
    with open_submission(submission, max_bytes=limit, shape=shape) as opened:
        collected = chosen.format.collect(opened, manifest.cases.keys() if manifest else None)

        def check(case: str) -> bool:
            chosen.format.check_prediction(collected.predictions[case], manifest.cases[case] if manifest else None)
            return True

        cases = sorted(collected.predictions)
        preload_readers()
        chosen.share_cores(workers=executor.workers, cases=len(cases))
        outcomes = executor.run(cases, check, label="checking")
    problems = [Problem(where=case, what=outcome.error) for case, outcome in outcomes.items() if outcome.error]
    problems += [Problem(where=case, what=reason) for case, reason in sorted(collected.refused.items())]
    if manifest:
        answered = {*collected.predictions, *collected.refused}
        problems += [Problem(where=case, what=MISSING) for case in sorted(manifest.cases) if case not in answered]
    problems += [
        Problem(where=each.name, what=f"belongs to no case: {each.reason.removesuffix('.')}.")
        for each in collected.unmatched
    ]
    if collected.runtime.problem:
        problems.append(Problem(where="time", what=collected.runtime.problem))
    if not collected.predictions and not problems:
        problems.append(Problem(where="submission", what="holds no prediction."))
    return Report(
        challenge=chosen.name,
        cases=len(collected.predictions),
        problems=problems,
        warnings=[collected.runtime.warning] if collected.runtime.warning else [],
    )


def _challenge_without_manifest(submission: Path, kind: str | None) -> AnyChallenge:
    choices = ", ".join(sorted(KINDS))
    if kind is None:
        names = submission_names(submission)
        fitting = [each for each in KINDS if challenge_for_format(each).format.recognises(names)]
        if len(fitting) != 1:
            raise UsageError(f"Name the challenge with --challenge ({choices}), or give its case list with --cases.")
        kind = fitting[0]
    if kind not in KINDS:
        raise UsageError(f"There is no challenge '{kind}'; there is: {choices}.")
    return challenge_for_format(kind)
