"""Files beside metrics.json: what each holds, that `per_case` governs them, and that none is missing."""

import csv
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import altair
import pytest
from evaluating import evaluate, evaluate_command
from places import ROOT

from podium.challenges import load_challenge
from podium.errors import ConfigurationError
from podium.evaluation import find_challenge
from podium.platform.sealing import new_key
from podium.tools.ranking.documents import read_cohorts

pytestmark = pytest.mark.usefixtures("in_process")

TEAMS = ROOT / "test/submissions/carotid"
CHART, CASES, REPORT, SEALED = "result-chart.json", "cases.csv", "report.pdf", "ranking-input.json"


def truth(folder: Path, outputs: Mapping[str, str], *, per_case: str = "full", key: str = "") -> Path:
    """The carotid sample with these outputs."""
    target = shutil.copytree(ROOT / "ground-truth/carotid", folder / "carotid")
    lines = [f'"{name}" = "{kind}"' for name, kind in outputs.items()]
    sealed = f'\n[sealed]\npublic_key = "{key}"\n' if key else ""
    text = (target / "challenge.toml").read_text().replace('per_case = "full"', f'per_case = "{per_case}"')
    (target / "challenge.toml").write_text("\n".join([text, sealed, "[outputs]", *lines, ""]))
    return target


def chart(output: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((output / CHART).read_text())
    assert found["$schema"] == "https://vega.github.io/schema/vega-lite/v5.json"
    assert "var(" not in json.dumps(found), "there is no stylesheet"
    altair.Chart.from_dict(found).to_dict(validate=True)
    return found


def test_every_output_is_written(tmp_path: Path) -> None:
    key = new_key(tmp_path / "key")
    kinds = {CHART: "chart", CASES: "cases", REPORT: "report", SEALED: "sealed"}
    found = evaluate(TEAMS / "dropout", truth(tmp_path, kinds, key=key), tmp_path / "out")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"metrics.json", *kinds}
    rows = {row["case"]: row for row in csv.DictReader((tmp_path / "out" / CASES).read_text().splitlines())}
    assert rows.keys() == found["results"].keys()
    assert float(rows["csv_0007"]["dice.long_vessel"]) == found["results"]["csv_0007"]["metrics"]["dice"]["long_vessel"]
    assert {row["status"] for row in rows.values()} == {"scored", "partial", "failed", "missing"}
    dots = chart(tmp_path / "out")["datasets"]["rows"]
    assert {dot["case"]: dot["value"] for dot in dots} == {
        case: float(row["segmentation"]) for case, row in rows.items()
    }
    assert (tmp_path / "out" / REPORT).read_bytes().startswith(b"%PDF-")
    (cohort,) = read_cohorts([tmp_path / "out" / SEALED], key=tmp_path / "key")
    assert len(cohort.files[0].cases) == len(rows)


@pytest.mark.parametrize("per_case", ["anonymous", "none"])
def test_hidden_cases_are_hidden_in_every_output(per_case: str, tmp_path: Path) -> None:
    found = evaluate(
        TEAMS / "aorta", truth(tmp_path, {CHART: "chart", CASES: "cases"}, per_case=per_case), tmp_path / "o"
    )
    texts = [(tmp_path / "o" / name).read_text() for name in (CHART, CASES)]
    assert not [text for text in texts if "csv_" in text]
    assert len(texts[1].splitlines()) == 1 + len(found["results"])
    dots = chart(tmp_path / "o")["datasets"]["rows"]
    if per_case == "none":
        assert [(dot["case"], dot["value"]) for dot in dots] == [("all cases", found["aggregates"]["score"])]
    else:
        assert {dot["case"] for dot in dots} == found["results"].keys()
        assert "risk.correct" not in texts[1]


def test_a_score_without_an_error_bar_has_no_band_of_width_0(tmp_path: Path) -> None:
    found = evaluate(TEAMS / "dropout", truth(tmp_path, {CHART: "chart"}, per_case="none"), tmp_path / "o")
    assert "score_ci" not in found["aggregates"], "fewer than 10 cases are scored"
    drawn = chart(tmp_path / "o")
    assert drawn["datasets"]["band"] == []
    assert [dot["value"] for dot in drawn["datasets"]["rows"]] == [found["aggregates"]["score"]]
    assert "interval" not in drawn["title"]["text"]


def test_they_are_written_where_all_cases_fail(tmp_path: Path) -> None:
    submission = tmp_path / "s"
    submission.mkdir()
    for path in (TEAMS / "dropout").rglob("*_pred.h5"):
        (submission / path.name).write_bytes(b"nothing")
    ground_truth = truth(tmp_path, {CHART: "chart", CASES: "cases"})
    assert evaluate_command(submission, ground_truth, tmp_path / "out") == 1
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"metrics.json", CHART, CASES}


def test_nothing_of_an_earlier_run_stays(tmp_path: Path) -> None:
    ground_truth = truth(tmp_path, {CASES: "cases"})
    evaluate(TEAMS / "aorta", ground_truth, tmp_path / "out")
    (tmp_path / "empty").mkdir()
    assert evaluate_command(tmp_path / "empty", ground_truth, tmp_path / "out") == 1
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("chart.csv", "chart", "'chart.csv' is no name for \"chart\": it ends with .json"),
        ("metrics.json", "chart", "'metrics.json' is no name"),
        ("../chart.json", "chart", "'outputs.../chart.json'"),
        ("chart.json", "picture", "'outputs.chart.json'"),
        ("ranking-input.json", "sealed", '"sealed" needs public_key in [sealed]'),
    ],
)
def test_mistakes(name: str, kind: str, words: str, tmp_path: Path) -> None:
    folder = find_challenge(truth(tmp_path, {name: kind}), None)
    with pytest.raises(ConfigurationError) as refused:
        load_challenge(folder)
    assert words in str(refused.value)
