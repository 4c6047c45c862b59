"""`podium simulate`: an algorithm and simulated scribbles."""

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from podium.cli.arguments import Verbs, add_images_and_references, add_scheduler, add_verb, dask_executor
from podium.errors import UsageError, require
from podium.execution.executor import show_progress

if TYPE_CHECKING:
    from podium.challenges.lesions.simulation.case_run import StepOutcome

_TEAM = re.compile(r"([A-Za-z0-9][A-Za-z0-9_.-]*)=([a-z]+:.*)", re.ASCII | re.DOTALL)
_STRATEGIES = ("auto", "centerline", "random", "boundary")


def add_verbs(verbs: Verbs) -> None:
    summary = "drive an algorithm with simulated scribbles and keep its predictions"
    simulate = add_verb(verbs, "simulate", _simulate, summary)
    simulate.add_argument(
        "--algorithm",
        required=True,
        action="append",
        metavar="[TEAM=]SPEC",
        help="docker:IMAGE, command:PROGRAM ARGS (with {input} and {output}) or python:MODULE:FUNCTION; several with "
        "their teams: --algorithm one=SPEC --algorithm two=SPEC",
    )
    add_images_and_references(simulate)
    simulate.add_argument(
        "--output",
        type=Path,
        required=True,
        metavar="DIR",
        help="where to write <case>/iter_<k>.mha, below <team>/ with several; a run that was stopped continues",
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
    add_scheduler(simulate)
    simulate.add_argument(
        "--resources",
        action="append",
        type=_resource,
        default=[],
        metavar="NAME=NUMBER",
        help="what each case needs of its Dask worker, such as GPU=1",
    )


def _simulate(options: argparse.Namespace) -> int:
    require("skimage", "networkx", "matplotlib", extra="simulate")
    from podium.challenges.lesions.simulation.case_run import Plan
    from podium.challenges.lesions.simulation.images import find_cases
    from podium.challenges.lesions.simulation.simulation import simulate, simulate_on

    if options.steps < 1 or not options.step_timeout > 0:
        raise UsageError("--steps and --step-timeout must be positive.")
    cases = find_cases(options.images.resolve(), options.references.resolve())
    plans = {
        team: Plan(
            spec=spec,
            output=options.output.resolve() / team,
            steps=options.steps,
            strategy=None if options.strategy == "auto" else options.strategy,
            timeout_seconds=options.step_timeout,
        )
        for team, spec in _algorithms(options.algorithm).items()
    }
    so_far: list[str] = []

    def show(outcome: "StepOutcome") -> None:
        if outcome.step == 0:
            so_far.clear()
        so_far.append("-" if outcome.dice is None else f"{outcome.dice:.3f}")
        problem = f"  {outcome.error}" if outcome.error else "  (from an earlier run)" if outcome.resumed else ""
        line = f"{outcome.case}  step {outcome.step + 1} of {options.steps}  Dice {' '.join(so_far)}{problem}"
        print(line, file=sys.stderr, flush=True)

    found: Sequence[Sequence[StepOutcome]]
    broken: Mapping[str, str] = {}
    if options.scheduler is None:
        if options.resources:
            raise UsageError("--resources are those of Dask workers: they need --scheduler.")
        found = simulate(cases, list(plans.values()), show)
    else:
        # A case has its steps' limits; this one is for what none of them ends. A server is started within one of them.
        limit = (options.steps + 1) * (2 * options.step_timeout + 600)
        executor = dask_executor(options, case_timeout_seconds=limit, resources=dict(options.resources))
        found, broken = simulate_on(executor(show_progress), cases, list(plans.values()), show)
    for team, outcomes in zip(plans, found, strict=True):
        if team:
            print(f"Team {team}")
        _print_curve(outcomes, options.steps)
    for name, error in broken.items():
        print(f"{name}: {error}", file=sys.stderr)
    failed = sum(outcome.status == "failed" for outcomes in found for outcome in outcomes)
    lost = f", {failed} steps failed" if failed else ""
    lost += f", {len(broken)} cases came to nothing" if broken else ""
    of_teams = f" for each of {len(plans)} teams" if len(plans) > 1 else ""
    print(f"Simulated {len(cases)} cases of {options.steps} steps{of_teams}{lost}: {options.output}", file=sys.stderr)
    return 1 if broken else 0


def _algorithms(given: Sequence[str]) -> Mapping[str, str]:
    """The algorithms by team; the only one may be without."""
    found: dict[str, str] = {}
    for text in given:
        match = _TEAM.fullmatch(text)
        team, spec = (match[1], match[2]) if match else ("", text)
        if team in found or (not team and len(given) > 1):
            raise UsageError("Several algorithms need the names of their teams, each once: --algorithm TEAM=SPEC.")
        found[team] = spec
    return found


def _resource(text: str) -> tuple[str, float]:
    name, _, number = text.partition("=")
    if not name or not float(number) > 0:
        raise argparse.ArgumentTypeError(f"{text} is not of the form GPU=1")
    return name, float(number)


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
