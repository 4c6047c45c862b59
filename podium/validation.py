"""A participant's own check before submitting: every problem at once, without ground truth."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from podium.challenges import KINDS, challenge_for_format, load_challenge
from podium.challenges.base import AnyChallenge
from podium.challenges.format import read_challenge_folders
from podium.errors import UsageError, preload_readers
from podium.execution.executor import Executor
from podium.manifest import Manifest
from podium.platform.submission import open_submission, submission_names
from podium.sandbox.decoders import decoders

# Without a case list the size of the predictions is unknown; a generous limit for a home computer.
_UNPACKED_LIMIT_BYTES = 64 * 1024**3
MISSING = "is missing."


@dataclass(frozen=True, kw_only=True)
class Problem:
    """`where` is a case or a file, `what` a sentence."""

    where: str
    what: str


@dataclass(frozen=True, kw_only=True)
class ValidationReport:
    """What was looked at, what is wrong with it, and sentences on what is not wrong but may cost points."""

    challenge: str
    cases: int
    problems: Sequence[Problem]
    warnings: Sequence[str] = ()


def validate(
    submission: Path,
    *,
    manifest: Manifest | None,
    challenge: str | None,
    executor: Executor,
    ground_truth: Path | None = None,
) -> ValidationReport:
    """Read the submission as the evaluation would; a manifest adds what is missing, extra or of a wrong shape."""
    chosen = manifest.load_challenge() if manifest else _challenge_without_manifest(submission, challenge, ground_truth)
    limit = _UNPACKED_LIMIT_BYTES
    if manifest:
        limit = chosen.format.submission_bytes(list(manifest.cases.values()))
    shape = manifest.submission if manifest else "any"
    libraries = chosen.format.libraries
    with (
        decoders(libraries=libraries, logged=False) as found,
        open_submission(submission, max_bytes=limit, shape=shape) as opened,
    ):
        collected = chosen.format.collect(opened, manifest.cases.keys() if manifest else None)

        def check(case: str) -> bool:
            chosen.format.check_prediction(collected.predictions[case], manifest.cases[case] if manifest else None)
            return True

        cases = sorted(collected.predictions)
        if found is None:
            preload_readers(libraries)
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
    return ValidationReport(
        challenge=chosen.name,
        cases=len(collected.predictions),
        problems=problems,
        warnings=[collected.runtime.warning] if collected.runtime.warning else [],
    )


def challenges_at_hand(ground_truth: Path | None) -> Mapping[str, AnyChallenge]:
    """Challenges whose predictions can be read without a case list, by name: the kinds in code, and the declared
    challenges whose challenge.toml lies in the ground truth; no reference is read."""
    found = {name: challenge_for_format(name) for name, kind in KINDS.items() if kind.format_settings is not None}
    if ground_truth is not None and ground_truth.is_dir():
        for name, folder in read_challenge_folders(ground_truth, known=KINDS).items():
            if KINDS[folder.common.kind].format_settings is None:
                found[name] = load_challenge(folder)
    return found


def _challenge_without_manifest(submission: Path, named: str | None, ground_truth: Path | None) -> AnyChallenge:
    known = challenges_at_hand(ground_truth)
    choices = ", ".join(sorted(known))
    if named is None:
        names = submission_names(submission)
        fitting = [name for name, each in known.items() if each.format.recognises(names)]
        if len(fitting) != 1:
            raise UsageError(f"Name the challenge with --challenge ({choices}), or give its case list with --cases.")
        named = fitting[0]
    if named not in known:
        raise UsageError(f"There is no challenge '{named}'; there is: {choices}.")
    return known[named]
