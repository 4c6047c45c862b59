"""Commands besides evaluate and batch use decoders too: results are those of reading here, and a reader that crashes
costs its file alone. References are read by the command itself, whatever decoders do.
"""

import ctypes
import json
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from challenges.lesions_folders import LESION, write
from places import ROOT
from sandbox.hijacking import decoders_with

from podium.cli import main
from podium.evaluation import evaluate
from podium.execution.executor import Serial
from podium.execution.processes import Processes
from podium.sandbox import server
from podium.tools.simulation.run import Plan, find_cases, simulate_on
from podium.validation import Problem, ValidationReport, validate

pytestmark = pytest.mark.slow

SUBMISSIONS = ROOT / "test/submissions"
CRASHED = " crashed or ran out of memory on every attempt."


def crashing(name: str = "") -> AbstractContextManager[None]:
    """Decoders that crash on files whose names contain `name`."""

    def crash(real: Any) -> Any:
        def read(opened: server.OpenFile, **options: Any) -> Any:
            if name in opened.file.name:
                ctypes.string_at(0)
            return real(opened, **options)

        return read

    return decoders_with(__name__, READERS={each: crash(real) for each, real in server.READERS.items()})


def read_here(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    monkeypatch.setattr(f"{module}.decoders", lambda *_, **_more: nullcontext())


@pytest.mark.parametrize(("kind", "team"), [("carotid", "dropout"), ("lesions", "glow")])
def test_validation_finds_the_same(kind: str, team: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def found() -> ValidationReport:
        truth = ROOT / "ground-truth"
        return validate(SUBMISSIONS / kind / team, challenge=kind, executor=Serial(), ground_truth=truth)

    apart = found()
    read_here(monkeypatch, "podium.validation")
    assert found() == apart


def test_a_reader_that_crashes_is_a_problem_of_its_file() -> None:
    def found() -> list[Problem]:
        given = {"challenge": "carotid", "ground_truth": ROOT / "ground-truth"}
        return list(validate(SUBMISSIONS / "carotid/carina", executor=Processes(workers=2), **given).problems)

    assert found() == []
    with crashing("0042"):
        assert found() == [Problem(where="csv_0042", what=f"Reading 'predictions/csv_0042_pred.h5'{CRASHED}")]


def test_overlays_are_the_same_and_a_reader_that_crashes_costs_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    truth, submission = ROOT / "ground-truth/carotid", SUBMISSIONS / "carotid/dropout"
    evaluate(submission=submission, output=tmp_path, ground_truth=truth, executor=Serial())

    def page(name: str) -> str:
        options = {"images": ROOT / "test/images/carotid", "submission": submission, "ground-truth": truth}
        words = [word for option, path in options.items() for word in (f"--{option}", str(path))]
        assert main(["report", str(tmp_path / "metrics.json"), *words, "--output", str(tmp_path / name)]) == 0
        return (tmp_path / name).read_text(encoding="utf-8")

    apart = page("apart.html")
    with crashing("0128"):
        crashed = page("crashed.html")
    read_here(monkeypatch, "podium.tools.report.overlays")
    assert page("here.html") == apart
    assert (apart.count("data:image/png"), crashed.count("data:image/png")) == (16, 12), (
        "a panel for each of two structures that overlap"
    )
    assert crashed.count(f"No picture: Reading &#39;csv_0128_pred.h5&#39;{CRASHED.removesuffix('.')}") == 1


@pytest.fixture
def simulation(tmp_path: Path) -> dict[str, Path]:
    """One case, whose algorithm answers with the reference."""
    write(tmp_path / "references/a.nii.gz", LESION)
    for channel in ("_0000", "_0001"):
        write(tmp_path / f"images/a{channel}.nii.gz", LESION)
    return {name: tmp_path / name for name in ("images", "references", "output")}


def answer(simulation: dict[str, Path]) -> str:
    return f"command:cp {simulation['references']}/a.nii.gz {{output}}/images/tumor-lesion-segmentation/answer.nii.gz"


def test_a_reader_that_crashes_costs_its_step(
    simulation: dict[str, Path], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = [word for name, path in simulation.items() for word in (f"--{name}", str(path))]

    def step(output: str) -> Any:
        given = ["--algorithm", answer(simulation), *words, "--steps", "1", "--output", str(tmp_path / output)]
        assert main(["simulate", *given]) == 0
        return json.loads((tmp_path / output / "a/steps.json").read_text(encoding="utf-8"))["steps"][0]

    assert (step("apart")["status"], step("apart")["dice"]) == ("done", 1.0)
    with crashing():
        failed = step("crashed")
        shown = [
            "--simulation",
            str(tmp_path / "apart"),
            *words[:4],
            "--step",
            "0",
            "--output",
            str(tmp_path / "a.png"),
        ]
        assert main(["scribbles", "show", "a", *shown]) != 0
    died = f"Reading 'images/tumor-lesion-segmentation/answer.nii.gz'{CRASHED}"
    assert (failed["status"], failed["error"]) == ("failed", died)
    assert capfd.readouterr().err.splitlines()[-1] == f"Reading 'iter_0.nii.gz'{CRASHED}"


def test_a_simulation_on_other_machines_has_decoders_of_its_own(simulation: dict[str, Path]) -> None:
    plan = Plan(
        spec=answer(simulation), output=simulation["output"], steps=1, strategy="centerline", timeout_seconds=60.0
    )
    cases = find_cases(simulation["images"], simulation["references"])
    with crashing():
        ((outcome,),), broken = simulate_on(Processes(workers=1), cases, [plan], lambda _: None)
    assert not broken
    assert outcome.error is not None
    assert outcome.error.endswith(CRASHED)


def test_a_reader_that_crashes_costs_its_plot(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    submission, truth = SUBMISSIONS / "freehand/fathom", ROOT / "ground-truth/freehand"
    given = ["--input", str(submission), "--ground-truth", str(truth), "--output", str(tmp_path / "scan.png")]
    with crashing():
        assert main(["freehand", "plot", "sub051__LH_Par_S_DtP", *given]) != 0
    assert capfd.readouterr().err.splitlines()[-1] == f"Reading 'sub051__LH_Par_S_DtP.h5'{CRASHED}"
