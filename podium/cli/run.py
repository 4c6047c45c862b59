"""Commands that run many submissions or algorithms, and tools of challenges: batch, simulate, scribbles, freehand."""

import argparse
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from podium.cli.arguments import (
    Group,
    Verbs,
    add_group,
    add_verb,
    cell,
    chosen_challenge,
    console,
    count,
    dask_executor,
    end,
    ground_truth,
    positive_int,
    table,
)
from podium.cli.rank import rank_cohorts
from podium.errors import UsageError, require
from podium.execution.executor import ProgressFactory, show_progress
from podium.execution.processes import Processes

if TYPE_CHECKING:
    from podium.execution.executor import Executor
    from podium.tools.batch.run import TeamOutcome
    from podium.tools.batch.storage import Location, Output
    from podium.tools.simulation.run import StepOutcome

GROUP: Group = "run"
_RANKING = "ranking"
_TEAM = re.compile(r"([A-Za-z0-9][A-Za-z0-9_.-]*)=([a-z]+:.*)", re.ASCII | re.DOTALL)
_STRATEGIES = ("auto", "centerline", "random", "boundary")


def add_verbs(verbs: Verbs) -> None:
    add_batch(verbs)
    add_simulate(verbs)
    add_scribbles(verbs)
    add_freehand(verbs)


def add_batch(verbs: Verbs) -> None:
    parser = add_verb(verbs, "batch", _batch, "score the submissions of all teams, and rank them")
    parser.add_value("submissions", "SUBMISSIONS", "a folder or one archive per team", type=location)
    parser.add_value(
        "--output",
        "DIR",
        "where to write teams/<team>/metrics.json and ranking/; scores are kept there for the next run",
        type=location,
        required=True,
    )
    parser.add_ground_truth(kind=location)
    parser.add_challenge()
    parser.add_workers()
    parser.add_case_timeout()
    parser.add_scheduler()
    parser.add_value(
        "--teams-per-task",
        "N",
        "how many teams share one reading of a reference, and are unpacked at the same time",
        type=positive_int,
        default=8,
    )
    parser.add_value(
        "--cache",
        "DIR",
        "for copies of what is given as a URL such as s3://bucket/folder [podium in the user's cache folder]",
    )
    parser.add_value(
        "--bootstraps", "N", "number of bootstrap replicates of the ranking, 0 for none", type=count, default=1000
    )


def location(text: str) -> "Location":
    """A path or a URL such as s3://bucket/folder."""
    from podium.tools.batch.storage import location as location_of

    return location_of(text)


def _batch(options: argparse.Namespace) -> int:
    from podium.tools.batch.storage import DEFAULT_CACHE, Output

    cache: Path = options.cache or DEFAULT_CACHE
    executor = _executor(options)
    output = Output.at(options.output, cache=cache.resolve())
    with output.locked():
        return _score_and_rank(options, executor, output, cache)


def _score_and_rank(
    options: argparse.Namespace, executor: "Callable[[ProgressFactory], Executor]", output: "Output", cache: Path
) -> int:
    from podium.tools.batch.run import TEAMS_FOLDER, run_batch
    from podium.tools.batch.storage import Url
    from podium.tools.ranking.documents import read_cohorts
    from podium.tools.ranking.schemes import RankingOptions

    outcomes = run_batch(
        submissions=options.submissions,
        output=options.output,
        ground_truth=options.ground_truth if isinstance(options.ground_truth, Url) else ground_truth(options),
        challenge=chosen_challenge(options),
        executor=executor,
        progress=show_progress,
        teams_per_task=options.teams_per_task,
        cache=cache,
    )
    _print_summary(outcomes)
    written = [output.folder / TEAMS_FOLDER / each.team for each in outcomes if each.counts is not None]
    if written:
        wanted = RankingOptions(bootstraps=options.bootstraps, progress=show_progress)
        try:
            rank_cohorts(read_cohorts(written), output.folder / _RANKING, wanted)
            output.send(_RANKING)
            if output.remote is not None:
                print(f"Sent to {output.remote.url / _RANKING}.")
        except UsageError as error:  # as where reports have not been judged yet: the scores are written all the same
            print(f"There is no ranking: {error}")
    failed = [each.team for each in outcomes if each.error is not None]
    cases = sum(each.new for each in outcomes)
    done = f"{len(outcomes) - len(failed)} of {len(outcomes)} teams have scores; {cases} cases were scored in this run."
    return end(done, 1 if failed else 0)


def _executor(options: argparse.Namespace) -> "Callable[[ProgressFactory], Executor]":
    if options.scheduler is None:
        return lambda progress: Processes(
            workers=options.workers, case_timeout_seconds=options.case_timeout, progress=progress
        )
    return dask_executor(options, case_timeout_seconds=options.case_timeout)


def _print_summary(outcomes: "Sequence[TeamOutcome]") -> None:
    made = table("Submissions", "Team", "Scored", "Failed", "Missing", "New", "Problem", texts=["Team", "Problem"])
    for each in outcomes:
        counts = each.counts
        cells = ["-"] * 3 if counts is None else [str(n) for n in (counts.scored, counts.failed, counts.missing)]
        made.add_row(cell(each.team), *cells, str(each.new), cell(each.error or ""))
    console().print(made)


# `podium simulate`: an algorithm and simulated scribbles.


def add_simulate(verbs: Verbs) -> None:
    simulate = add_verb(verbs, "simulate", _simulate, "drive an algorithm with simulated scribbles")
    simulate.add_value(
        "--algorithm",
        "SPEC",
        "docker:IMAGE, command:PROGRAM ARGS (with {input}, {output}, {cache}) or python:MODULE:FUNCTION; for several "
        "teams, repeat it as TEAM=SPEC",
        required=True,
        action="append",
    )
    simulate.add_images_and_references()
    simulate.add_value(
        "--output",
        "DIR",
        "where to write <case>/iter_<k>.mha, with several teams below <team>/; a run that was stopped continues",
        required=True,
    )
    simulate.add_value("--strategy", _STRATEGIES, "auto: each strategy for a third of the cases", default="auto")
    simulate.add_value("--steps", "N", "predictions per case, including the one without scribbles", type=int, default=6)
    simulate.add_value("--step-timeout", "SECONDS", "a step that takes longer fails [600]", type=float, default=600.0)
    simulate.add_scheduler()
    simulate.add_value(
        "--resources",
        "NAME=NUMBER",
        "what each case needs of its Dask worker, such as GPU=1",
        action="append",
        type=_resource,
    )


def _simulate(options: argparse.Namespace) -> int:
    require("skimage", "networkx", "matplotlib", extra="score,simulate")
    from podium.tools.simulation.run import Plan, find_cases, simulate, simulate_on

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
        # Every step has its own limit; this one is for what they do not end. A server is started within one of them.
        limit = (options.steps + 1) * (2 * options.step_timeout + 600)
        executor = dask_executor(options, case_timeout_seconds=limit, resources=dict(options.resources or ()))
        found, broken = simulate_on(executor(show_progress), cases, list(plans.values()), show)
    for team, outcomes in zip(plans, found, strict=True):
        if team:
            print(f"Team {team}")
        _print_curve(outcomes, options.steps)
    for name, error in broken.items():
        print(f"{name}: {error}", file=sys.stderr)
    failed = sum(outcome.status == "failed" for outcomes in found for outcome in outcomes)
    lost = f", {failed} steps failed" if failed else ""
    lost += f", {len(broken)} cases produced no result" if broken else ""
    of_teams = f" for each of {len(plans)} teams" if len(plans) > 1 else ""
    print(f"Simulated {len(cases)} cases of {options.steps} steps{of_teams}{lost}: {options.output}", file=sys.stderr)
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


def _resource(text: str) -> tuple[str, float]:
    name, _, number = text.partition("=")
    if not name or not float(number) > 0:
        raise argparse.ArgumentTypeError(f"{text} is not of the form GPU=1")
    return name, float(number)


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


def add_scribbles(verbs: Verbs) -> None:
    parser = add_verb(verbs, "scribbles", _scribbles, "draw the scribbles of a simulation")
    parser.add_value("action", ["show"], "show: draw one step as PNG")
    parser.add_value("case", "CASE", "the case's name")
    parser.add_value("--simulation", "DIR", "what 'podium simulate' wrote", required=True)
    parser.add_images_and_references()
    parser.add_value("--step", "K", "which step", type=int, default=1)
    parser.add_value("--output", "FILE", "the PNG to write [CASE_step_K.png]")


def _scribbles(options: argparse.Namespace) -> int:
    require("skimage", "networkx", "matplotlib", extra="score,simulate")
    from podium.sandbox.decoders import decoders
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


def add_freehand(verbs: Verbs) -> None:
    tools = add_group(verbs, "freehand", "pack and plot scans of the freehand challenge")

    pack = add_verb(tools, "pack", _pack, "convert .npy fields to the smaller HDF5 file to upload")
    pack.add_value(
        "scans", "SCAN", "a folder with GP.npy, GL.npy, LP.npy, LL.npy, or an .npz file", type=Path, nargs="+"
    )
    pack.add_value("--output", "DIR", "where to write <scan>.h5 [beside the scan]")
    pack.add_workers()

    plot = add_verb(tools, "plot", _plot, "draw a scan's trajectories and errors as PNG")
    plot.add_value("scan", "SCAN", "the case, such as sub050__LH_Par_L_DtP")
    plot.add_value("--input", "DIR", "the submission [draw only the reference]")
    plot.add_value("--output", "FILE", "the picture to write [SCAN.png]")
    plot.add_ground_truth()
    plot.add_workers()


def _pack(options: argparse.Namespace) -> int:
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


def _plot(options: argparse.Namespace) -> int:
    """Draw a scan's trajectories and errors."""
    from podium.challenges import load_challenge
    from podium.challenges.format import only_of_kind, read_challenge_folders
    from podium.challenges.freehand.format import FreehandFormat
    from podium.platform.submission import open_submission
    from podium.sandbox.decoders import decoders
    from podium.tools.freehand import draw_trajectory, scan_trajectory

    folder = only_of_kind(read_challenge_folders(ground_truth(options)), "freehand")
    files = load_challenge(folder).format
    if not isinstance(files, FreehandFormat):
        raise UsageError(f"The ground truth is of a challenge of the kind '{folder.common.kind}', not 'freehand'.")
    references = files.find_references(folder.references)
    if options.scan not in references:
        raise UsageError(f"There is no scan '{options.scan}'; there is: {', '.join(sorted(references)[:10])}.")
    path: Path = options.output or Path(f"{options.scan}.png")
    run = {"grid": files.grid, "threads": options.workers}
    if options.input is None:
        scan = files.read_reference(references[options.scan])
        drawn = draw_trajectory(scan_trajectory(scan, None, **run), title=options.scan)
    else:
        with decoders(libraries=["h5py"], logged=False):
            limit = files.submission_bytes([files.shapes(files.read_reference(each)) for each in references.values()])
            scan = files.read_reference(references[options.scan])
            with open_submission(options.input, max_bytes=limit, shape=folder.common.submission) as submission:
                collected = files.collect(submission, references.keys())
                if options.scan in collected.refused:
                    raise UsageError(collected.refused[options.scan])
                if options.scan not in collected.predictions:
                    raise UsageError(f"The submission holds nothing for the scan '{options.scan}'.")
                trajectory = scan_trajectory(scan, collected.predictions[options.scan], **run)
        drawn = draw_trajectory(trajectory, title=f"{options.scan}, {options.input.name}")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(drawn)
    return end(f"Drew {path}.")


def _change(before: int, after: int) -> str:
    ratio = f"{before / after:.1f} times smaller" if after < before else f"{after / before:.1f} times larger"
    return f"{before / 1e6:,.1f} MB became {after / 1e6:,.1f} MB, {ratio}"
