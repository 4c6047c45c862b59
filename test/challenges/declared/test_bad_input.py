"""Bad tables and files of submissions: a sentence, and no more lost than must be."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from challenges.declared.declaring import errors, metric, metrics, score, value, write_challenge, write_predictions
from evaluating import evaluate_command

pytestmark = pytest.mark.usefixtures("in_process")

AGE = value("age", "number", table="p.csv", column="age", range=[0, 100]) + metrics("mae")
TRUTH = {"p.csv": "case,age\na,10\nb,20\nc,30\n"}


def rows(tmp_path: Path, table: Any, *, name: str = "p.csv") -> dict[str, Any]:
    toml = AGE.replace('table = "p.csv"', f'table = "{name}"\nreference_table = "p.csv"')
    found: dict[str, Any] = score(tmp_path, toml, TRUTH, {name: table})["results"]
    return found


@pytest.mark.parametrize(
    ("cell", "sentence"),
    [
        ("=cmd|' /C calc'!A0", "which is not a number"),
        ("101", "must be between 0 and 100"),
        ("1\nb,3", "has 2 rows for the case 'b'"),
    ],
)
def test_a_bad_cell_costs_its_case(tmp_path: Path, cell: str, sentence: str) -> None:
    found = rows(tmp_path, f"case,age\na,10\nb,{cell}\nc,30\n")
    assert found["a"]["status"] == found["c"]["status"] == "scored"
    assert found["b"]["status"] == "failed"
    assert sentence in found["b"]["error"]
    assert found["b"]["metrics"]["mae"] == 80.0  # the worst within the range


@pytest.mark.parametrize("number", ["1e308", "-1e308", "1e51"])
def test_numbers_whose_sums_would_overflow_cost_their_case(tmp_path: Path, number: str) -> None:
    """Each of these figures of all cases would no longer be finite, and there would be no metrics.json at all."""
    toml = value("age", "number", table="p.csv", column="age")
    toml += "".join(metric(kind, failed=50) for kind in ("mae", "rmse", "r2", "pearson", "icc"))
    found = score(tmp_path, toml + metrics(by="mae"), TRUTH, {"p.csv": f"case,age\na,10\nb,{number}\nc,{number}\n"})
    assert found["counts"]["scored"] == 1
    for case in "bc":
        assert found["results"][case]["error"].endswith(" it must be between -1e+24 and 1e+24.")


@pytest.mark.parametrize("pixel", [1e308, -1e51])
def test_pixels_whose_squares_would_overflow_cost_their_case(tmp_path: Path, pixel: float) -> None:
    toml = value("ct", "image", file="{case}.mha", reference="{case}.mha", range=[0, 100]) + metrics("rmse")
    plain = np.full((4, 6), 50.0)
    found = score(tmp_path, toml, {"a.mha": plain, "b.mha": plain}, {"a.mha": plain, "b.mha": plain * 0 + pixel})
    assert found["results"]["a"]["metrics"]["rmse"] == 0.0
    assert (
        found["results"]["b"]["error"]
        == f"'b.mha' holds values from {pixel:g} to {pixel:g}; they must be between 0 and 100."
    )


@pytest.mark.parametrize("value", [None, True, "ten", [10], {"x": 1}, 1e400, "NaN"])
def test_a_bad_json_value_costs_its_case(tmp_path: Path, value: Any) -> None:
    found = rows(tmp_path, [{"case": "a", "age": 10}, {"case": "b", "age": value}], name="p.json")
    assert found["a"]["status"] == "scored"
    assert found["b"]["status"] == "failed"
    assert found["c"]["status"] == "missing"


def test_rows_of_no_expected_case_are_unmatched(tmp_path: Path) -> None:
    found = score(tmp_path, AGE, TRUTH, {"p.csv": "case,age\na,10\nzzz,5\nyyy,1\n,4\n"})
    assert found["counts"]["unmatched"] == 2
    assert found["counts"]["scored"] == 1


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ("case,agee\na,10\n", "has no column 'age'; it has 'case' and 'agee'"),
        ("name,age\na,10\n", "has no column 'case'"),
        ("case,age\n", "holds no prediction"),
    ],
    ids=["wrong column", "no cases", "no rows"],
)
def test_a_table_that_tells_no_cases_is_refused_as_a_whole(
    tmp_path: Path, table: Any, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    truth = write_challenge(tmp_path / "challenge", AGE, TRUTH)
    submission = write_predictions(tmp_path / "submission", {"p.csv": table})
    assert evaluate_command(submission, truth, tmp_path / "out") == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert sentence in last
    assert "Traceback" not in last


def test_a_reference_table_that_is_wrong_is_an_error_of_the_organiser(tmp_path: Path) -> None:
    (error,) = errors(tmp_path, AGE, references={"p.csv": "case;age\na;10\na;11\n"})
    assert "has 2 rows for the case 'a'" in error
    (error,) = errors(tmp_path / "column", AGE, references={"p.csv": "case,years\na,10\n"})
    assert "has no column 'age'" in error
    (error,) = errors(tmp_path / "range", AGE, references={"p.csv": "case,age\na,1000\n"})
    assert "must be between 0 and 100" in error


def test_tables_of_two_values_are_lost_one_by_one(tmp_path: Path) -> None:
    sex = value("sex", "class", table="p.csv", column="sex", classes={"f": "F", "m": "M"})
    toml = AGE + sex + metric("accuracy")
    truth = {"p.csv": "case,age,sex\na,10,F\nb,20,M\n"}
    found = score(tmp_path, toml, truth, {"p.csv": "case,age,sex\na,10,F\nb,20,X\n"})
    assert found["results"]["a"]["status"] == "scored"
    assert found["results"]["b"]["missing"]["sex"].endswith("is X; the classes are F, M.")
    assert (found["aggregates"]["mae"]["mean"], found["aggregates"]["accuracy"]) == (0.0, 0.5)


def test_a_risk_out_of_range_costs_its_case(tmp_path: Path) -> None:
    places = {"table": "p.csv", "column": "risk", "reference_table": "r.csv"}
    toml = value("relapse", "survival", prediction="risk", range=[0, 1], **places) + metrics("c_index")
    truth = {"r.csv": "case,time,event\na,1,1\nb,2,1\nc,3,0\n"}
    found = score(tmp_path, toml, truth, {"p.csv": "case,risk\na,0.9\nb,7\nc,0.1\n"})["results"]
    assert [found[case]["status"] for case in "abc"] == ["scored", "failed", "scored"]
    assert found["b"]["error"].endswith("is 7; it must be between 0 and 1.")
