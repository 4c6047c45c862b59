"""Every sample submission, scored by the container under the platform's limits."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from container.engine import docker, evaluate
from evaluating import differences
from places import ROOT

pytestmark = pytest.mark.container

SUBMISSIONS = sorted(path for path in (ROOT / "test/submissions").glob("*/*") if path.is_dir())
CAROTID = ROOT / "ground-truth/carotid"


@pytest.fixture(scope="session")
def wordnet(image: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The image's WordNet: not every machine that runs these tests has one, and a column depends on it."""
    folder = tmp_path_factory.mktemp("wordnet")
    container = docker("create", image).stdout.strip()
    docker("cp", f"{container}:/usr/share/wordnet/.", str(folder))
    docker("rm", container)
    return folder


def native_metrics(submission: Path, output: Path, *, ground_truth: Path, wordnet: Path) -> bytes:
    """metrics.json of the same submission, scored on this machine without a container.

    A choice of OpenBLAS's kernels, which decide last digits, would not reach the container.
    """
    arguments = ["--input", submission, "--output", output, "--ground-truth", ground_truth]
    done = subprocess.run(
        [sys.executable, ROOT / "evaluate.py", *arguments],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env={
            **{key: text for key, text in os.environ.items() if key != "OPENBLAS_CORETYPE"},
            "PODIUM_WORDNET": str(wordnet),
        },
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return (output / "metrics.json").read_bytes()


@pytest.mark.parametrize("submission", SUBMISSIONS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_baked_uploaded_and_native_agree_to_the_byte_and_with_the_expected_figures(
    image: str, submission: Path, tmp_path: Path, wordnet: Path
) -> None:
    challenge = submission.parent.name
    ground_truth = ROOT / "ground-truth" / challenge
    named = {"PODIUM_CHALLENGE": challenge}  # an upload without its folder has no name of its own
    baked = evaluate(image, submission, tmp_path / "baked", environment=named)
    uploaded = evaluate(image, submission, tmp_path / "uploaded", ground_truth=ground_truth, environment=named)
    assert baked.metrics == uploaded.metrics
    assert baked.metrics == native_metrics(submission, tmp_path / "native", ground_truth=ground_truth, wordnet=wordnet)

    expected = json.loads((ROOT / "test/expected" / challenge / f"{submission.name}.json").read_bytes())
    found = json.loads(baked.metrics)
    found["results"] = {row["case"]: row for row in found["results"]}
    assert found["results"].keys() == expected["results"].keys()
    assert differences(expected, found) == []


def test_the_image_of_one_challenge_needs_no_word_about_which_nor_a_user_with_a_name_nor_an_upload(
    image: str, carotid_image: str, carotid_metrics: bytes, carotid_submission: Path, tmp_path: Path
) -> None:
    among_all = evaluate(image, carotid_submission, tmp_path / "all", environment={"PODIUM_CHALLENGE": "carotid"})
    assert among_all.metrics == carotid_metrics
    nameless = evaluate(carotid_image, carotid_submission, tmp_path / "nameless", user="12345:6789")
    assert nameless.metrics == carotid_metrics
    (tmp_path / "nothing").mkdir()
    beside = evaluate(carotid_image, carotid_submission, tmp_path / "beside", ground_truth=tmp_path / "nothing")
    assert beside.metrics == carotid_metrics


def test_uploaded_ground_truth_wins_over_the_baked_one(
    carotid_image: str, carotid_submission: Path, tmp_path: Path
) -> None:
    fewer = tmp_path / "ground_truth"
    shutil.copytree(CAROTID, fewer)
    references = sorted((fewer / "references").iterdir())
    for reference in references[2:]:
        reference.unlink()
    run = evaluate(carotid_image, carotid_submission, tmp_path / "output", ground_truth=fewer)
    cases = [row["case"] for row in json.loads(run.metrics)["results"]]
    assert cases == [reference.name.removesuffix("_label.h5") for reference in references[:2]]
