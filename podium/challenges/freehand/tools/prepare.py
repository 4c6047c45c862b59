"""Compute the identity errors of a ground truth once, and store them with it."""

from pathlib import Path

from podium.challenges.freehand.challenge import Freehand
from podium.challenges.freehand.identity import IdentityErrors, compute_identity, write_identity
from podium.challenges.freehand.reference import find_freehand_references, read_truth
from podium.challenges.ground_truth import ChallengeFolder
from podium.errors import GroundTruthError
from podium.evaluation import Options, load_challenge
from podium.execution.processes import run_cases
from podium.execution.progress import show_progress


def freehand_challenge(folder: ChallengeFolder) -> Freehand:
    """The freehand challenge of a ground truth; refused when it is another one's."""
    challenge = load_challenge(folder)
    if not isinstance(challenge, Freehand):
        raise GroundTruthError(f"The ground truth is of the challenge '{challenge.name}', not of 'freehand'.")
    return challenge


def prepare_identity(folder: ChallengeFolder, options: Options) -> Path:
    """Write `identity_errors.json` into the references; where it lies."""
    challenge = freehand_challenge(folder)
    references = find_freehand_references(folder.references)
    challenge.share_cores(workers=options.workers, cases=len(references))

    def work(case: str) -> IdentityErrors:
        truth = read_truth(references[case], challenge.grid)
        return compute_identity(truth, challenge.grid, threads=challenge.threads)

    cases = sorted(references)
    outcomes = run_cases(
        cases,
        work,
        workers=options.workers,
        timeout_seconds=options.case_timeout_seconds,
        progress=show_progress("computing identity errors", len(cases)),
    )
    found = {case: outcome.value for case, outcome in outcomes.items() if outcome.value is not None}
    broken = [f"reference of {case}: {outcome.error}" for case, outcome in outcomes.items() if outcome.value is None]
    if broken:
        raise GroundTruthError(
            f"{len(broken)} of {len(cases)} references are broken; the details are in the log.",
            detail="\n".join(broken),
        )
    return write_identity(folder.references, found)
