"""`./try.sh`: an organiser's dry run of the image, as the platform runs it."""

import json
import subprocess
from pathlib import Path

import pytest
from container.engine import PLATFORM_LIMITS, docker
from places import ROOT

pytestmark = pytest.mark.container


def dry_run(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([ROOT / "try.sh", *words], capture_output=True, text=True, timeout=900, check=False)


def test_the_limits_are_those_of_the_platform() -> None:
    text = (ROOT / "try.sh").read_text()
    for limit in PLATFORM_LIMITS:
        name, _, value = limit.partition("=")
        assert (name if name.startswith("--memory") else f"{name} {value}".strip()) in text, limit


def test_a_submission_is_scored_and_its_figures_are_shown(carotid_image: str) -> None:
    dry_run("carotid", "test/submissions/carotid/aorta")
    built = docker("image", "inspect", "--format={{.Id}}", carotid_image).stdout
    done = dry_run("carotid", "test/submissions/carotid/aorta")
    assert done.returncode == 0, done.stderr
    assert docker("image", "inspect", "--format={{.Id}}", carotid_image).stdout == built
    assert "Built" not in done.stdout  # nothing changed since the first run
    expected = json.loads((ROOT / "test/expected/carotid/aorta.json").read_text())
    metrics = json.loads((ROOT / "try-output/carotid/metrics.json").read_text())
    assert metrics["aggregates"]["score"] == pytest.approx(expected["aggregates"]["score"])
    assert f"Score (0-100)                            {metrics['aggregates']['score']:.4f}" in done.stdout
    assert "12 scored" in done.stdout


@pytest.mark.usefixtures("carotid_image")
def test_without_a_submission_the_perfect_sample_is_scored() -> None:
    done = dry_run("carotid")
    assert done.returncode == 0, done.stderr
    assert "Score (0-100)                            100.0000" in done.stdout


@pytest.mark.usefixtures("carotid_image")
def test_what_participants_would_see_of_a_failure_is_shown(tmp_path: Path) -> None:
    done = dry_run("carotid", str(tmp_path))
    assert done.returncode == 1
    assert "ended with exit code 1" in done.stderr.splitlines()[-1]


def test_what_is_not_there_is_named_before_anything_is_built() -> None:
    assert dry_run("cartoid").stderr == "try.sh: there is no challenge 'cartoid' in ground-truth/.\n"
    assert dry_run("carotid", "absent").stderr == "try.sh: there is no submission 'absent'.\n"
    assert dry_run().stderr.startswith("usage: ./try.sh CHALLENGE [SUBMISSION]")
