"""Which shape a submission has is the phase's setting; what the platform adds to it is no prediction."""

import json
import tempfile
from pathlib import Path

import pytest
from readers.made import refusal, zip_bytes

from podium.errors import UsageError
from podium.platform.submission import ARCHIVE_ENDINGS, Submission, SubmissionShape, open_submission, submission_names

JOBS = json.dumps([{"pk": "1", "inputs": [], "outputs": []}])


def opened(root: Path, shape: SubmissionShape = "any") -> Submission:
    with open_submission(root, max_bytes=1000, shape=shape) as submission:
        return submission


def names(submission: Submission) -> list[str]:
    return [file.name for file in submission.files]


@pytest.fixture
def both(tmp_path: Path) -> Path:
    """A participant's files with a predictions.json among them."""
    folder = tmp_path / "input"
    folder.mkdir()
    (folder / "a.h5").touch()
    (folder / "predictions.json").write_text(JOBS)
    return folder


@pytest.mark.parametrize("shape", ["algorithm", "any"])
def test_predictions_json_is_read_as_jobs(shape: SubmissionShape, both: Path) -> None:
    submission = opened(both, shape)
    assert (submission.is_algorithm, len(submission.jobs), submission.files) == (True, 1, ())


@pytest.mark.parametrize("content", [JOBS, "no JSON", '{"a": 1}'])
def test_in_a_phase_for_predictions_it_is_a_file_like_any_other(content: str, both: Path) -> None:
    (both / "predictions.json").write_text(content)
    submission = opened(both, "predictions")
    assert (submission.is_algorithm, submission.jobs) == (False, ())
    assert names(submission) == ["a.h5", "predictions.json"]


@pytest.mark.parametrize("name", ["a.h5", "preds.zip", "deeper/predictions.json"])
def test_a_phase_for_algorithms_takes_no_files(name: str, tmp_path: Path) -> None:
    file = tmp_path / "input" / name
    file.parent.mkdir(parents=True)
    file.write_bytes(zip_bytes({"predictions.json": JOBS.encode()}) if name.endswith("zip") else JOBS.encode())
    words = (
        "This phase takes algorithms, and the submission has no predictions.json: submit an algorithm instead of files "
        "with predictions."
    )
    assert refusal(opened, tmp_path / "input", "algorithm") == words


def test_the_platforms_own_file_is_no_prediction(tmp_path: Path) -> None:
    (tmp_path / "inputs.json").write_text("[]")
    assert refusal(opened, tmp_path) == "The submission is empty; it must hold a prediction for every case."
    for name in ("inputs.txt", "deeper/inputs.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("{}")
    assert names(opened(tmp_path)) == ["deeper/inputs.json", "inputs.txt"]
    assert submission_names(tmp_path).files == ("deeper/inputs.json", "inputs.txt")
    (tmp_path / "inputs.json").unlink()
    (tmp_path / "inputs.json").symlink_to("/elsewhere.json")
    assert opened(tmp_path).refused == ()


def test_inputs_json_in_an_archive_is_the_participants(tmp_path: Path) -> None:
    (tmp_path / "preds.zip").write_bytes(zip_bytes({"inputs.json": b"{}"}))
    assert names(opened(tmp_path)) == ["inputs.json"]


def test_the_input_may_be_a_link_and_nothing_below_it(both: Path, tmp_path: Path) -> None:
    """As on the platform, where /input leads to a folder of the task."""
    link = tmp_path / "link"
    link.symlink_to(both)
    assert opened(link).jobs == opened(both).jobs
    assert opened(link, "predictions") == opened(both, "predictions")
    (tmp_path / "real.zip").write_bytes(zip_bytes({"a.h5": b"x"}))
    (tmp_path / "link.zip").symlink_to("real.zip")
    assert names(opened(tmp_path / "link.zip")) == ["a.h5"]
    # Links below it are refused.
    (both / "b.h5").symlink_to(both / "a.h5")
    (both / "folder").symlink_to(tmp_path)
    submission = opened(link, "predictions")
    assert names(submission) == ["a.h5", "predictions.json"]
    assert [name for name, _ in submission.refused] == ["b.h5", "folder"]


@pytest.mark.parametrize("target", ["nowhere", "link"])
def test_a_link_that_leads_nowhere(target: str, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / target)
    assert refusal(opened, tmp_path / "link") == "There is no submission: the input folder does not exist."


@pytest.mark.parametrize("ending", ARCHIVE_ENDINGS)
def test_one_archive_is_opened_and_two_are_not(ending: str, tmp_path: Path) -> None:
    (tmp_path / f"a{ending}").write_bytes(zip_bytes({"preds/a.h5": b"x"}))  # recognised by its content
    assert names(opened(tmp_path)) == names(opened(tmp_path / f"a{ending}")) == ["preds/a.h5"]
    (tmp_path / "b.ZIP").touch()
    words = f"The submission holds 2 archives (a{ending}, b.ZIP); send one, or the files."
    assert refusal(opened, tmp_path) == words


def test_an_archive_where_there_is_no_folder_for_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "input").mkdir()
    (tmp_path / "input/all.zip").write_bytes(zip_bytes({"a.txt": b"x"}))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    with pytest.raises(UsageError, match=r"^There is no folder for temporary files that can be written to; "):
        opened(tmp_path / "input")
