"""An evaluation as Codabench, MedPerf and Synapse's ORCA start it, and the result files that each of them reads."""

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from podium import evaluation
from podium.challenges import challenge_from_settings, load_challenge
from podium.challenges.ground_truth import CHALLENGE_FILE, REFERENCES
from podium.errors import ConfigurationError, GroundTruthError, SubmissionError, UsageError
from podium.execution.executor import Executor
from podium.figures import get, holds
from podium.packages import require
from podium.platform.metrics_file import METRICS_FILE, MetricsFile, read_metrics
from podium.tools.ranking.documents import read_cohorts
from podium.tools.report.page import write_report
from podium.tools.report.submission_report import submission_report
from podium.validation import MISSING, make_manifest, validate

LONGEST_KEY = 36  # Codabench's limit
_NOT_ALLOWED = re.compile(r"[^A-Za-z0-9_]")  # Synapse's annotations have letters, digits, '_' and '.'

SCORES_FILE = "scores.json"
PAGE = "detailed_results.html"

_CHALLENGE = re.compile(r"[A-Za-z0-9._-]+", re.ASCII)

Status = Literal["VALIDATED", "SCORED", "INVALID"]
_LONGEST_ERRORS = 500  # what fits into the e-mail to the participant


# Codabench: /app/input/ref and /app/input/res in, /app/output/scores.json and detailed_results.html out.
#
# The worker unpacks the reference data into `ref` and the participant's archive into `res`, beside its own file
# `metadata`. It treats a run without scores.json as failed, whatever the exit code is.


def evaluate_for_codabench(*, folder: Path, output: Path, challenge: str | None, executor: Executor) -> MetricsFile:
    """Score `folder`/res against `folder`/ref; metrics.json is written too.

    Page and scores are made from the published metrics.json, so they show no more than `per_case` allows.
    """
    try:
        for name in (SCORES_FILE, PAGE):  # of an earlier run: they must not be mistaken for those of a run that fails
            (output / name).unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(f"The output folder cannot be written to: {error.strerror}.", detail=str(output)) from None
    metrics = evaluation.evaluate(
        submission=folder / "res", output=output, ground_truth=folder / "ref", challenge=challenge, executor=executor
    )
    (cohort,) = read_cohorts([output / METRICS_FILE])
    file = replace(cohort.files[0], team="this submission")
    write_report(submission_report(file, cohort.challenge), output / PAGE)
    (output / SCORES_FILE).write_text(json.dumps(leaderboard_figures(file.content), indent=2) + "\n", encoding="utf-8")
    return metrics


# MedPerf: the task `evaluate` of a metrics container: predictions, labels and parameters in, results.yaml out.
#
# Every site evaluates on its own data, so the labels may be references alone, with the rules of the image.


def evaluate_for_medperf(  # noqa: PLR0913  (what the container's configuration mounts)
    *,
    predictions: Path,
    labels: Path,
    parameters_file: Path,
    output_path: Path,
    rules: Path,
    challenge: str | None,
    executor: Executor,
) -> MetricsFile:
    """Score the predictions; everything below `aggregates` and `counts` of metrics.json goes to results.yaml.

    `rules` is the ground truth of the image, for labels without a challenge.toml; `challenge` is its name where the
    parameters give none.
    """
    challenge = read_parameters(parameters_file) or challenge
    with TemporaryDirectory(prefix="podium-") as output, _ground_truth(labels, rules, challenge) as ground_truth:
        metrics = evaluation.evaluate(
            submission=predictions,
            output=Path(output),
            ground_truth=ground_truth,
            challenge=challenge,
            executor=executor,
        )
        published = read_metrics(Path(output) / METRICS_FILE)  # what is returned holds the exact figures
    content = {
        "challenge": published.challenge,
        "version": published.version,
        "counts": published.counts.model_dump(),
        "aggregates": published.aggregates,
    }
    try:
        # In place: the file itself is mounted, so it cannot be replaced, and nothing can be written beside it.
        output_path.write_text(to_yaml(content), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"The results cannot be written: {error.strerror}.", detail=str(output_path)) from None
    return metrics


def read_parameters(path: Path) -> str | None:
    """The value of `challenge`, the only key of the YAML; None in a file without it."""
    require("yaml", extra="score")
    import yaml

    wrong = ConfigurationError("The parameters: the only key is 'challenge', once, with the challenge's name.")
    try:
        text = path.read_text(encoding="utf-8")
        # Not `safe_load`, which would take the last of several values.
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except (OSError, UnicodeDecodeError):
        raise ConfigurationError("The file of parameters cannot be read.", detail=str(path)) from None
    except yaml.YAMLError:
        raise wrong from None
    match root:
        case None | yaml.MappingNode(value=[]):
            return None
        case yaml.MappingNode(value=[(yaml.ScalarNode(value="challenge"), yaml.ScalarNode(value=str(name)))]):
            if _CHALLENGE.fullmatch(name):
                return name
    raise wrong


@contextmanager
def _ground_truth(labels: Path, rules: Path, challenge: str | None) -> Iterator[Path]:
    """The labels if they include a challenge.toml, else a folder of the image's rules and the labels."""
    if not labels.is_dir():
        raise GroundTruthError("There are no labels: their folder does not exist.", detail=str(labels))
    if any((folder / CHALLENGE_FILE).is_file() for folder in (labels, *labels.iterdir())):
        yield labels
        return
    chosen = evaluation.find_challenge(rules, challenge)
    with TemporaryDirectory(prefix="podium-") as workspace:
        folder = Path(workspace) / chosen.name
        folder.mkdir()
        for path in (chosen.path / CHALLENGE_FILE, *chosen.beside):
            (folder / path.name).write_bytes(path.read_bytes())
        (folder / REFERENCES).symlink_to(labels.resolve(), target_is_directory=True)
        yield folder


# Synapse's ORCA workflow: one file of predictions and a folder of ground truth in, results.json out.
#
# The workflow runs a validation and then a scoring step on the same results.json, stores its content as annotations
# of the submission, and uses what a step prints to stdout as the submission's status. A step that exits with an
# error stops the workflow, so an unusable submission is a status and only an error of the organisers is an exit code.


def validate_submission(
    *, predictions: Path, ground_truth: Path, results: Path, challenge: str | None, executor: Executor
) -> Status:
    """The validation step. A submission is invalid if none of its cases can be scored; any other problem is listed and
    affects its own case only."""
    try:
        problems, is_usable = _problems(predictions, ground_truth, challenge, executor)
    except SubmissionError as error:
        problems, is_usable = [str(error)], False
    status: Status = "VALIDATED" if is_usable else "INVALID"
    _write(results, {"validation_status": status, "validation_errors": shortened("\n".join(problems))}, status=status)
    return status


def evaluate_for_orca(
    *, predictions: Path, ground_truth: Path, results: Path, challenge: str | None, executor: Executor
) -> Status:
    """The scoring step: the leaderboard's figures by flat name, and metrics.json beside results.json.

    What an earlier validation wrote is kept, and a submission that was invalid there is not scored.
    """
    found = _read(results) or {"validation_status": "VALIDATED", "validation_errors": ""}
    status: Status = "INVALID"
    errors = "The submission was not scored: its validation failed."
    figures: Mapping[str, Any] = {}
    if found.get("validation_status") != "INVALID":
        try:
            evaluation.evaluate(
                submission=predictions,
                output=results.parent,
                ground_truth=ground_truth,
                challenge=challenge,
                executor=executor,
            )
            published = read_metrics(results.parent / METRICS_FILE)
            counts = {f"cases_{name}": number for name, number in published.counts.model_dump().items()}
            figures = {**leaderboard_figures(published), **counts}
            status, errors = "SCORED", ""
        except SubmissionError as error:
            errors = shortened(str(error))
    _write(results, {**found, "score_status": status, "score_errors": errors, **figures}, status=status)
    return status


def _problems(
    predictions: Path, ground_truth: Path, challenge: str | None, executor: Executor
) -> tuple[list[str], bool]:
    """All problems, and whether at least one case can still be scored."""
    folder = evaluation.find_challenge(ground_truth, challenge)
    task = evaluation.prepare(folder, load_challenge(folder), executor)
    manifest = make_manifest(task)
    report = validate(predictions, cases=manifest, executor=executor)
    lost = {problem.where for problem in report.problems} & manifest.cases.keys()
    found = [f"{problem.where}: {problem.what}" for problem in report.problems if problem.what != MISSING]
    # Counted, not named: a participant may not know the names of the hidden cases.
    if missing := len(report.problems) - len(found):
        found.append(f"{missing} of {len(manifest.cases)} cases have no prediction.")
    return found, len(lost) < len(manifest.cases)


def _read(results: Path) -> dict[str, Any]:
    """What the previous step wrote; nothing if there was none, or if it is not a JSON object."""
    try:
        content = json.loads(results.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _write(results: Path, content: Mapping[str, Any], *, status: Status) -> None:
    """In place, since the workflow may have linked it. Older workflows read `submission_status`."""
    errors = content["score_errors"] if "score_errors" in content else content["validation_errors"]
    older = {"submission_status": status, "submission_errors": errors}
    try:
        results.write_text(json.dumps({**content, **older}, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"The results cannot be written: {error.strerror}.", detail=str(results)) from None


def shortened(text: str, longest: int = _LONGEST_ERRORS) -> str:
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


# The leaderboard's figures under flat names, for platforms without nested figures.


def flat_keys(paths: Sequence[str]) -> Mapping[str, str]:
    """A key for each of these different dotted paths: `dice.long_plaque.mean` is `dice_long_plaque_mean`.

    All keys differ. Where two would be the same, or a key would be too long, it ends with a checksum of its path.
    """
    plain = {path: _NOT_ALLOWED.sub("_", path) for path in paths}
    used = Counter(plain.values())
    marked = {path: f"{key[: LONGEST_KEY - 9]}_{sha256(path.encode()).hexdigest()[:8]}" for path, key in plain.items()}
    return {path: key if used[key] == 1 and len(key) <= LONGEST_KEY else marked[path] for path, key in plain.items()}


def leaderboard_figures(metrics: MetricsFile) -> Mapping[str, float]:
    """The figures of all columns that `podium leaderboard` lists, by flat key, the score first. `metrics` is what was
    published, so that nothing else becomes known here."""
    challenge = challenge_from_settings(metrics.challenge, metrics.kind, dict(metrics.settings))
    keys = flat_keys([column.path for column in challenge.phase_columns()])
    return {key: get(metrics.aggregates, path) for path, key in keys.items() if holds(metrics.aggregates, path)}


# YAML, for the few small files that platforms ask for.


def to_yaml(content: Mapping[str, Any]) -> str:
    """Block style, in the order given."""
    require("yaml", extra="score")
    import yaml

    text: str = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=math.inf)
    return text
