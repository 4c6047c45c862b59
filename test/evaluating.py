"""Commands in the test's own process, above all `podium evaluate` for every test that needs scores."""

import json
import math
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from podium.cli import main


def evaluate_command(submission: Path, ground_truth: Path, output: Path, *arguments: str) -> int:
    """The command's exit code."""
    paths = ("--input", submission, "--output", output, "--ground-truth", ground_truth)
    return main(["evaluate", *map(str, paths), *arguments])


def evaluate(submission: Path, ground_truth: Path, output: Path, *arguments: str) -> dict[str, Any]:
    """metrics.json with its rows by case; the evaluation must succeed."""
    assert evaluate_command(submission, ground_truth, output, *arguments) == 0
    return read_metrics(output)


def read_metrics(output: Path) -> dict[str, Any]:
    """metrics.json with its rows by case."""
    metrics: dict[str, Any] = json.loads((output / "metrics.json").read_text())
    metrics["results"] = {row["case"]: row for row in metrics["results"]}
    return metrics


def differences(expected: Any, found: Any, where: str = "", *, within: float = 1e-6) -> list[str]:
    """Every expected figure that is absent or off by more than `within`; what was not expected is not compared."""
    if isinstance(expected, dict):
        if not isinstance(found, dict):
            return [f"{where}: expected an object, found {found!r}"]
        absent = [f"{where}.{key} is absent" for key in expected if key not in found]
        pairs = [(value, found[key], f"{where}.{key}") for key, value in expected.items() if key in found]
        return [*absent, *(problem for pair in pairs for problem in differences(*pair, within=within))]
    same = expected == found
    if isinstance(expected, int | float) and isinstance(found, int | float):
        same = math.isclose(expected, found, rel_tol=0, abs_tol=within)
    return [] if same else [f"{where}: expected {expected!r}, found {found!r}"]


class Run:
    """One evaluation: exit code, streams, and metrics.json if there is one."""

    def __init__(self, code: int, out: str, err: str, output: Path) -> None:
        self.code, self.out, self.err = code, out, err
        file = output / "metrics.json"
        self.metrics: dict[str, Any] = json.loads(file.read_text()) if file.is_file() else {}

    @property
    def last_line(self) -> str:
        return [line for line in self.err.splitlines() if line.strip()][-1]

    @property
    def rows(self) -> dict[str, dict[str, Any]]:
        return {row["case"]: row for row in self.metrics["results"]}


class Ended(NamedTuple):
    """One command: exit code and streams."""

    code: int
    out: str
    err: str

    @property
    def last_line(self) -> str:
        return self.err.splitlines()[-1] if self.err else ""


def run_podium(capfd: pytest.CaptureFixture[str], *arguments: object) -> Ended:
    """Any command in the test's own process."""
    capfd.readouterr()
    code = main([str(argument) for argument in arguments])
    return Ended(code, *capfd.readouterr())
