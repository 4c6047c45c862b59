"""`podium bundle`: what another platform makes a competition of."""

import argparse
from datetime import UTC, date, datetime
from pathlib import Path

from podium import __version__
from podium.cli.arguments import BAKED_GROUND_TRUTH, Verbs, add_ground_truth, add_group, add_verb, end


def add_verbs(verbs: Verbs) -> None:
    platforms = add_group(verbs, "bundle", "write what another platform makes a competition of")
    parser = add_verb(platforms, "codabench", _codabench, "write a competition bundle for Codabench")
    parser.add_argument("challenge", metavar="NAME", help="the challenge")
    parser.add_argument(
        "--output", type=Path, metavar="PATH", help="an archive, if it ends with .zip, or a folder [NAME-codabench.zip]"
    )
    parser.add_argument(
        "--image",
        metavar="IMAGE",
        help=f"the image, as Codabench's worker can pull it [podium-codabench-NAME:{__version__}]",
    )
    parser.add_argument(
        "--start", type=date.fromisoformat, metavar="DATE", help="the first day of the phase, as 2026-12-31 [today]"
    )
    add_ground_truth(parser)


def _codabench(options: argparse.Namespace) -> int:
    from podium.adapters.codabench_bundle import BundlePlan, write_bundle
    from podium.challenges import KINDS
    from podium.challenges.format import locate_ground_truth, read_challenge_folders
    from podium.evaluation import choose_challenge

    name = options.challenge
    root = locate_ground_truth(options.ground_truth, beside=BAKED_GROUND_TRUTH)
    folder = choose_challenge(read_challenge_folders(root, known=KINDS, named=name), named=name)
    plan = BundlePlan(
        image=options.image or f"podium-codabench-{name}:{__version__}",
        start=options.start or datetime.now(UTC).date(),
    )
    output = options.output or Path(f"{name}-codabench.zip")
    files = write_bundle(folder, plan, output)
    return end(f"Wrote {files} files to {output}; it holds the references, so it must not be published.")
