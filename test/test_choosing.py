"""Which challenge a submission is for, where the ground truth holds several."""

from pathlib import Path

import pytest

from podium.challenges import KINDS
from podium.challenges.ground_truth import ChallengeFolder, read_challenge_folders
from podium.errors import SubmissionError, UsageError
from podium.evaluation import choose_challenge

PROJECT = Path(__file__).resolve().parent.parent
SUBMISSIONS = sorted((PROJECT / "test" / "submissions").glob("*/*"))


def chosen(submission: Path | None, *, named: str | None = None) -> ChallengeFolder:
    folders = read_challenge_folders(PROJECT / "ground-truth", known=KINDS)
    assert len(folders) > 1
    return choose_challenge(folders, named=named, submission=submission)


@pytest.mark.parametrize("submission", SUBMISSIONS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_every_sample_is_recognised(submission: Path) -> None:
    assert chosen(submission).name == submission.parent.name


def test_a_name_decides_whatever_the_submission_looks_like() -> None:
    for submission in SUBMISSIONS:
        assert chosen(submission, named="carotid").name == "carotid"


def test_a_submission_for_none_of_them_is_at_fault(tmp_path: Path) -> None:
    (tmp_path / "notes.bin").write_text("x")
    with pytest.raises(SubmissionError, match=r"looks made for none of the challenges here \(carotid, .*--challenge"):
        chosen(tmp_path)


def test_a_submission_for_several_needs_a_name(tmp_path: Path) -> None:
    (tmp_path / "a_pred.h5").touch()
    (tmp_path / "case").mkdir()
    (tmp_path / "case" / "iter_0.nii.gz").touch()
    with pytest.raises(UsageError, match=r"fits more than one of the challenges here \(carotid, .*PODIUM_CHALLENGE"):
        chosen(tmp_path)


def test_without_a_submission_a_name_is_needed() -> None:
    with pytest.raises(UsageError, match=r"There are several challenges here \(carotid, "):
        chosen(None)
