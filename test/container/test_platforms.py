"""The image scores on other platforms too, with their paths and their result files."""

import json
import shutil
from pathlib import Path

import pytest
from container.engine import PLATFORM_LIMITS, docker
from places import ROOT

pytestmark = pytest.mark.container

GROUND_TRUTH = ROOT / "ground-truth/carotid"
TEAM = ROOT / "test/submissions/carotid/carina"


@pytest.fixture
def output(tmp_path: Path) -> Path:
    folder = tmp_path / "output"
    folder.mkdir()
    folder.chmod(0o777)
    return folder


def run(image: str, *arguments: str, volumes: dict[Path, str], entrypoint: str = "podium") -> str:
    mounted = [f"--volume={path}:{place}" for path, place in volumes.items()]
    return docker("run", "--rm", *PLATFORM_LIMITS, *mounted, f"--entrypoint={entrypoint}", image, *arguments).stdout


def test_codabench(carotid_image: str, output: Path) -> None:
    volumes = {TEAM: "/app/input/res:ro", GROUND_TRUTH: "/app/input/ref/carotid:ro", output: "/app/output"}
    run(carotid_image, "evaluate", "--platform", "codabench", "--challenge", "carotid", volumes=volumes)
    score = json.loads((output / "metrics.json").read_text())["aggregates"]["score"]
    assert json.loads((output / "scores.json").read_text())["score"] == score
    assert "csv_0007" in (output / "detailed_results.html").read_text()


def test_synapse(carotid_image: str, output: Path, tmp_path: Path) -> None:
    archive = shutil.make_archive(str(tmp_path / "predictions"), "zip", TEAM)
    volumes = {Path(archive): "/predictions.zip:ro", GROUND_TRUTH: "/truth:ro", output: "/results"}
    files = ("-p", "/predictions.zip", "-g", "/truth", "-o", "/results/results.json")
    words = ("evaluate", "--platform", "orca", "--challenge", "carotid")
    assert run(carotid_image, *words, "--validate-only", *files, volumes=volumes) == "VALIDATED\n"
    assert run(carotid_image, *words, *files, volumes=volumes) == "SCORED\n"
    assert json.loads((output / "results.json").read_text())["cases_scored"] == 12


def test_medperf(carotid_image: str, output: Path) -> None:
    parameters = output / "parameters.yaml"
    parameters.write_text("challenge: carotid\n")
    places = {TEAM: "predictions:ro", GROUND_TRUTH / "references": "labels:ro", output: "results"}
    volumes = {path: f"/mlcommons/volumes/{place}" for path, place in places.items()}
    volumes[parameters] = "/mlcommons/volumes/parameters/parameters_file.yaml:ro"
    run(carotid_image, "evaluate", "--platform", "medperf", volumes=volumes)
    assert "  scored: 12\n" in (output / "results.yaml").read_text()
