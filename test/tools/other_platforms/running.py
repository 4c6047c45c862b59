"""The samples of every kind, and what their figures are called on other platforms."""

import json
from pathlib import Path
from typing import Any

from places import ROOT

from podium.cli import main
from podium.figures import get

SAMPLES = {"carotid": "dropout", "freehand": "fathom", "lesions": "glow", "reports": "cuspid"}  # files, no jobs


def ground_truth(kind: str) -> Path:
    return ROOT / "ground-truth" / kind


def sample(kind: str, team: str | None = None) -> Path:
    return ROOT / "test/submissions" / kind / (team or SAMPLES[kind])


def plain_metrics(kind: str, output: Path) -> dict[str, Any]:
    """metrics.json as Grand Challenge gets it."""
    paths = ("--input", sample(kind), "--output", output, "--ground-truth", ground_truth(kind))
    assert main(["evaluate", *map(str, paths)]) == 0
    metrics: dict[str, Any] = json.loads((output / "metrics.json").read_bytes())
    return metrics


def column_paths(kind: str, podium: Any) -> list[str]:
    """The paths of the leaderboard below `aggregates`, in the order that `podium leaderboard` prints."""
    settings = json.loads(podium("leaderboard", "--json", kind).out)
    paths = [settings["score_jsonpath"], *(column["path"] for column in settings["extra_results_columns"])]
    return [path.removeprefix("aggregates.") for path in paths]


def expected_figures(metrics: dict[str, Any], paths: list[str]) -> dict[str, float]:
    """By a literal reading of the key's rule; no sample has a key that is too long or used twice."""
    return {path.replace(".", "_").replace("-", "_"): get(metrics["aggregates"], path) for path in paths}
