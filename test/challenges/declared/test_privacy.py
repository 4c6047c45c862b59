"""per_case = "anonymous" publishes nothing of a row that gives a reference away, whatever kind of value it is."""

import math
from pathlib import Path
from typing import Any

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
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from podium.checking import check
from podium.execution.executor import Serial

pytestmark = pytest.mark.usefixtures("in_process")

ANONYMOUS = HEAD.replace('"full"', '"anonymous"')
TABLE = 'table = "p.csv"\n'
COLUMN = TABLE + 'column = "v"\n'
CODE = """\
from podium.own_metrics import metric

@metric(compares="number", direction="lower", lowest=0.0, highest=100.0)
def distance(*, prediction, reference):
    return abs(prediction - reference)
"""
# kind: its table, its metrics, the columns of both sides, a prediction, and references
KINDS: dict[str, tuple[str, tuple[str, ...], tuple[str, str], str, st.SearchStrategy[str]]] = {
    "number": (
        COLUMN + "range = [0, 100]\n",
        ("mae", "bias", "rmse", "median_absolute_error", "r2", "distance"),
        ("v", "v"),
        "50",
        st.integers(0, 100).map(str),
    ),
    "class": (
        COLUMN + "classes = { a = 0, b = 1, c = 2 }\n",
        ("accuracy", "f1", "kappa", "mcc", "balanced_accuracy"),
        ("v", "v"),
        "1",
        st.sampled_from("012"),
    ),
    "probability": (
        COLUMN + 'positive = "ill"\n',
        ("auroc", "brier", "log_loss", "ece", "average_precision"),
        ("v", "v"),
        "0.25",
        st.sampled_from("01"),
    ),
    "survival": (
        COLUMN + 'prediction = "risk"\n',
        ("c_index",),
        ("v", "time,event"),
        "3",
        st.tuples(st.integers(1, 9), st.integers(0, 1)).map(lambda pair: f"{pair[0]},{pair[1]}"),
    ),
    "points": (
        TABLE + 'unit = "mm"\n',
        ("f1", "recall", "froc"),
        ("x,y,probability", "x,y,probability"),
        "1,1,0.5",
        st.tuples(st.integers(0, 3), st.integers(0, 3)).map(lambda pair: f"{pair[0]},{pair[1]},1"),
    ),
}
CASE_FIGURES = {"number": '[case_figures]\ntwice = "2 * mae"\nagain = "twice + distance"\n'}


def published(folder: Path, kind: str, references: list[str]) -> list[Any]:
    """The rows' figures; the second case has no prediction, and that of the last cannot be read."""
    keys, kinds, (found, true), prediction, _ = KINDS[kind]
    options = {name: {"radius_mm": 1.5} for name in KINDS["points"][1]} if kind == "points" else {}
    options["log_loss"] = {"clip": 0.01}
    toml = value("v", kind) + keys + "".join(metric(name, **options.get(name, {})) for name in kinds)
    toml += CASE_FIGURES.get(kind, "") + metrics(by={"class": "f1.macro", "points": "recall"}.get(kind, kinds[0]))
    write_predictions(folder / "challenge", {"metrics.py": CODE})
    names = [f"c{number}" for number in range(len(references))]
    truth = "\n".join([f"case,{true}", *(f"{name},{each}" for name, each in zip(names, references, strict=True))])
    rows = [f"{names[0]},{prediction}", *(f"{name},{prediction}" for name in names[2:-1]), f"{names[-1]},=1"]
    table = "\n".join([f"case,{found}", *rows])
    metrics_file = score(folder, toml, {"p.csv": truth}, {"p.csv": table}, head=ANONYMOUS)
    return sorted((str(row["metrics"]), row["status"], str(row["error"])) for row in metrics_file["results"].values())


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_rows_are_the_same_whatever_the_references_are(
    tmp_path_factory: pytest.TempPathFactory, kind: str, data: st.DataObject
) -> None:
    lists = st.lists(KINDS[kind][4], min_size=4, max_size=4)
    one, other = data.draw(lists), data.draw(lists)
    folders = tmp_path_factory.mktemp("one"), tmp_path_factory.mktemp("other")
    assert published(folders[0], kind, one) == published(folders[1], kind, other)


def test_the_same_rows_in_full_hold_the_references(tmp_path: Path) -> None:
    """Else the test above would not see anything."""
    toml = value("v", "number", table="p.csv", column="v", range=[0, 100]) + metrics("mae")
    found = score(tmp_path, toml, {"p.csv": "case,v\na,17\n"}, {"p.csv": "case,v\na,20\n"})
    assert found["results"]["a"]["metrics"]["v"]["reference"] == 17
    assert found["results"]["a"]["metrics"]["mae"] == 3


def log_loss(**clip: float) -> str:
    positive = value("v", "probability", table="p.csv", column="v", positive="ill")
    return positive + metric("log_loss", **clip) + metrics(by="log_loss")


def test_one_confident_error_is_bounded(tmp_path: Path) -> None:
    """One submission says 1 for a single case: its mean over 300 cases would reveal the label if an error cost 36."""
    cases = [f"c{number}" for number in range(300)]
    truth = {"p.csv": "\n".join(["case,v", *(f"{case},0" for case in cases)])}
    asked = {"p.csv": "\n".join(["case,v", *(f"{case},{1 if case == 'c7' else 0.5}" for case in cases)])}
    found = score(tmp_path, log_loss(clip=0.01), truth, asked)
    assert found["aggregates"]["log_loss"] == pytest.approx((299 * math.log(2) + math.log(100)) / 300, rel=1e-12)


def test_log_loss_must_say_its_clip(tmp_path: Path) -> None:
    (error,) = errors(tmp_path, log_loss())
    assert error == "challenge.toml, line 11: 'metrics.0.clip' is missing."


@pytest.mark.parametrize(
    ("head", "clip", "warned"), [(ANONYMOUS, 0.001, True), (ANONYMOUS, 0.01, False), (HEAD, 0.001, False)]
)
def test_the_check_warns_about_a_small_clip_of_hidden_cases(
    tmp_path: Path, head: str, clip: float, warned: bool
) -> None:
    toml, references = log_loss(clip=clip), {"p.csv": "case,v\na,0\nb,1\n"}
    folder = write_challenge(tmp_path / "challenge", toml, references, head=head)
    found = check("challenge", folder, images=None, executor=Serial()).warnings
    words = (
        "log_loss with clip = 0.001 shows single errors in the mean of all cases, which per_case hides: "
        "give a clip of at least 0.01."
    )
    assert (words in found) == warned
