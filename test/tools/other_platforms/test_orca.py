"""`podium evaluate --platform orca`: the two steps of Synapse's workflow."""

import json
import re
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest
from evaluating import Ended
from hypothesis import given
from hypothesis import strategies as st
from tools.other_platforms.running import column_paths, expected_figures, ground_truth, plain_metrics, sample

from podium.tools.other_platforms.results import flat_keys

pytestmark = pytest.mark.usefixtures("in_process")

REPORTS = ground_truth("reports")


@pytest.fixture
def predictions(tmp_path: Path) -> Path:
    """The one file that a participant submits."""
    return packed(sample("reports"), tmp_path / "predictions")


def packed(folder: Path, name: Path) -> Path:
    return Path(shutil.make_archive(str(name), "zip", folder))


def step(podium: Any, predictions: Path, results: Path, *more: str, truth: Path = REPORTS) -> Ended:
    names = ("--predictions_file", predictions, "--groundtruth_folder", truth, "--output_file", results)
    return podium("evaluate", "--platform", "orca", *names, *more)


def read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_bytes())
    return content


def test_both_steps(predictions: Path, tmp_path: Path, podium: Any) -> None:
    results = tmp_path / "results.json"
    ended = step(podium, predictions, results, "--validate-only")
    assert (ended.code, ended.out) == (0, "VALIDATED\n")  # the workflow takes all of stdout for the status
    validation = read(results)
    assert validation["validation_status"] == validation["submission_status"] == "VALIDATED"
    ended = step(podium, predictions, results)
    assert (ended.code, ended.out) == (0, "SCORED\n")
    found = read(results)
    assert found["validation_errors"] == validation["validation_errors"]
    statuses = {name: found.pop(name) for name in [*found] if name.endswith(("_status", "_errors"))}
    assert statuses["score_status"] == statuses["submission_status"] == "SCORED"
    assert statuses["score_errors"] == statuses["submission_errors"] == ""
    plain = plain_metrics("reports", tmp_path / "plain")
    counts = {f"cases_{name}": number for name, number in plain["counts"].items()}
    assert found == {**expected_figures(plain, column_paths("reports", podium)), **counts}
    assert (tmp_path / "metrics.json").read_bytes() == (tmp_path / "plain/metrics.json").read_bytes()


def test_scoring_without_a_validation_before(predictions: Path, tmp_path: Path, podium: Any) -> None:
    (tmp_path / "results.json").write_text("[]")
    assert step(podium, predictions, tmp_path / "results.json").out == "SCORED\n"
    found = read(tmp_path / "results.json")
    assert (found["validation_status"], found["validation_errors"]) == ("VALIDATED", "")


def test_problems_of_single_cases_do_not_make_a_submission_invalid(tmp_path: Path, podium: Any) -> None:
    predictions = packed(sample("carotid"), tmp_path / "predictions")
    truth = ground_truth("carotid")
    ended = step(podium, predictions, tmp_path / "results.json", "--validate-only", truth=truth)
    assert ended.out == "VALIDATED\n"
    errors = read(tmp_path / "results.json")["validation_errors"]
    assert errors.startswith("csv_0058: 'csv_0058_pred.h5' is a damaged HDF5 file.\n")
    assert errors.endswith("\n1 of 12 cases have no prediction.")  # its name stays hidden
    ended = step(podium, predictions, tmp_path / "results.json", truth=truth)
    assert ended.out == "SCORED\n"
    assert "failed: csv_" in ended.err, "the log is on stderr"


@pytest.mark.parametrize("steps", [["--validate-only", ""], [""]])
def test_an_invalid_submission_is_a_status_and_no_exit_code(steps: list[str], tmp_path: Path, podium: Any) -> None:
    predictions, results = tmp_path / "predictions.zip", tmp_path / "results.json"
    with zipfile.ZipFile(predictions, "w") as archive:
        for number in range(20):
            archive.writestr(f"{'x' * 40}-{'abcdefghijklmnopqrst'[number] * 9}.txt", "nothing")
    for option in steps:
        ended = step(podium, predictions, results, *([option] if option else []))
        assert (ended.code, ended.out) == (0, "INVALID\n")
    found = read(results)
    assert found["score_status"] == found["submission_status"] == "INVALID"
    if len(steps) == 2:
        assert found["validation_errors"].startswith("xxx")
        assert len(found["validation_errors"]) == 500  # what fits into an e-mail
    else:
        assert found["score_errors"].startswith("None of the 20 submitted predictions belongs to an expected case")
    assert not any(isinstance(value, float) for value in found.values())


def test_a_submission_that_failed_its_validation_is_not_scored(predictions: Path, tmp_path: Path, podium: Any) -> None:
    results = tmp_path / "results.json"
    results.write_text(json.dumps({"validation_status": "INVALID", "validation_errors": "wrong columns"}))
    assert step(podium, predictions, results).out == "INVALID\n"
    found = read(results)
    assert found["validation_errors"] == "wrong columns"
    assert found["score_errors"] == "The submission was not scored: its validation failed."
    assert not (tmp_path / "metrics.json").exists()


def test_an_error_of_the_organisers_is_an_exit_code(predictions: Path, tmp_path: Path, podium: Any) -> None:
    (tmp_path / "truth").mkdir()
    assert step(podium, predictions, tmp_path / "results.json", truth=tmp_path / "truth").code == 2
    assert not (tmp_path / "results.json").exists()


def test_results_tell_no_more_than_metrics_json(tmp_path: Path, podium: Any) -> None:
    truth = shutil.copytree(ground_truth("lesions"), tmp_path / "truth")
    settings = (truth / "challenge.toml").read_text()
    (truth / "challenge.toml").write_text(settings.replace('per_case = "full"', 'per_case = "none"'))
    results = tmp_path / "out" / "results.json"
    results.parent.mkdir()
    archive = packed(sample("lesions"), tmp_path / "predictions")
    assert step(podium, archive, results, truth=truth).out == "SCORED\n"
    published = read(results.parent / "metrics.json")["aggregates"]
    found = read(results)
    assert found["final_dice_mean"] == published["final_dice"]["mean"] == round(found["final_dice_mean"], 4)
    assert not [name for name in found if name.endswith("_group_mean")]


# Flat names of figures.

PARTS = st.text("ab_-", min_size=1, max_size=20)
PATHS = st.lists(st.lists(PARTS, min_size=1, max_size=4).map(".".join), unique=True, max_size=20)


def test_a_key_is_the_path_with_underscores_and_a_checksum_where_it_must_differ_or_be_shorter() -> None:
    assert flat_keys(["score", "dice.long_plaque.mean", "groups.site-a.dice"]) == {
        "score": "score",
        "dice.long_plaque.mean": "dice_long_plaque_mean",
        "groups.site-a.dice": "groups_site_a_dice",
    }
    one, other, long = flat_keys(["a.b", "a_b", "figure" * 10]).values()
    assert one != other
    assert one.startswith("a_b_")
    assert other.startswith("a_b_")
    assert long.startswith("figurefigurefigurefigurefig_")
    assert len(long) == 36


@given(PATHS)
def test_keys_are_allowed_on_codabench_and_synapse_and_differ(paths: list[str]) -> None:
    keys = flat_keys(paths)
    assert list(keys) == paths
    assert len(set(keys.values())) == len(paths)
    assert all(re.fullmatch(r"[A-Za-z0-9_]{1,36}", key) for key in keys.values())
