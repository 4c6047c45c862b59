"""The verbs of simulated interaction: `podium simulate` and `podium scribbles show`."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from podium.cli.arguments import Verbs, add_verb, require
from podium.errors import UsageError

if TYPE_CHECKING:
    from podium.challenges.lesions.simulation.simulation import StepOutcome

_STRATEGIES = ("auto", "centerline", "random", "boundary")


def add_verbs(verbs: Verbs) -> None:
    summary = "drive an algorithm with simulated scribbles and keep its predictions"
    simulate = add_verb(verbs, "simulate", _simulate, summary)
    simulate.add_argument(
        "--algorithm",
        required=True,
        metavar="SPEC",
        help="docker:IMAGE, command:PROGRAM ARGS (with {input} and {output}) or python:MODULE:FUNCTION",
    )
    _add_folders(simulate)
    simulate.add_argument(
        "--output", type=Path, required=True, metavar="DIR", help="where <case>/iter_<k>.mha go; a stopped run goes on"
    )
    simulate.add_argument(
        "--strategy", choices=_STRATEGIES, default="auto", help="auto deals a third of the cases to each [auto]"
    )
    simulate.add_argument(
        "--steps", type=int, default=6, metavar="N", help="predictions a case, the one without scribbles included [6]"
    )
    simulate.add_argument(
        "--step-timeout", type=float, default=600.0, metavar="SECONDS", help="a step that takes longer is failed [600]"
    )

    scribbles = add_verb(verbs, "scribbles", _scribbles, "look at the scribbles of a simulation")
    scribbles.add_argument("action", choices=["show"], help="show: draw one step as PNG")
    scribbles.add_argument("case", metavar="CASE", help="the case's name")
    scribbles.add_argument("--simulation", type=Path, required=True, metavar="DIR", help="what 'podium simulate' wrote")
    _add_folders(scribbles)
    scribbles.add_argument("--step", type=int, default=1, metavar="K", help="which step [1]")
    scribbles.add_argument("--output", type=Path, metavar="FILE", help="the PNG to write [CASE_step_K.png]")


def _add_folders(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--images",
        type=Path,
        required=True,
        metavar="DIR",
        help="<case>_0000 (CT) and <case>_0001 (PET), .nii.gz or .mha",
    )
    parser.add_argument("--references", type=Path, required=True, metavar="DIR", help="<case>.nii.gz or <case>.mha")


def _simulate(options: argparse.Namespace) -> int:
    require("skimage", "networkx", "matplotlib", extra="simulate")
    from podium.challenges.lesions.simulation.algorithms import find_algorithm
    from podium.challenges.lesions.simulation.images import find_cases
    from podium.challenges.lesions.simulation.simulation import Plan, simulate

    if options.steps < 1 or not options.step_timeout > 0:
        raise UsageError("--steps and --step-timeout must be positive.")
    cases = find_cases(options.images, options.references)
    plan = Plan(
        spec=options.algorithm,
        algorithm=find_algorithm(options.algorithm),
        output=options.output,
        steps=options.steps,
        strategy=None if options.strategy == "auto" else options.strategy,
        timeout_seconds=options.step_timeout,
    )
    so_far: list[str] = []

    def show(outcome: "StepOutcome") -> None:
        if outcome.step == 0:
            so_far.clear()
        so_far.append("-" if outcome.dice is None else f"{outcome.dice:.3f}")
        problem = f"  {outcome.error}" if outcome.error else "  (from an earlier run)" if outcome.resumed else ""
        line = f"{outcome.case}  step {outcome.step + 1} of {options.steps}  Dice {' '.join(so_far)}{problem}"
        print(line, file=sys.stderr, flush=True)

    outcomes = simulate(cases, plan, show)
    _print_curve(outcomes, options.steps)
    failed = sum(outcome.status == "failed" for outcome in outcomes)
    lost = f", {failed} steps failed" if failed else ""
    print(f"Simulated {len(cases)} cases of {options.steps} steps{lost}: {options.output}", file=sys.stderr)
    return 0


def _print_curve(outcomes: Sequence["StepOutcome"], steps: int) -> None:
    """Mean Dice at every step; a failed step counts 0, a case without lesions has none."""
    without_lesions = {outcome.case for outcome in outcomes if outcome.dice is None and outcome.status != "failed"}
    print("step  mean Dice")
    for step in range(steps):
        values = [
            outcome.dice or 0.0 for outcome in outcomes if outcome.step == step and outcome.case not in without_lesions
        ]
        mean = sum(values) / len(values) if values else 0.0
        print(f"{step:4d}  {mean:.4f}  {'#' * round(50 * mean)}", flush=True)


def _scribbles(options: argparse.Namespace) -> int:
    require("skimage", "networkx", "matplotlib", extra="simulate")
    from podium.challenges.lesions.simulation.images import find_cases
    from podium.challenges.lesions.simulation.show import draw_step, read_step

    cases = {case.name: case for case in find_cases(options.images, options.references)}
    if options.case not in cases:
        raise UsageError(f"There is no case '{options.case}'; there is: {', '.join(cases)}.")
    path = options.output or Path(f"{options.case}_step_{options.step}.png")
    draw_step(read_step(cases[options.case], options.simulation, options.step), path)
    print(f"Drew {path}.", file=sys.stderr)
    return 0
