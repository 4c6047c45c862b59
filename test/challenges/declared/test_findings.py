"""Many yes/no findings in one value, and the mean of a metric over several values."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from challenges.declared.declaring import errors, metric, metrics, score, value
from sklearn.metrics import average_precision_score, f1_score, roc_auc_score

from podium.challenges import load_challenge
from podium.challenges.ground_truth import read_challenge_folder
from podium.checking import check
from podium.cli import main
from podium.execution.executor import Serial

pytestmark = pytest.mark.usefixtures("in_process")

COLUMNS = ["effusion", "mass", "hernia"]
TABLE = value("x", "findings", table="predictions.csv", columns=COLUMNS)
METRICS = "".join(map(metric, ("auroc", "average_precision", "f1", "brier"))) + metrics(by="auroc.mean")
TRUTH = [[0, 1, 0], [0, 1, 0], [1, 0, 0], [1, 0, 0]]  # nobody has a hernia
FOUND = [[0.1, 0.9, 0.2], [0.4, 0.3, 0.6], [0.35, 0.4, 0.1], [0.8, 0.2, 0.3]]


def table(rows: list[list[float]], cases: str = "abcd") -> str:
    return "".join(
        [f"case,{','.join(COLUMNS)}\n"]
        + [f"{case},{','.join(map(str, row))}\n" for case, row in zip(cases, rows, strict=False)]
    )


def of_finding(number: int, rows: list[list[float]]) -> list[float]:
    return [row[number] for row in rows]


def scored(tmp_path: Path, toml: str, predictions: Any, truth: Any = None) -> dict[str, Any]:
    references = truth or {"predictions.csv": table(TRUTH)}
    return score(tmp_path, toml, references, predictions)


def test_every_finding_has_its_figure_and_the_mean_is_over_those_with_a_value(tmp_path: Path) -> None:
    found = scored(tmp_path, TABLE + METRICS, {"predictions.csv": table(FOUND)})
    figures = found["aggregates"]
    pairs = {name: (of_finding(number, TRUTH), of_finding(number, FOUND)) for number, name in enumerate(COLUMNS)}
    areas = [roc_auc_score(*pairs[name]) for name in ("effusion", "mass")]
    expected = {"effusion": areas[0], "mass": areas[1], "mean": sum(areas) / 2}
    assert {name: figures["auroc"][name] for name in expected} == pytest.approx(expected, abs=1e-12)
    assert "hernia" not in figures["auroc"]
    assert figures["average_precision"]["mass"] == pytest.approx(average_precision_score(*pairs["mass"]))
    assert figures["f1"]["effusion"] == f1_score(pairs["effusion"][0], [each >= 0.5 for each in pairs["effusion"][1]])
    brier = sum((p - t) ** 2 for p, t in zip(pairs["hernia"][1], pairs["hernia"][0], strict=True)) / 4
    assert figures["brier"]["hernia"] == pytest.approx(brier)
    assert found["results"]["a"]["metrics"]["x"]["mass"] == [1, 0.9]


def test_a_json_object_of_every_case_has_the_same_figures_as_a_table(tmp_path: Path) -> None:
    toml = value("x", "findings", file="{case}.json", reference="{case}.json", columns=COLUMNS) + METRICS
    objects = [
        {f"{case}.json": dict(zip(COLUMNS, row, strict=True)) for case, row in zip("abcd", rows, strict=True)}
        for rows in (FOUND, TRUTH)
    ]
    by_json = scored(tmp_path / "json", toml, *objects)
    by_table = scored(tmp_path / "table", TABLE + METRICS, {"predictions.csv": table(FOUND)})
    assert by_json["aggregates"] == by_table["aggregates"]


def test_columns_may_have_other_names_than_the_figures(tmp_path: Path) -> None:
    toml = TABLE.replace('["effusion", "mass", "hernia"]', '{ fluid = "effusion", mass = "mass" }') + METRICS
    figures = scored(tmp_path, toml, {"predictions.csv": table(FOUND)})["aggregates"]["auroc"]
    assert {"fluid", "mass", "mean"} <= {*figures}


def test_a_missing_case_has_the_worst_probability_of_every_finding(tmp_path: Path) -> None:
    found = scored(tmp_path, TABLE + METRICS, {"predictions.csv": table(FOUND[:3])})
    worst = [[*row] for row in [*FOUND[:3], [1 - truth for truth in TRUTH[3]]]]
    assert found["aggregates"]["auroc"]["mass"] == roc_auc_score(of_finding(1, TRUTH), of_finding(1, worst))
    assert found["results"]["d"]["metrics"]["x"]["mass"] == [0, None]


@pytest.mark.parametrize("cell", ["", "1.5", "much"])
def test_a_wrong_cell_costs_the_findings_of_its_case(tmp_path: Path, cell: str) -> None:
    rows: list[list[Any]] = [[0.1, cell, 0.2], *FOUND[1:]]
    found = scored(tmp_path, TABLE + METRICS, {"predictions.csv": table(rows)})
    assert found["results"]["a"]["status"] == "failed"
    assert found["results"]["a"]["metrics"]["x"]["effusion"] == [0, None]


def test_findings_that_were_not_looked_for_do_not_count(tmp_path: Path) -> None:
    toml = TABLE + 'expected = "where_referenced"\n' + METRICS
    truth = {"predictions.csv": table([[0, 1, ""], [0, "", ""], [1, 0, 0], [1, 0, 1]])}  # type: ignore[list-item]
    figures = scored(tmp_path, toml, {"predictions.csv": table(FOUND)}, truth)["aggregates"]
    assert figures["auroc"]["mass"] == 1.0
    assert figures["auroc"]["hernia"] == 1.0
    assert figures["brier"]["hernia"] == pytest.approx((0.1**2 + 0.7**2) / 2)


def test_check_names_the_findings_that_are_all_alike(tmp_path: Path) -> None:
    scored(tmp_path, TABLE + METRICS, {"predictions.csv": table(FOUND)})
    found = check("challenge", tmp_path / "challenge", images=None, executor=Serial())
    assert found.errors == []
    assert "x: mass: 2 no, 2 yes" in found.statistics
    assert any("All references agree on hernia" in each for each in found.warnings)


@pytest.mark.parametrize("columns", [["mean", "mass"], {"a": "mass", "b": "mass"}, ["mass"]])
def test_names_of_findings_are_free_and_columns_are_different(tmp_path: Path, columns: Any) -> None:
    toml = value("x", "findings", table="predictions.csv", columns=columns) + METRICS
    assert any("values.x" in each for each in errors(tmp_path, toml))


# Several values


def test_every_metric_of_several_values_has_their_mean(tmp_path: Path) -> None:
    one = value("one", "number", table="predictions.csv", column="one", range=[0, 10])
    two = value("two", "number", table="predictions.csv", column="two", range=[0, 10])
    grades = [
        value(name, "class", table="predictions.csv", column=name, classes={"low": 0, "high": 1}) for name in "gh"
    ]
    toml = one + two + "".join(grades) + "".join(map(metric, ("mae", "rmse", "f1"))) + metrics(by="mae.mean")
    header = "case,one,two,g,h\n"
    truth = {"predictions.csv": header + "a,1,1,0,0\nb,2,2,1,1\n"}
    figures = score(tmp_path, toml, truth, {"predictions.csv": header + "a,2,4,0,1\nb,3,5,1,1\n"})["aggregates"]
    assert (figures["mae"]["mean"], figures["rmse"]["mean"]) == (2.0, 2.0)
    assert figures["f1"]["macro"]["mean"] == pytest.approx((1.0 + 1 / 3) / 2)
    assert figures["f1"]["high"]["mean"] == pytest.approx((1.0 + 2 / 3) / 2)


def test_the_mean_over_findings_has_an_interval_though_one_has_a_single_positive(tmp_path: Path) -> None:
    """More than half of the resamples lack a term, so that nearly all of them were left out: there was no interval."""
    names = [f"finding{number}" for number in range(8)]
    toml = value("x", "findings", table="predictions.csv", columns=names)
    toml += metric("auroc") + metrics("average_precision", by="average_precision.mean")
    generator = np.random.default_rng(7)
    truth = (generator.random((12, 8)) < 0.15).astype(int)
    truth[0] = 1  # every finding has a positive case, half of them no other
    truth[1:, :4] = 0

    def written(rows: Any) -> dict[str, str]:
        lines = (f"c{number}," + ",".join(map(str, row)) for number, row in enumerate(rows.tolist()))
        return {"predictions.csv": "\n".join([f"case,{','.join(names)}", *lines, ""])}

    for team in ("one", "two"):
        noisy = np.clip(truth * 0.6 + generator.random((12, 8)) * 0.4, 0, 1)
        score(tmp_path, toml, written(truth), written(noisy), team=team)
    assert main(["rank", str(tmp_path / "teams"), "--output", str(tmp_path / "ranking")]) == 0
    ranking = json.loads((tmp_path / "ranking/ranking.json").read_text())
    columns = {each["path"]: each for each in ranking["columns"]}
    assert all(columns["average_precision.mean"]["intervals"])


# Names with *


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("mean(average_precision.*)", lambda ap: ap["mean"]),
        ("min(average_precision.*)", lambda ap: min(ap["effusion"], ap["mass"])),
        ("2 * mean(average_precision.*, 1)", lambda ap: 2 * (ap["effusion"] + ap["mass"] + 1) / 3),
    ],
)
def test_a_star_stands_for_the_figures_of_a_metric_without_their_means(
    tmp_path: Path, formula: str, expected: Any
) -> None:
    toml = TABLE + METRICS + f'[figures]\nmap = {{ formula = "{formula}", undefined = "exclude" }}\n'
    figures = scored(tmp_path, toml, {"predictions.csv": table(FOUND)})["aggregates"]
    assert figures["map"] == pytest.approx(expected(figures["average_precision"]))


def test_a_star_in_the_ranking_stands_for_a_position_in_each(tmp_path: Path) -> None:
    toml = TABLE + METRICS.replace('by = "auroc.mean"', 'by = "brier.*"\nmethod = "mean_of_positions"')
    scored(tmp_path, toml, {"predictions.csv": table(FOUND)})
    challenge = load_challenge(read_challenge_folder(tmp_path / "challenge", name="c"))
    assert [each.path for each in challenge.ranking.criteria] == ["brier.effusion", "brier.mass", "brier.hernia"]


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("auroc.* + 1", "has 'auroc.*', which stands for several figures: write mean(auroc.*), or min, max, harmonic"),
        ("mean(auroc.*.mean)", "names 'auroc.*.mean', which does not exist"),
    ],
)
def test_a_star_needs_a_function_of_several_and_something_that_it_stands_for(
    tmp_path: Path, formula: str, words: str
) -> None:
    toml = TABLE + METRICS + f'[figures]\nx = "{formula}"\n'
    (error,) = errors(tmp_path, toml, references={"predictions.csv": table(TRUTH)})
    assert words in error
