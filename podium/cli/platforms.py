"""`podium evaluate --platform`: the options of each platform, in that platform's own words, and what runs there."""

import argparse
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

from podium.cli.arguments import BAKED_GROUND_TRUTH, chosen_challenge, chosen_executor, end
from podium.errors import UsageError

if TYPE_CHECKING:
    from podium.platform.metrics_file import MetricsFile

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


def add_platforms(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--platform",
        choices=tuple(_OPTIONS),
        default=GRAND_CHALLENGE,
        help="whose paths and result files are used; the figures are the same on all [%(default)s]",
    )
    parser.add_argument(
        "--input", type=Path, metavar="DIR", help="the submission [/input]; on codabench the folder of ref/ and res/"
    )
    parser.add_argument("--output", type=Path, metavar="DIR", help="where to write metrics.json [/output]")
    orca = parser.add_argument_group("Synapse (--platform orca)")
    orca.add_argument(
        "-p", "--predictions_file", type=Path, metavar="FILE", help="the submission: a file or an archive"
    )
    orca.add_argument("-g", "--groundtruth_folder", type=Path, metavar="DIR", help="the ground truth")
    orca.add_argument("-o", "--output_file", type=Path, metavar="FILE", help="[results.json]")
    orca.add_argument("--validate-only", action="store_true", help="the validation step: check, and score nothing")
    medperf = parser.add_argument_group("MedPerf (--platform medperf)", f"The defaults are below {_MEDPERF}.")
    medperf.add_argument("--predictions", type=Path, metavar="DIR", help="the submission [predictions]")
    medperf.add_argument("--labels", type=Path, metavar="DIR", help="the references [labels]")
    medperf.add_argument("--parameters_file", type=Path, metavar="FILE", help="[parameters/parameters_file.yaml]")
    medperf.add_argument("--output_path", type=Path, metavar="FILE", help="[results/results.yaml]")


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


def evaluate_on(platform: str, options: argparse.Namespace, given: Mapping[str, Path]) -> "MetricsFile":
    """Score a submission where the result is a file of figures and an error is an exit code."""
    from podium.challenges.format import locate_ground_truth
    from podium.evaluation import evaluate

    executor, challenge = chosen_executor(options), chosen_challenge(options)
    if platform == "codabench":
        from podium.adapters import codabench  # its report needs packages that scoring does not

        return codabench.evaluate(folder=given["input"], output=given["output"], challenge=challenge, executor=executor)
    rules = locate_ground_truth(given.get("ground_truth"), beside=BAKED_GROUND_TRUTH)
    if platform == "medperf":
        from podium.adapters import medperf

        volumes = medperf.Volumes(**{name: path for name, path in given.items() if name != "ground_truth"})
        return medperf.evaluate(volumes, rules=rules, challenge=challenge, executor=executor)
    return evaluate(
        submission=given["input"],
        output=given["output"],
        ground_truth=rules,
        challenge=challenge,
        executor=executor,
        isolation=options.isolation,
    )


def evaluate_on_orca(options: argparse.Namespace, given: Mapping[str, Path]) -> int:
    """The status alone goes to stdout, where the workflow takes it from; the log goes to stderr."""
    from podium.adapters import orca

    step = orca.validate_submission if options.validate_only else orca.evaluate
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
