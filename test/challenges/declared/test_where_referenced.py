"""A value that only some cases have: where a case has no reference of it, nothing is expected and nothing counts."""

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
    write_predictions,
)
from evaluating import evaluate_command

from podium.checking import check
from podium.cli import main
from podium.execution.executor import Serial
from podium.validation import validate

pytestmark = pytest.mark.usefixtures("in_process")

SOME = {"expected": "where_referenced"}
RISK = value("risk", "probability", table="answers.csv", column="risk", positive="ill", **SOME)
AGE = value("age", "number", table="answers.csv", column="age", range=[0, 100], **SOME)
MASK = value("mask", "labels", file="{case}.png", reference="{case}.png", labels={"lesion": 1}, **SOME)
TOML = (
    RISK
    + AGE
    + MASK
    + "".join(map(metric, ("auroc", "accuracy", "mae", "rmse", "dice")))
    + metric("iou", over="pooled")
    + metrics(by="mae")
)


def picture(*places: int) -> Any:
    labels = np.zeros((4, 4), np.uint8)
    labels.ravel()[list(places)] = 1
    return labels


# a and b have a risk, c and d an age, e has a mask alone; b has an age too.
TRUTH = {"answers.csv": "case,risk,age\na,1,\nb,0,30\nc,,40\nd,,50\n", "e.png": picture(0, 1)}


def answers(**rows: str) -> dict[str, Any]:
    return {"answers.csv": "case,risk,age\n" + "".join(f"{case},{cells}\n" for case, cells in rows.items())}


def test_figures_are_those_of_the_cases_that_have_a_reference(tmp_path: Path) -> None:
    files = answers(a="0.9,", b="0.2,33", c=",44", d=",50") | {"e.png": picture(1, 2)}
    found = score(tmp_path, TOML, TRUTH, files)
    assert found["counts"] == {"expected": 5, "scored": 5, "partial": 0, "failed": 0, "missing": 0, "unmatched": 0}
    figures = found["aggregates"]
    assert (figures["auroc"], figures["accuracy"], figures["mae"]["n"]) == (1.0, 1.0, 3)
    assert figures["mae"]["mean"] == pytest.approx(7 / 3)
    assert figures["rmse"] == pytest.approx(math.sqrt((9 + 16) / 3))
    assert (figures["dice"]["lesion"]["mean"], figures["dice"]["lesion"]["n"]) == (0.5, 1)
    assert figures["iou"]["lesion"] == pytest.approx(1 / 3)
    row = found["results"]["a"]
    assert (row["metrics"]["mae"], row["undefined"]["mae"]) == (None, "reference_empty")
    assert row["metrics"]["age"] == {}


def test_what_has_no_reference_is_neither_expected_nor_read(tmp_path: Path) -> None:
    files = answers(a="0.9,999", b="0.2,33", c="nonsense,44", d=",50") | {"e.png": picture(1, 2), "a.png": picture(3)}
    found = score(tmp_path, TOML, TRUTH, files)
    assert found["counts"]["scored"] == 5
    assert found["aggregates"]["mae"]["mean"] == pytest.approx(7 / 3)


def test_a_missing_answer_counts_the_worst_where_there_is_a_reference(tmp_path: Path) -> None:
    found = score(tmp_path, TOML, TRUTH, answers(a="0.9,", b="0.2,", d=",50"))
    assert [found["results"][case]["status"] for case in "abcde"] == [
        *("scored", "partial", "missing", "scored", "missing")
    ]
    assert list(found["results"]["b"]["missing"]) == ["age"]
    assert found["aggregates"]["mae"]["mean"] == pytest.approx((70 + 60 + 0) / 3)
    assert (found["aggregates"]["auroc"], found["aggregates"]["dice"]["lesion"]["mean"]) == (1.0, 0.0)


def test_validation_and_check_expect_no_more(tmp_path: Path) -> None:
    truth = write_challenge(tmp_path / "truth", TOML, TRUTH)
    files = answers(a="0.9,", b="0.2,33", c=",44", d=",50") | {"e.png": picture(1, 2)}
    submission = write_predictions(tmp_path / "submission", files)
    assert validate(submission, ground_truth=truth).ok
    found = check("challenge", truth, images=None, executor=Serial())
    assert found.errors == []
    assert "age: 30 to 50, median 40" in found.statistics


def test_the_bootstrap_draws_the_cases_that_have_one(tmp_path: Path) -> None:
    truth = write_challenge(tmp_path / "truth", TOML.replace('by = "mae"', 'by = "rmse"'), TRUTH)
    for team, age in (("one", 33), ("two", 36)):
        files = answers(a="0.9,", b=f"0.2,{age}", c=",44", d=",50") | {"e.png": picture(1, 2)}
        submission = write_predictions(tmp_path / team, files)
        assert evaluate_command(submission, truth, tmp_path / "teams" / team) == 0
    assert main(["rank", str(tmp_path / "teams"), "--output", str(tmp_path / "ranking")]) == 0
    assert '"one"' in (tmp_path / "ranking" / "ranking.json").read_text()


def test_a_value_that_no_case_has_is_an_error_and_so_is_a_missing_reference_of_another(tmp_path: Path) -> None:
    found = errors(tmp_path / "none", TOML, references={"answers.csv": "case,risk,age\na,1,5\n"})
    assert any("No case has a reference for the value 'mask'." in each for each in found)
    everywhere = TOML.replace(', expected = "where_referenced"', "").replace('expected = "where_referenced"', "")
    found = errors(tmp_path / "all", everywhere, references=TRUTH)
    assert any("A case has no reference for the value 'mask'." in each for each in found)


def test_hidden_figures_are_rounded_by_the_cases_that_have_a_reference(tmp_path: Path) -> None:
    """1 of 4 wrong among 400 cases: a step of 1 / 400 would tell who has the class, one of 4 cases is 1 / 4."""
    toml = value("ill", "class", table="predictions.csv", column="ill", classes={"no": 0, "yes": 1}, **SOME)
    toml += value("age", "number", table="predictions.csv", column="age", range=[0, 100])
    toml += metric("accuracy") + metrics("mae")
    truth = {
        "predictions.csv": "case,ill,age\n" + "".join(f"c{n},{n % 2 if n < 4 else ''},{n % 90}\n" for n in range(400))
    }
    wrong = {"predictions.csv": truth["predictions.csv"].replace("c0,0,", "c0,1,")}
    head = HEAD.replace('"full"', '"none"')
    found = score(tmp_path, toml, truth, wrong, head=head)["aggregates"]["accuracy"]
    assert found in (0.5, 1.0)  # 0.75 in steps of the standard error of four cases
