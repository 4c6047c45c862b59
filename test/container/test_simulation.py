"""`podium simulate` against a real container, run as the platform runs algorithms, and its predictions scored."""

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from challenges.lesions_folders import run
from container.engine import REPOSITORY, docker

from podium.cli.main import main

ALGORITHM = REPOSITORY / "test/algorithms/threshold"
CASES = ("fdg_ukt_001.nii.gz", "fdg_ukt_002.nii.gz", "psma_ukt_011.mha")  # five lesions, none, an instance map of four


@pytest.fixture(scope="module")
def algorithm(engine: None) -> Iterator[str]:  # noqa: ARG001
    tag = "podium-test-threshold-algorithm"
    docker("build", "--tag", tag, str(ALGORITHM))
    yield tag
    docker("image", "rm", "--force", tag)


@pytest.fixture
def ground_truth(tmp_path: Path) -> Path:
    folder = tmp_path / "ground-truth"
    (folder / "references").mkdir(parents=True)
    shutil.copy(REPOSITORY / "ground-truth/lesions/challenge.toml", folder)
    for case in CASES:
        shutil.copy(REPOSITORY / "ground-truth/lesions/references" / case, folder / "references")
    return folder


def simulate(spec: str, ground_truth: Path, output: Path, *more: str) -> int:
    folders = ["--images", str(REPOSITORY / "test/images/lesions"), "--references", str(ground_truth / "references")]
    return main(["simulate", "--algorithm", spec, *folders, "--output", str(output), *more])


def test_a_container_is_driven_to_better_scores(algorithm: str, ground_truth: Path, tmp_path: Path) -> None:
    assert simulate(f"docker:{algorithm}", ground_truth, tmp_path / "container") == 0
    found = run(tmp_path / "container", ground_truth, tmp_path / "scores")
    assert found["counts"] == {"expected": 3, "scored": 3, "failed": 0, "missing": 0, "unmatched": 0}
    for case in ("fdg_ukt_001", "psma_ukt_011"):
        dice = [step["dice"] for step in found["results"][case]["metrics"]["steps"]]
        assert len(dice) == 6
        assert dice == sorted(dice)
        assert dice[-1] > dice[0] + 0.3
        assert found["results"][case]["warnings"] == []

    program = f"command:{sys.executable} {ALGORITHM / 'process.py'} {{input}} {{output}}"
    assert simulate(program, ground_truth, tmp_path / "program") == 0
    for path in sorted((tmp_path / "program").glob("*/iter_*")):
        assert (tmp_path / "container" / path.relative_to(tmp_path / "program")).read_bytes() == path.read_bytes()


@pytest.mark.usefixtures("engine")
def test_a_container_that_fails_or_hangs_costs_its_step(ground_truth: Path, tmp_path: Path) -> None:
    for name, command, words in (
        ("fails", ["sh", "-c", "echo out of luck >&2; exit 3"], "exit code 3: out of luck"),
        ("hangs", ["sleep", "60"], "took longer than 3 seconds"),
        ("offline", ["python", "-c", "import socket; socket.create_connection(('1.1.1.1', 53), 5)"], "exit code 1"),
        ("writes", ["sh", "-c", "touch /input/x"], "Read-only file system"),
    ):
        tag = f"podium-test-{name}"
        build = tmp_path / f"build-{name}"
        build.mkdir()
        (build / "Dockerfile").write_text(f"FROM python:3.11-slim\nENTRYPOINT {json.dumps(command)}\n")
        docker("build", "--tag", tag, str(build))
        try:
            more = ("--steps", "1", "--step-timeout", "3" if name == "hangs" else "60")
            assert simulate(f"docker:{tag}", ground_truth, tmp_path / name, *more) == 0
            assert docker("ps", "--all", "--filter", f"ancestor={tag}", "--quiet").stdout == ""
        finally:
            docker("image", "rm", "--force", tag)
        [step] = json.loads((tmp_path / name / "fdg_ukt_001/steps.json").read_text())["steps"]
        assert (step["status"], words in step["error"]) == ("failed", True), step["error"]


@pytest.mark.usefixtures("engine")
def test_an_image_that_is_not_there(ground_truth: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert simulate("docker:podium-test-no-such-image", ground_truth, tmp_path / "out") == 2
    assert "There is no image 'podium-test-no-such-image' here" in capsys.readouterr().err
