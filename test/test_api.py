"""Podium from Python: the functions say what the commands say, and nothing else; values in memory; notebooks."""

import csv
import json
import math
import os
import re
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import SimpleITK as sitk
from challenges.declared.declaring import metric, metrics, value, write_challenge
from places import ROOT

import podium
from podium import evaluate, open_challenge, rank, validate
from podium.cli import main
from podium.errors import SubmissionError, UsageError
from podium.evaluation import OpenChallenge
from podium.execution.executor import Serial
from podium.platform.metrics_file import SCHEMA_NAME, CaseResult, Counts, MetricsFile
from podium.tools.ranking.tables import TableOptions

REPORTS = ROOT / "test" / "submissions" / "reports"
TRUTH = ROOT / "ground-truth" / "reports"


def test_evaluate_gives_what_the_command_writes(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    environment = dict(os.environ)
    result = evaluate(REPORTS / "molar", ground_truth=TRUTH, output=tmp_path / "api")
    assert capfd.readouterr() == ("", "")
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == handlers
    assert dict(os.environ) == environment
    paths = ("--input", str(REPORTS / "molar"), "--output", str(tmp_path / "cli"), "--ground-truth", str(TRUTH))
    assert main(["evaluate", *paths]) == 0
    assert (tmp_path / "api/metrics.json").read_bytes() == (tmp_path / "cli/metrics.json").read_bytes()
    assert result.document() == json.loads((tmp_path / "api/metrics.json").read_text())


def test_executors_give_the_same_figures_and_no_file_without_an_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    serial = evaluate(str(REPORTS / "cuspid"), ground_truth=str(TRUTH), executor=Serial())
    assert serial == evaluate(REPORTS / "cuspid", ground_truth=ROOT / "ground-truth", challenge="reports")
    assert list(tmp_path.iterdir()) == []


def test_errors_are_raised_for_whom_they_concern(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SubmissionError, match="The submission is empty"):
        evaluate(tmp_path, ground_truth=TRUTH, executor=Serial())
    assert capfd.readouterr() == ("", "")


def test_rank(tmp_path: Path) -> None:
    for team in ("north", "south"):
        submission = ROOT / "test/submissions/lesions/glow"
        evaluate(submission, ground_truth=ROOT / "ground-truth/lesions", output=tmp_path / team, executor=Serial())
    (ranking,) = rank(tmp_path)
    assert [(team.name, team.rank) for team in ranking.teams] == [("north", 1), ("south", 1)]


def test_the_package_itself_imports_none_of_its_modules() -> None:
    program = "import sys; before = set(sys.modules); import podium; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True, text=True)
    ours = [name for name in done.stdout.split() if name.startswith("podium")]
    assert ours == ["podium"]
    assert dir(podium) == ["__version__", "evaluate", "open_challenge", "rank", "validate"]
    assert podium.__all__ == dir(podium)
    with pytest.raises(AttributeError, match="no attribute 'judge'"):
        _ = podium.judge


# Values in memory


CAROTID = ROOT / "ground-truth" / "carotid"


@pytest.fixture(scope="module")
def carotid() -> OpenChallenge:
    return open_challenge(CAROTID, executor=Serial())


def carotid_values(team: str) -> dict[str, dict[str, Any]]:
    """The arrays of a team's HDF5 files."""
    found = {}
    for path in sorted((ROOT / "test/submissions/carotid" / team).rglob("*.h5")):
        with h5py.File(path) as file:
            values = {"long": file["long_mask"][()], "trans": file["trans_mask"][()], "risk": file["cls"][()]}
        found[path.stem.removesuffix("_pred")] = values
    return found


def assert_same_figures(memory: MetricsFile, files: MetricsFile) -> None:
    """Only messages differ: they name a file or a value."""
    assert (memory.aggregates, memory.counts) == (files.aggregates, files.counts)
    assert (memory.settings, memory.computed_by) == (files.settings, files.computed_by)
    for found, expected in zip(memory.results, files.results, strict=True):
        assert (found.case, found.status, found.metrics) == (expected.case, expected.status, expected.metrics)


def test_arrays_in_memory_give_the_figures_of_files(carotid: OpenChallenge) -> None:
    files = evaluate(ROOT / "test/submissions/carotid/carina", ground_truth=CAROTID, executor=Serial())
    assert_same_figures(carotid.score(carotid_values("carina"), executor=Serial()), files)
    timed = carotid.score(carotid_values("carina"), seconds=90.0, executor=Serial())
    assert timed.aggregates["total_seconds"] == 90.0
    assert timed.aggregates["time_score"] > files.aggregates["time_score"]
    assert len(carotid.cases) == 12
    assert repr(carotid) == "<challenge 'carotid' with 12 cases>"


def gallery_values(folder: Path, team: str) -> dict[str, dict[str, Any]]:
    """Every predicted value of a team by case, read without any code of Podium."""
    found: dict[str, dict[str, Any]] = {}
    for name, table in tomllib.loads((folder / "challenge.toml").read_text())["values"].items():
        if "table" in table:
            path = next((folder / "teams" / team).rglob(table["table"]))
            text = path.read_text()
            rows = json.loads(text) if path.suffix == ".json" else list(csv.DictReader(text.splitlines()))
            for row in rows:
                found.setdefault(row[table.get("case_column", "case")], {})[name] = float(row[table["column"]])
        for template in np.atleast_1d(table.get("file", [])):
            for path in sorted((folder / "teams" / team).rglob(template.replace("{case}", "*"))):
                case = path.name.removesuffix(template.removeprefix("{case}"))
                is_json = path.suffix == ".json"
                content = json.loads(path.read_text()) if is_json else sitk.GetArrayFromImage(sitk.ReadImage(path))
                found.setdefault(case, {})[name] = content
    return found


@pytest.mark.parametrize(
    ("entry", "team"),
    [
        ("flare22", "cedar"),  # labels, with spacing
        ("synthrad", "collimator"),  # an image, with a mask that nobody predicts
        ("picai", "oak"),  # a detection map and a probability
        ("bone-age", "metacarpal"),  # a number
        ("hecktor-prognosis", "alder"),  # a risk
        ("midog", "telophase"),  # points
    ],
)
def test_every_kind_of_value_in_memory_gives_the_figures_of_files(entry: str, team: str) -> None:
    folder = ROOT / "gallery" / entry
    files = evaluate(folder / "teams" / team, ground_truth=folder, executor=Serial())
    memory = open_challenge(folder, executor=Serial()).score(gallery_values(folder, team), executor=Serial())
    assert_same_figures(memory, files)
    assert memory.counts.scored > 1


def test_what_is_wrong_with_a_value_is_said_in_its_row(carotid: OpenChallenge) -> None:
    values = carotid_values("carina")
    cases = sorted(values)
    values[cases[0]]["long"] = values[cases[0]]["long"][1:]
    values[cases[1]]["risk"] = 7
    values[cases[2]]["trans"] = values[cases[2]]["trans"] + 0.5
    del values[cases[3]]["trans"]
    del values[cases[4]]
    values["stranger"] = {}
    result = carotid.score(values, executor=Serial())
    errors = {row.case: row.trouble or "" for row in result.results}
    assert "_" not in errors[cases[5]]
    assert errors[cases[0]].startswith(f"'{cases[0]}: long' has the shape ")
    assert errors[cases[1]] == f"'{cases[1]}: risk' is 7; the classes are 0, 1."
    assert "fraction" in errors[cases[2]] or "whole" in errors[cases[2]]
    assert errors[cases[3]] == "There is no prediction of the value 'trans'."
    assert (result.counts.partial, result.counts.missing, result.counts.unmatched) == (4, 1, 1)


def test_what_cannot_be_scored_from_memory(carotid: OpenChallenge) -> None:
    with pytest.raises(UsageError, match=r"There is no value 'lnog' to predict; did you mean 'long'\?"):
        carotid.score({carotid.cases[0]: {"lnog": 1}})
    with pytest.raises(SubmissionError, match="None of the 1 submitted predictions belongs to an expected case"):
        carotid.score({"stranger": {"long": 1}})


@pytest.mark.parametrize("kind", ["freehand", "lesions", "reports"])
def test_only_declared_challenges_score_values_in_memory(kind: str) -> None:
    opened = open_challenge(ROOT / "ground-truth" / kind, executor=Serial())
    sentence = "Only declared challenges score values in memory; give evaluate() a folder of predictions."
    with pytest.raises(UsageError, match=re.escape(sentence)):
        opened.score({opened.cases[0]: {"steps": []}})


def test_curves_are_arrays() -> None:
    folder = ROOT / "gallery/picai"
    result = evaluate(folder / "teams/yew", ground_truth=folder, executor=Serial())
    curves = open_challenge(folder, executor=Serial()).curves(result)
    (line,) = curves["ROC: patient"].values()
    assert line.shape[1] == 2
    assert (line[0].tolist(), line[-1].tolist()) == ([0, 0], [1, 1])
    assert np.trapezoid(line[:, 1], line[:, 0]) == pytest.approx(result.aggregates["auroc"])
    assert "Precision and recall of candidates" in curves


def test_the_froc_curve(tmp_path: Path) -> None:
    """Two cases with three findings. Falling: a hit, a false positive, a hit and a false positive together."""
    toml = value("spots", "points", unit="mm", table="p.csv") + metric("froc", radius_mm=1) + metrics(by="froc.cpm")
    truth = write_challenge(tmp_path / "c", toml, {"p.csv": "case,x,y\na,0,0\na,9,0\nb,5,5\n"})

    def spots(*found: tuple[int, int, float]) -> dict[str, Any]:
        points = [{"point": [x, y], "probability": sure} for x, y, sure in found]
        return {"spots": {"type": "Multiple points", "points": points}}

    opened = open_challenge(truth, executor=Serial())
    result = opened.score(
        {"a": spots((0, 0, 0.9), (4, 4, 0.8), (9, 0, 0.3)), "b": spots((0, 5, 0.3))}, executor=Serial()
    )
    (line,) = opened.curves(result)["FROC"].values()
    assert line == pytest.approx(np.array([[0, 0], [0, 1 / 3], [0.5, 1 / 3], [1, 2 / 3]]))
    assert result.aggregates["froc"]["at_0_5"] == pytest.approx(1 / 3)
    assert result.aggregates["froc"]["at_1"] == pytest.approx(2 / 3)


# Notebooks


def test_a_result_in_a_notebook(carotid: OpenChallenge) -> None:
    values = carotid_values("carina")
    lost = values.popitem()[0]
    result = carotid.score(values, executor=Serial())
    assert re.fullmatch(r"<carotid: 11 of 12 cases scored, .*score = [0-9.]+>", repr(result))
    assert str(result) == repr(result)
    frame = result.to_frame()
    assert list(frame.columns) == ["case", "status", "figure", "region", "value"]
    assert not frame.duplicated(["case", "figure", "region"]).any()
    plaque = frame[(frame.figure == "dice") & (frame.region == "long_plaque")].set_index("case")["value"]
    assert plaque.to_dict() == {row.case: row.metrics["dice"]["long_plaque"] for row in result.results}
    assert frame[frame.case == lost].status.unique().tolist() == ["missing"]
    html = result._repr_html_()
    assert html.count("<tr>") == 13
    assert "<td>missing</td>" in html


def test_what_has_no_value_stays_without_one() -> None:
    result = made_result({"1": {"dice": {"a": None}}, "2": {"dice": {"a": 0.5}}})
    assert [math.isnan(value) for value in result.to_frame().value] == [True, False]
    assert "<td>–</td>" in result._repr_html_()


def made_result(cases: dict[str, dict[str, Any]]) -> MetricsFile:
    rows = [CaseResult(case=case, status="scored", metrics=metrics) for case, metrics in cases.items()]
    head = {"schema": SCHEMA_NAME, "challenge": "<b>mine", "kind": "declared", "title": "", "version": "1"}
    return MetricsFile(**head, settings={}, aggregates={"score": 1.0}, counts=Counts.of(rows), results=rows)


def test_nothing_in_a_notebook_is_markup(tmp_path: Path) -> None:
    result = made_result({"<script>": {"a&b": 1.0}})
    assert "<script>" not in result._repr_html_()
    assert "&lt;script&gt;" in result._repr_html_()
    assert "a&amp;b" in result._repr_html_()
    (tmp_path / "scores.csv").write_text("team,case,dice\n<i>x</i>,1,0.5\ny,1,0.6\n")
    (ranking,) = rank(tmp_path / "scores.csv", table=TableOptions(directions={"dice": "higher"}))
    assert "&lt;i&gt;x&lt;/i&gt;" in ranking._repr_html_()


def test_a_ranking_in_a_notebook(tmp_path: Path) -> None:
    (tmp_path / "scores.csv").write_text("team,case,dice\nx,1,0.5\nx,2,\ny,1,0.6\ny,2,0.7\n")
    (ranking,) = rank(tmp_path / "scores.csv", table=TableOptions(directions={"dice": "higher"}, worst={"dice": 0.0}))
    assert repr(ranking) == "<scores: 2 teams, 2 cases; 1 y, 2 x>"
    assert ranking._repr_html_().count("<tr>") == 3
    frame = ranking.to_frame()
    assert list(frame.columns) == ["team", "rank", "case", "status", "figure", "region", "value"]
    assert frame.value.tolist()[:3] == [0.6, 0.7, 0.5]
    assert math.isnan(frame.value[3])


def test_a_validation_in_a_notebook(tmp_path: Path) -> None:
    folder = ROOT / "test/submissions/carotid/bifurcation"
    fine = validate(folder, challenge="carotid", ground_truth=ROOT / "ground-truth", executor=Serial())
    assert (fine.ok, fine.problems) == (True, [])
    (tmp_path / "reports.json").write_text('{"<b>": 5}')
    report = validate(tmp_path, executor=Serial())
    assert not report.ok
    assert [problem.where for problem in report.problems] == ["<b>"]
    assert repr(report) == "<reports: 1 predictions, 1 problems>"
    assert "&lt;b&gt;" in report._repr_html_()


def test_without_pandas_the_error_says_what_to_install() -> None:
    program = """
import importlib.util
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "pandas" else find(name, *rest)
import podium
result = podium.evaluate("test/submissions/reports/molar", ground_truth="ground-truth/reports")
try:
    result.to_frame()
except Exception as error:
    print(type(error).__name__, error)
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True, text=True)
    assert done.stdout.startswith('UsageError This command needs pandas: run "pip install')
