"""The golden figures of the catalogue, labels and their options, time and formulas, through the real evaluation."""

import json
import math
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
    write_file,
    write_jobs,
)
from challenges.lesions_folders import HALF, LESION, write, write_ground_truth
from evaluating import evaluate
from numpy.typing import NDArray
from places import ROOT
from scipy.spatial.distance import cdist

import podium
from podium import rank
from podium.challenges import load_challenge
from podium.challenges.ground_truth import read_challenge_folders
from podium.challenges.lesions import scoring as declarations
from podium.challenges.lesions.files import LesionsSettings
from podium.challenges.lesions.scoring import LesionsCase
from podium.checking import check
from podium.cli import main
from podium.execution.executor import Serial
from podium.metrics.declaration import CaseMetric, Reason
from podium.metrics.engines import MetricEngine
from podium.metrics.surfaces import measure_surfaces
from podium.tools.ranking.schemes import RankingOptions

pytestmark = pytest.mark.usefixtures("in_process")

ORGAN = '[values.organ]\nkind = "labels"\nfile = "{case}.mha"\nreference = "{case}.mha"\n'
LIVER = ORGAN + "labels = { liver = 1 }\n"
BY_DICE = metrics("dice")
ILL = value("v", "probability", positive="ill", table="p.csv", column="v")


def cube(y: int, *, label: int = 1) -> NDArray[np.uint8]:
    values = np.zeros((6, 8, 8), np.uint8)
    values[1:5, y : y + 4, 2:6] = label
    return values


def picture(*labels: int) -> NDArray[np.uint8]:
    """A row of 4 pixels for each label."""
    return np.repeat(np.array(labels, np.uint8)[:, None], 4, axis=1)


# Golden figures


def test_the_two_boxes(tmp_path: Path) -> None:
    toml = LIVER + metric("nsd", name="nsd_0", tolerance_mm=0) + metric("nsd", name="nsd_1", tolerance_mm=1.0)
    toml += metrics("dice", "hd", "hd95", "assd", "masd") + metric("volume_difference_ml", failed="empty")
    found = score(tmp_path, toml, {"a.mha": cube(2)}, {"a.mha": cube(3)}, spacing=(2.0, 1.0, 1.0))
    figures = {name: value["liver"] for name, value in found["results"]["a"]["metrics"].items()}
    assert figures == pytest.approx(
        {
            "dice": 0.75,
            "nsd_0": 0.642857,
            "nsd_1": 1.0,
            "hd": 1.0,
            "hd95": 1.0,
            "assd": 0.357143,
            "masd": 0.357143,
            "volume_difference_ml": 0.0,
        },
        abs=1e-6,
    )


def test_the_five_classes(tmp_path: Path) -> None:
    toml = value("v", "class", table="p.csv", column="v", classes={"no": 0, "yes": 1})
    toml += metrics("f1", "accuracy", "balanced_accuracy", by="f1.macro")
    truth = {"p.csv": "case,v\na,0\nb,0\nc,1\nd,1\ne,1\n"}
    found = score(tmp_path, toml, truth, {"p.csv": "case,v\na,0\nb,1\nc,1\nd,1\n"})["aggregates"]
    del found["f1"]["macro_ci"]  # its error bar
    assert found["f1"] == pytest.approx({"no": 2 / 3, "yes": 2 / 3, "macro": 2 / 3, "micro": 2 / 3, "weighted": 2 / 3})
    assert (found["accuracy"], found["balanced_accuracy"]) == pytest.approx((0.6, 7 / 12))


def test_the_four_probabilities(tmp_path: Path) -> None:
    toml, truth = ILL + metrics("auroc", "average_precision"), {"p.csv": "case,v\na,0\nb,0\nc,1\nd,1\n"}
    found = score(tmp_path, toml, truth, {"p.csv": "case,v\na,0.1\nb,0.4\nc,0.35\nd,0.8\n"})["aggregates"]
    assert (found["auroc"], found["average_precision"]) == pytest.approx((0.75, 0.833333), abs=1e-6)


# Labels


def test_unions_spellings_and_other_labels(tmp_path: Path) -> None:
    toml = ORGAN + (
        "labels = [{ core = 1, whole = [1, 2] }, { background = 10, core = 128, whole = [128, 255] }]\n" + BY_DICE
    )
    references = {"a.mha": picture(0, 1, 2, 0), "b.mha": picture(10, 128, 255, 10), "c.mha": picture(0, 1, 2, 0)}
    predictions = {
        "a.mha": picture(10, 128, 255, 10),
        "b.mha": picture(0, 0, 1, 0),
        "c.mha": picture(0, 1, 2, 9),
    }
    rows = score(tmp_path, toml, references, predictions)["results"]
    assert rows["a"]["metrics"]["dice"] == {"core": 1.0, "whole": 1.0, "mean": 1.0}
    assert rows["b"]["metrics"]["dice"] == pytest.approx({"core": 0.0, "whole": 2 / 3, "mean": 1 / 3})
    assert rows["c"]["status"] == "failed"
    assert "holds the value 9" in rows["c"]["error"]
    allowed = toml.replace("labels =", 'other_labels = "background"\nlabels =')
    rows = score(tmp_path / "allowed", allowed, references, predictions)["results"]
    assert rows["c"]["metrics"]["dice"]["mean"] == 1.0


def test_a_named_background(tmp_path: Path) -> None:
    toml = ORGAN + "labels = { background = 3, zero = 0, one = 1 }\n" + BY_DICE
    rows = score(tmp_path, toml, {"a.mha": picture(3, 0, 1, 1)}, {"a.mha": picture(3, 0, 1, 3)})["results"]
    assert rows["a"]["metrics"]["dice"] == pytest.approx({"zero": 1.0, "one": 2 / 3, "mean": 5 / 6})


def test_ignored_voxels_are_left_out(tmp_path: Path) -> None:
    toml = ORGAN + "labels = { liver = 1 }\nignore = 255\n" + BY_DICE
    rows = score(tmp_path, toml, {"a.mha": picture(0, 1, 255)}, {"a.mha": picture(0, 1, 1)})["results"]
    assert rows["a"]["metrics"]["dice"]["liver"] == 1.0
    references = {"a.mha": picture(0, 1, 255), "b.mha": picture(0, 1, 255)}
    lost = score(tmp_path / "lost", toml, references, {"a.mha": picture(0, 1, 255), "b.mha": picture(0, 1, 0)})
    assert {case: row["status"] for case, row in lost["results"].items()} == {"a": "failed", "b": "scored"}


@pytest.mark.parametrize(
    ("rule", "status", "warnings"), [("strict", "failed", 0), ("warn", "scored", 1), ("ignore", "scored", 0)]
)
def test_another_geometry(tmp_path: Path, rule: str, status: str, warnings: int) -> None:
    toml = LIVER + f'geometry = "{rule}"\n' + BY_DICE
    truth = write_challenge(tmp_path / "challenge", toml, {"a.mha": cube(2), "b.mha": cube(2)})
    (tmp_path / "p").mkdir()
    write_file(tmp_path / "p" / "a.mha", cube(2), spacing=(1.0, 1.0, 1.5))
    write_file(tmp_path / "p" / "b.mha", cube(2))
    rows = evaluate(tmp_path / "p", truth, tmp_path / "out")["results"]
    assert rows["a"]["status"] == status
    assert len(rows["a"]["warnings"]) == warnings
    assert rows["b"]["status"] == "scored"


# Options of metrics


@pytest.mark.parametrize(("kind", "expected"), [("dice", 2 * 4 / (8 + 12)), ("iou", 4 / (8 + 12 - 4))])
def test_pooled_counts_are_summed_first(tmp_path: Path, kind: str, expected: float) -> None:
    toml = LIVER + f'[[metrics]]\nkind = "{kind}"\nover = "pooled"\n[ranking]\nby = "{kind}.liver"\n'
    references = {"a.mha": picture(1, 1, 0), "b.mha": picture(1, 0, 0), "c.mha": picture(0, 0, 0)}
    predictions = {"a.mha": picture(1, 0, 0), "c.mha": picture(0, 0, 1)}
    found = score(tmp_path, toml, references, predictions)["aggregates"]
    # shared 4; predicted 4 + 0 + 4; reference 8 + 4 + 0: b is missing, and its voxels are missed
    assert found[kind]["liver"] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("unit", "dice", "iou"),
    [
        ("", 2 * (54 + 2 * 10) / (140 + 2 * 37), (54 + 2 * 10) / (86 + 2 * 27)),
        ('unit = "voxels"\n', 2 * (54 + 10) / (140 + 37), (54 + 10) / (86 + 27)),
    ],
)
def test_pooled_figures_sum_volumes_unless_told_otherwise(tmp_path: Path, unit: str, dice: float, iou: float) -> None:
    """Voxels of case b are twice as large: 0.6916 by volume, as HECKTOR's organisers compute it, 0.7232 by voxels."""
    tables = "".join(f'[[metrics]]\nkind = "{kind}"\nover = "pooled"\n{unit}' for kind in ("dice", "iou"))
    truth = write_challenge(tmp_path / "challenge", LIVER + tables + '[ranking]\nby = "dice.liver"\n', {})
    sizes = {"a": (54, 70, 70, 1.0), "b": (10, 19, 18, 2.0)}  # shared, predicted, reference, spacing
    for case, (shared, predicted, reference, spacing) in sizes.items():
        places = np.arange(160)
        found = places < predicted
        expected = (places >= predicted - shared) & (places < predicted - shared + reference)
        for folder, mask in ((tmp_path / "p", found), (truth / "references", expected)):
            write_file(folder / f"{case}.mha", mask.reshape(4, 5, 8).astype(np.uint8), spacing=(spacing, 1.0, 1.0))
    found = evaluate(tmp_path / "p", truth, tmp_path / "out")["aggregates"]
    assert found["dice"]["liver"] == pytest.approx(dice, abs=1e-12)
    assert found["iou"]["liver"] == pytest.approx(iou, abs=1e-12)
    assert round(dice, 4) == (0.7232 if unit else 0.6916)


@pytest.mark.parametrize("boundary", ["voxels", "surface"])
@pytest.mark.parametrize("combine", ["max", "pooled"])
def test_boundary_and_combine_of_a_hausdorff_distance(tmp_path: Path, boundary: Any, combine: Any) -> None:
    """Each of the four definitions has another figure of these two masks."""
    prediction, reference = cube(1), cube(3)
    prediction[1:5, 6:, 2:6] = reference[1:5, 0] = 1
    options = f'boundary = "{boundary}"\ncombine = "{combine}"\n'
    toml = LIVER + f'[[metrics]]\nkind = "hd95"\n{options}[ranking]\nby = "hd95"\n'
    row = score(tmp_path, toml, {"a.mha": reference}, {"a.mha": prediction}, spacing=(2.0, 1.0, 1.5))["results"]["a"]
    masks = {"prediction": prediction == 1, "reference": reference == 1}
    distances = measure_surfaces(**masks, spacing=(2.0, 1.0, 1.5), boundary=boundary)
    assert row["metrics"]["hd95"]["liver"] == pytest.approx(distances.hausdorff(combine=combine))


EMPTY = {"both": (0, 0), "prediction": (0, 1), "reference": (1, 0)}


@pytest.mark.parametrize(
    ("given", "expected"), [("0.25", 0.25), ('"exclude"', None), ('"worst"', 0.0), (None, {"both": 1.0})]
)
@pytest.mark.parametrize("side", EMPTY)
def test_what_empty_masks_mean(tmp_path: Path, side: str, given: str | None, expected: Any) -> None:
    line = "" if given is None else f"{side}_empty = {given}\n"
    toml = LIVER + f'[[metrics]]\nkind = "dice"\n{line}[ranking]\nby = "dice"\n'
    found, true = EMPTY[side]
    row = score(tmp_path, toml, {"a.mha": picture(0, true)}, {"a.mha": picture(0, found)})["results"]["a"]
    wanted = expected.get(side, 0.0) if isinstance(expected, dict) else expected
    assert row["metrics"]["dice"]["liver"] == wanted


@pytest.mark.parametrize(
    ("failed", "expected"),
    [
        ("", math.hypot(3, 4)),
        ("failed = 7.5\n", 7.5),
        ('failed = "diagonal"\n', 5.0),
        ('failed = "empty"\nprediction_empty = 3.0\n', 3.0),
        ("prediction_empty = 3.0\n", 5.0),
        ("prediction_empty = 8.0\n", 8.0),
    ],
)
def test_what_a_missing_case_means(tmp_path: Path, failed: str, expected: float) -> None:
    toml = LIVER + f'[[metrics]]\nkind = "hd"\n{failed}[ranking]\nby = "hd"\n'
    references = {"a.mha": picture(0, 1, 1), "b.mha": picture(0, 1, 1)}
    found = score(tmp_path, toml, references, {"a.mha": picture(0, 1, 1)})
    assert found["results"]["b"]["metrics"]["hd"]["liver"] == expected
    assert found["aggregates"]["hd"]["liver"]["n"] == 2
    assert found["aggregates"]["hd"]["liver"]["mean"] == pytest.approx(expected / 2)


AORTA = ("arch", *(f"zone_{number}" for number in range(8)))


def test_a_region_that_the_reference_lacks_is_excluded_in_a_missing_case_too(tmp_path: Path) -> None:
    """As AortaSeg's organisers count it: 3 of 4 cases have the arch. With a 0 in the missing case, which lacks it too,
    the arch had 4 values, and the mean of the regions was 0.659."""
    reference, prediction = np.zeros((2, 9, 6), np.uint8), np.zeros((2, 9, 6), np.uint8)
    for number in range(9):
        reference[0, number, : 3 if number == 0 else 5] = number + 1
        prediction[0, number, : 2 if number == 0 else 4] = number + 1
    without_arch = np.where(reference == 1, 0, reference).astype(np.uint8)
    toml = value(
        "aorta",
        "labels",
        file="{case}.mha",
        reference="{case}.mha",
        labels={name: number for number, name in enumerate(AORTA, 1)},
    )
    toml += metric("dice", both_empty="exclude", reference_empty="exclude") + metrics(by="dice.region_mean")
    references = {**dict.fromkeys(("a.mha", "b.mha", "c.mha"), reference), "d.mha": without_arch}
    found = score(tmp_path, toml, references, dict.fromkeys(("a.mha", "b.mha", "c.mha"), prediction))
    dice = found["aggregates"]["dice"]
    assert (dice["arch"]["n"], dice["zone_0"]["n"]) == (3, 4)
    assert round(dice["region_mean"], 3) == 0.681
    assert round(dice["region_mean"] - dice["arch"]["mean"] / 4 / 9, 3) == 0.659
    assert found["results"]["d"]["metrics"]["dice"]["arch"] is None
    assert found["results"]["d"]["undefined"] == {"dice.arch": "reference_empty"}


def test_a_figure_without_a_value_says_why(tmp_path: Path) -> None:
    toml = ORGAN + "labels = { one = 1, two = 2 }\n"
    toml += metric("lesions", match="iou", threshold=0.1, pairing="any", failed="empty")
    toml += metric("dice", prediction_empty="exclude", reference_empty="exclude")
    toml += metric("nsd", tolerance_mm=1.0, where="dice.{region} >= 0.9", otherwise="exclude")
    toml += metrics(by="dice")
    references = {"a.mha": picture(0, 1, 2), "b.mha": picture(0, 1, 0)}
    predictions = {"a.mha": picture(0, 1, 0), "b.mha": picture(1, 1, 0)}
    rows = score(tmp_path, toml, references, predictions)["results"]
    assert rows["a"]["undefined"] == dict.fromkeys(
        ("dice.two", "nsd.two", "lesions.two.precision", "lesions.two.sq"), "prediction_empty"
    )
    assert {name: why for name, why in rows["b"]["undefined"].items() if "lesions" not in name} == {
        "nsd.one": "condition"
    }
    assert rows["b"]["undefined"]["lesions.two.f1"] == "both_empty"
    assert "lesions.two.fp" not in rows["b"]["undefined"]


def test_regions_tolerances_names_and_several_values(tmp_path: Path) -> None:
    toml = (
        ORGAN
        + "labels = { one = 1, two = 2 }\n"
        + value("tumour", "labels", file="{case}_t.mha", reference="{case}_t.mha", labels={"one": 1})
        + metric("dice", name="overlap", of=["organ", "tumour"])
        + metric("nsd", of="organ", regions=["two"], tolerances_mm={"two": 1.0})
        + metrics(by="overlap.organ_two")
    )
    files = {"a.mha": picture(0, 1, 2, 2), "a_t.mha": picture(0, 1)}
    found = score(tmp_path, toml, files, {"a.mha": picture(0, 1, 2, 0), "a_t.mha": picture(0, 1)})
    row = found["results"]["a"]["metrics"]
    assert row["overlap"] == pytest.approx({"organ_one": 1.0, "organ_two": 2 / 3, "tumour_one": 1.0, "mean": 8 / 9})
    assert set(row["nsd"]) == {"two", "mean"}
    assert found["aggregates"]["overlap"]["region_mean"] == pytest.approx(8 / 9)
    assert set(found["aggregates"]["overlap"]["organ_one"]) == {"mean", "std", "median", "n"}


def test_a_region_that_no_case_has_is_no_figure_and_costs_nobody(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    toml = ORGAN + 'labels = { one = 1, two = 2 }\n[[metrics]]\nkind = "dice"\nboth_empty = "exclude"\n'
    toml += '[ranking]\nby = "dice.region_mean"\n'
    found = score(tmp_path, toml, {"a.mha": picture(0, 1)}, {"a.mha": picture(0, 1)})["aggregates"]["dice"]
    assert found["two"] == {"n": 0}
    assert found["mean"] == found["region_mean"] == 1.0
    assert "undefined: the figure 'dice.two.mean' has no value for these cases" in capsys.readouterr().out


# Groups


def test_figures_of_every_group(tmp_path: Path) -> None:
    toml = "[cases]\ngroups = '^(?P<group>fdg|psma)_'\n" + LIVER + BY_DICE
    references = {f"{case}.mha": picture(0, 1) for case in ("fdg_1", "fdg_2", "psma_1")}
    found = score(tmp_path, toml, references, {"fdg_1.mha": picture(0, 1), "fdg_2.mha": picture(0, 1)})["aggregates"]
    assert found["groups"]["fdg"]["dice"]["mean"] == 1.0
    assert found["groups"]["psma"]["dice"]["mean"] == 0.0


# Time


def timed(tmp_path: Path, time: str, ranking: str) -> dict[str, Any]:
    value_of_jobs = value("v", "number", range=[0, 1], socket="out", reference="{case}.json")
    toml = '[cases]\ninput = "scan"\n' + value_of_jobs + metric("mae") + time + ranking
    head = HEAD.replace('"predictions"', '"algorithm"')
    truth = write_challenge(tmp_path / "challenge", toml, {"a.json": 1.0, "b.json": 1.0}, head=head)
    jobs = write_jobs(tmp_path / "jobs", socket_in="scan", jobs={"a": {"out": 1.0}, "b": {"out": 1.0}})
    found: dict[str, Any] = evaluate(jobs, truth, tmp_path / "out")["aggregates"]
    return found


def test_seconds_without_a_score(tmp_path: Path) -> None:
    ranking = '[ranking]\nby = "mae"\ntie_break = ["runtime_seconds"]\n'
    found = timed(tmp_path, '[time]\nrule = "none"\nclock = "exec"\n', ranking)
    assert (found["total_seconds"], found["runtime_seconds"], found["time_known"]) == (20.0, 10.0, 1)
    assert "time_score" not in found


def test_a_fixed_time_rule(tmp_path: Path) -> None:
    time = '[time]\nrule = "fixed"\nbaseline_seconds = 20.0\nfastest = "1/2"\nslowest = "3/2"\nclock = "exec"\n'
    found = timed(tmp_path, time, '[figures]\nscore = "time_score - 100 * mae"\n[ranking]\nby = "score"\n')
    assert found["time_score"] == pytest.approx(50.0)
    assert found["score"] == pytest.approx(50.0)


def test_undefined_figures_and_the_times_of_all_teams(tmp_path: Path) -> None:
    """Formulas are evaluated again once all times are known; what was left out stays undefined."""
    toml = ILL + metric("auroc") + metric("brier")
    toml += (
        '[time]\nrule = "cohort"\nbaseline_seconds = 10.0\n'
        '[figures]\nodd = { formula = "auroc / 2", undefined = "exclude" }\n'
        'score = "time_score - 100 * brier"\n[ranking]\nby = "score"\n'
    )
    truth = {"p.csv": "case,v\na,1\nb,1\n"}
    for team, seconds in (("fast", 5), ("slow", 15)):
        files = {"p.csv": "case,v\na,0.5\nb,1\n", "timing.json": {"total_seconds": seconds}}
        score(tmp_path, toml, truth, files, team=team)
    (ranking,) = rank(tmp_path / "teams", options=RankingOptions(bootstraps=0))
    assert [(team.name, team.score) for team in ranking.teams] == [("fast", 87.5), ("slow", -12.5)]


# Formulas


def test_formulas_of_cases_and_of_all(tmp_path: Path) -> None:
    toml = LIVER + metric("dice") + metric("iou")
    toml += (
        '[case_figures]\nboth = "harmonic(dice.liver, iou.liver)"\n'
        '[figures]\nhalf = "dice / 2"\nscore = { formula = "100 * max(half, both)", title = "The score" }\n'
        '[ranking]\nby = "score"\n'
    )
    references = {"a.mha": picture(0, 1, 1), "b.mha": picture(0, 1, 1)}
    found = score(tmp_path, toml, references, {"a.mha": picture(0, 1, 0), "b.mha": picture(0, 1, 1)})
    assert found["results"]["a"]["metrics"]["both"] == pytest.approx(2 / (1.5 + 2))  # dice 2/3, iou 1/2
    both = (2 / 3.5 + 1) / 2
    assert found["aggregates"]["both"]["mean"] == pytest.approx(both)
    assert found["aggregates"]["score"] == pytest.approx(100 * max((2 / 3 + 1) / 4, both))


def test_the_log_names_undefined_figures_of_metrics(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    toml = ILL + metrics("auroc", "brier")
    found = score(tmp_path, toml, {"p.csv": "case,v\na,1\nb,1\n"}, {"p.csv": "case,v\na,0.5\nb,1\n"})["aggregates"]
    assert "auroc" not in found
    assert found["brier"] == pytest.approx(0.125)
    assert "undefined: the figure 'auroc' has no value for these cases" in capsys.readouterr().out


@pytest.mark.parametrize(("answers", "package"), [("a,0\nb,1\nc,2\n", "scikit-learn"), ("a,0\nb,1\n", "podium")])
def test_computed_by_names_podium_where_its_code_counts_missing_answers(
    tmp_path: Path, answers: str, package: str
) -> None:
    """scikit-learn has no weighted kappa with missing answers."""
    toml = value("v", "class", table="p.csv", column="v", classes={"low": 0, "mid": 1, "high": 2})
    toml += metric("kappa", weights="quadratic") + metrics("accuracy", by="kappa")
    found = score(tmp_path, toml, {"p.csv": "case,v\na,0\nb,1\nc,2\n"}, {"p.csv": f"case,v\n{answers}"})["computed_by"]
    assert {name: by.split()[0] for name, by in found.items()} == {"kappa": package, "accuracy": "scikit-learn"}


@pytest.mark.parametrize(("prediction", "expected"), [("risk", 0.0), ("time", 1.0)])
def test_survival_is_predicted_as_a_risk_or_as_a_time(tmp_path: Path, prediction: str, expected: float) -> None:
    toml = value("v", "survival", prediction=prediction, table="p.csv", column="v", reference_table="t.csv")
    references = {"t.csv": "case,time,event\na,1,1\nb,2,1\nc,3,0\n"}
    predictions = {"p.csv": "case,v\na,1\nb,2\nc,3\n"}
    found = score(tmp_path, toml + metrics("c_index"), references, predictions)["aggregates"]
    assert found["c_index"] == expected


def test_a_challenge_of_undefined_figures_alone_is_scored_all_the_same(tmp_path: Path) -> None:
    toml = value("v", "survival", prediction="risk", table="predictions.csv", column="v", reference_table="t.csv")
    references = {"t.csv": "case,time,event\na,1,0\nb,2,0\n"}
    found = score(tmp_path, toml + metrics("c_index"), references, {"predictions.csv": "case,v\na,0.5\nb,1\n"})
    assert found["aggregates"] == {"scored_cases": 2}
    checked = check("challenge", tmp_path / "challenge", images=None, executor=Serial())
    assert checked.warnings == [
        "No reference of 'v' has an event: the C-index is undefined.",
        "A perfect submission has no value for 'c_index': these references leave it undefined.",
    ]


# Leaderboard


def test_order_and_titles_of_the_leaderboard(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    board = '[leaderboard]\ncolumns = ["iou", "dice.liver"]\ntitles = { iou = "Overlap" }\n'
    toml = LIVER + metrics("dice", "iou") + board
    folder = write_challenge(tmp_path / "challenge", toml, {"a.mha": picture(0, 1)})
    assert main(["leaderboard", "--json", "--ground-truth", str(folder)]) == 0
    columns = json.loads(capsys.readouterr().out)["challenge"]
    assert columns["score_jsonpath"] == "aggregates.dice.mean"  # the platform orders teams by it
    assert [(extra["title"], extra["path"]) for extra in columns["extra_results_columns"]] == [
        ("Overlap", "aggregates.iou.mean"),
        ("Dice liver", "aggregates.dice.liver.mean"),
    ]


# An image that is compared within a mask of the organiser's, which is a reference-only value.

WITHIN = (
    value("ct", "image", file="{case}.mha", reference="{case}_ct.mha", range=[0, 1000], within="body")
    + value("body", "labels", reference="{case}_mask.mha", labels={"body": 1})
    + metrics("mae")
)


@pytest.fixture
def truth(tmp_path: Path) -> Path:
    images = {"a_ct.mha": np.array([[10, 20], [30, 40]], np.int16), "a_mask.mha": np.array([[1, 1], [0, 0]], np.uint8)}
    return write_challenge(tmp_path / "truth", WITHIN, images)


def test_a_team_sends_no_mask_and_pixels_outside_of_it_do_not_count(truth: Path, tmp_path: Path) -> None:
    write_file(tmp_path / "team/a.mha", np.array([[11, 23], [999, 999]], np.int16))
    metrics = evaluate(tmp_path / "team", truth, tmp_path / "output")
    assert metrics["counts"]["scored"] == 1
    assert metrics["aggregates"]["mae"]["mean"] == 2.0


@pytest.mark.parametrize(
    ("toml", "words"),
    [
        (WITHIN.replace('within = "body"\n', ""), "needs a socket, a file or a table: where is the prediction?"),
        (WITHIN + metric("dice", of="body"), "names 'body', which is a reference-only value"),
        (WITHIN + metric("dice"), "there is none"),
    ],
    ids=["no image is compared within it", "a metric of the mask", "a metric of all masks"],
)
def test_mistakes_with_a_mask_that_nobody_predicts(tmp_path: Path, toml: str, words: str) -> None:
    (error,) = errors(tmp_path, toml)
    assert words in error


def test_a_mask_of_another_size_is_found_before_a_build(truth: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write_file(truth / "references/a_mask.mha", np.array([[1, 1, 0], [0, 0, 0]], np.uint8))
    assert main(["check", str(truth)]) == 2
    assert "The mask 'body' is not of the size of the image 'ct'." in capfd.readouterr().out


def test_a_readme_may_lie_among_the_references(truth: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (truth / "references/README.md").write_text("Where these come from.\n")
    assert main(["check", str(truth)]) == 0
    (truth / "references/notes.md").write_text("Something else.\n")
    assert main(["check", str(truth)]) == 2
    assert "references/notes.md" in capfd.readouterr().out


# Which packages are loaded before the files of a declared challenge are read.

GROUND_TRUTH = ROOT / "ground-truth"
MASK = 'kind = "labels"\nlabels = { lesion = 1 }\n'


def libraries_of(folder: Path) -> set[str]:
    (found,) = read_challenge_folders(folder).values()
    return set(load_challenge(found).libraries)


@pytest.mark.parametrize(
    ("places", "expected"),
    {
        'file = "{case}.nii.gz"\nreference = "{case}.nii.gz"': {"SimpleITK"},
        'file = "{case}.h5"\nreference = "{case}.h5"\ndataset = "mask"': {"h5py"},
        'file = "{case}.HDF5"\nreference = "{case}.nii.gz"\ndataset = "mask"': {"h5py", "SimpleITK"},
        'socket = "mask"\nreference = "{case}.h5"\nreference_dataset = "mask"': {"h5py", "SimpleITK"},
    }.items(),
)
def test_an_image_has_the_packages_of_its_files(tmp_path: Path, places: str, expected: set[str]) -> None:
    toml = f'[cases]\ninput = "ct"\n[values.mask]\n{MASK}{places}\n' + metrics("dice", by="dice.mean")
    head = HEAD.replace('"predictions"', '"any"')
    assert libraries_of(write_challenge(tmp_path, toml, {}, head=head)) == expected


def test_a_number_in_json_needs_none(tmp_path: Path) -> None:
    toml = value("age", "number", file="{case}.json", reference="{case}.json", range=[0, 9]) + metrics("mae")
    assert libraries_of(write_challenge(tmp_path, toml, {})) == set()


@pytest.mark.parametrize(
    ("name", "expected"),
    [("carotid", {"h5py"}), ("lesions", {"SimpleITK"}), ("freehand", {"h5py"}), ("reports", set())],
)
def test_the_bundled_challenges(name: str, expected: set[str]) -> None:
    assert libraries_of(GROUND_TRUTH / name) == expected


# Adding a metric touches one metric function and one declaration: everything else follows.

NAME = "final_hd95_mm"


def hd95(case: LesionsCase) -> float | Reason:
    """The 95th percentile of all voxels' distances to the other mask, the larger of the two directions, in mm."""
    if case.reference.is_empty:
        return "reference_empty"
    if case.final is None or not case.final.mask.any():
        return "prediction_empty"
    spacing = case.reference.geometry.spacing[::-1]
    distances = cdist(np.argwhere(case.final.mask) * spacing, np.argwhere(case.reference.mask()) * spacing)
    return float(max(np.percentile(distances.min(axis=axis), 95) for axis in (0, 1)))


DECLARATION = CaseMetric(
    name=NAME,
    title="Final HD95",
    direction="lower",
    lowest=0.0,
    highest=math.inf,
    worst=math.inf,
    unit="mm",
    count=f"{NAME}.n",
    compute=hd95,
)


@pytest.fixture
def ground_truth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    declared = declarations.lesions_metrics

    def with_hd95(settings: LesionsSettings, engine: MetricEngine) -> list[CaseMetric[LesionsCase]]:
        return [*declared(settings, engine), DECLARATION]

    monkeypatch.setattr(declarations, "lesions_metrics", with_hd95)
    references = dict.fromkeys(("fdg_1", "fdg_2", "psma_1"), LESION)
    settings = "steps = 1\n[cases]\ngroups = '^(?P<group>[a-z]+)_'"
    return write_ground_truth(tmp_path, references, settings=settings)


def test_rows_means_groups_columns_and_ranking_follow_from_the_declaration(ground_truth: Path, tmp_path: Path) -> None:
    write(tmp_path / "north/fdg_1/iter_0.nii.gz", HALF)  # the last of three columns is missing: 1 mm
    write(tmp_path / "north/fdg_2/iter_0.nii.gz", LESION)
    write(tmp_path / "south/fdg_1/iter_0.nii.gz", LESION)
    results = {
        team: podium.evaluate(
            tmp_path / team, ground_truth=ground_truth, output=tmp_path / "teams" / team, executor=Serial()
        )
        for team in ("north", "south")
    }
    rows = {row.case: row.metrics[NAME] for row in results["north"].results}
    assert rows == {"fdg_1": 1.0, "fdg_2": 0.0, "psma_1": None}, "a missing case has no finite worst value"
    aggregates = results["north"].aggregates
    assert aggregates[NAME] == {"mean": 0.5, "std": 0.5, "n": 2}
    assert aggregates["groups"]["fdg"][NAME]["mean"] == aggregates[f"{NAME}_group_mean"] == 0.5

    (folder,) = read_challenge_folders(ground_truth).values()
    columns = {column.path: column for column in load_challenge(folder).columns()}
    assert columns[f"{NAME}.mean"].title == "Final HD95 (mm)"
    assert columns[f"{NAME}.mean"].error_path == f"{NAME}.std"
    assert columns[f"{NAME}.mean"].order == "asc"

    arguments = ("--scheme", "aggregate-then-rank", "--statistic", "median", "--metric", NAME)
    assert main(["rank", str(tmp_path / "teams"), "--output", str(tmp_path / "ranking"), *arguments]) == 0
    ranking = json.loads((tmp_path / "ranking/ranking.json").read_text())
    assert {team["name"]: team["rank"] for team in ranking["teams"]} == {"north": 1, "south": 2}
    assert "Final HD95" in (tmp_path / "ranking/report.html").read_text()
