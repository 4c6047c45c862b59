"""What holds for all tests: imports, signals, what scores cases, and how one evaluation is run."""

import importlib
import signal
import sys
from collections.abc import Iterator
from contextlib import nullcontext
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


SLOW = {
    *("batch", "simulation", "samples", "hostile", "sandbox", "execution"),
    *("test_docs_blocks.py", "test_install.py", "test_invoke.py", "test_kill.py", "test_proxy.py"),
    *("test_web.py", "test_web_refusals.py", "test_web_serve.py"),
}
"""Tests that start clusters, servers, installations, decoders or many commands, kill processes, or draw all samples."""
LONGEST_FIRST = ("container/", "tools/batch/", "tools/simulation/", "execution/", "sandbox/", "tools/", "test_")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what `--fast` leaves out, by folder and name; begin with what takes long, so that no worker ends alone."""
    for item in items:
        if item.path.name.startswith("test_browser_"):
            item.add_marker("browser")
        elif item.path.parent.name == "container":
            item.add_marker("container")
        elif {item.path.name, item.path.parent.name} & SLOW:
            item.add_marker("slow")
    items.sort(key=_place)


def _place(item: pytest.Item) -> int:
    name = item.nodeid.removeprefix("test/")
    return next((place for place, start in enumerate(LONGEST_FIRST) if name.startswith(start)), len(LONGEST_FIRST))


SERIAL = {
    *("challenges", "declared", "platforms", "report", "ranking", "judge", "literal", "gallery"),
    *("test_cli.py", "test_evaluation.py", "test_freehand.py", "test_validation.py"),
}
# What they read submitted files with.
DECODERS = ("podium.evaluation.decoders", "podium.validation.decoders", "podium.tools.report.overlays.decoders")
EXECUTOR = "podium.cli.arguments.Processes"  # what the commands score with


@pytest.fixture(scope="module", autouse=True)
def _serial(request: pytest.FixtureRequest) -> Iterator[None]:
    """Tests of rules read and score in their own process: without forks a small evaluation takes milliseconds."""
    if not {request.path.name, request.path.parent.name} & SERIAL:
        yield
        return
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
