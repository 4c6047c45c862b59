"""What cannot be scored ends with an exit code that says whose fault it is and one plain sentence."""

import shutil
from pathlib import Path

from container.engine import Run, evaluate
from places import ROOT


def assert_refused(run: Run, *, exit_code: int) -> None:
    assert run.exit_code == exit_code, run.stdout + run.stderr
    assert run.sentence.endswith("."), run.stderr
    assert "Traceback" not in run.stderr
    assert "internal error" not in run.sentence, run.stdout
    assert list(run.output.iterdir()) == []


def test_an_empty_submission_is_unusable(carotid_image: str, tmp_path: Path) -> None:
    submission = tmp_path / "input"
    submission.mkdir()
    run = evaluate(carotid_image, submission, tmp_path / "output")
    assert_refused(run, exit_code=1)
    assert "empty" in run.sentence


def test_broken_ground_truth_is_the_organisers_fault(carotid_image: str, tmp_path: Path) -> None:
    ground_truth = tmp_path / "ground_truth"
    shutil.copytree(ROOT / "ground-truth/carotid", ground_truth)
    (ground_truth / "challenge.toml").write_text("kind = ")
    submission = tmp_path / "input"
    submission.mkdir()
    run = evaluate(carotid_image, submission, tmp_path / "output", ground_truth=ground_truth)
    assert_refused(run, exit_code=2)
    assert "challenge.toml is not valid TOML" in run.sentence


def test_an_image_with_several_challenges_needs_a_name(image: str, carotid_submission: Path, tmp_path: Path) -> None:
    run = evaluate(image, carotid_submission, tmp_path / "output")
    assert_refused(run, exit_code=2)
    assert "PODIUM_CHALLENGE" in run.sentence


def test_an_unknown_challenge_is_the_organisers_fault(image: str, tmp_path: Path) -> None:
    submission = tmp_path / "input"
    submission.mkdir()
    run = evaluate(image, submission, tmp_path / "output", environment={"PODIUM_CHALLENGE": "no-such-challenge"})
    assert_refused(run, exit_code=2)
    assert "no-such-challenge" in run.sentence


def test_a_result_that_cannot_be_written_is_not_a_success(
    carotid_image: str, carotid_submission: Path, tmp_path: Path
) -> None:
    run = evaluate(carotid_image, carotid_submission, tmp_path / "output", user="12345:6789", output_mode=0o755)
    assert run.exit_code == 2
    assert run.sentence.endswith(".")
    assert list(run.output.iterdir()) == []
