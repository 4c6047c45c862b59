"""Commands that score: `podium evaluate` and `podium invoke`, which containers run, and `podium validate`."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

from podium.cli.arguments import (
    CHALLENGE_VARIABLE,
    Group,
    Parser,
    Verbs,
    add_verb,
    cell,
    chosen_challenge,
    chosen_executor,
    console,
    end,
    end_log,
    ground_truth,
    is_one_stream,
    table,
)
from podium.errors import UsageError

if TYPE_CHECKING:
    from podium.platform.metrics_file import MetricsFile
    from podium.validation import ValidationReport

GROUP: Group = "score"
GRAND_CHALLENGE = "grand-challenge"
_MEDPERF = Path("/mlcommons/volumes")

# The options of each platform with their defaults; those without one must be given, except for the ground truth.
_OPTIONS: Mapping[str, Mapping[str, Path | None]] = {
    GRAND_CHALLENGE: {"input": Path("/input"), "output": Path("/output"), "ground_truth": None},
    "codabench": {"input": Path("/app/input"), "output": Path("/app/output")},
    "orca": {"predictions_file": None, "groundtruth_folder": None, "output_file": Path("results.json")},
    "medperf": {
        "predictions": _MEDPERF / "predictions",
        "labels": _MEDPERF / "labels",
        "parameters_file": _MEDPERF / "parameters/parameters_file.yaml",
        "output_path": _MEDPERF / "results/results.yaml",
        "ground_truth": None,
    },
}


def add_verbs(verbs: Verbs) -> None:
    _add_options(add_verb(verbs, "evaluate", evaluate_submission, "score a submission and write metrics.json"))
    _add_validate(verbs)
    invoke = add_verb(verbs, "invoke", _invoke, "evaluate on request over HTTP: GET /health, POST /invoke")
    _add_options(invoke)
    invoke.add_value("--port", "N", "port to listen on", type=int, default=4743)


def _add_options(parser: Parser) -> None:
    parser.add_ground_truth()
    parser.add_challenge()
    parser.add_workers()
    parser.add_case_timeout()
    parser.add_time_limit()
    parser.add_value(
        "--isolation",
        ("best", "full"),
        "full: refuse to run on a system without every layer that isolates the readers of submitted files",
        default="best",
    )
    parser.add_value(
        "--platform",
        tuple(_OPTIONS),
        "which platform's paths and result files to use; the figures are the same",
        default=GRAND_CHALLENGE,
    )
    parser.add_value("--input", "DIR", "the submission [/input]; on codabench the folder of ref/ and res/")
    parser.add_value("--output", "DIR", "where to write metrics.json [/output]")
    orca = parser.add_argument_group("Synapse (--platform orca)")
    orca.add_argument(
        "-p", "--predictions_file", type=Path, metavar="FILE", help="the submission: a file or an archive"
    )
    orca.add_argument("-g", "--groundtruth_folder", type=Path, metavar="DIR", help="the ground truth")
    orca.add_argument("-o", "--output_file", type=Path, metavar="FILE", help="the file to write [results.json]")
    orca.add_flag("--validate-only", "the validation step: check, and score nothing")
    medperf = parser.add_argument_group("MedPerf (--platform medperf)", f"The defaults are below {_MEDPERF}.")
    medperf.add_value("--predictions", "DIR", "the submission [predictions]")
    medperf.add_value("--labels", "DIR", "the references [labels]")
    medperf.add_value("--parameters_file", "FILE", "the parameters [parameters/parameters_file.yaml]")
    medperf.add_value("--output_path", "FILE", "the file to write [results/results.yaml]")


def evaluate_submission(options: argparse.Namespace) -> int:
    given = paths(options)
    if options.platform == "orca":
        return _evaluate_on_orca(options, given)
    counts = _evaluate_on(options.platform, options, given).counts
    numbers = (("failed", counts.failed), ("missing", counts.missing), ("unmatched", counts.unmatched))
    lost = [f"{number} {status}" for status, number in numbers if number]
    summary = f"Scored {counts.scored} of {counts.expected} cases{' (' + ', '.join(lost) + ')' if lost else ''}."
    end_log("" if is_one_stream() else summary)  # the platform shows the two streams separately
    return end(summary)


def paths(options: argparse.Namespace) -> Mapping[str, Path]:
    """The platform's paths, given or default; UsageError for an option of another platform, which would be ignored."""
    own = _OPTIONS[options.platform]
    every = dict.fromkeys(name for names in _OPTIONS.values() for name in names)
    foreign = [name for name in every if name not in own and getattr(options, name) is not None]
    foreign += ["validate_only"] if options.validate_only and options.platform != "orca" else []
    if foreign:
        raise UsageError(f"{_spelled(foreign[0])} is not an option of --platform {options.platform}.")
    chosen = {name: getattr(options, name) or default for name, default in own.items()}
    missing = [name for name, path in chosen.items() if path is None and name != "ground_truth"]
    if missing:
        raise UsageError(f"--platform {options.platform} needs {_spelled(missing[0])}.")
    return {name: path for name, path in chosen.items() if path is not None}


def _spelled(name: str) -> str:
    return f"--{name.replace('_', '-')}" if name in ("ground_truth", "validate_only") else f"--{name}"


def _evaluate_on(platform: str, options: argparse.Namespace, given: Mapping[str, Path]) -> "MetricsFile":
    """Score a submission where the result is a file of figures and an error is an exit code."""
    from podium.evaluation import evaluate

    executor, challenge = chosen_executor(options), chosen_challenge(options)
    if platform == "codabench":
        from podium.tools.platforms.results import evaluate_for_codabench

        return evaluate_for_codabench(
            folder=given["input"], output=given["output"], challenge=challenge, executor=executor
        )
    rules = ground_truth(options)
    if platform == "medperf":
        from podium.tools.platforms.results import Volumes, evaluate_for_medperf

        volumes = Volumes(**{name: path for name, path in given.items() if name != "ground_truth"})
        return evaluate_for_medperf(volumes, rules=rules, challenge=challenge, executor=executor)
    return evaluate(
        submission=given["input"],
        output=given["output"],
        ground_truth=rules,
        challenge=challenge,
        executor=executor,
        isolation=options.isolation,
    )


def _evaluate_on_orca(options: argparse.Namespace, given: Mapping[str, Path]) -> int:
    """Only the status goes to stdout, where the workflow reads it; the log goes to stderr."""
    from podium.tools.platforms.results import evaluate_for_orca, validate_submission

    step = validate_submission if options.validate_only else evaluate_for_orca
    with redirect_stdout(sys.stderr):
        status = step(
            predictions=given["predictions_file"],
            ground_truth=given["groundtruth_folder"],
            results=given["output_file"],
            challenge=chosen_challenge(options),
            executor=chosen_executor(options),
        )
        end(f"Wrote {given['output_file']}: the submission is {status}.")
    print(status)
    return 0


def _invoke(options: argparse.Namespace) -> int:
    from podium.cli.invoke import serve_evaluations  # a web server that no other command needs

    return serve_evaluations(options)


def _add_validate(verbs: Verbs) -> None:
    parser = add_verb(verbs, "validate", _validate, "check a submission before sending it, without ground truth")
    parser.add_value("submission", "SUBMISSION", "a folder or one archive", type=Path)
    parser.add_value("--cases", "FILE", "the challenge's case list (from its organisers)")
    parser.add_value(
        "--challenge",
        "NAME",
        f"the challenge, without --cases [${CHALLENGE_VARIABLE}, else recognised from the submission]",
    )
    parser.add_ground_truth()
    parser.add_workers()


def _validate(options: argparse.Namespace) -> int:
    from podium.validation import validate

    report = validate(
        options.submission,
        cases=options.cases,
        challenge=chosen_challenge(options),
        executor=chosen_executor(options),
        ground_truth=ground_truth(options),
    )
    problems = _print_report(report)
    unknown = f" Not checked: {', '.join(report.not_checked)}." if report.not_checked else ""
    if problems:
        found = "1 problem; fix it" if len(problems) == 1 else f"{len(problems)} problems; fix them"
        return end(f"Found {found} before you submit.{unknown}", 1)
    return end(f"The submission is ready.{unknown}")


def _print_report(report: "ValidationReport") -> Sequence[tuple[str, str]]:
    """Print what a participant has to fix, if anything, as a table of the rows that are returned."""
    from podium.evaluation import once_per_cause
    from podium.platform.metrics_file import summarise_warnings
    from podium.validation import MISSING

    output = console()
    for warning in (*report.warnings, *summarise_warnings(report.case_warnings)):
        output.print(cell(f"Warning: {warning}"))
    found = [(problem.where, problem.what) for problem in report.problems]
    missing = [each for each in found if each[1] == MISSING]  # every one is named
    rows = [*once_per_cause(each for each in found if each[1] != MISSING), *missing]
    head = ("Where", "What")
    if rows:
        output.print(table(f"Problems in this '{report.challenge}' submission", *head, texts=head, rows=rows))
    else:
        output.print(cell(f"{report.cases} predictions for '{report.challenge}' are fine."))
    return rows
