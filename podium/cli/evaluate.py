"""`podium evaluate`, `validate`, `manifest` and `leaderboard`: what the platform and its participants need."""

import argparse
import json
from pathlib import Path

from podium.cli.arguments import (
    BAKED_GROUND_TRUTH,
    Verbs,
    add_case_timeout,
    add_challenge,
    add_ground_truth,
    add_verb,
    add_workers,
    chosen_challenge,
    end,
)


def add_verbs(verbs: Verbs) -> None:
    evaluate = add_verb(verbs, "evaluate", _evaluate, "score a submission and write metrics.json")
    evaluate.add_argument("--input", type=Path, default=Path("/input"), metavar="DIR", help="the submission [/input]")
    evaluate.add_argument(
        "--output", type=Path, default=Path("/output"), metavar="DIR", help="where metrics.json goes [/output]"
    )
    add_ground_truth(evaluate)
    add_challenge(evaluate)
    add_workers(evaluate)
    add_case_timeout(evaluate)

    validate = add_verb(verbs, "validate", _validate, "check a submission before sending it, without ground truth")
    validate.add_argument("submission", type=Path, metavar="SUBMISSION", help="a folder or one archive")
    validate.add_argument("--cases", type=Path, metavar="FILE", help="the challenge's case list (from its organisers)")
    add_challenge(validate)
    add_workers(validate)

    manifest = add_verb(verbs, "manifest", _manifest, "write the public case list that participants validate against")
    manifest.add_argument(
        "--output", type=Path, default=Path("cases.json"), metavar="FILE", help="the file to write [cases.json]"
    )
    add_ground_truth(manifest)
    add_challenge(manifest)
    add_workers(manifest)
    add_case_timeout(manifest)

    leaderboard = add_verb(verbs, "leaderboard", _leaderboard, "print the phase settings to paste into Grand Challenge")
    leaderboard.add_argument("challenge", nargs="?", metavar="CHALLENGE", help="one challenge [all]")


def _evaluate(options: argparse.Namespace) -> int:
    from podium.challenges.ground_truth import locate_ground_truth
    from podium.evaluation import Options, evaluate

    found = evaluate(
        submission=options.input,
        output=options.output,
        ground_truth=locate_ground_truth(options.ground_truth, beside=BAKED_GROUND_TRUTH),
        challenge=chosen_challenge(options),
        options=Options(workers=options.workers, case_timeout_seconds=options.case_timeout),
    )
    counts = found.counts
    numbers = (("failed", counts.failed), ("missing", counts.missing), ("unmatched", counts.unmatched))
    lost = [f"{number} {status}" for status, number in numbers if number]
    summary = f"Scored {counts.scored} of {counts.expected} cases"
    return end(f"{summary}{' (' + ', '.join(lost) + ')' if lost else ''}.")


def _validate(options: argparse.Namespace) -> int:
    from rich.console import Console

    from podium.cli.tables import print_report
    from podium.manifest import read_manifest
    from podium.validation import validate

    report = validate(
        options.submission,
        manifest=read_manifest(options.cases) if options.cases else None,
        challenge=chosen_challenge(options),
        workers=options.workers,
    )
    print_report(report, Console())
    if report.problems:
        count = len(report.problems)
        found = "1 problem; mend it" if count == 1 else f"{count} problems; mend them"
        return end(f"Found {found} before you submit.", 1)
    return end("The submission is ready.")


def _manifest(options: argparse.Namespace) -> int:
    from podium.challenges import CHALLENGES
    from podium.challenges.ground_truth import locate_ground_truth, read_challenge_folders
    from podium.evaluation import Options, choose_challenge, prepare
    from podium.manifest import make_manifest, write_manifest

    root = locate_ground_truth(options.ground_truth, beside=BAKED_GROUND_TRUTH)
    folders = read_challenge_folders(root, known=CHALLENGES)
    folder = choose_challenge(folders, named=chosen_challenge(options), submission=None)
    task = prepare(folder, Options(workers=options.workers, case_timeout_seconds=options.case_timeout))
    write_manifest(make_manifest(task), options.output)
    return end(f"Wrote {len(task.cases)} cases to {options.output}; it holds no reference value and may be published.")


def _leaderboard(options: argparse.Namespace) -> int:
    from podium.challenges import CHALLENGES
    from podium.errors import UsageError
    from podium.platform.leaderboard import phase_settings

    name = chosen_challenge(options)
    if name is not None and name not in CHALLENGES:
        raise UsageError(f"There is no challenge '{name}'; there is: {', '.join(sorted(CHALLENGES))}.")
    chosen = [name] if name else sorted(CHALLENGES)
    settings = {each: phase_settings(CHALLENGES[each].columns()) for each in chosen}
    print(json.dumps(settings[name] if name else settings, indent=2))
    return 0
