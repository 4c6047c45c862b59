"""Which challenge is meant: for an evaluation by name alone, for a participant's own check also by the files."""

from pathlib import Path

import pytest

from podium.challenges.format import read_challenge_folders
from podium.errors import UsageError
from podium.evaluation import choose_challenge
from podium.platform.submission import submission_names
from podium.validation import challenges_at_hand

PROJECT = Path(__file__).resolve().parent.parent
SUBMISSIONS = sorted((PROJECT / "test" / "submissions").glob("*/*"))
FOLDERS = read_challenge_folders(PROJECT / "ground-truth")


@pytest.mark.parametrize("name", sorted(FOLDERS))
def test_a_name_decides(name: str) -> None:
    assert choose_challenge(FOLDERS, named=name).name == name


def test_the_only_challenge_needs_no_name() -> None:
    assert choose_challenge({"carotid": FOLDERS["carotid"]}, named=None).name == "carotid"


def test_several_challenges_need_a_name() -> None:
    with pytest.raises(
        UsageError, match=r"There are several challenges here \(carotid, .*--challenge.*PODIUM_CHALLENGE"
    ):
        choose_challenge(FOLDERS, named=None)


@pytest.mark.parametrize("submission", SUBMISSIONS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_every_sample_is_recognised(submission: Path) -> None:
    names = submission_names(submission)
    known = challenges_at_hand(PROJECT / "ground-truth")
    assert [name for name, each in known.items() if each.format.recognises(names)] == [submission.parent.name]
