"""carotid: its samples, its files and jobs, its rules and what they cost."""

import re
import shutil
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from challenges.carotid_files import (
    CONFIGURATION,
    LONG,
    TRANS,
    configured,
    mask,
    write_case,
    write_ground_truth,
    write_job,
    write_predictions,
)
from evaluating import differences

pytestmark = pytest.mark.usefixtures("in_process")


def test_a_perfect_submission(files: Path, evaluate: Any) -> None:
    (files / "timing.json").write_text('{"total_seconds": 75}')
    run = evaluate(files)
    aggregates = run.metrics["aggregates"]
    assert (run.code, "(3 of 3 cases) -> " in run.last_line) == (0, True)
    assert aggregates["segmentation_score"] == aggregates["classification_score"] == 100
    assert aggregates["score"] == pytest.approx(0.8 * 100 + 0.2 * 87.5)
    assert aggregates["score_without_time"] == 100
    assert run.metrics["settings"]["time"]["baseline_seconds"] == 90
    assert run.metrics["settings"]["metrics"][1]["tolerance_px"] == 3
    assert aggregates["confusion_matrix"] == {
        "low_risk": {"low_risk": 2, "high_risk": 0, "missing": 0},
        "high_risk": {"low_risk": 0, "high_risk": 1, "missing": 0},
    }


@pytest.mark.parametrize("suffix", ["_pred", "", "_label"])
def test_accepted_file_names(suffix: str, tmp_path: Path, evaluate: Any) -> None:
    write_case(tmp_path / "s" / f"a{suffix}.h5")
    assert evaluate(tmp_path / "s").rows["a"]["status"] == "scored"


@pytest.mark.parametrize("spelling", ["interface", "socket"])
def test_algorithm_submission_in_both_spellings(spelling: str, tmp_path: Path, evaluate: Any) -> None:
    root = tmp_path / "s"
    jobs = [
        write_job(root, "9f-c", "c", spelling=spelling, cls={"class": 0}),
        write_job(root, "1a-b", "b", spelling=spelling, cls=1, exec_duration=None, invoke_duration="PT30S"),
        write_job(root, "5c-a", "a", spelling=spelling, cls=0),
    ]
    if spelling == "socket":
        for job in jobs:
            name = job["inputs"][0].pop("image")["name"]
            job["inputs"][0]["file"] = {"name": f"uploads/{name}"}
    run = evaluate(write_predictions(root, jobs))
    assert run.code == 0
    assert run.metrics["aggregates"]["total_seconds"] == 50
    assert run.metrics["aggregates"]["segmentation_score"] == 100
    assert run.metrics["aggregates"]["classification_score"] == 100


def test_the_class_may_stand_in_a_file(tmp_path: Path, evaluate: Any) -> None:
    root = tmp_path / "s"
    job = write_job(root, "1", "b", cls=None)
    (root / "1" / "output" / "plaque-vulnerability.json").write_text("1")
    assert evaluate(write_predictions(root, [job])).rows["b"]["metrics"]["risk"]["correct"] == 1


def test_a_file_as_matlab_writes_it(tmp_path: Path, evaluate: Any) -> None:
    """An upper-case ending and a user block of 512 bytes before the HDF5 signature."""
    path = tmp_path / "s" / "a_pred.H5"
    path.parent.mkdir()
    with h5py.File(path, "w", userblock_size=512) as file:
        file["long_mask"], file["trans_mask"], file["cls"] = mask(LONG), mask(TRANS), np.zeros((1, 1))
    assert evaluate(path.parent).rows["a"]["metrics"]["segmentation"] == 1


def test_both_spellings_of_mask_values(tmp_path: Path, evaluate: Any) -> None:
    spelt = np.array([0, 128, 255], dtype=np.int32)[mask(LONG)]
    write_case(tmp_path / "s" / "a.h5", long_mask=spelt, trans_mask=mask(TRANS).astype(np.float64), cls=[0])
    assert evaluate(tmp_path / "s").rows["a"]["metrics"]["segmentation"] == 1


def test_missing_cases_count_as_worst(tmp_path: Path, evaluate: Any) -> None:
    write_case(tmp_path / "s" / "a.h5", cls=0)
    run = evaluate(tmp_path / "s")
    assert run.code == 0
    assert run.rows["b"]["status"] == "missing"
    assert run.rows["b"]["error"] == "There is no prediction for this case."
    assert run.rows["b"]["metrics"]["dice"] == dict.fromkeys(run.rows["b"]["metrics"]["dice"], 0)
    assert run.metrics["aggregates"]["segmentation_score"] == pytest.approx(100 / 3)
    # Class 0: one right, one unanswered: F1 = 2/3. Class 1: unanswered: F1 = 0.
    assert run.metrics["aggregates"]["classification_score"] == pytest.approx(100 * (2 / 3 + 0) / 2)


@pytest.mark.parametrize(
    ("spoilt", "words"),
    [
        ({"long_mask": mask((20, 32))}, "'long_mask' in 'a_pred.h5' has the shape (20, 32), expected (24, 32)"),
        ({"long_mask": mask(LONG) + 5}, "'a_pred.h5: long_mask' holds the value 5; a mask holds 0/1/2 or 0/128/255."),
        ({"trans_mask": np.where(mask(TRANS) == 1, 128, mask(TRANS))}, "'a_pred.h5: trans_mask' holds the value"),
        ({"long_mask": mask(LONG) * 0.25}, "probability map"),
        ({"trans_mask": ...}, "no dataset 'trans_mask'"),
        ({"cls": 3}, "'a_pred.h5: cls' is 3; the classes are 0, 1."),
        ({"cls": [0, 1]}, "'a_pred.h5: cls' must be one number, it has 2."),
        ({"cls": 0.5}, "cls"),
        ({"cls": "low"}, "cls"),
    ],
)
def test_a_bad_value_costs_itself_only(spoilt: dict[str, Any], words: str, files: Path, evaluate: Any) -> None:
    write_case(files / "a_pred.h5", **spoilt)
    run = evaluate(files)
    assert run.code == 0
    assert {case: row["status"] for case, row in run.rows.items()} == {"a": "partial", "b": "scored", "c": "scored"}
    ((name, reason),) = run.rows["a"]["missing"].items()
    assert words in reason
    row = run.rows["a"]["metrics"]
    assert (row["risk"]["correct"], row["segmentation"]) == ((0, 1.0) if name == "risk" else (1, 0.5))
    assert "(2 of 3 cases; 1 partial) -> " in run.last_line


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("low", "'job 1: plaque-vulnerability' is low; the classes are 0, 1."),
        (0.5, "'job 1: plaque-vulnerability' is 0.5; the classes are 0, 1."),
        ({"risk": 1}, "'job 1: plaque-vulnerability' has nothing at '' or '/class'."),
        (True, "is True; the classes are 0, 1."),
        (7, "is 7; the classes are 0, 1."),
    ],
)
def test_a_bad_class_of_a_job(value: Any, words: str, tmp_path: Path, evaluate: Any) -> None:
    root = tmp_path / "s"
    jobs = [write_job(root, "1", "a", cls=value), write_job(root, "2", "b", cls=1)]
    run = evaluate(write_predictions(root, jobs))
    assert words in run.rows["a"]["missing"]["risk"]
    assert run.rows["b"]["status"] == "scored"


def test_a_job_without_its_image(tmp_path: Path, evaluate: Any) -> None:
    root = tmp_path / "s"
    jobs = [write_job(root, "1", "a"), write_job(root, "2", "b")]
    shutil.rmtree(root / "1" / "output" / "images" / "carotid-longitudinal-segmentation")
    jobs[1]["outputs"].pop(1)
    run = evaluate(write_predictions(root, [*jobs, write_job(root, "3", "c")]))
    assert run.rows["a"]["missing"] == {"long": "job 1 has no folder 'images/carotid-longitudinal-segmentation'."}
    assert run.rows["b"]["missing"] == {"trans": "job 2 has no output 'carotid-transverse-segmentation'."}


@pytest.mark.parametrize(("setting", "value"), [("", 1), ("both_empty = 0.0", 0), ("both_empty = 0.5", 0.5)])
def test_two_empty_masks_score_what_the_setting_says(
    setting: str, value: float, files: Path, tmp_path: Path, evaluate: Any
) -> None:
    """Neither side has a plaque in the longitudinal view; every other mask agrees."""
    configuration = re.sub(r'kind = "(dice|nsd)"', rf'kind = "\1"\n{setting}', CONFIGURATION)
    truth = write_ground_truth(tmp_path / "t", configuration=configuration)
    vessel_only = np.where(mask(LONG) == 1, 2, mask(LONG))
    write_case(truth / "references" / "a_label.h5", long_mask=vessel_only)
    write_case(files / "a_pred.h5", long_mask=vessel_only)
    metrics = evaluate(files, ground_truth=truth).rows["a"]["metrics"]
    expected = {"long_vessel": 1, "long_plaque": value, "trans_vessel": 1, "trans_plaque": 1, "mean": (3 + value) / 4}
    assert metrics["dice"] == metrics["nsd"] == expected
    assert metrics["segmentation"] == pytest.approx((0.4 + 0.6 * value + 1) / 2)


@pytest.mark.parametrize(
    "spoilt",
    [{"long_mask": mask(LONG) + 9}, {"long_mask": mask(LONG) * 0.5}, {"cls": 5}, {"cls": ...}],
    ids=["mask value", "not a mask", "class", "no dataset"],
)
def test_a_broken_reference_stops_everything(
    spoilt: dict[str, Any], files: Path, tmp_path: Path, evaluate: Any
) -> None:
    truth = write_ground_truth(tmp_path / "broken")
    write_case(truth / "references" / "b_label.h5", **spoilt)
    run = evaluate(files, ground_truth=truth)
    assert run.code == 2
    assert run.last_line == "1 of 3 references are broken. The organisers can find details in the log."
    assert "reference of b: 'b_label.h5" in run.out.replace("'cls' in ", "").replace("'long_mask' in ", "")
    assert not run.metrics


SECONDS = "must be a number of seconds, not negative and at most 1e9."


@pytest.mark.parametrize(
    ("timing", "seconds", "problem"),
    [
        ('{"total_seconds": 60}', 60, None),
        ('{"cases": {"a": 1, "b": 2.5, "c": 3}}', 6.5, None),
        ('{"cases": {"a": 1}}', None, "timing.json lacks 2 of the submitted cases: their time is unknown."),
        ('{"total_seconds": -1}', None, f"timing.json: 'total_seconds' {SECONDS}"),
        ('{"total_seconds": "60"}', None, f"timing.json: 'total_seconds' {SECONDS}"),
        ('{"total_seconds": true}', None, f"timing.json: 'total_seconds' {SECONDS}"),
        ('{"total_seconds": -0.0}', None, f"timing.json: 'total_seconds' {SECONDS}"),
        ('{"total_seconds": 1, "cases": {"a": 1, "b": 2.5, "c": 3}}', 6.5, None),
        ('{"total_seconds": NaN}', None, "timing.json"),
        ('{"cases": {"a": 1.7e308, "b": 1.7e308, "c": 1}}', None, "timing.json: 'a' must be a number of seconds"),
        ('{"cases": {"a": 1, "b": 2, "c": 3, "x\\ny": -1}}', None, "timing.json: 'x\\ny' must be a number of seconds"),
        ('{"seconds": 1}', None, "timing.json must be"),
        ("[1]", None, "timing.json must be"),
    ],
)
def test_timing_file(timing: str, seconds: float | None, problem: str | None, files: Path, evaluate: Any) -> None:
    (files / "timing.json").write_text(timing)
    run = evaluate(files)
    aggregates = run.metrics["aggregates"]
    assert aggregates["time_known"] == int(seconds is not None)
    assert aggregates["total_seconds"] == (180 if seconds is None else seconds)
    assert problem is None or problem in run.out
    if seconds is None:
        assert aggregates["time_score"] == 0
        assert aggregates["score"] == pytest.approx(80)


@pytest.mark.parametrize("duration", [None, "1 min", "PT" + "9" * 308 + "S"])
def test_durations_that_cannot_be_read_are_said(duration: str | None, tmp_path: Path, evaluate: Any) -> None:
    root = tmp_path / "s"
    run = evaluate(write_predictions(root, [write_job(root, case, case, exec_duration=duration) for case in "abc"]))
    aggregates = run.metrics["aggregates"]
    assert (aggregates["time_known"], aggregates["time_score"], aggregates["total_seconds"]) == (0, 0, 180)
    assert "runtime: 3 of 3 jobs have no duration that can be read" in run.out


def test_a_missing_timing_file_is_said(files: Path, evaluate: Any) -> None:
    run = evaluate(files)
    assert run.metrics["aggregates"]["total_seconds"] == 180
    assert "runtime: There is no timing.json: the time is unknown." in run.out


@pytest.mark.parametrize(
    ("timing", "total"),
    [
        ('{"total_seconds": 0}', 120),
        ('{"total_seconds": 10}', 130),
        ('{"cases": {"a": 5, "b": 1000, "c": 0}}', 125),
        ('{"cases": {"a": 5, "b": 1}}', 125),
        ('{"cases": {"b": 1}}', None),
    ],
)
def test_cases_without_a_usable_prediction_count_with_the_slowest_time(
    timing: str, total: float | None, files: Path, evaluate: Any
) -> None:
    """Of 3 cases one is missing and one has an unreadable mask: each counts 2 x 90 / 3 = 60 s, whatever it took."""
    (files / "c_pred.h5").unlink()
    write_case(files / "b_pred.h5", cls=9)
    (files / "timing.json").write_text(timing)
    aggregates = evaluate(files).metrics["aggregates"]
    assert (aggregates["time_known"], aggregates["total_seconds"]) == (int(total is not None), total or 180)
    assert aggregates["time_score"] == pytest.approx(100 * (180 - (total or 180)) / 120)


def test_only_jobs_of_usable_cases_are_timed(tmp_path: Path, evaluate: Any) -> None:
    """Job b is unusable and untimed; job x belongs to no case: neither changes the time of a and c."""
    root = tmp_path / "s"
    jobs = [
        write_job(root, "1", "a", exec_duration="PT5S"),
        write_job(root, "2", "b", cls=9, exec_duration=None),
        write_job(root, "3", "c", exec_duration="PT7S"),
        write_job(root, "4", "x", exec_duration="PT9S"),
    ]
    aggregates = evaluate(write_predictions(root, jobs)).metrics["aggregates"]
    assert (aggregates["time_known"], aggregates["total_seconds"]) == (1, 5 + 7 + 60)


def two_clocks(root: Path) -> Path:
    jobs = [write_job(root, "1", "a"), write_job(root, "2", "b", cls=1), write_job(root, "3", "c")]
    jobs[1] |= {"exec_duration": None, "invoke_duration": "PT4S"}
    return write_predictions(root, jobs)


def test_a_mix_of_two_clocks_is_said_by_name(tmp_path: Path, evaluate: Any) -> None:
    run = evaluate(two_clocks(tmp_path / "s"))
    assert run.metrics["aggregates"]["jobs"] == {"exec_duration": 2, "invoke_duration": 1}
    assert run.metrics["aggregates"]["total_seconds"] == 24
    assert "runtime: 1 of 3 measured jobs have invoke_duration (job 2), the others exec_duration: " in run.out


@pytest.mark.parametrize(
    ("clock", "words"),
    [
        (
            "exec",
            "1 of 3 jobs were measured by invoke_duration (job 2), but only exec_duration counts here; submit a "
            "container image whose label org.grand-challenge.api-method is 'exec'.",
        ),
        (
            "invoke",
            "2 of 3 jobs were measured by exec_duration (job 1 and job 3), but only invoke_duration counts here;",
        ),
    ],
)
def test_another_clock_than_the_one_that_counts_is_an_error(
    clock: str, words: str, files: Path, tmp_path: Path, evaluate: Any
) -> None:
    truth = write_ground_truth(tmp_path / "t", configuration=configured("time", f'clock = "{clock}"'))
    run = evaluate(two_clocks(tmp_path / "s"), ground_truth=truth)
    assert (run.code, run.metrics) == (1, {})
    assert run.last_line.startswith(words)
    assert evaluate(files, ground_truth=truth).metrics["aggregates"]["jobs"] == {
        "exec_duration": 0,
        "invoke_duration": 0,
    }


def test_cohort_rule_is_provisional(files: Path, tmp_path: Path, evaluate: Any) -> None:
    (files / "timing.json").write_text('{"total_seconds": 105}')
    truth = write_ground_truth(tmp_path / "t", configuration=CONFIGURATION.replace('rule = "fixed"', 'rule = "cohort"'))
    aggregates = evaluate(files, ground_truth=truth).metrics["aggregates"]
    assert aggregates["time_score"] == pytest.approx(50)
    assert aggregates["time_score_is_provisional"] == 1


def test_groups_add_figures_and_take_none_away(files: Path, tmp_path: Path, evaluate: Any) -> None:
    """Every kind of challenge has groups; without a time of their own they have no score."""
    (files / "a_pred.h5").unlink()
    plain = evaluate(files).metrics["aggregates"]
    configuration = configured("cases", "groups = '^(?P<group>a|b|c)'")
    truth = write_ground_truth(tmp_path / "grouped", configuration=configuration)
    grouped = evaluate(files, ground_truth=truth).metrics["aggregates"]
    assert differences(plain, grouped, within=1e-9) == []
    assert {name: group["dice"]["long_plaque"]["mean"] for name, group in grouped["groups"].items()} == {
        "a": 0.0,
        "b": 1.0,
        "c": 1.0,
    }
    assert grouped["dice"]["long_plaque_group_mean"] == pytest.approx(2 / 3)
    assert grouped["groups"]["b"]["segmentation_score"] == 100
    assert "score" not in grouped["groups"]["b"]


def test_a_case_of_no_group_stops_the_run_and_all_of_them_are_listed(
    files: Path, tmp_path: Path, evaluate: Any
) -> None:
    configuration = configured("cases", "groups = '^(?P<group>a)'")
    run = evaluate(files, ground_truth=write_ground_truth(tmp_path / "grouped", configuration=configuration))
    assert run.code == 2
    assert run.last_line.startswith("2 cases have no valid group under 'groups' of challenge.toml")
    assert run.out.startswith("b, c: 2 cases have no valid group")
