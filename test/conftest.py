"""What holds for all tests: imports, signals, what scores cases, and how one evaluation is run."""

import importlib
import signal
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pytest

# Lets tests import their neighbours as `literal.*` and `samples.*`: `test` is the name of a stdlib package.
sys.path.insert(0, str(Path(__file__).resolve().parent))
importlib.import_module("properties")  # before any property test is collected

# `./test.sh &` starts us with SIGINT ignored and nohup with SIGHUP, which the programs under test would inherit.
for request, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(request) == signal.SIG_IGN:
        signal.signal(request, usual)


LONGEST_FIRST = ("container/", "tools/batch/", "tools/simulation/", "execution/", "sandbox/", "tools/", "test_")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes long, so that no worker ends alone."""
    items.sort(key=_place)


def _place(item: pytest.Item) -> int:
    name = item.nodeid.removeprefix("test/")
    return next((place for place, start in enumerate(LONGEST_FIRST) if name.startswith(start)), len(LONGEST_FIRST))


# What submitted files are read with, and what the commands score with.
DECODERS = ("podium.evaluation.decoders", "podium.validation.decoders", "podium.tools.report.overlays.decoders")
EXECUTOR = "podium.cli.arguments.Processes"


@pytest.fixture(scope="module")
def in_process() -> Iterator[None]:
    """Read and score in the test's own process: without forks a small evaluation takes milliseconds.

    For tests of rules. How files are read and scored in processes of their own is tested in sandbox/, execution/,
    hostile/, container/, and with the fixture `processes`.
    """
    from podium.execution.executor import Serial

    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(EXECUTOR, lambda **_: Serial())
        for name in DECODERS:
            monkeypatch.setattr(name, lambda *_, **_more: nullcontext())
        yield


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Score with local processes after all, as users do."""
    from podium.execution.processes import Processes

    monkeypatch.setattr(EXECUTOR, Processes)


@pytest.fixture
def podium(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Any command in the test's own process, with room for whole tables: its exit code and what it printed."""
    from evaluating import run_podium

    monkeypatch.setenv("COLUMNS", "200")
    return partial(run_podium, capfd)


@pytest.fixture
def evaluate(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Any:
    """Evaluate a folder against a ground truth (by default carotid, cases a, b, c): what it said and wrote."""
    from challenges.carotid_files import write_ground_truth
    from evaluating import Run, evaluate_command

    def run(submission: Path, *arguments: str, ground_truth: Path | None = None) -> Any:
        if ground_truth is None:
            ground_truth = tmp_path / "truth"
            if not ground_truth.exists():
                write_ground_truth(ground_truth)
        output = tmp_path / "output"
        capfd.readouterr()
        code = evaluate_command(submission, ground_truth, output, *arguments)
        out, err = capfd.readouterr()
        return Run(code, out, err, output)

    return run


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A perfect submission of loose files for the cases a, b, c of carotid."""
    from challenges.carotid_files import write_case

    folder = tmp_path / "submission"
    for case, cls in {"a": 0, "b": 1, "c": 0}.items():
        write_case(folder / f"{case}_pred.h5", cls=cls)
    return folder
