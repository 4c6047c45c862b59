"""`podium scribbles show`: one step of a simulation as a picture."""

import argparse
import sys
from pathlib import Path

from podium.cli.arguments import Verbs, add_images_and_references, add_verb
from podium.errors import UsageError, require


def add_verbs(verbs: Verbs) -> None:
    parser = add_verb(verbs, "scribbles", _scribbles, "draw the scribbles of a simulation")
    parser.add_argument("action", choices=["show"], help="show: draw one step as PNG")
    parser.add_argument("case", metavar="CASE", help="the case's name")
    parser.add_argument("--simulation", type=Path, required=True, metavar="DIR", help="what 'podium simulate' wrote")
    add_images_and_references(parser)
    parser.add_argument("--step", type=int, default=1, metavar="K", help="which step [1]")
    parser.add_argument("--output", type=Path, metavar="FILE", help="the PNG to write [CASE_step_K.png]")


def _scribbles(options: argparse.Namespace) -> int:
    require("skimage", "networkx", "matplotlib", extra="simulate")
    from podium.challenges.lesions.simulation.images import find_cases
    from podium.challenges.lesions.simulation.show import draw_step, read_step
    from podium.sandbox.decoders import decoders

    cases = {case.name: case for case in find_cases(options.images, options.references)}
    if options.case not in cases:
        raise UsageError(f"There is no case '{options.case}'; there is: {', '.join(cases)}.")
    path = options.output or Path(f"{options.case}_step_{options.step}.png")
    with decoders(libraries=["SimpleITK"], logged=False):
        step = read_step(cases[options.case], options.simulation, options.step)
    draw_step(step, path)
    print(f"Drew {path}.", file=sys.stderr)
    return 0
