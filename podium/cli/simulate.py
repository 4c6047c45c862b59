"""`podium simulate`: an algorithm and simulated scribbles."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from podium.cli.arguments import Verbs, add_images_and_references, add_verb
from podium.errors import UsageError
from podium.extras import require

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
    add_images_and_references(simulate)
    simulate.add_argument(
        "--output",
        type=Path,
        required=True,
        metavar="DIR",
        help="where to write <case>/iter_<k>.mha; a run that was stopped continues",
    )
    simulate.add_argument(
        "--strategy", choices=_STRATEGIES, default="auto", help="auto: each strategy for a third of the cases [auto]"
    )
    simulate.add_argument(
        "--steps",
        type=int,
        default=6,
        metavar="N",
        help="predictions per case, including the one without scribbles [6]",
    )
    simulate.add_argument(
        "--step-timeout", type=float, default=600.0, metavar="SECONDS", help="a step that takes longer is failed [600]"
    )


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
