"""`podium leaderboard`: the settings of a phase's leaderboard."""

import argparse
import json

from podium.cli.arguments import BAKED_GROUND_TRUTH, Verbs, add_ground_truth, add_verb, chosen_challenge


def add_verbs(verbs: Verbs) -> None:
    parser = add_verb(verbs, "leaderboard", _leaderboard, "print the phase settings to paste into Grand Challenge")
    parser.add_argument("challenge", nargs="?", metavar="CHALLENGE", help="one challenge [all]")
    add_ground_truth(parser)


def _leaderboard(options: argparse.Namespace) -> int:
    from podium.challenges import KINDS, phase_columns
    from podium.challenges.format import locate_ground_truth, read_challenge_folders
    from podium.evaluation import choose_challenge
    from podium.platform.privacy import phase_settings

    root = locate_ground_truth(options.ground_truth, beside=BAKED_GROUND_TRUTH)
    name = chosen_challenge(options)
    folders = read_challenge_folders(root, known=KINDS, named=name)
    chosen = [choose_challenge(folders, named=name)] if name else list(folders.values())
    settings = {folder.name: phase_settings(phase_columns(folder)) for folder in chosen}
    print(json.dumps(settings[name] if name else settings, indent=2))
    return 0
