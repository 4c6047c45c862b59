"""Commands that score: `podium evaluate` and `podium invoke`, which containers run, and `podium validate`."""

import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from podium.cli.arguments import (
    CHALLENGE_VARIABLE,
    TIME_LIMIT_VARIABLE,
    CaseOptions,
    ChallengeOptions,
    GroundTruthOptions,
    Seconds,
    WorkerOptions,
    argument,
    choice,
    flag,
    option,
)
from podium.cli.output import cell, console, end, end_log, is_one_stream, table
from podium.errors import UsageError

if TYPE_CHECKING:
    from podium.platform.metrics_file import MetricsFile

_MOST_MISSING = 50  # cases that 'podium validate' names
_MEDPERF_VOLUMES = Path("/mlcommons/volumes")
_SYNAPSE, _MEDPERF = "Synapse (--platform orca)", "MedPerf (--platform medperf)"

# The paths of each platform with their defaults; those without one must be given, except for the ground truth.
_PATHS: Mapping[str, Mapping[str, Path | None]] = {
    "grand-challenge": {"input": Path("/input"), "output": Path("/output"), "ground_truth": None},
    "codabench": {"input": Path("/app/input"), "output": Path("/app/output")},
    "orca": {"predictions_file": None, "groundtruth_folder": None, "output_file": Path("results.json")},
    "medperf": {
        "predictions": _MEDPERF_VOLUMES / "predictions",
        "labels": _MEDPERF_VOLUMES / "labels",
        "parameters_file": _MEDPERF_VOLUMES / "parameters/parameters_file.yaml",
        "output_path": _MEDPERF_VOLUMES / "results/results.yaml",
        "ground_truth": None,
    },
}


@dataclass(kw_only=True)
class PlatformOptions(ChallengeOptions, CaseOptions):
    sections: ClassVar = {_MEDPERF: f"The defaults are below {_MEDPERF_VOLUMES}."}

    input: Path | None = option("DIR", "the submission [/input]; on codabench the folder of ref/ and res/")
    output: Path | None = option("DIR", "where to write metrics.json [/output]")
    time_limit: Seconds | None = option(
        "SECONDS",
        f"time limit for the whole evaluation; cases not scored by then fail [${TIME_LIMIT_VARIABLE}, else none]",
        variable=TIME_LIMIT_VARIABLE,
    )
    isolation: Literal["best", "full"] = choice(
        "full: refuse to run on a system without every layer that isolates the readers of submitted files", "best"
    )
    platform: Literal["grand-challenge", "codabench", "orca", "medperf"] = choice(
        "which platform's paths and result files to use; the figures are the same", "grand-challenge"
    )
    predictions_file: Path | None = option(
        "FILE", "the submission: a file or an archive", section=_SYNAPSE, names=["-p", "--predictions_file"]
    )
    groundtruth_folder: Path | None = option(
        "DIR", "the ground truth", section=_SYNAPSE, names=["-g", "--groundtruth_folder"]
    )
    output_file: Path | None = option(
        "FILE", "the file to write [results.json]", section=_SYNAPSE, names=["-o", "--output_file"]
    )
    validate_only: bool = flag("the validation step: check, and score nothing", section=_SYNAPSE)
    predictions: Path | None = option("DIR", "the submission [predictions]", section=_MEDPERF)
    labels: Path | None = option("DIR", "the references [labels]", section=_MEDPERF)
    parameters_file: Path | None = option(
        "FILE", "the parameters [parameters/parameters_file.yaml]", section=_MEDPERF, names=["--parameters_file"]
    )
    output_path: Path | None = option(
        "FILE", "the file to write [results/results.yaml]", section=_MEDPERF, names=["--output_path"]
    )


@dataclass(kw_only=True)
class EvaluateOptions(PlatformOptions):
    example: ClassVar = "my-submission --output out --challenge carotid"

    submission: Path | None = argument("SUBMISSION", "a folder or one archive, instead of --input", None)


@dataclass(kw_only=True)
class InvokeOptions(PlatformOptions):
    port: int = option("N", "port to listen on", 4743)


def evaluate(options: EvaluateOptions) -> int:
    if options.submission is not None:
        if options.platform != "grand-challenge" or options.input is not None:
            raise UsageError("Give the submission either alone, for this machine, or as the platform's option does.")
        options.input, options.output = options.submission, options.output or Path("out")
    return evaluate_on(options)


def evaluate_on(options: PlatformOptions) -> int:
    """Score the submission at the platform's paths; the last line is the result."""
    from podium.platform.metrics_file import METRICS_FILE

    given = paths(options)
    if options.platform == "orca":
        return _evaluate_on_orca(options, given)
    evaluated = _evaluate_on_platform(options, given)
    counts = evaluated.counts
    states = ("partial", "failed", "missing", "unmatched")
    unscored = ", ".join(f"{number} {state}" for state in states if (number := getattr(counts, state)))
    scored = f"{counts.scored} of {counts.expected} cases{f'; {unscored}' if unscored else ''}"
    summary = f"Scored {scored}."
    if options.platform == "grand-challenge":
        summary = f"{evaluated.published_score or 'Scored'} ({scored}) -> {given['output'] / METRICS_FILE}"
    end_log("" if is_one_stream() else summary)  # the platform shows the two streams separately
    return end(summary)


def paths(options: PlatformOptions) -> Mapping[str, Path]:
    """The platform's paths, given or default; UsageError for an option of another platform, which would be ignored."""
    own = _PATHS[options.platform]
    every = dict.fromkeys(name for names in _PATHS.values() for name in names)
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


def _evaluate_on_platform(options: PlatformOptions, given: Mapping[str, Path]) -> "MetricsFile":
    """Score a submission where the result is a file of figures and an error is an exit code."""
    executor, challenge = options.executor(), options.challenge
    if options.platform == "codabench":
        from podium.tools.other_platforms.results import evaluate_for_codabench

        return evaluate_for_codabench(
            folder=given["input"], output=given["output"], challenge=challenge, executor=executor
        )
    rules = options.ground_truth_folder
    if options.platform == "medperf":
        from podium.tools.other_platforms.results import evaluate_for_medperf

        volumes = {name: path for name, path in given.items() if name != "ground_truth"}
        return evaluate_for_medperf(**volumes, rules=rules, challenge=challenge, executor=executor)
    from podium import evaluation

    evaluate_submission = partial(
        evaluation.evaluate,
        submission=given["input"],
        output=given["output"],
        ground_truth=rules,
        challenge=challenge,
        executor=executor,
        isolation=options.isolation,
    )
    folder = evaluation.find_challenge(rules, challenge)
    if "outputs" not in folder.file.tables:
        return evaluate_submission()
    from podium.tools.report.outputs import with_outputs

    return with_outputs(folder, given["output"], evaluate_submission)


def _evaluate_on_orca(options: PlatformOptions, given: Mapping[str, Path]) -> int:
    """Only the status goes to stdout, where the workflow reads it; the log goes to stderr."""
    from podium.tools.other_platforms.results import evaluate_for_orca, validate_submission

    step = validate_submission if options.validate_only else evaluate_for_orca
    with redirect_stdout(sys.stderr):
        status = step(
            predictions=given["predictions_file"],
            ground_truth=given["groundtruth_folder"],
            results=given["output_file"],
            challenge=options.challenge,
            executor=options.executor(),
        )
        end(f"Wrote {given['output_file']}: the submission is {status}.")
    print(status)
    return 0


def invoke(options: InvokeOptions) -> int:
    from podium.cli.invoke import serve_evaluations  # a web server that no other command needs

    return serve_evaluations(options)


@dataclass(kw_only=True)
class ValidateOptions(GroundTruthOptions, WorkerOptions):
    example: ClassVar = "my-submission --cases cases.json"

    submission: Path = argument("SUBMISSION", "a folder or one archive")
    cases: Path | None = option("FILE", "the challenge's case list (from its organisers)")
    challenge: str | None = option(
        "NAME",
        f"the challenge, without --cases [${CHALLENGE_VARIABLE}, else recognised from the submission]",
        variable=CHALLENGE_VARIABLE,
    )
    all: bool = flag(f"name every missing case, not only the first {_MOST_MISSING}")


def validate(options: ValidateOptions) -> int:
    from podium import validation
    from podium.evaluation import once_per_cause
    from podium.platform.metrics_file import summarise_warnings

    report = validation.validate(
        options.submission,
        cases=options.cases,
        challenge=options.challenge,
        executor=options.executor(),
        ground_truth=options.ground_truth_folder,
    )
    output, head = console(), ("Where", "What")
    for warning in (*report.warnings, *summarise_warnings(report.case_warnings)):
        output.print(f"[yellow]Warning:[/yellow] {cell(warning)}")
    found = [(problem.where, problem.what) for problem in report.problems]
    missing = [each for each in found if each[1] == validation.MISSING]
    problems = [*once_per_cause(each for each in found if each[1] != validation.MISSING), *missing]
    if not options.all and (more := len(missing) - _MOST_MISSING) > 0:
        shown = [*problems[:-more], (f"{more:,} more cases", "are missing; --all names them.")]
    else:
        shown = problems
    if problems:
        output.print(table(f"Problems in this '{report.challenge}' submission", *head, texts=head, rows=shown))
    else:
        output.print(cell(f"{report.cases} predictions for '{report.challenge}' are fine."))
    unknown = f" Not checked: {', '.join(report.not_checked)}." if report.not_checked else ""
    if problems:
        fix = "1 problem; fix it" if len(problems) == 1 else f"{len(problems)} problems; fix them"
        return end(f"Found {fix} before you submit.{unknown}", 1)
    return end(f"The submission is {report.verdict}.{unknown}")
