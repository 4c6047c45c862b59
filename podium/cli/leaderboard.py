"""`podium leaderboard`: the settings of a phase's leaderboard."""

import argparse
import json

from podium.cli.arguments import Verbs, add_verb, chosen_challenge
from podium.errors import UsageError


def add_verbs(verbs: Verbs) -> None:
    parser = add_verb(verbs, "leaderboard", _leaderboard, "print the phase settings to paste into Grand Challenge")
    parser.add_argument("challenge", nargs="?", metavar="CHALLENGE", help="one challenge [all]")


def _leaderboard(options: argparse.Namespace) -> int:
    from podium.challenges import CHALLENGES
    from podium.platform.leaderboard import phase_settings

    name = chosen_challenge(options)
    if name is not None and name not in CHALLENGES:
        raise UsageError(f"There is no challenge '{name}'; there is: {', '.join(sorted(CHALLENGES))}.")
    chosen = [name] if name else sorted(CHALLENGES)
    settings = {each: phase_settings(CHALLENGES[each].columns()) for each in chosen}
    print(json.dumps(settings[name] if name else settings, indent=2))
    return 0
