"""What cannot be scored ends with an exit code that says whose fault it is and one plain sentence."""

import shutil
from pathlib import Path

import pytest
from container.engine import Run, evaluate
from places import ROOT

pytestmark = pytest.mark.container


def assert_refused(run: Run, words: str, *, exit_code: int) -> None:
    assert run.exit_code == exit_code, run.stdout + run.stderr
    assert run.sentence.endswith("."), run.stderr
    assert words in run.sentence
    assert "Traceback" not in run.stderr
    assert "internal error" not in run.sentence, run.stdout
    assert list(run.output.iterdir()) == []


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    """A submission without a file."""
    (tmp_path / "input").mkdir()
    return tmp_path / "input"


def test_an_empty_submission_is_unusable(carotid_image: str, empty: Path, tmp_path: Path) -> None:
    assert_refused(evaluate(carotid_image, empty, tmp_path / "output"), "empty", exit_code=1)


def test_broken_ground_truth_is_the_organisers_fault(carotid_image: str, empty: Path, tmp_path: Path) -> None:
    ground_truth = shutil.copytree(ROOT / "ground-truth/carotid", tmp_path / "ground_truth")
    (ground_truth / "challenge.toml").write_text("kind = ")
    run = evaluate(carotid_image, empty, tmp_path / "output", ground_truth=ground_truth)
    assert_refused(run, "challenge.toml is not valid TOML", exit_code=2)


def test_an_image_with_several_challenges_needs_a_name(image: str, carotid_submission: Path, tmp_path: Path) -> None:
    assert_refused(evaluate(image, carotid_submission, tmp_path / "output"), "PODIUM_CHALLENGE", exit_code=2)


def test_an_unknown_challenge_is_the_organisers_fault(image: str, empty: Path, tmp_path: Path) -> None:
    run = evaluate(image, empty, tmp_path / "output", environment={"PODIUM_CHALLENGE": "no-such-challenge"})
    assert_refused(run, "no-such-challenge", exit_code=2)


def test_a_result_that_cannot_be_written_is_not_a_success(
    carotid_image: str, carotid_submission: Path, tmp_path: Path
) -> None:
    run = evaluate(carotid_image, carotid_submission, tmp_path / "output", user="12345:6789", output_mode=0o755)
    assert_refused(run, "", exit_code=2)
