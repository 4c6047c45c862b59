"""Every kind of value in every place where it can stand: files, tables, HDF5, JSON pointers, sockets of jobs."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from challenges.declared.declaring import HEAD, metrics, score, value, write_challenge, write_jobs
from evaluating import evaluate
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from properties import examples

from podium.challenges.declared.values.labels import _present_labels

pytestmark = pytest.mark.usefixtures("in_process")

MASK = np.zeros((6, 6), np.uint8)
MASK[1:4, 1:4] = 1
VOLUME = np.zeros((3, 6, 6), np.uint8)
VOLUME[1, 1:4, 1:4] = 1
IMAGE = np.arange(36, dtype=np.float32).reshape(6, 6)
POINTS = {"type": "Multiple points", "points": [{"point": [1, 2, 0]}], "version": {"major": 1, "minor": 0}}
CORNERS = [[0, 0, 0], [0, 4, 0], [4, 4, 0], [4, 0, 0]]
BOXES = {"type": "Multiple 2D bounding boxes", "boxes": [{"corners": CORNERS}], "version": {"major": 1, "minor": 0}}

# kind: more keys, the metric and where its figure stands, its perfect value, prediction, reference
KINDS: dict[str, tuple[str, str, str, float, Any, Any]] = {
    "labels": ("labels = { organ = 1 }", 'kind = "dice"', "dice.organ.mean", 1.0, MASK, MASK),
    "image": ("", 'kind = "mae"\nfailed = 99', "mae.mean", 0.0, IMAGE, IMAGE),
    "detection_map": ("", 'kind = "f1"', "f1", 1.0, VOLUME.astype(np.float32) * 0.7, VOLUME),
    "number": ("range = [0, 10]", 'kind = "mae"', "mae.mean", 0.0, 2.5, 2.5),
    "class": ("classes = { low = 0, high = 1 }", 'kind = "accuracy"', "accuracy", 1.0, 1, 1),
    "probability": ('positive = "ill"', 'kind = "brier"', "brier", 0.0, 1.0, 1),
    "points": ('unit = "mm"', 'kind = "f1"\nradius_mm = 1.0', "f1", 1.0, POINTS, POINTS),
    "boxes": ('unit = "mm"', 'kind = "f1"\nthreshold = 0.5', "f1", 1.0, BOXES, BOXES),
    "text": ("", 'kind = "bleu_4"', "bleu_4", 1.0, "a b c d e", "a b c d e"),
}
IMAGES = ("labels", "image", "detection_map")


def toml(kind: str, place: str, *, cases: str = "") -> str:
    keys, metric, figure, *_ = KINDS[kind]
    return (
        f'[cases]\n{cases}\n[values.v]\nkind = "{kind}"\n{keys}\n{place}\n'
        f'[[metrics]]\n{metric}\n[ranking]\nby = "{figure}"\n'
    )


def check(found: dict[str, Any], kind: str) -> None:
    value: Any = found["aggregates"]
    for part in KINDS[kind][2].split("."):
        value = value[part]
    assert value == pytest.approx(KINDS[kind][3])
    assert found["counts"]["scored"] == 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_for_every_case(tmp_path: Path, kind: str) -> None:
    ending = ".mha" if kind in IMAGES else ".txt" if kind == "text" else ".json"
    place = f'file = ["{{case}}_pred{ending}", "{{case}}{ending}"]\nreference = "{{case}}_label{ending}"'
    prediction, reference = KINDS[kind][4:]
    files = {f"a_label{ending}": reference}
    for name in (f"a{ending}", f"a_pred{ending}"):
        found = score(tmp_path / name, toml(kind, place), files, {name: prediction})
        check(found, kind)


@pytest.mark.parametrize("ending", [".nii.gz", ".tif", ".png"])
def test_label_images_of_every_format(tmp_path: Path, ending: str) -> None:
    place = f'file = "{{case}}{ending}"\nreference = "{{case}}{ending}"'
    check(score(tmp_path, toml("labels", place), {f"a{ending}": MASK}, {f"a{ending}": MASK}), "labels")


@pytest.mark.parametrize("kind", ["labels", "image", "number", "class"])
def test_a_dataset_of_hdf5(tmp_path: Path, kind: str) -> None:
    place = 'file = "{case}.h5"\nreference = "{case}.h5"\ndataset = "found"\nreference_dataset = "true"'
    prediction, reference = KINDS[kind][4:]
    check(score(tmp_path, toml(kind, place), {"a.h5": {"true": reference}}, {"a.h5": {"found": prediction}}), kind)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in IMAGES])
def test_a_pointer_into_json(tmp_path: Path, kind: str) -> None:
    place = 'file = "{case}.json"\nreference = "{case}.json"\npointer = "/found/0"\nreference_pointer = "/a~1b"'
    prediction, reference = KINDS[kind][4:]
    files = {"a.json": {"a/b": reference}}
    check(score(tmp_path, toml(kind, place), files, {"a.json": {"found": [prediction]}}), kind)


CELLS = [kind for kind in KINDS if kind not in (*IMAGES, "points", "boxes")]


@pytest.mark.parametrize("kind", CELLS)
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_column_of_a_csv_table(tmp_path: Path, kind: str, separator: str) -> None:
    place = 'table = "p.csv"\ncolumn = "found"\nreference_table = "truth.csv"\nreference_column = "true"'
    place += '\nreference_case_column = "id"'
    prediction, reference = KINDS[kind][4:]
    truth = f"id{separator}true\na{separator}{reference}\n"
    table = f"\ufeffx{separator}found{separator}case\n0{separator}{prediction}{separator}a\n"
    check(score(tmp_path, toml(kind, place), {"truth.csv": truth}, {"p.csv": table}), kind)


@pytest.mark.parametrize("kind", CELLS)
def test_a_column_of_a_json_table_and_the_same_place_by_default(tmp_path: Path, kind: str) -> None:
    place = 'table = "p.json"\ncolumn = "v"\ncase_column = "id"'
    prediction, reference = KINDS[kind][4:]
    files = {"p.json": [{"id": "a", "v": reference}]}
    check(score(tmp_path / "list", toml(kind, place), files, {"p.json": [{"id": "a", "v": prediction}]}), kind)
    check(score(tmp_path / "object", toml(kind, place), files, {"p.json": {"a": {"v": prediction}}}), kind)


@pytest.mark.parametrize(
    ("kind", "rows"),
    [("points", "case,x,y\na,1,2\n"), ("boxes", "case,x_min,y_min,x_max,y_max\na,0,0,4,4\n")],
)
def test_points_and_boxes_of_a_table(tmp_path: Path, kind: str, rows: str) -> None:
    place = 'table = "p.csv"'
    check(score(tmp_path, toml(kind, place), {"p.csv": rows}, {"p.csv": rows}), kind)


@pytest.mark.parametrize("kind", KINDS)
def test_a_socket_of_a_job(tmp_path: Path, kind: str) -> None:
    ending = ".mha" if kind in IMAGES else ".json"
    place = f'socket = "out"\nreference = "{{case}}{ending}"'
    prediction, reference = KINDS[kind][4:]
    text = toml(kind, place, cases='input = "scan"')
    head = HEAD.replace('"predictions"', '"algorithm"')
    truth = write_challenge(tmp_path / "challenge", text, {f"a{ending}": reference}, head=head)
    jobs = write_jobs(tmp_path / "jobs", socket_in="scan", jobs={"a": {"out": prediction}})
    check(evaluate(jobs, truth, tmp_path / "out"), kind)


def test_survival_of_a_table_and_of_a_socket(tmp_path: Path) -> None:
    """85: times 2, 4, 6, 8, events 1, 1, 0, 1; risks 4, 3, 2, 1 give 1.0, risks 1, 3, 2, 4 give 0.2."""
    columns = {"column": "risk", "time_column": "months", "event_column": "died"}
    places = {"socket": "risk", "table": "p.csv", "reference_table": "truth.csv", **columns}
    text = '[cases]\ninput = "scan"\n' + value("v", "survival", prediction="risk", **places) + metrics("c_index")
    truth = {"truth.csv": "case,months,died\na,2,1\nb,4,1\nc,6,0\nd,8,1\n"}
    head = HEAD.replace('"predictions"', '"any"')
    found = score(tmp_path, text, truth, {"p.csv": "case,risk\na,4\nb,3\nc,2\nd,1\n"}, head=head)
    assert found["aggregates"]["c_index"] == pytest.approx(1.0)
    risks = dict(zip("abcd", (1, 3, 2, 4), strict=True))
    jobs = write_jobs(tmp_path / "jobs", socket_in="scan", jobs={case: {"risk": risk} for case, risk in risks.items()})
    found = evaluate(jobs, tmp_path / "challenge", tmp_path / "out")
    assert found["aggregates"]["c_index"] == pytest.approx(0.2)


def test_two_matches_of_file_fail_the_case(tmp_path: Path) -> None:
    place = 'file = ["{case}_pred.json", "{case}.json"]\nreference = "{case}.json"'
    references = {"a.json": 1.0, "b.json": 1.0}
    found = score(tmp_path, toml("number", place), references, {"a.json": 1.0, "a_pred.json": 1.0, "b.json": 1.0})
    assert found["results"]["a"]["status"] == "failed"
    assert found["results"]["b"]["status"] == "scored"


def test_probabilities_of_several_classes(tmp_path: Path) -> None:
    places = {"table": "p.csv", "column": ["p0", "p1", "p2"], "reference_table": "t.csv", "reference_column": "grade"}
    text = value("v", "probability", classes={"g0": 0, "g1": 1, "g2": 2}, **places) + metrics("auroc", "accuracy")
    truth = "case,grade\na,0\nb,1\nc,2\nd,2\n"
    table = "case,p0,p1,p2\na,0.8,0.1,0.1\nb,0.2,0.5,0.3\nc,0.1,0.2,0.7\nd,0.6,0.3,0.1\n"
    found = score(tmp_path, text, {"t.csv": truth}, {"p.csv": table})
    assert found["aggregates"]["accuracy"] == pytest.approx(0.75)
    # one against the rest: g0 1, g1 1, g2: 0.7 before 0.3 and 0.1, 0.1 before none and equal to one: (2 + 0.5) / 4
    assert found["aggregates"]["auroc"] == pytest.approx((1 + 1 + 0.625) / 3)


@pytest.mark.parametrize(
    ("classes", "cells"),
    [
        ('one = "001", two = "2.0"', ("001", "2.0")),
        ('one = "I", two = "II"', ("I", " II ")),
        ("one = 1, two = 2", ("1", "2.0")),
        ("one = true, two = false", ("true", "False")),
    ],
)
def test_classes_as_cells_spell_them(tmp_path: Path, classes: str, cells: tuple[str, str]) -> None:
    text = f'[values.v]\nkind = "class"\nclasses = {{ {classes} }}\ntable = "p.csv"\ncolumn = "v"\n'
    text += metrics("accuracy")
    table = f"case,v\na,{cells[0]}\nb,{cells[1]}\n"
    rows = score(tmp_path, text, {"p.csv": table}, {"p.csv": table})["results"]
    assert [rows[case]["metrics"]["v"]["prediction"] for case in "ab"] == ["one", "two"]


def test_json_tables_hold_any_value(tmp_path: Path) -> None:
    text = value("v", "class", classes={"yes": True, "no": False}, table="p.json", column="v")
    text += value("s", "survival", prediction="risk", table="p.json", column="risk") + metrics("accuracy", "c_index")
    references = [
        {"case": "a", "v": True, "time": 2.5, "event": True},
        {"case": "b", "v": False, "time": 3, "event": 0},
    ]
    predictions = [{"case": "a", "v": True, "risk": 0.5}, {"case": "b", "v": True, "risk": 0.25}]
    found = score(tmp_path, text, {"p.json": references}, {"p.json": predictions})["aggregates"]
    assert (found["accuracy"], found["c_index"]) == (0.5, 1.0)


def test_a_case_without_findings_is_a_row_without_coordinates(tmp_path: Path) -> None:
    truth = "case,x,y\na,1,2\nb,,\n"
    found = score(tmp_path, toml("points", 'table = "p.csv"'), {"p.csv": truth}, {"p.csv": "case,x,y\na,1,2\nb,9,9\n"})
    assert found["counts"]["scored"] == 2
    assert found["aggregates"]["f1"] == pytest.approx(2 / 3)


# Which values a label image holds, however that is found out.

SMALL_IMAGES = arrays(
    st.sampled_from(["uint8", "int16", "uint16", "int32", "uint64"]),
    st.lists(st.integers(1, 9), min_size=2, max_size=3).map(tuple),
    elements=st.sampled_from([0, 0, 0, 1, 2, 3, 9, 127]),
)


@pytest.mark.parametrize("at_once", [5, 1 << 18])
@examples(100)
@given(labels=SMALL_IMAGES, likely=st.sets(st.sampled_from([0, 1, 2, 3, 9, 70_000]), max_size=6))
def test_all_values_and_no_others_are_found(labels: NDArray[Any], likely: set[int], at_once: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("podium.challenges.declared.values.labels._COUNTED_AT_ONCE", at_once)
        assert _present_labels(labels, likely) == {int(value) for value in labels.flat}
