"""MedPerf: the task `evaluate` of a metrics container: predictions, labels and parameters in, results.yaml out.

Every site evaluates on its own data. So the labels may be references alone; the rules are then those of the image.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from podium import evaluation
from podium.adapters.yaml_text import to_yaml
from podium.challenges import KINDS
from podium.challenges.format import CHALLENGE_FILE, METRICS_CODE, REFERENCES, read_challenge_folders
from podium.errors import ConfigurationError, GroundTruthError, UsageError
from podium.execution.executor import Executor
from podium.platform.metrics_file import METRICS_FILE, MetricsFile, read_metrics

_LINE = re.compile(r"""([A-Za-z_]+):\s+(["']?)([A-Za-z0-9._-]+)\2\s*(?:#.*)?""", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Volumes:
    """What the container's configuration mounts."""

    predictions: Path
    labels: Path
    parameters_file: Path
    output_path: Path


def evaluate(volumes: Volumes, *, rules: Path, challenge: str | None, executor: Executor) -> MetricsFile:
    """Score the predictions; everything below `aggregates` and `counts` of metrics.json goes to results.yaml.

    `rules` is the ground truth of the image, for labels without a challenge.toml; `challenge` is its name where the
    parameters give none.
    """
    challenge = read_parameters(volumes.parameters_file) or challenge
    with (
        TemporaryDirectory(prefix="podium-") as output,
        _ground_truth(volumes.labels, rules, challenge) as ground_truth,
    ):
        metrics = evaluation.evaluate(
            submission=volumes.predictions,
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
        volumes.output_path.write_text(to_yaml(content), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"The results cannot be written: {error.strerror}.", detail=str(volumes.output_path)) from None
    return metrics


def read_parameters(path: Path) -> str | None:
    """The value of `challenge`, the only key there is; None in a file without it.

    Of YAML, lines `key: value`, comments and empty lines are read, and `{}` for no key at all.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise ConfigurationError("The file of parameters cannot be read.", detail=str(path)) from None
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#") or line.strip() in ("{}", "---"):
            continue
        match = _LINE.fullmatch(line)
        if not match or match[1] != "challenge" or match[1] in found:
            raise ConfigurationError(
                f"The parameters, line {number}: the only key is 'challenge', once, with the challenge's name."
            )
        found[match[1]] = match[3]
    return found.get("challenge")


@contextmanager
def _ground_truth(labels: Path, rules: Path, challenge: str | None) -> Iterator[Path]:
    """The labels where they bring a challenge.toml, else a folder of the image's rules and the labels."""
    if not labels.is_dir():
        raise GroundTruthError("There are no labels: their folder does not exist.", detail=str(labels))
    if any((folder / CHALLENGE_FILE).is_file() for folder in (labels, *labels.iterdir())):
        yield labels
        return
    chosen = evaluation.choose_challenge(read_challenge_folders(rules, known=KINDS, named=challenge), named=challenge)
    with TemporaryDirectory(prefix="podium-") as workspace:
        folder = Path(workspace) / chosen.name
        folder.mkdir()
        for name in (CHALLENGE_FILE, METRICS_CODE):
            if (chosen.path / name).is_file():
                (folder / name).write_bytes((chosen.path / name).read_bytes())
        (folder / REFERENCES).symlink_to(labels.resolve(), target_is_directory=True)
        yield folder
