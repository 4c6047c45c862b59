"""Driving algorithms with simulated scribbles, all cases of each: here, or on an executor; and the log of that."""

from collections.abc import Callable, Mapping, Sequence

from podium.challenges.lesions.simulation.algorithm import Algorithm
from podium.challenges.lesions.simulation.algorithms import find_algorithm
from podium.challenges.lesions.simulation.case_run import CaseRun, Plan, StepListener, StepOutcome
from podium.challenges.lesions.simulation.images import ImageCase
from podium.execution.executor import Executor
from podium.sandbox.decoders import decoders, ensure_decoders

LOG_FILE = "simulation.log"
_LIBRARIES = ("SimpleITK",)


def simulate(cases: Sequence[ImageCase], plans: Sequence[Plan], report: StepListener) -> Sequence[list[StepOutcome]]:
    """All steps of all cases, for each algorithm; `report` is told of each, those of an earlier run included."""
    algorithms = [find_algorithm(plan.spec) for plan in plans]

    def outcomes(plan: Plan, algorithm: Algorithm) -> list[StepOutcome]:
        def run(tell: StepListener) -> None:
            for case in cases:
                CaseRun(case, plan, algorithm).run(tell)

        return _logged(plan, run, report)

    with decoders(libraries=_LIBRARIES, logged=False):
        return [outcomes(plan, algorithm) for plan, algorithm in zip(plans, algorithms, strict=True)]


def simulate_on(
    executor: Executor, cases: Sequence[ImageCase], plans: Sequence[Plan], report: StepListener
) -> tuple[Sequence[list[StepOutcome]], Mapping[str, str]]:
    """The same for several algorithms, one task per algorithm and case: all steps of each, and for tasks that came to
    nothing, by `<folder>/<case>`, why.

    Algorithms are looked for where they run: images are those of the workers.
    """
    tasks = {f"{plan.output.name}/{case.name}": (plan, case) for plan in plans for case in cases}
    for plan in plans:
        plan.output.mkdir(parents=True, exist_ok=True)

    def work(name: str) -> list[StepOutcome]:
        ensure_decoders(*_LIBRARIES)  # on another machine there are none yet
        plan, case = tasks[name]
        outcomes: list[StepOutcome] = []
        CaseRun(case, plan, find_algorithm(plan.spec)).run(outcomes.append)
        return outcomes

    found = executor.run(list(tasks), work, label="simulating")

    def told(plan: Plan) -> list[StepOutcome]:
        def run(tell: StepListener) -> None:
            for name, (other, _) in tasks.items():
                for outcome in found[name].value or () if other is plan else ():
                    tell(outcome)

        return _logged(plan, run, report)

    failed = {name: outcome.error for name, outcome in found.items() if outcome.error is not None}
    return [told(plan) for plan in plans], failed


def _logged(plan: Plan, run: Callable[[StepListener], None], report: StepListener) -> list[StepOutcome]:
    """What `run` tells, also written to the log."""
    plan.output.mkdir(parents=True, exist_ok=True)
    outcomes: list[StepOutcome] = []
    with (plan.output / LOG_FILE).open("a", encoding="utf-8") as log:

        def tell(outcome: StepOutcome) -> None:
            outcomes.append(outcome)
            if not outcome.resumed:
                figure = "-" if outcome.dice is None else f"{outcome.dice:.4f}"
                line = f"{outcome.case} step {outcome.step} {outcome.status} {outcome.seconds:.1f}s dice {figure}"
                print(line, outcome.error or "", file=log, flush=True)
            report(outcome)

        run(tell)
    return outcomes
