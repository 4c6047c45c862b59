"""The command line: one command a verb."""

import argparse
import json
import math
import os
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

from podium import __version__
from podium.cli_interaction import add_interaction_verbs
from podium.cli_judge import add_judge_arguments, run_judge
from podium.cli_rank import add_rank_arguments, run_rank
from podium.cli_report import SUMMARY, add_report_options, report
from podium.contract.errors import PodiumError
from podium.cores import MAX_WORKERS_VARIABLE, available_workers
from podium.readers.names import shown

Command = Callable[[argparse.Namespace], int]

CHALLENGE_VARIABLE = "PODIUM_CHALLENGE"
_BAKED_GROUND_TRUTH = Path(__file__).resolve().parent.parent / "ground-truth"
_LONGEST_SENTENCE = 1000
_EXIT_CODES = "exit codes: 0 done; 1 the submission is at fault; 2 ground truth, configuration or command line are."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the last line on stderr is a sentence for whom it concerns."""
    options = _parser().parse_args(arguments)
    command: Command = options.command
    signal.signal(signal.SIGTERM, _end_on_request)  # as a container's first process we have no default handler
    # One thread a process, decided before any numeric library is loaded: the workers fill the cores.
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")
    try:
        return command(options)
    except PodiumError as error:
        if error.detail:
            print(error.detail, flush=True)
        return _end(str(error), error.exit_code)
    except KeyboardInterrupt:
        return _end("Stopped on request.", 130)
    except Exception:
        # The platform shows the last line of stderr to participants, and a traceback may hold paths and values.
        print(traceback.format_exc(), flush=True)
        return _end("Podium failed by an error of its own; the organisers find the details in the log.", 2)


def _end(sentence: str, code: int) -> int:
    sys.stdout.flush()
    print(shown(" ".join(sentence.split()), longest=_LONGEST_SENTENCE), file=sys.stderr, flush=True)
    return code


def _end_on_request(_signal: int, _frame: object) -> None:
    raise KeyboardInterrupt


def _evaluate(options: argparse.Namespace) -> int:
    from podium.contract.ground_truth import locate_ground_truth
    from podium.evaluation import Options, evaluate

    found = evaluate(
        submission=options.input,
        output=options.output,
        ground_truth=locate_ground_truth(options.ground_truth, beside=_BAKED_GROUND_TRUTH),
        challenge=_challenge(options),
        options=Options(workers=options.workers, case_timeout_seconds=options.case_timeout),
    )
    counts = found.counts()
    lost = [f"{counts[status]} {status}" for status in ("failed", "missing", "unmatched") if counts[status]]
    summary = f"Scored {counts['scored']} of {counts['expected']} cases"
    return _end(f"{summary}{' (' + ', '.join(lost) + ')' if lost else ''}.", 0)


def _validate(options: argparse.Namespace) -> int:
    from rich.console import Console

    from podium.manifest import read_manifest
    from podium.tables import print_report
    from podium.validation import validate

    report = validate(
        options.submission,
        manifest=read_manifest(options.cases) if options.cases else None,
        challenge=_challenge(options),
        workers=options.workers,
    )
    print_report(report, Console())
    if report.problems:
        count = len(report.problems)
        found = "1 problem; mend it" if count == 1 else f"{count} problems; mend them"
        return _end(f"Found {found} before you submit.", 1)
    return _end("The submission is ready.", 0)


def _manifest(options: argparse.Namespace) -> int:
    from podium.challenges import CHALLENGES
    from podium.contract.ground_truth import locate_ground_truth, read_challenge_folders
    from podium.evaluation import Options, choose_challenge, prepare
    from podium.manifest import make_manifest, write_manifest

    root = locate_ground_truth(options.ground_truth, beside=_BAKED_GROUND_TRUTH)
    folders = read_challenge_folders(root, known=CHALLENGES)
    folder = choose_challenge(folders, named=_challenge(options), submission=None)
    task = prepare(folder, Options(workers=options.workers, case_timeout_seconds=options.case_timeout))
    write_manifest(make_manifest(task), options.output)
    return _end(
        f"Wrote {len(task.cases)} cases to {options.output}; it holds no reference value and may be published.", 0
    )


def _leaderboard(options: argparse.Namespace) -> int:
    from podium.challenges import CHALLENGES
    from podium.contract.errors import UsageError
    from podium.contract.leaderboard import phase_settings

    name = _challenge(options)
    if name is not None and name not in CHALLENGES:
        raise UsageError(f"There is no challenge '{name}'; there is: {', '.join(sorted(CHALLENGES))}.")
    chosen = [name] if name else sorted(CHALLENGES)
    settings = {each: phase_settings(CHALLENGES[each].columns()) for each in chosen}
    print(json.dumps(settings[name] if name else settings, indent=2))
    return 0


def _challenge(options: argparse.Namespace) -> str | None:
    name: str | None = options.challenge or os.environ.get(CHALLENGE_VARIABLE)
    return name or None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="podium",
        description="Evaluate submissions to medical-imaging challenges by the challenges' own rules.",
        epilog=_EXIT_CODES,
    )
    parser.add_argument("--version", action="version", version=f"podium {__version__}")
    verbs = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    evaluate = _verb(verbs, "evaluate", _evaluate, "score a submission and write metrics.json")
    evaluate.add_argument("--input", type=Path, default=Path("/input"), metavar="DIR", help="the submission [/input]")
    evaluate.add_argument(
        "--output", type=Path, default=Path("/output"), metavar="DIR", help="where metrics.json goes [/output]"
    )
    _add_ground_truth(evaluate)
    _add_challenge(evaluate)
    _add_workers(evaluate)
    _add_case_timeout(evaluate)

    validate = _verb(verbs, "validate", _validate, "check a submission before sending it, without ground truth")
    validate.add_argument("submission", type=Path, metavar="SUBMISSION", help="a folder or one archive")
    validate.add_argument("--cases", type=Path, metavar="FILE", help="the challenge's case list (from its organisers)")
    _add_challenge(validate)
    _add_workers(validate)

    manifest = _verb(verbs, "manifest", _manifest, "write the public case list that participants validate against")
    manifest.add_argument(
        "--output", type=Path, default=Path("cases.json"), metavar="FILE", help="the file to write [cases.json]"
    )
    _add_ground_truth(manifest)
    _add_challenge(manifest)
    _add_workers(manifest)
    _add_case_timeout(manifest)

    leaderboard = _verb(verbs, "leaderboard", _leaderboard, "print the phase settings to paste into Grand Challenge")
    leaderboard.add_argument("challenge", nargs="?", metavar="CHALLENGE", help="one challenge [all]")

    add_judge_arguments(_verb(verbs, "judge", run_judge, "have an LLM judge add RadFact to a reports submission"))
    add_rank_arguments(_verb(verbs, "rank", run_rank, "rank the teams of a challenge and say how sure the ranking is"))
    add_report_options(_verb(verbs, "report", lambda options: _end(report(options), 0), SUMMARY))
    add_interaction_verbs(lambda name, command, summary: _verb(verbs, name, command, summary))
    _add_freehand(verbs)
    return parser


def _add_freehand(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    from podium import cli_freehand

    def ending_with(command: Callable[[argparse.Namespace], str]) -> Command:
        return lambda options: _end(command(options), 0)

    summary = "tools of the freehand challenge: prepare, pack, plot"
    freehand = verbs.add_parser("freehand", help=summary, description=f"{summary.capitalize()}.", epilog=_EXIT_CODES)
    freehand.set_defaults(baked=_BAKED_GROUND_TRUTH)
    tools = freehand.add_subparsers(title="commands", metavar="COMMAND", required=True)

    prepare = _verb(
        tools, "prepare", ending_with(cli_freehand.prepare), "store the errors of not moving with the ground truth"
    )
    _add_ground_truth(prepare)
    _add_workers(prepare)
    _add_case_timeout(prepare)

    pack = _verb(tools, "pack", ending_with(cli_freehand.pack), "turn .npy fields into the small HDF5 to upload")
    pack.add_argument("scans", type=Path, nargs="+", metavar="SCAN", help="a folder of GP.npy and its like, or an .npz")
    pack.add_argument("--output", type=Path, metavar="DIR", help="where <scan>.h5 goes [beside the scan]")
    _add_workers(pack)

    plot = _verb(tools, "plot", ending_with(cli_freehand.plot), "draw a scan's trajectories and errors as PNG")
    plot.add_argument("scan", metavar="SCAN", help="the case, such as sub050__LH_Par_L_DtP")
    plot.add_argument("--input", type=Path, metavar="DIR", help="the submission [the reference alone]")
    plot.add_argument("--output", type=Path, metavar="FILE", help="the picture to write [SCAN.png]")
    _add_ground_truth(plot)
    _add_workers(plot)


def _verb(
    verbs: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, command: Command, summary: str
) -> argparse.ArgumentParser:
    parser = verbs.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.", epilog=_EXIT_CODES)
    parser.set_defaults(command=command)
    return parser


def _add_ground_truth(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--ground-truth",
        type=Path,
        metavar="DIR",
        help="a challenge folder, or a folder of them [/opt/ml/input/data/ground_truth if filled, else ground-truth]",
    )


def _add_challenge(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--challenge",
        metavar="NAME",
        help=f"which challenge, where there are several [${CHALLENGE_VARIABLE}, else what the submission looks like]",
    )


def _add_workers(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--workers",
        type=_positive_int,
        default=available_workers(),
        metavar="N",
        help=f"processes [the cores this process may use, at most ${MAX_WORKERS_VARIABLE}: %(default)s]",
    )


def _add_case_timeout(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--case-timeout",
        type=_positive_seconds,
        default=600.0,
        metavar="SECONDS",
        help="a case that takes longer is failed [%(default)g]",
    )


def _positive_int(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return value


def _positive_seconds(text: str) -> float:
    value = float(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number of seconds")
    return value
