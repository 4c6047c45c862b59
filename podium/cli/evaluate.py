"""`podium evaluate`: what the container runs."""

import argparse
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
    chosen_executor,
    end,
)
from podium.cli.log import end_log


def add_verbs(verbs: Verbs) -> None:
    parser = add_verb(verbs, "evaluate", _evaluate, "score a submission and write metrics.json")
    parser.add_argument("--input", type=Path, default=Path("/input"), metavar="DIR", help="the submission [/input]")
    parser.add_argument(
        "--output", type=Path, default=Path("/output"), metavar="DIR", help="where to write metrics.json [/output]"
    )
    add_ground_truth(parser)
    add_challenge(parser)
    add_workers(parser)
    add_case_timeout(parser)
    parser.add_argument(
        "--isolation",
        choices=("best", "full"),
        default="best",
        help="full: refuse to run where the system lacks a layer around the readers of submitted files [%(default)s]",
    )


def _evaluate(options: argparse.Namespace) -> int:
    from podium.challenges.ground_truth import locate_ground_truth
    from podium.evaluation import evaluate

    found = evaluate(
        submission=options.input,
        output=options.output,
        ground_truth=locate_ground_truth(options.ground_truth, beside=BAKED_GROUND_TRUTH),
        challenge=chosen_challenge(options),
        executor=chosen_executor(options),
        isolation=options.isolation,
    )
    counts = found.counts
    numbers = (("failed", counts.failed), ("missing", counts.missing), ("unmatched", counts.unmatched))
    lost = [f"{number} {status}" for status, number in numbers if number]
    summary = f"Scored {counts.scored} of {counts.expected} cases{' (' + ', '.join(lost) + ')' if lost else ''}."
    end_log(summary)  # the platform shows the two streams separately
    return end(summary)
