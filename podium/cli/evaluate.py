"""`podium evaluate`: what the container runs."""

import argparse

from podium.cli.arguments import (
    Verbs,
    add_case_timeout,
    add_challenge,
    add_ground_truth,
    add_time_limit,
    add_verb,
    add_workers,
    end,
)
from podium.cli.log import end_log
from podium.cli.platforms import add_platforms, evaluate_on, evaluate_on_orca, paths


def add_verbs(verbs: Verbs) -> None:
    add_options(add_verb(verbs, "evaluate", evaluate_submission, "score a submission and write metrics.json"))


def add_options(parser: argparse.ArgumentParser) -> None:
    add_ground_truth(parser)
    add_challenge(parser)
    add_workers(parser)
    add_case_timeout(parser)
    add_time_limit(parser)
    parser.add_argument(
        "--isolation",
        choices=("best", "full"),
        default="best",
        help="full: refuse to run where the system lacks a layer around the readers of submitted files [%(default)s]",
    )
    add_platforms(parser)


def evaluate_submission(options: argparse.Namespace) -> int:
    given = paths(options)
    if options.platform == "orca":
        return evaluate_on_orca(options, given)
    counts = evaluate_on(options.platform, options, given).counts
    numbers = (("failed", counts.failed), ("missing", counts.missing), ("unmatched", counts.unmatched))
    lost = [f"{number} {status}" for status, number in numbers if number]
    summary = f"Scored {counts.scored} of {counts.expected} cases{' (' + ', '.join(lost) + ')' if lost else ''}."
    end_log(summary)  # the platform shows the two streams separately
    return end(summary)
