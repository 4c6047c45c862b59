"""lesions from files to metrics.json: samples, layouts, and every way a step or a case can go wrong."""

import json
import math
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from challenges.built import lesions
from challenges.lesions_folders import HALF, LESION, NOTHING, SHAPE, block, run, write, write_ground_truth, write_jobs
from places import ROOT
from pydantic import ValidationError
from samples.lesions_teams import GLOW_FAULTS

from podium.challenges.declared.catalogue.labels import LesionsMetricSettings
from podium.challenges.loading import load_tables
from podium.cli import main
from podium.errors import ConfigurationError, GroundTruthError, SubmissionError
from podium.execution.executor import Serial
from podium.figures import get
from podium.platform.leaderboard import phase_settings
from podium.platform.submission import SubmissionNames
from podium.validation import Manifest, make_manifest, validate

pytestmark = pytest.mark.usefixtures("in_process")


@pytest.fixture
def submission(tmp_path: Path) -> Path:
    return tmp_path / "submission"


def scored(submission: Path, tmp_path: Path, **ground_truth: Any) -> dict[str, Any]:
    """The submission against two cases with one lesion each, `a` and `b`."""
    references = ground_truth.pop("references", {"a": LESION, "b": LESION})
    return run(submission, write_ground_truth(tmp_path, references, **ground_truth), tmp_path / "output")


def steps(document: dict[str, Any], case: str, figure: str) -> list[Any]:
    return [step[figure] for step in document["results"][case]["metrics"]["steps"]]


def test_the_sample_faults_are_told_apart(tmp_path: Path) -> None:
    found = run(ROOT / "test/submissions/lesions/glow", ROOT / "ground-truth/lesions", tmp_path)
    lost = {
        (case, step["step"])
        for case, row in found["results"].items()
        if row["status"] == "scored"
        for step in row["metrics"]["steps"]
        if step["status"] != "scored"
    }
    assert lost == {place for place in GLOW_FAULTS if place[0] not in ("psma_ukt_008", "psma_ukt_011")}
    assert found["results"]["psma_ukt_008"]["error"] == "There is no prediction for this case."
    assert "ends too early" in found["results"]["psma_ukt_011"]["error"]
    (warning,) = found["results"]["fdg_lmu_003"]["warnings"]
    assert "'predictions/fdg_lmu_003/iter_1.nii.gz'" in warning
    assert "although spacing differs" in warning


def write_steps(folder: Path, *masks: Any, ending: str = ".nii.gz") -> None:
    for step, mask in enumerate(masks):
        if mask is not None:
            write(folder / f"iter_{step}{ending}", mask)


def test_a_case_by_hand(submission: Path, tmp_path: Path) -> None:
    """Dice 0, 0.8, 1 and IoU 0, 2/3, 1: AUC-Dice 0.4 + 0.9, AUC-DMM 0.5 + 1."""
    write_steps(submission / "a", NOTHING, HALF, LESION)
    found = scored(submission, tmp_path)
    row = found["results"]["a"]["metrics"]
    assert steps(found, "a", "dice") == [0.0, 0.8, 1.0]
    assert steps(found, "a", "dmm") == [0.0, 1.0, 1.0]
    assert steps(found, "a", "pairs")[1] == [{"lesion": 1, "component": 1, "iou": pytest.approx(2 / 3)}]
    assert row["auc_dice"] == pytest.approx(1.3)
    assert row["auc_dice_normalised"] == pytest.approx(0.65)
    assert row["auc_dmm"] == pytest.approx(1.5)
    assert row["lesions"] == [{"id": 1, "voxels": 27, "volume_ml": 0.027, "centroid": [3.0, 3.0, 2.0]}]
    missing = found["results"]["b"]
    assert (missing["status"], missing["metrics"]["auc_dice"], missing["metrics"]["final_fnv_ml"]) == (
        "missing",
        0,
        0.027,
    )
    area = {"mean": pytest.approx(0.65), "std": pytest.approx(0.65), "n": 2}
    assert found["aggregates"]["auc_dice"].items() >= area.items()
    assert found["aggregates"]["dice_by_step"] == {"0": 0.0, "1": pytest.approx(0.4), "2": pytest.approx(0.5)}
    assert found["aggregates"]["final_detections"] == {"tp": 1, "fp": 0, "fn": 1}
    assert found["aggregates"]["dmm_pooled"] == pytest.approx(2 / 3)


def test_a_perfect_case_reaches_the_declared_upper_bounds_and_no_more(tmp_path: Path) -> None:
    write(tmp_path / "a.nii.gz", LESION)
    challenge = lesions({"steps": 4})
    (reference,) = challenge.find_references(tmp_path).values()
    row = challenge.row(challenge.perfect_case(challenge.read_reference(reference))).metrics
    bounds = {each.name: each.highest for each in challenge.scoreboard.metrics if each.direction == "higher"}
    assert {name: row[name] for name in bounds} == bounds
    assert (bounds["auc_dice"], bounds["auc_dice_normalised"]) == (3, 1)


def test_everything_can_be_recomputed_from_the_rows(tmp_path: Path) -> None:
    found = run(ROOT / "test/submissions/lesions/ember", ROOT / "ground-truth/lesions", tmp_path)
    for row in found["results"].values():
        total = sum(lesion["voxels"] for lesion in row["metrics"]["lesions"])
        for step in row["metrics"]["steps"]:
            matched = [pair for pair in step["pairs"] if pair["iou"] >= 0.1]
            assert step["tp"] == len({pair["lesion"] for pair in matched})
            assert step["fn"] == len(row["metrics"]["lesions"]) - step["tp"]
            assert step["fp"] == step["components"] - len({pair["component"] for pair in matched})
            assert step["voxels"]["reference"] == total
            if total:
                voxels = step["voxels"]
                assert step["dice"] == 2 * voxels["shared"] / (voxels["prediction"] + voxels["reference"])


@pytest.mark.parametrize("ending", [".nii.gz", ".mha", ".nii"])
@pytest.mark.parametrize("folder", ["a", "a_0000", "deep/predictions/a"])
def test_layouts_of_files(submission: Path, tmp_path: Path, folder: str, ending: str) -> None:
    write_steps(submission / folder, LESION, HALF, HALF, ending=ending)
    (submission / folder / "iter_0_scribbles.json").write_text("{}")
    (submission / "run.log").write_text("done")
    found = scored(submission, tmp_path)
    assert steps(found, "a", "dice") == [1.0, 0.8, 0.8]
    assert found["counts"]["unmatched"] == 0


@pytest.mark.parametrize("ending", [".nii.gz", ".mha"])
def test_an_instance_map_gives_the_binary_dice(submission: Path, tmp_path: Path, ending: str) -> None:
    """Two lesions that touch, numbered 2 and 300; the prediction covers both in one component."""
    reference = np.zeros(SHAPE, np.uint16)
    reference[1:4, 2:5, 2:4], reference[1:4, 2:5, 4:6] = 2, 300
    write_steps(submission / "a", *[(reference > 0).astype(np.uint8)] * 3)
    found = scored(submission, tmp_path, references={f"a{ending}": reference})
    assert steps(found, "a", "dice") == [1.0] * 3
    assert steps(found, "a", "tp") == [2] * 3
    assert [lesion["id"] for lesion in found["results"]["a"]["metrics"]["lesions"]] == [2, 300]


def test_jobs_in_any_order_are_ranked_by_their_points(submission: Path, tmp_path: Path) -> None:
    jobs = [
        {"case": "a_0000.mha", "mask": LESION, "points": 31},
        {"case": "a_0000.mha", "mask": NOTHING, "points": None},
        {"case": "a_0000.mha", "mask": HALF, "points": 4},
    ]
    found = scored(write_jobs(submission, jobs), tmp_path)
    assert steps(found, "a", "dice") == [0.0, 0.8, 1.0]


def test_jobs_may_name_their_step(submission: Path, tmp_path: Path) -> None:
    """The numbers of points say the opposite, and step 1 never ran."""
    jobs = [
        {"case": "a.mha", "mask": LESION, "points": 0, "step": 2, "slug": "pet"},
        {"case": "a.mha", "mask": HALF, "points": 9, "step": 0, "slug": "pet"},
    ]
    found = scored(write_jobs(submission, jobs), tmp_path)
    assert steps(found, "a", "dice") == [0.8, 0.0, 1.0]
    assert steps(found, "a", "error")[1] == "There is no prediction for this step."


@pytest.mark.parametrize(
    ("places", "start", "end"),
    [
        (
            [{"points": 5}, {"points": 5}],
            "2 jobs of this case have 5 points each (job ",
            "and nothing else identifies their steps; the input 'interaction-step' would.",
        ),
        ([{"step": 1}, {"step": 1}], "There are 2 predictions for step 1 of this case ('job ", "send one."),
        ([{"step": 0}, {"points": 5}], "1 of the 2 jobs of this case have an input 'interaction-step'", "."),
        (  # the job of step 0 is absent: by their points steps 1 and 2 would be steps 0 and 1
            [{"points": 4}, {"points": 9}],
            "Only 2 of the 3 jobs of this case exist, and nothing identifies their steps; ",
            "steps; the input 'interaction-step' would.",
        ),
    ],
    ids=["equal points", "equal steps", "a step and points", "an absent job"],
)
def test_jobs_whose_steps_are_unknown_cost_that_case_only(
    submission: Path, tmp_path: Path, places: list[dict[str, int]], start: str, end: str
) -> None:
    jobs: list[dict[str, Any]] = [{"case": "a.mha", "mask": LESION, **place} for place in places]
    jobs += [{"case": "b.mha", "mask": LESION, "step": step} for step in range(3)]
    found = scored(write_jobs(submission, jobs), tmp_path)["results"]
    assert (found["a"]["status"], found["a"]["metrics"]["auc_dice"]) == ("failed", 0.0)
    assert found["a"]["error"].startswith(start)
    assert found["a"]["error"].endswith(end)
    assert found["b"]["metrics"]["auc_dice"] == 2.0


@pytest.mark.parametrize("name", ["iter_0.txt", "iter_0.PNG", "iter_0.nii.gz.md5", "iter_0.nii.json", "ITER_0.log"])
def test_what_lies_beside_a_mask_is_no_second_prediction(submission: Path, tmp_path: Path, name: str) -> None:
    write(submission / "a/iter_0.nii.gz", LESION)
    (submission / "a" / name).write_bytes(b"x")
    found = scored(submission, tmp_path, settings="steps = 1")
    assert found["results"]["a"]["metrics"]["final_dice"] == 1
    assert found["counts"]["unmatched"] == 0


def test_capitals_and_accents_written_as_two_characters_are_the_same_name(submission: Path, tmp_path: Path) -> None:
    write(submission / "mu\u0308ller/iter_0.nii.gz", LESION)
    (submission / "mu\u0308ller/iter_0.nii.gz").rename(submission / "mu\u0308ller/ITER_0.NII.GZ")
    found = scored(submission, tmp_path, settings="steps = 1", references={"m\u00fcller": LESION, "b": LESION})
    assert found["results"]["m\u00fcller"]["metrics"]["final_dice"] == 1


@pytest.mark.parametrize("step", [-1, 0.5, True, "1", math.nan, math.inf, 10**400])
def test_a_step_that_is_no_number(submission: Path, tmp_path: Path, step: Any) -> None:
    jobs = [{"case": "a.mha", "mask": LESION, "step": step}, {"case": "b.mha", "mask": LESION, "step": 0}]
    found = scored(write_jobs(submission, jobs), tmp_path)
    assert found["results"]["a"]["error"].endswith("is not a non-negative whole number.")


def test_jobs_that_belong_to_no_case(submission: Path, tmp_path: Path) -> None:
    jobs = [{"case": "zz.mha", "mask": LESION, "points": 5}, {"case": "b.mha", "mask": LESION, "slug": "mri"}]
    jobs += [{"case": "b.mha", "mask": LESION, "points": 0}]
    assert scored(write_jobs(submission, jobs), tmp_path, settings="steps = 1")["counts"]["unmatched"] == 2


def test_clinicians_jobs_are_ranked_by_their_points_however_many(submission: Path, tmp_path: Path) -> None:
    jobs = [{"case": "a.mha", "mask": mask, "points": points} for mask, points in ((HALF, 0), (LESION, 9))]
    found = scored(write_jobs(submission, jobs), tmp_path, settings='regime = "clinician"')
    assert steps(found, "a", "dice") == [0.8, 1.0]


def test_two_files_for_one_step_cost_that_case_only(submission: Path, tmp_path: Path) -> None:
    write_steps(submission / "a", LESION, LESION, LESION)
    write_steps(submission / "a", None, HALF, ending=".mha")
    write_steps(submission / "b", LESION, LESION, LESION)
    found = scored(submission, tmp_path)
    assert found["results"]["a"]["error"] == (
        "There are 2 predictions for step 1 of this case ('a/iter_1.mha', 'a/iter_1.nii.gz'); send one."
    )
    assert found["results"]["b"]["status"] == "scored"


def test_the_suffix_does_not_hide_a_second_prediction(submission: Path, tmp_path: Path) -> None:
    write_steps(submission / "a", LESION)
    write_steps(submission / "a_0000", HALF)
    write_steps(submission / "b", LESION)
    assert "2 predictions for step 0" in scored(submission, tmp_path)["results"]["a"]["error"]


def test_a_case_that_really_ends_in_0000_is_itself(submission: Path, tmp_path: Path) -> None:
    write_steps(submission / "a_0000", LESION, LESION, LESION)
    found = scored(submission, tmp_path, references={"a": LESION, "a_0000": LESION})
    assert (found["results"]["a"]["status"], found["results"]["a_0000"]["status"]) == ("missing", "scored")


BAD_STEPS = {
    "wrong size": block(slice(0, 2), shape=(6, 8, 9)),
    "two axes": np.ones((8, 10), np.uint8),
    "probabilities": LESION * np.float32(0.25),
}


@pytest.mark.parametrize("fault", BAD_STEPS)
def test_a_bad_step_costs_that_step(submission: Path, tmp_path: Path, fault: str) -> None:
    write_steps(submission / "a", LESION, BAD_STEPS[fault], LESION)
    found = scored(submission, tmp_path)
    assert found["results"]["a"]["status"] == "scored"
    assert steps(found, "a", "dice") == [1.0, 0.0, 1.0]
    assert steps(found, "a", "status") == ["scored", "failed", "scored"]
    assert steps(found, "a", "fnv_ml") == [0.0, 0.027, 0.0]
    error = steps(found, "a", "error")[1]
    assert error.startswith("'a/iter_1.nii.gz' ")
    assert found["results"]["a"]["warnings"] == [f"step 1: {error}"]


def test_a_linked_step_is_refused(submission: Path, tmp_path: Path) -> None:
    ground_truth = write_ground_truth(tmp_path, {"a": LESION})
    write_steps(submission / "a", HALF, None, HALF)
    (submission / "a/iter_1.nii.gz").symlink_to(ground_truth / "references/a.nii.gz")
    assert steps(run(submission, ground_truth, tmp_path / "output"), "a", "dice") == [0.8, 0.0, 0.8]


def test_other_geometry_is_a_warning_and_the_references_spacing_counts(submission: Path, tmp_path: Path) -> None:
    write(submission / "a/iter_0.nii.gz", NOTHING, spacing=(9.0, 9.0, 9.0))
    write(submission / "a/iter_1.nii.gz", LESION, direction=(-1, 0, 0, 0, -1, 0, 0, 0, 1))
    write(submission / "a/iter_2.nii.gz", LESION, origin=(5.0, 0.0, 0.0))
    found = scored(submission, tmp_path)
    assert steps(found, "a", "fnv_ml") == [0.027, 0.0, 0.0]
    parts = ("spacing differs by 8 mm", "direction differs by 180 degrees", "origin differs by 5 mm")
    warnings = found["results"]["a"]["warnings"]
    assert [part in warning for part, warning in zip(parts, warnings, strict=True)] == [True] * 3


def test_missing_steps_are_scored_as_nothing(submission: Path, tmp_path: Path) -> None:
    write_steps(submission / "a", LESION, None, LESION)
    found = scored(submission, tmp_path)
    assert steps(found, "a", "status") == ["scored", "missing", "scored"]
    assert found["results"]["a"]["metrics"]["auc_dice"] == 1.0
    assert found["results"]["a"]["warnings"] == ["step 1 missing"]


def test_missing_steps_are_counted_in_the_log(
    submission: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for case in ("a", "b"):
        write_steps(submission / case, LESION, None, LESION)
    with caplog.at_level("INFO", logger="podium"):
        found = scored(submission, tmp_path, settings="steps = 6")
    assert found["results"]["a"]["warnings"] == ["steps 1, 3-5 missing"]
    assert caplog.messages[0] == "warning: in 2 of 2 cases: steps 1, 3-5 missing"


def test_a_case_of_which_no_step_can_be_read_is_failed(submission: Path, tmp_path: Path) -> None:
    write_steps(submission / "a", LESION * np.float32(0.5), None, LESION[:3])
    write_steps(submission / "b", LESION)
    found = scored(submission, tmp_path)
    assert found["results"]["a"]["status"] == "failed"
    assert "probability map" in found["results"]["a"]["error"]
    assert found["results"]["a"]["metrics"]["final_fnv_ml"] == 0.027


def test_steps_beyond_the_last_are_not_scored(
    submission: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_steps(submission / "a", HALF, HALF, HALF, LESION)
    with caplog.at_level("INFO", logger="podium"):
        found = scored(submission, tmp_path)
    assert steps(found, "a", "dice") == [0.8] * 3
    assert found["counts"]["unmatched"] == 1
    assert "it is step 3, and only steps 0 to 2 are scored" in caplog.text


def test_clinicians_take_as_many_steps_as_they_take(submission: Path, tmp_path: Path) -> None:
    """a: Dice 0.8 and 1, so 0.9 either way; b: one step, its own value; c: never answered."""
    write_steps(submission / "a", HALF, LESION)
    write_steps(submission / "b", HALF)
    references = {"a": LESION, "b": LESION, "c": LESION}
    settings = 'regime = "clinician"\nclinician_auc = "normalised"'
    found = scored(submission, tmp_path, references=references, settings=settings)
    normalised = {case: row["metrics"]["auc_dice_normalised"] for case, row in found["results"].items()}
    assert normalised == {"a": pytest.approx(0.9), "b": 0.8, "c": 0.0}
    assert {case: row["metrics"]["auc_dice"] for case, row in found["results"].items()} == {
        "a": pytest.approx(0.9),
        "b": 0.0,
        "c": 0.0,
    }
    assert found["aggregates"]["auc_dice_normalised"]["mean"] == pytest.approx(1.7 / 3)
    assert ranked_by(settings) == ["auc_dice_normalised.mean", "auc_dmm_normalised.mean"]
    assert found["aggregates"]["dice_by_step"] == {"0": pytest.approx(1.6 / 3), "1": 1.0}


def test_an_archive_may_unpack_to_masks_of_eight_bytes_per_voxel_and_notes() -> None:
    assert lesions().submission_bytes([{"segmentation": (2, 3, 4)}] * 2) == 2 * (24 * 6 * 8 + 16_000_000)


def test_every_figure_of_agreement_lies_between_0_and_1() -> None:
    figures = {each.path: each for each in lesions().scoreboard.cohort_metrics}
    assert (figures["dmm_pooled"].lowest, figures["dmm_pooled"].highest) == (0.0, 1.0)


def ranked_by(settings: str) -> list[str]:
    tables = tomllib.loads(settings.partition("[cases]")[0])
    return [each.path for each in lesions(tables).ranking.criteria]


def test_clinicians_are_ranked_by_the_areas_as_published(submission: Path, tmp_path: Path) -> None:
    """a: Dice 0.8, 1, 1 has the area 1.9; b: one perfect step has the area 0."""
    write_steps(submission / "a", HALF, LESION, LESION)
    write_steps(submission / "b", LESION)
    found = scored(submission, tmp_path, settings='regime = "clinician"')
    assert found["aggregates"]["auc_dice"]["mean"] == pytest.approx(1.9 / 2)
    assert ranked_by('regime = "clinician"') == ["auc_dice.mean", "auc_dmm.mean"]
    assert found["settings"]["lesions"]["clinician_auc"] == "raw"
    raw, normalised = (
        lesions({"regime": "clinician", **choice}).ranking for choice in ({}, {"clinician_auc": "normalised"})
    )
    assert raw.case_metrics == ("auc_dice", "auc_dmm")
    assert normalised.case_metrics == ("auc_dice_normalised", "auc_dmm_normalised")
    assert "divided by the number of corrections" not in raw.words


def test_a_gap_in_a_clinicians_steps_is_a_missing_step(submission: Path, tmp_path: Path) -> None:
    write_steps(submission / "a", LESION, None, LESION)
    found = scored(submission, tmp_path, settings='regime = "clinician"')
    assert steps(found, "a", "status") == ["scored", "missing", "scored"]


def test_a_last_prediction_that_equals_the_reference_may_count_for_the_missing_steps(
    submission: Path, tmp_path: Path
) -> None:
    """a: Dice 0.8, 1, 1, 1 has the area 0.9 + 1 + 1; b: its last mask is not perfect, so 0.8, 0.8, 0, 0 has 1.2."""
    write_steps(submission / "a", HALF, LESION)
    write_steps(submission / "b", HALF, HALF)
    found = scored(submission, tmp_path, settings='steps = 4\nmissing_steps = "repeat"')
    assert steps(found, "a", "status") == ["scored", "scored", "repeated", "repeated"]
    assert {case: row["metrics"]["auc_dice"] for case, row in found["results"].items()} == {
        "a": pytest.approx(2.9),
        "b": pytest.approx(1.2),
    }
    assert found["results"]["a"]["metrics"]["final_component_dice"] == 1.0
    assert found["results"]["a"]["metrics"]["final_fpv_ml"] == 0.0
    assert found["results"]["a"]["warnings"] == [
        "steps 2-3 missing: the last prediction equals the reference and counts instead"
    ]
    assert found["results"]["b"]["warnings"] == ["steps 2-3 missing"]
    assert scored(submission, tmp_path, settings="steps = 4")["results"]["a"]["metrics"]["auc_dice"] == pytest.approx(
        1.4
    )


def test_only_the_last_prediction_counts_for_missing_steps_and_only_for_those_after_it(
    submission: Path, tmp_path: Path
) -> None:
    """a: a gap after a perfect mask stays a missing step; b: a perfect mask before a last one that cannot be read."""
    write_steps(submission / "a", LESION, None, HALF)
    write_steps(submission / "b", LESION, BAD_STEPS["wrong size"])
    found = scored(submission, tmp_path, settings='steps = 4\nmissing_steps = "repeat"')
    assert steps(found, "a", "status") == ["scored", "missing", "scored", "missing"]
    assert steps(found, "b", "status") == ["scored", "failed", "missing", "missing"]


def test_absent_jobs_after_a_mask_that_equals_the_reference(submission: Path, tmp_path: Path) -> None:
    """b: its last mask is not perfect, so that any of its jobs may be the absent one."""
    masks = {"a": (HALF, LESION), "b": (LESION, HALF)}
    jobs = [
        {"case": f"{case}.mha", "mask": mask, "points": 3 * step}
        for case in masks
        for step, mask in enumerate(masks[case])
    ]
    found = scored(write_jobs(submission, jobs), tmp_path, settings='steps = 3\nmissing_steps = "repeat"')["results"]
    assert found["a"]["metrics"]["auc_dice"] == pytest.approx(1.9)
    assert (found["b"]["status"], found["b"]["metrics"]["auc_dice"]) == ("failed", 0.0)


def test_in_a_case_without_lesions_an_empty_last_prediction_equals_the_reference(
    submission: Path, tmp_path: Path
) -> None:
    write_steps(submission / "a", HALF, NOTHING)
    write_steps(submission / "b", LESION)
    settings = 'steps = 3\nmissing_steps = "repeat"\nempty_reference = "score"'
    found = scored(submission, tmp_path, settings=settings, references={"a": NOTHING, "b": LESION})
    assert steps(found, "a", "dice") == [0.0, 1.0, 1.0]


def test_what_an_empty_reference_counts_is_for_the_organiser_to_say() -> None:
    """Nothing is the default: the organisers' scripts disagree, and the choice can turn a ranking round."""
    (problem,) = load_tables("x", "lesions", {"lesions": {}}).problems
    assert str(problem) == (
        '\'lesions.empty_reference\' is missing: write "undefined" or "score" (no Dice without lesions, or 1 for an '
        "empty prediction, else 0: the organisers' scripts disagree)"
    )
    (problem,) = load_tables("x", "lesions", {}).problems
    assert 'write [lesions] with empty_reference = "undefined" or "score"' in str(problem)


@pytest.mark.parametrize(("choice", "careful", "eager"), [("undefined", 1.6, 2.0), ("score", 5.2 / 3, 4.0 / 3)])
def test_what_an_empty_reference_counts_can_turn_a_ranking_round(
    submission: Path, tmp_path: Path, choice: str, careful: float, eager: float
) -> None:
    """careful: Dice 0.8 where a lesion is, and nothing predicted where none is; eager: 1, and a false positive."""
    references = {"a": LESION, "b": LESION, "c": NOTHING}
    for expected, found, invented in ((careful, HALF, NOTHING), (eager, LESION, HALF)):
        for case in references:
            write_steps(submission / case, *[invented if case == "c" else found] * 3)
        settings = f'steps = 3\nempty_reference = "{choice}"'
        aggregates = scored(submission, tmp_path, references=references, settings=settings)["aggregates"]
        assert aggregates["auc_dice"]["mean"] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("choice", "dice", "auc"),
    [
        ("undefined", [None] * 3, {"mean": 2.0, "std": 0.0, "n": 1}),
        ("score", [1.0, 0.0, 1.0], {"mean": 1.5, "std": 0.5, "n": 2}),
    ],
)
def test_a_case_without_lesions(
    submission: Path, tmp_path: Path, choice: str, dice: list[float | None], auc: dict[str, float]
) -> None:
    write_steps(submission / "a", NOTHING, HALF, NOTHING)
    write_steps(submission / "b", LESION, LESION, LESION)
    settings = f'steps = 3\nempty_reference = "{choice}"'
    found = scored(submission, tmp_path, references={"a": NOTHING, "b": LESION}, settings=settings)
    assert steps(found, "a", "dice") == dice
    assert steps(found, "a", "dmm") == steps(found, "a", "fnv_ml") == [None] * 3
    assert steps(found, "a", "fpv_ml") == [0.0, 0.018, 0.0]
    assert found["aggregates"]["auc_dice"].items() >= auc.items()
    assert found["aggregates"]["auc_dmm"]["n"] == 1


def test_a_missing_case_without_lesions_changes_no_mean(submission: Path, tmp_path: Path) -> None:
    write_steps(submission / "b", LESION, LESION, LESION)
    found = scored(submission, tmp_path, references={"a": NOTHING, "b": LESION})
    assert found["results"]["a"]["metrics"]["final_dice"] is None
    assert found["aggregates"]["final_dice"] == {"mean": 1.0, "std": 0.0, "n": 1}


def test_without_any_value_there_is_no_mean_and_not_zero(submission: Path, tmp_path: Path) -> None:
    write_steps(submission / "a", NOTHING, NOTHING, NOTHING)
    found = scored(submission, tmp_path, references={"a": NOTHING})
    assert found["aggregates"]["auc_dice"] == {"n": 0}
    assert found["aggregates"]["dice_by_step"] == {}
    assert found["aggregates"]["dmm_pooled_defined"] == 0
    assert "dmm_pooled" not in found["aggregates"]


GROUPED = {"fdg_ukt_1": LESION, "fdg_ukt_2": LESION, "psma_lmu_1": LESION, "psma_lmu_2": NOTHING}
PATTERN = "steps = 1\n[cases]\ngroups = '^(?P<group>(fdg|psma)_[a-z]+)_'"


def test_groups(submission: Path, tmp_path: Path) -> None:
    """fdg: 1 and 0.8; psma: 0 and undefined. All: 0.6; the mean of the groups: (0.9 + 0) / 2."""
    for case, mask in zip(GROUPED, (LESION, HALF, NOTHING, NOTHING), strict=True):
        write(submission / case / "iter_0.nii.gz", mask)
    found = scored(submission, tmp_path, references=GROUPED, settings=PATTERN)["aggregates"]
    assert found["final_dice"]["mean"] == pytest.approx(0.6)
    assert found["auc_dice"]["mean"] == 0.0
    assert found["auc_dice_normalised"]["mean"] == pytest.approx(0.6)
    assert ranked_by("steps = 1") == ["auc_dice_normalised.mean", "auc_dmm_normalised.mean"]
    assert found["groups"]["fdg_ukt"]["final_dice"] == {"mean": pytest.approx(0.9), "std": pytest.approx(0.1), "n": 2}
    assert found["groups"]["psma_lmu"]["final_dice"] == {"mean": 0.0, "std": 0.0, "n": 1}
    assert found["final_dice_group_mean"] == pytest.approx(0.45)
    assert found["dmm_pooled"] == pytest.approx(4 / 5)
    assert found["dmm_pooled_group_mean"] == pytest.approx((1 + 0) / 2)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ("[cases]\ngroups = '('", "'cases.groups' is wrong: it is not a regular expression"),
        ("[cases]\ngroups = 'fdg'", "the pattern must have a named group"),
        ("steps = 0", "'lesions.steps' is wrong"),
        ("steps = 2.5", "'lesions.steps' is wrong"),
        ("iou_threshold = 0", "'lesions.iou_threshold' is wrong"),
        ("connectivity = 8", "'lesions.connectivity' is wrong"),
        ('regime = "both"', "'lesions.regime' is wrong"),
        ('regime = "clinician"\nsteps = 6', "'steps' belongs to the regime 'simulated'"),
        ('clinician_auc = "raw"', "'clinician_auc' belongs to the regime 'clinician'"),
        ('regime = "clinician"\nmissing_steps = "repeat"', "'missing_steps' belongs to the regime 'simulated'"),
        ("stepz = 6", "'lesions.stepz' is not a known key"),
    ],
)
def test_settings_that_are_wrong(submission: Path, tmp_path: Path, settings: str, words: str) -> None:
    submission.mkdir()
    (submission / "x").write_text("x")
    with pytest.raises(ConfigurationError) as caught:
        scored(submission, tmp_path, settings=settings)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("name", "volume"),
    [("a.nii.gz", LESION * np.float32(0.5)), ("a.nii.gz", LESION.astype(np.int16) * -1), ("a.png", LESION[0])],
)
def test_a_broken_reference_stops_the_run(submission: Path, tmp_path: Path, name: str, volume: Any) -> None:
    write_steps(submission / "a", LESION)
    with pytest.raises(GroundTruthError):
        scored(submission, tmp_path, references={name: volume})


def test_a_case_with_two_references_stops_the_run(submission: Path, tmp_path: Path) -> None:
    write_steps(submission / "a", LESION)
    with pytest.raises(GroundTruthError, match="A case has two references"):
        scored(submission, tmp_path, references={"a.mha": LESION, "a.nii.gz": LESION})


@pytest.mark.parametrize("name", ["a.nii.gz", "iter_0.nii.gz"])
def test_names_that_match_nothing_are_said(submission: Path, tmp_path: Path, name: str) -> None:
    write(submission / name, LESION)
    with pytest.raises(SubmissionError) as caught:
        scored(submission, tmp_path)
    assert f"{name}: it is not named <case>/iter_<k>.nii.gz or <case>/iter_<k>.mha" in str(caught.value)


def test_anonymous_rows_hold_no_lesion(submission: Path, tmp_path: Path) -> None:
    write_steps(submission / "a", HALF, LESION, LESION)
    found = scored(submission, tmp_path, per_case="anonymous")
    for case, row in found["results"].items():
        assert case.startswith("case-")
        assert "lesions" not in row["metrics"]
        assert "final_detections" not in row["metrics"]
        for step in row["metrics"]["steps"]:
            assert not {"pairs", "voxels", "tp", "fn"} & step.keys()
            assert {"dice", "dmm", "fp", "status"} <= step.keys()


def test_descriptive_figures_by_choice(submission: Path, tmp_path: Path) -> None:
    """Only the last step is looked at."""
    write_steps(submission / "a", NOTHING, HALF)
    settings = "steps = 2\nper_component_dice = true"
    found = scored(submission, tmp_path, settings=settings)
    row = found["results"]["a"]["metrics"]
    assert row["final_component_dice"] == pytest.approx(0.8, abs=1e-6)
    assert found["aggregates"]["final_component_dice"]["mean"] == pytest.approx(0.4, abs=1e-6)


def test_the_leaderboard_ranks_by_the_mean_of_two_positions(tmp_path: Path) -> None:
    settings = phase_settings(lesions().columns())
    assert settings["score_jsonpath"] == "aggregates.auc_dice.mean"
    assert settings["scoring_method_choice"] == "avg"
    ranked = [column["path"] for column in settings["extra_results_columns"] if not column["exclude_from_ranking"]]
    assert ranked == ["aggregates.auc_dmm.mean"]
    found = run(ROOT / "test/submissions/lesions/ember", ROOT / "ground-truth/lesions", tmp_path)
    for column in settings["extra_results_columns"]:
        assert isinstance(get(found, column["path"]), int | float)


def test_it_is_told_from_outside() -> None:
    recognises = lesions().recognises
    assert recognises(SubmissionNames(frozenset(["tumor-lesion-segmentation"]), ()))
    assert recognises(SubmissionNames(frozenset(), ("x/a/iter_0.nii.gz", "readme.md")))
    assert recognises(SubmissionNames(frozenset(), ("a/ITER_0.NII.GZ",)))
    assert not recognises(SubmissionNames(frozenset(), ("a_pred.h5", "iter_0.nii.gz")))


def test_validate_says_which_steps_need_mending(submission: Path) -> None:
    write_steps(submission / "a", LESION, LESION * np.float32(0.5))
    write_steps(submission / "b", LESION, LESION)
    report = validate(submission, executor=Serial())
    assert [(problem.where, "probability map" in problem.what) for problem in report.problems] == [("a", True)]


@pytest.mark.parametrize(("choice", "problems"), [("fail", ["steps 1-2 missing."]), ("repeat", [])])
def test_validate_cannot_know_whether_a_last_prediction_is_perfect(
    submission: Path, tmp_path: Path, choice: str, problems: list[str]
) -> None:
    write_steps(submission / "a", LESION)
    folder = write_ground_truth(tmp_path, {"a": LESION}, settings=f'steps = 3\nmissing_steps = "{choice}"')
    report = validate(submission, cases=manifest_of(folder), executor=Serial())
    assert [problem.what for problem in report.problems] == problems
    assert [*report.case_warnings["a"]] == (
        [] if problems else ["steps 1-2 missing: this costs points unless the last prediction equals the reference"]
    )


def manifest_of(path: Path) -> Manifest:
    from podium.challenges import load_challenge
    from podium.challenges.ground_truth import read_challenge_folders
    from podium.evaluation import prepare

    folder = read_challenge_folders(path)["ground-truth"]
    return make_manifest(prepare(folder, load_challenge(folder), Serial()))


def test_the_manifest_holds_no_lesion(tmp_path: Path) -> None:
    manifest = manifest_of(write_ground_truth(tmp_path, {"a": LESION}))
    assert manifest.cases == {"a": {"segmentation": SHAPE}}
    assert manifest.load_challenge().kind == "lesions"


def test_a_missing_case_is_counted_with_the_worst_false_positive_volume(tmp_path: Path) -> None:
    """0 ml would be the best volume there is: null, which ranking takes for the worst."""
    truth = write_ground_truth(tmp_path, {"a": LESION, "b": LESION}, settings="steps = 1")
    for team, cases in (("half", "a"), ("whole", "ab")):
        for case in cases:
            write(tmp_path / team / case / "iter_0.nii.gz", LESION)
        found = run(tmp_path / team, truth, tmp_path / "teams" / team)
        volumes = [row["metrics"]["final_fpv_ml"] for row in found["results"].values()]
        assert volumes == ([0.0, None] if team == "half" else [0.0, 0.0])
        assert found["aggregates"]["final_fpv_ml"]["n"] == len(cases)
    arguments = ("--scheme", "aggregate-then-rank", "--metric", "final_fpv_ml", "--output", str(tmp_path / "ranking"))
    assert main(["rank", str(tmp_path / "teams"), *arguments]) == 0
    ranking = json.loads((tmp_path / "ranking/ranking.json").read_text())
    assert {team["name"]: team["rank"] for team in ranking["teams"]} == {"whole": 1, "half": 2}
    assert any("worst value" in note["text"] for note in ranking["notes"])


# The catalogue's `lesions`: which settings for empty masks it takes.

RULE = {"kind": "lesions", "match": "iou", "threshold": 0.5, "pairing": "greedy"}


def test_only_a_case_without_lesions_and_false_positives_has_a_value_of_its_own() -> None:
    assert LesionsMetricSettings.model_validate({**RULE, "both_empty": 1.0}).both_empty == 1.0


@pytest.mark.parametrize("key", ["prediction_empty", "reference_empty"])
def test_where_one_side_is_empty_the_formulas_decide(key: str) -> None:
    with pytest.raises(ValidationError, match="takes no prediction_empty or reference_empty"):
        LesionsMetricSettings.model_validate({**RULE, key: 0.0})
