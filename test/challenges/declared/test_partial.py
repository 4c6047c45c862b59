"""Values are independent: what is missing or refused costs the figures that use it, and nothing else."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from challenges.declared.declaring import (
    HEAD,
    errors,
    metric,
    metrics,
    score,
    value,
    write_challenge,
    write_jobs,
    write_predictions,
)
from evaluating import evaluate, read_metrics

import podium
from podium.errors import SubmissionError
from podium.validation import make_manifest, validate

pytestmark = pytest.mark.usefixtures("in_process")

MASK = value("mask", "labels", file="{case}.mha", reference="{case}.mha", labels={"lesion": 1})
BOXES = value("boxes", "boxes", file="{case}.json", reference="{case}.json", unit="index")
RISK = value("risk", "probability", table="risks.csv", column="risk", positive="ill")
TOML = MASK + BOXES + metric("dice") + metric("f1", threshold=0.5) + metrics(by="dice.lesion")


def picture(*places: int) -> Any:
    labels = np.zeros((10, 20), np.uint8)
    labels.ravel()[list(places)] = 1
    return labels


def boxes(*corners: tuple[int, int]) -> dict[str, Any]:
    found = [{"corners": [[x, y, 0], [x + 2, y, 0], [x + 2, y + 2, 0], [x, y + 2, 0]]} for x, y in corners]
    return {"type": "Multiple 2D bounding boxes", "boxes": found, "version": {"major": 1, "minor": 0}}


TRUTH = {f"{case}.mha": picture(*range(51)) for case in "ab"} | {f"{case}.json": boxes((1, 1)) for case in "ab"}
MASKS = {f"{case}.mha": picture(*range(39), *range(60, 68)) for case in "ab"}
DICE = 2 * 39 / (51 + 47)  # 0.796


def test_masks_without_boxes_keep_their_dice(tmp_path: Path) -> None:
    """Such a team had Dice 0 and nothing but failed cases."""
    found = score(tmp_path, TOML, TRUTH, MASKS)
    assert found["counts"] == {"expected": 2, "scored": 0, "partial": 2, "failed": 0, "missing": 0, "unmatched": 0}
    assert found["aggregates"]["dice"]["lesion"]["mean"] == pytest.approx(DICE)
    assert found["aggregates"]["f1"] == 0.0
    row = found["results"]["a"]
    assert (row["status"], row["error"]) == ("partial", None)
    assert row["missing"] == {"boxes": "There is no prediction of the value 'boxes'; expected in <case>.json."}


def test_a_refused_value_is_missing_and_a_case_without_any_has_failed(tmp_path: Path) -> None:
    files = {**MASKS, "a.json": boxes((1, 1)), "b.json": [1], "b.mha": picture(1)[:5]}
    found = score(tmp_path, TOML, TRUTH, files)["results"]
    assert (found["a"]["status"], found["b"]["status"]) == ("scored", "failed")
    assert "b.mha" in found["b"]["error"]
    assert "'b.json' must be an object" in found["b"]["error"]
    del files["b.mha"]
    found = score(tmp_path, TOML, TRUTH, {**files, "b.mha": picture(0)}, team="other")["results"]
    assert (found["b"]["status"], list(found["b"]["missing"])) == ("partial", ["boxes"])


def test_jobs_lose_their_outputs_one_by_one(tmp_path: Path) -> None:
    toml = '[cases]\ninput = "scan"\n' + TOML.replace("[values.mask]", '[values.mask]\nsocket = "mask"').replace(
        "[values.boxes]", '[values.boxes]\nsocket = "boxes"'
    )
    truth = write_challenge(tmp_path / "truth", toml, TRUTH, head=HEAD.replace("predictions", "algorithm"))
    outputs = {"a": {"mask": TRUTH["a.mha"]}, "b": {"boxes": TRUTH["b.json"], "mask": TRUTH["b.mha"]}}
    found = evaluate(write_jobs(tmp_path / "jobs", socket_in="scan", jobs=outputs), truth, tmp_path / "out")
    assert found["results"]["a"]["missing"] == {"boxes": "job job-0 has no output 'boxes'."}
    assert found["aggregates"]["dice"]["lesion"]["mean"] == 1.0
    assert found["aggregates"]["f1"] == pytest.approx(2 / 3)


def test_time_counts_a_partial_case_as_unusable(tmp_path: Path) -> None:
    time = '[time]\nrule = "fixed"\nbaseline_seconds = 90\n'
    seconds = {"timing.json": {"cases": {"a": 10, "b": 10}}}
    files = {**MASKS, "a.json": boxes((1, 1)), **seconds}
    found = score(tmp_path, TOML + time, TRUTH, files)["aggregates"]
    assert found["total_seconds"] == 10 + 2 * 90 / 2


def test_a_case_in_memory_may_lack_values_too(tmp_path: Path) -> None:
    truth = write_challenge(tmp_path / "truth", TOML, TRUTH)
    opened = podium.open_challenge(truth)
    found = opened.score({"a": {"mask": TRUTH["a.mha"]}, "b": {}})
    assert [(row.status, dict(row.missing)) for row in found.results] == [
        ("partial", {"boxes": "There is no prediction of the value 'boxes'."}),
        ("missing", {}),
    ]
    with pytest.raises(SubmissionError, match="holds no prediction"):
        opened.score({"b": {}})


def test_validation_names_every_value_that_is_missing(tmp_path: Path) -> None:
    truth = write_challenge(tmp_path / "truth", TOML, TRUTH)
    manifest = make_manifest(podium.open_challenge(truth).task)
    sent = write_predictions(tmp_path / "s", {**MASKS, "a.json": boxes((1, 1))})
    (problem,) = validate(sent, cases=manifest).problems
    assert (problem.where, problem.what) == (
        "b",
        "There is no prediction of the value 'boxes'; expected in <case>.json.",
    )


# A gate on another value


@pytest.mark.parametrize(("otherwise", "expected"), [("0", 0.0), ('"exclude"', 1.0)])
def test_a_figure_behind_a_missing_condition_is_the_worst_that_the_condition_allows(
    tmp_path: Path, otherwise: str, expected: float
) -> None:
    """With "exclude", no answer to the condition's value can make the figure worse than it is."""
    other = value("organ", "labels", file="{case}_o.mha", reference="{case}_o.mha", labels={"organ": 1})
    gated = metric("iou", of="mask", where="dice.organ_organ >= 0.5") + f"otherwise = {otherwise}\n"
    toml = MASK + other + metric("dice", of=["mask", "organ"]) + gated + metrics(by="iou.lesion")
    truth = {"a.mha": picture(1, 2), "a_o.mha": picture(3)}
    found = score(tmp_path, toml, truth, {"a.mha": picture(1, 2)})["results"]["a"]["metrics"]
    assert found["dice"] == {"mask_lesion": 1.0, "organ_organ": 0.0, "mean": 0.5}
    assert found["iou"]["lesion"] == expected


# Optional values

OPTIONAL = MASK + RISK + "optional = true\n" + metric("dice") + metric("auroc") + metric("f1", of="risk")
RISKS = {"risks.csv": "case,risk\na,0\nb,1\n"}
TRUE_MASKS = {name: content for name, content in TRUTH.items() if name.endswith(".mha")}


@pytest.mark.parametrize("sent", [{}, {"risks.csv": "case,other\na,1\nb,1\n"}, {"risks.csv": "case,risk\na,\nb,\n"}])
def test_a_submission_without_an_optional_value_has_no_figure_of_it(
    tmp_path: Path, sent: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    toml = OPTIONAL + '[figures]\nboth = "dice.lesion + f1.macro"\n' + metrics(by="dice.lesion")
    toml += '[time]\nrule = "none"\n'
    truth = {**TRUE_MASKS, **RISKS}
    found = score(tmp_path, toml, truth, {"a.mha": TRUTH["a.mha"], **sent})
    assert [row["status"] for row in found["results"].values()] == ["scored", "missing"]
    assert found["aggregates"]["dice"]["lesion"]["mean"] == 0.5
    assert not {"auroc", "f1", "both"} & {*found["aggregates"]}
    assert [row["metrics"]["risk"] for row in found["results"].values()] == [None, None]
    told = [line for line in capsys.readouterr().out.splitlines() if "risk" in line]
    assert told == ["note: There is no prediction of the optional value 'risk' in any case: its figures have no value."]


def test_an_optional_value_that_is_sent_for_one_case_is_expected_for_all(tmp_path: Path) -> None:
    toml = OPTIONAL + metrics(by="dice.lesion")
    sent = {**TRUE_MASKS, "risks.csv": "case,risk\nb,1\n"}
    found = score(tmp_path, toml, {**TRUE_MASKS, **RISKS}, sent)
    assert [row["status"] for row in found["results"].values()] == ["partial", "scored"]
    assert found["aggregates"]["auroc"] == 0.5  # the missing probability is the worst, 1, as b's is
    assert found["aggregates"]["dice"]["lesion"]["mean"] == 1.0


def test_an_optional_value_has_its_own_place(tmp_path: Path) -> None:
    one = value("one", "number", file="{case}.h5", reference="{case}.h5", dataset="one", range=[0, 1])
    toml = one + "optional = true\n" + one.replace("one", "two") + metric("mae") + metrics(by="mae.two")
    (error,) = errors(tmp_path, toml)
    assert error.endswith("is for a value with a file, table or socket of its own: '{case}.h5' holds other values too.")


def test_teams_without_an_optional_value_are_ranked_by_the_others(tmp_path: Path) -> None:
    toml = OPTIONAL + '[ranking]\nby = ["dice.lesion", "auroc"]\nmethod = "mean_of_positions"\n'
    truth, teams = {**TRUE_MASKS, **RISKS}, tmp_path / "teams"
    score(tmp_path, toml, truth, {**TRUE_MASKS, **RISKS}, team="all")
    score(tmp_path, toml, truth, MASKS, team="masks")
    (ranking,) = podium.rank(teams / "all" / "metrics.json", teams / "masks" / "metrics.json")
    assert [(team.name, team.rank) for team in ranking.teams] == [("all", 1), ("masks", 2)]
    assert read_metrics(teams / "masks")["counts"]["scored"] == 2


# Detection lists

POINTS = value("points", "points", table="points.csv", unit="index")
FOUND = POINTS + metric("f1", radius_px=1) + metric("fp", radius_px=1, failed="empty") + metrics(by="f1")


def test_a_case_without_a_row_is_an_empty_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One finding in each of two cases, and none in the third, which only the masks name."""
    toml = MASK + FOUND + metric("dice")
    truth = {f"{case}.mha": picture(1) for case in "abc"} | {"points.csv": "case,x,y\na,1,1\nb,5,5\n"}
    sent = {f"{case}.mha": picture(1) for case in "abc"} | {"points.csv": "case,x,y\na,1,1\n"}
    found = score(tmp_path, toml, truth, sent)
    assert found["counts"]["scored"] == 3
    assert (found["aggregates"]["f1"], found["aggregates"]["fp"]) == (pytest.approx(2 / 3), 0)
    assert "note: 2 of 3 cases have no row in 'points.csv': each counts as an empty list of 'points'." in (
        capsys.readouterr().out
    )
    without = score(tmp_path, toml, truth, {name: each for name, each in sent.items() if "csv" not in name}, team="n")
    assert without["counts"]["partial"] == 3
    assert "partial: a and 2 more: There is no prediction of the value 'points'" in capsys.readouterr().out


def test_a_table_with_a_header_alone_finds_nothing(tmp_path: Path) -> None:
    found = score(tmp_path, FOUND, {"points.csv": "case,x,y\na,1,1\nb,,\n"}, {"points.csv": "case,x,y\n"})
    assert found["counts"]["scored"] == 2
    assert found["aggregates"]["f1"] == 0.0


def test_expected_cases_finds_cases_that_nothing_names(tmp_path: Path) -> None:
    found = errors(tmp_path, FOUND, head="expected_cases = 2\n" + HEAD, references={"points.csv": "case,x,y\na,1,1\n"})
    assert any("has 1 references, but 'expected_cases' in challenge.toml is 2" in error for error in found)


def test_a_file_that_is_missing_is_a_missing_answer(tmp_path: Path) -> None:
    toml = value("points", "points", file="{case}.json", reference="{case}.json", unit="index")
    none = {"type": "Multiple points", "points": [], "version": {"major": 1, "minor": 0}}
    toml += metric("f1", radius_px=1) + metrics(by="f1")
    found = score(tmp_path, toml, {"a.json": none, "b.json": none}, {"a.json": none})
    assert [row["status"] for row in found["results"].values()] == ["scored", "missing"]


# The range of an image


def test_an_image_beyond_its_range_is_refused_with_what_was_found(tmp_path: Path) -> None:
    toml = value("ct", "image", file="{case}.mha", reference="{case}.mha", range=[-1024, 3000]) + metrics("mae")
    truth = {"a.mha": np.full((4, 6), 50, np.int16), "b.mha": np.full((4, 6), 50, np.int16)}
    sent = {"a.mha": np.full((4, 6), 3000, np.int16), "b.mha": np.array([[-2000, 50, 3001]] * 4, np.int16).repeat(2, 1)}
    found = score(tmp_path, toml, truth, sent)["results"]
    assert found["a"]["metrics"]["mae"] == 2950
    assert found["b"]["error"] == "'b.mha' holds values from -2000 to 3001; they must be between -1024 and 3000."
    (error,) = errors(tmp_path / "range", toml.replace("[-1024, 3000]", "[3000, -1024]"))
    assert "a range is [lowest, highest]" in error


def test_psnr_clips_to_its_own_range(tmp_path: Path) -> None:
    toml = value("ct", "image", file="{case}.mha", reference="{case}.mha", range=[0, 200])
    toml += metric("psnr", data_range=[0, 100]) + metrics(by="psnr")
    found = score(tmp_path, toml, {"a.mha": np.full((4, 6), 90.0)}, {"a.mha": np.full((4, 6), 180.0)})
    assert found["results"]["a"]["metrics"]["psnr"] == pytest.approx(20.0)  # clipped to 100, so that 10 are wrong


def test_the_row_of_a_partial_case_is_one_line_of_the_file(tmp_path: Path) -> None:
    score(tmp_path, TOML, TRUTH, MASKS)
    rows = (tmp_path / "teams/team/metrics.json").read_text().splitlines()
    partial = [json.loads(row.strip().rstrip(",")) for row in rows if '"partial"' in row and '"case"' in row]
    assert [row["case"] for row in partial] == ["a", "b"]
