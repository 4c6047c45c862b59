"""Commands that run many submissions or algorithms, and tools of challenges: batch, simulate, scribbles, freehand."""

import argparse
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

from podium.cli.arguments import (
    GROUND_TRUTH,
    CaseOptions,
    ChallengeOptions,
    Count,
    GroundTruthOptions,
    ImageOptions,
    PositiveInt,
    SchedulerOptions,
    WorkerOptions,
    argument,
    choice,
    dask_executor,
    flag,
    option,
)
from podium.cli.output import cell, console, end, table
from podium.cli.rank import rank_cohorts
from podium.errors import UsageError
from podium.execution.executor import ProgressFactory, show_progress
from podium.execution.processes import Processes
from podium.packages import require

if TYPE_CHECKING:
    from podium.execution.executor import Executor
    from podium.tools.batch.storage import Location, Output
    from podium.tools.simulation.run import StepOutcome

_RANKING = "ranking"
_TEAM = re.compile(r"([A-Za-z0-9][A-Za-z0-9_.-]*)=([a-z]+:.*)", re.ASCII | re.DOTALL)


def location(text: str) -> "Location":
    """A path or a URL such as s3://bucket/folder."""
    from podium.tools.batch.storage import location as location_of

    return location_of(text)


@dataclass(kw_only=True)
class BatchOptions(ChallengeOptions, CaseOptions, SchedulerOptions):
    example: ClassVar = "submissions/ --ground-truth ground-truth/carotid --output rescored"

    submissions: Any = argument("SUBMISSIONS", "a folder or one archive per team", type=location)
    output: Any = option(
        "DIR",
        "where to write teams/<team>/metrics.json, the same with all rows in organiser/, and ranking/; scores are kept "
        "there for the next run",
        type=location,
    )
    ground_truth: Any = option("DIR", GROUND_TRUTH, None, type=location)
    teams_per_task: PositiveInt = option(
        "N", "how many teams share one reading of a reference, and are unpacked at the same time", 8
    )
    cache: Path | None = option(
        "DIR", "for copies of what is given as a URL such as s3://bucket/folder [podium in the user's cache folder]"
    )
    allow_missing: bool = flag("write a ranking even if teams without scores are missing from it")
    bootstraps: Count | None = option(
        "N", "number of bootstrap replicates of the ranking, 0 for none [1,000; more below 50 cases]"
    )


def batch(options: BatchOptions) -> int:
    from podium.tools.batch.storage import DEFAULT_CACHE, Output

    cache: Path = options.cache or DEFAULT_CACHE
    executor = _executor(options)
    output = Output.at(options.output, cache=cache.resolve())
    with output.locked():
        return _score_and_rank(options, executor, output, cache)


def _score_and_rank(
    options: BatchOptions, executor: "Callable[[ProgressFactory], Executor]", output: "Output", cache: Path
) -> int:
    from podium.platform.metrics_file import Status
    from podium.tools.batch.run import ORGANISER_FOLDER, run_batch
    from podium.tools.batch.storage import Url
    from podium.tools.ranking.documents import read_cohorts
    from podium.tools.ranking.schemes import RankingOptions

    outcomes = run_batch(
        submissions=options.submissions,
        output=options.output,
        ground_truth=options.ground_truth if isinstance(options.ground_truth, Url) else options.ground_truth_folder,
        challenge=options.challenge,
        executor=executor,
        progress=show_progress,
        teams_per_task=options.teams_per_task,
        cache=cache,
    )
    states = get_args(Status)
    made = table("Submissions", "Team", *map(str.title, states), "New", "Problem", texts=["Team", "Problem"])
    for each in outcomes:
        counts = each.counts
        cells = ["-" if counts is None else str(getattr(counts, state)) for state in states]
        made.add_row(cell(each.team), *cells, str(each.new), f"[red]{cell(each.error or '')}[/red]")
    console().print(made)
    written = [output.folder / ORGANISER_FOLDER / each.team for each in outcomes if each.counts is not None]
    if written:
        wanted = RankingOptions(bootstraps=options.bootstraps, progress=show_progress)
        try:
            if len(written) < len(outcomes) and not options.allow_missing:
                raise UsageError("teams without scores would be missing; --allow-missing writes it without them.")
            rank_cohorts(read_cohorts(written), output.folder / _RANKING, wanted)
            print(f"{ORGANISER_FOLDER}/ and {_RANKING}/ show single cases whatever per_case says: keep them private.")
            output.send(_RANKING)
            if output.url is not None:
                print(f"Sent to {output.url / _RANKING}.")
        except UsageError as error:  # as where reports have not been judged yet: the scores are written all the same
            output.delete(_RANKING)
            print(f"There is no ranking: {error}")
    failed = [each.team for each in outcomes if each.error is not None]
    cases = sum(each.new for each in outcomes)
    done = f"{len(outcomes) - len(failed)} of {len(outcomes)} teams have scores; {cases} cases were scored in this run."
    return end(done, 1 if failed else 0)


def _executor(options: BatchOptions) -> "Callable[[ProgressFactory], Executor]":
    if options.scheduler is None:
        return lambda progress: Processes(
            workers=options.workers, case_timeout_seconds=options.case_timeout, progress=progress
        )
    return dask_executor(options.scheduler, case_timeout_seconds=options.case_timeout)


# `podium simulate`: an algorithm and simulated scribbles.


def _resource(text: str) -> tuple[str, float]:
    name, _, number = text.partition("=")
    if not name or not float(number) > 0:
        raise argparse.ArgumentTypeError(f"{text} is not of the form GPU=1")
    return name, float(number)


@dataclass(kw_only=True)
class SimulateOptions(ImageOptions, SchedulerOptions):
    example: ClassVar = "--algorithm docker:my-algorithm --images images --references references --output simulation"

    algorithm: Sequence[str] = option(
        "SPEC",
        "docker:IMAGE, command:PROGRAM ARGS (with {input}, {output}, {cache}) or python:MODULE:FUNCTION; for several "
        "teams, repeat it as TEAM=SPEC",
    )
    output: Path = option(
        "DIR", "where to write <case>/iter_<k>.mha, with several teams below <team>/; a run that was stopped continues"
    )
    strategy: Literal["auto", "centerline", "random", "boundary"] = choice(
        "auto: each strategy for a third of the cases", "auto"
    )
    steps: int | None = option(
        "N", "predictions per case, the first without scribbles [6, or as many as were recorded]"
    )
    replay: Path | None = option("DIR", "recorded scribbles, <case>/iter_<k>_scribbles.json, instead of simulated ones")
    step_timeout: float = option("SECONDS", "a step that takes longer fails [1200]", 1200.0)
    resources: Sequence[tuple[str, float]] = option(
        "NAME=NUMBER", "what each case needs of its Dask worker, such as GPU=1", (), type=_resource
    )


def simulate(options: SimulateOptions) -> int:
    require("skimage", "networkx", "matplotlib", extra="score,simulate")
    from podium.tools.simulation.run import Plan, find_cases, recorded_scribbles, simulate_on
    from podium.tools.simulation.run import simulate as simulate_here

    if options.replay is not None and (options.steps is not None or options.strategy != "auto"):
        raise UsageError("With --replay the recorded scribbles decide: leave out --steps and --strategy.")
    if (options.steps is not None and options.steps < 1) or not options.step_timeout > 0:
        raise UsageError("--steps and --step-timeout must be positive.")
    cases = find_cases(options.images.resolve(), options.references.resolve())
    replay = {case.name: recorded_scribbles(options.replay, case.name) for case in cases} if options.replay else None
    steps = max(map(len, replay.values())) if replay else options.steps or 6
    plans = {
        team: Plan(
            spec=spec,
            output=options.output.resolve() / team,
            steps=steps,
            replay=replay,
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
        count = len(replay[outcome.case]) if replay else steps
        line = f"{outcome.case}  step {outcome.step + 1} of {count}  Dice {' '.join(so_far)}{problem}"
        print(line, file=sys.stderr, flush=True)

    found: Sequence[Sequence[StepOutcome]]
    broken: Mapping[str, str] = {}
    if options.scheduler is None:
        if options.resources:
            raise UsageError("--resources are those of Dask workers: they need --scheduler.")
        found = simulate_here(cases, list(plans.values()), show)
    else:
        # Every step has its own limit; this one is for what they do not end. A server is started within one of them.
        limit = (steps + 1) * (2 * options.step_timeout + 600)
        executor = dask_executor(options.scheduler, case_timeout_seconds=limit, resources=options.resources)
        found, broken = simulate_on(executor(show_progress), cases, list(plans.values()), show)
    for team, outcomes in zip(plans, found, strict=True):
        if team:
            print(f"Team {team}")
        _print_curve(outcomes, steps)
    for name, error in broken.items():
        print(f"{name}: {error}", file=sys.stderr)
    failed = sum(outcome.status == "failed" for outcomes in found for outcome in outcomes)
    problems = f", {failed} steps failed" if failed else ""
    problems += f", {len(broken)} cases produced no result" if broken else ""
    of_teams = f" for each of {len(plans)} teams" if len(plans) > 1 else ""
    up_to = "up to " if replay else ""
    print(
        f"Simulated {len(cases)} cases of {up_to}{steps} steps{of_teams}{problems}: {options.output}", file=sys.stderr
    )
    return 1 if broken else 0


def _algorithms(given: Sequence[str]) -> Mapping[str, str]:
    """The algorithms by team; a single one needs no team."""
    found: dict[str, str] = {}
    for text in given:
        match = _TEAM.fullmatch(text)
        team, spec = (match[1], match[2]) if match else ("", text)
        if team in found or (not team and len(given) > 1):
            raise UsageError("Several algorithms need the names of their teams, each once: --algorithm TEAM=SPEC.")
        found[team] = spec
    return found


def _print_curve(outcomes: Sequence["StepOutcome"], steps: int) -> None:
    """Mean Dice at every step; a failed step counts 0, a case without lesions has none."""
    without_lesions = {outcome.case for outcome in outcomes if outcome.dice is None and outcome.status != "failed"}
    made = table("", "Step", "Mean Dice", "", texts=[""])
    for step in range(steps):
        values = [
            outcome.dice or 0.0 for outcome in outcomes if outcome.step == step and outcome.case not in without_lesions
        ]
        mean = sum(values) / len(values) if values else 0.0
        made.add_row(str(step), f"{mean:.4f}", "#" * round(50 * mean))
    console().print(made)


# `podium scribbles show`: one step of a simulation as a picture.


@dataclass(kw_only=True)
class ScribblesOptions(ImageOptions):
    action: Literal["show"] = argument("", "show: draw one step as PNG")
    case: str = argument("CASE", "the case's name")
    simulation: Path = option("DIR", "what 'podium simulate' wrote")
    step: int = option("K", "which step", 1)
    output: Path | None = option("FILE", "the PNG to write [CASE_step_K.png]")


def scribbles(options: ScribblesOptions) -> int:
    require("skimage", "networkx", "matplotlib", extra="score,simulate")
    from podium.sandbox.client import decoders
    from podium.tools.simulation.run import draw_step, find_cases, read_step

    cases = {case.name: case for case in find_cases(options.images, options.references)}
    if options.case not in cases:
        raise UsageError(f"There is no case '{options.case}'; there is: {', '.join(cases)}.")
    path = options.output or Path(f"{options.case}_step_{options.step}.png")
    with decoders(libraries=["SimpleITK"], logged=False):
        step = read_step(cases[options.case], options.simulation, options.step)
    draw_step(step, path)
    print(f"Drew {path}.", file=sys.stderr)
    return 0


# The `podium freehand` commands: pack (participants) and plot (organisers and participants).


@dataclass(kw_only=True)
class PackOptions(WorkerOptions):
    scans: Sequence[Path] = argument("SCAN", "a folder with GP.npy, GL.npy, LP.npy, LL.npy, or an .npz file")
    output: Path | None = option("DIR", "where to write <scan>.h5 [beside the scan]")


def freehand_pack(options: PackOptions) -> int:
    """Pack scans; print one line per scan and a summary."""
    from podium.tools.freehand import pack_scan

    done = []
    for scan in options.scans:
        if not scan.exists():
            raise UsageError(f"{scan} does not exist.")
        packed = pack_scan(scan, output=options.output, threads=options.workers)
        done.append(packed)
        print(f"{packed.path}: {_change(packed.bytes_before, packed.bytes_after)}", flush=True)
    before, after = sum(each.bytes_before for each in done), sum(each.bytes_after for each in done)
    scans = "1 scan" if len(done) == 1 else f"{len(done)} scans"
    return end(f"Packed {scans}, checked and complete: {_change(before, after)}.")


@dataclass(kw_only=True)
class PlotOptions(GroundTruthOptions, WorkerOptions):
    scan: str = argument("SCAN", "the case, such as sub050__LH_Par_L_DtP")
    input: Path | None = option("DIR", "the submission [draw only the reference]")
    output: Path | None = option("FILE", "the picture to write [SCAN.png]")


def freehand_plot(options: PlotOptions) -> int:
    """Draw a scan's trajectories and errors."""
    from podium.challenges import load_challenge
    from podium.challenges.freehand.challenge import FreehandChallenge
    from podium.challenges.ground_truth import only_of_kind, read_challenge_folders
    from podium.platform.submission import open_submission
    from podium.sandbox.client import decoders
    from podium.tools.freehand import draw_trajectory, scan_trajectory

    folder = only_of_kind(read_challenge_folders(options.ground_truth_folder), "freehand")
    files = load_challenge(folder)
    assert isinstance(files, FreehandChallenge), "the kind of the challenge says so"
    references = files.find_references(folder.references)
    if options.scan not in references:
        raise UsageError(f"There is no scan '{options.scan}'; there is: {', '.join(sorted(references)[:10])}.")
    path = options.output or Path(f"{options.scan}.png")
    trace = partial(scan_trajectory, grid=files.grid, threads=options.workers)
    if options.input is None:
        scan = files.read_reference(references[options.scan])
        drawn = draw_trajectory(trace(scan, None), title=options.scan)
    else:
        with decoders(libraries=["h5py"], logged=False):
            limit = files.submission_bytes([files.shapes(files.read_reference(each)) for each in references.values()])
            scan = files.read_reference(references[options.scan])
            with open_submission(options.input, max_bytes=limit, shape=folder.common.submission) as submission:
                collected = files.pair(submission, references.keys())
                if options.scan in collected.refused:
                    raise UsageError(collected.refused[options.scan])
                if options.scan not in collected.predictions:
                    raise UsageError(f"The submission holds nothing for the scan '{options.scan}'.")
                trajectory = trace(scan, collected.predictions[options.scan])
        drawn = draw_trajectory(trajectory, title=f"{options.scan}, {options.input.name}")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(drawn)
    return end(f"Drew {path}.")


def _change(before: int, after: int) -> str:
    ratio = f"{before / after:.1f} times smaller" if after < before else f"{after / before:.1f} times larger"
    return f"{before / 1e6:,.1f} MB became {after / 1e6:,.1f} MB, {ratio}"
