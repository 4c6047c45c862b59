"""`podium manifest`: the public case list."""

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


def add_verbs(verbs: Verbs) -> None:
    parser = add_verb(verbs, "manifest", _manifest, "write the public case list that participants validate against")
    parser.add_argument(
        "--output", type=Path, default=Path("cases.json"), metavar="FILE", help="the file to write [cases.json]"
    )
    add_ground_truth(parser)
    add_challenge(parser)
    add_workers(parser)
    add_case_timeout(parser)


def _manifest(options: argparse.Namespace) -> int:
    from podium.challenges import KINDS, load_challenge
    from podium.challenges.format import locate_ground_truth, read_challenge_folders
    from podium.evaluation import choose_challenge, prepare
    from podium.manifest import make_manifest, write_manifest

    root = locate_ground_truth(options.ground_truth, beside=BAKED_GROUND_TRUTH)
    folders = read_challenge_folders(root, known=KINDS, named=chosen_challenge(options))
    folder = choose_challenge(folders, named=chosen_challenge(options))
    task = prepare(folder, load_challenge(folder), chosen_executor(options))
    write_manifest(make_manifest(task), options.output)
    return end(f"Wrote {len(task.cases)} cases to {options.output}; it holds no reference value and may be published.")
