"""Two phases of one challenge: two folders of the same kind, each with its own name, sockets and settings."""

import json
import shutil
from pathlib import Path

import pytest
from challenges.carotid_files import CONFIGURATION, write_case, write_ground_truth, write_job, write_predictions

from podium import evaluate, rank, validate
from podium.cli import main
from podium.errors import ConfigurationError, UsageError
from podium.execution.executor import Serial

pytestmark = pytest.mark.usefixtures("in_process")

FINAL = CONFIGURATION.replace('"carotid-longitudinal-ultrasound"', '"final-ultrasound"').replace(
    '"carotid-longitudinal-segmentation"', '"final-long"'
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The ground truth of two phases; the second has sockets of its own."""
    root = tmp_path / "ground-truth"
    write_ground_truth(root / "carotid-validation")
    write_ground_truth(root / "carotid-final", configuration=FINAL)
    return root


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for case in "abc":
        write_case(tmp_path / "files" / f"{case}_pred.h5")
    return tmp_path / "files"


def test_a_phase_is_scored_listed_and_ranked_under_its_own_name(root: Path, files: Path, tmp_path: Path) -> None:
    for team in ("one", "two"):
        result = evaluate(
            files, ground_truth=root, challenge="carotid-final", output=tmp_path / "teams" / team, executor=Serial()
        )
        assert (result.challenge, result.kind) == ("carotid-final", "declared")
    (ranking,) = rank(tmp_path / "teams")
    assert ranking.challenge == "carotid-final"
    cases = tmp_path / "cases.json"
    arguments = ("--ground-truth", str(root), "--challenge", "carotid-final", "--output", str(cases))
    assert main(["manifest", *arguments]) == 0
    assert json.loads(cases.read_text())["challenge"] == "carotid-final"
    assert validate(files, cases=cases, executor=Serial()).challenge == "carotid-final"


def test_phases_are_never_ranked_together(root: Path, files: Path, tmp_path: Path) -> None:
    for phase in ("carotid-final", "carotid-validation"):
        evaluate(files, ground_truth=root, challenge=phase, output=tmp_path / "teams" / phase, executor=Serial())
    with pytest.raises(UsageError, match=r"is of the challenge 'carotid-validation', but .* 'carotid-final'"):
        rank(tmp_path / "teams")


def test_the_leaderboard_names_both(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["leaderboard", "--json", "--ground-truth", str(root)]) == 0
    assert sorted(json.loads(capsys.readouterr().out)) == ["carotid-final", "carotid-validation"]


def test_sockets_and_the_input_that_names_the_case_come_from_the_settings(root: Path, tmp_path: Path) -> None:
    submission = tmp_path / "jobs"
    job = write_job(submission, "pk", "a")
    job["inputs"][0]["interface"]["slug"] = "final-ultrasound"
    job["outputs"][0]["interface"] = {"slug": "final-long", "relative_path": "images/final-long"}
    folder = submission / "pk/output/images"
    (folder / "carotid-longitudinal-segmentation").rename(folder / "final-long")
    write_predictions(submission, [job])
    scored = evaluate(submission, ground_truth=root / "carotid-final", executor=Serial())
    assert {row.case: row.status for row in scored.results} == {"a": "scored", "b": "missing", "c": "missing"}


def test_an_upload_without_its_folder_takes_the_name_of_the_image(
    root: Path, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The platform extracts an upload into a folder whose name says nothing; the image knows its challenge's name."""
    uploaded = tmp_path / "ground_truth"
    shutil.copytree(root / "carotid-final", uploaded)
    assert (
        evaluate(files, ground_truth=uploaded, challenge="carotid-final", executor=Serial()).challenge
        == "carotid-final"
    )
    assert evaluate(files, ground_truth=uploaded, executor=Serial()).challenge == "ground_truth"
    monkeypatch.setattr("podium.challenges.ground_truth.UPLOADED", uploaded)
    assert evaluate(files, ground_truth=uploaded, executor=Serial()).challenge == "declared", "its kind"


def test_a_folder_that_cannot_name_an_image_is_refused(root: Path, files: Path) -> None:
    (root / "carotid-final").rename(root / "Carotid Final")
    with pytest.raises(ConfigurationError, match=r"lower-case letters, digits, .*'Carotid Final' is not valid"):
        evaluate(files, ground_truth=root / "Carotid Final", executor=Serial())
