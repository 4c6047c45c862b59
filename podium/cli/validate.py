"""`podium validate`: a participant's own check before submitting."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from podium.cli.arguments import (
    BAKED_GROUND_TRUTH,
    CHALLENGE_VARIABLE,
    Verbs,
    add_ground_truth,
    add_verb,
    add_workers,
    chosen_challenge,
    chosen_executor,
    end,
)

if TYPE_CHECKING:
    from podium.validation import ValidationReport


def add_verbs(verbs: Verbs) -> None:
    parser = add_verb(verbs, "validate", _validate, "check a submission before sending it, without ground truth")
    parser.add_argument("submission", type=Path, metavar="SUBMISSION", help="a folder or one archive")
    parser.add_argument("--cases", type=Path, metavar="FILE", help="the challenge's case list (from its organisers)")
    parser.add_argument(
        "--challenge",
        metavar="NAME",
        help=f"the challenge, without --cases [${CHALLENGE_VARIABLE}, else recognised from the submission]",
    )
    add_ground_truth(parser)
    add_workers(parser)


def _validate(options: argparse.Namespace) -> int:
    from podium.challenges.format import locate_ground_truth
    from podium.manifest import read_manifest
    from podium.validation import validate

    report = validate(
        options.submission,
        manifest=read_manifest(options.cases) if options.cases else None,
        challenge=chosen_challenge(options),
        executor=chosen_executor(options),
        ground_truth=locate_ground_truth(options.ground_truth, beside=BAKED_GROUND_TRUTH),
    )
    _print_report(report)
    if report.problems:
        count = len(report.problems)
        found = "1 problem; fix it" if count == 1 else f"{count} problems; fix them"
        return end(f"Found {found} before you submit.", 1)
    return end("The submission is ready.")


def _print_report(report: "ValidationReport") -> None:
    """What a participant has to fix, if anything, as a table."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    for warning in report.warnings:
        console.print(Text(f"Warning: {warning}"))
    if not report.problems:
        console.print(f"{report.cases} predictions for '{report.challenge}' are fine.")
        return
    table = Table(title=f"Problems of this '{report.challenge}' submission", title_justify="left")
    table.add_column("where", overflow="fold")
    table.add_column("what", overflow="fold")
    for problem in report.problems:
        table.add_row(Text(problem.where), Text(problem.what))  # a name such as '[/b]' is no markup
    console.print(table)
