"""Published layouts: folders of groups, boxes as centre and size, and the platform's name of a bare table."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from challenges.declared.declaring import HEAD, errors, metric, metrics, score, value, write_challenge

from podium.checking import check
from podium.execution.executor import Serial

pytestmark = pytest.mark.usefixtures("in_process")


def picture(*places: int) -> Any:
    labels = np.zeros((4, 4), np.uint8)
    labels.ravel()[list(places)] = 1
    return labels


def test_frames_of_several_sequences_may_have_the_same_names(tmp_path: Path) -> None:
    names = {"file": "{group}/{case}.png", "reference": "{group}/{case}.png"}
    toml = '[cases]\ngroups = "^(?P<group>seq[0-9])_"\n' + value("mask", "labels", **names, labels={"tool": 1})
    truth = {f"{group}/{frame}.png": picture(0, 1) for group in ("seq1", "seq2") for frame in ("f0", "f1")}
    found = score(tmp_path, toml + metrics("dice"), truth, {**truth, "seq2/f0.png": picture(1, 2)})
    assert sorted(found["results"]) == ["seq1_f0", "seq1_f1", "seq2_f0", "seq2_f1"]
    groups = found["aggregates"]["groups"]
    assert [groups[each]["dice"]["tool"]["mean"] for each in ("seq1", "seq2")] == [1.0, 0.75]


@pytest.mark.parametrize(
    "name", ["{group}.png", "{case}_{case}.png", "{group}/{group}/{case}.png", "{scan}/{case}.png"]
)
def test_a_name_has_its_case_once_and_its_group_at_most_once(tmp_path: Path, name: str) -> None:
    toml = value("mask", "labels", file=name, reference="{case}.png", labels={"tool": 1}) + metrics("dice")
    assert any("values.mask.file" in each for each in errors(tmp_path, toml))


BY_CENTRE = {"centre": ["coordX", "coordY", "coordZ"], "size": ["x_length", "y_length", "z_length"]}
BOXES = value("mass", "boxes", table="predictions.csv", unit="index", case_column="public_id", box_columns=BY_CENTRE)
HEADER = "public_id,coordX,coordY,coordZ,x_length,y_length,z_length,probability\n"


def test_boxes_as_centre_and_size(tmp_path: Path) -> None:
    """The reference is 1..3 along every axis, the prediction 2..4 along x: an overlap of 1 x 2 x 2 of 12, IoU 1/3."""
    truth = {"predictions.csv": HEADER.replace(",probability", "") + "a,2,2,2,2,2,2\n"}
    files = {"predictions.csv": HEADER + "a,3,2,2,2,2,2,0.9\n"}
    for number, (threshold, recall) in enumerate(((0.33, 1.0), (0.34, 0.0))):
        toml = BOXES + metric("recall", threshold=threshold) + metrics(by="recall")
        assert score(tmp_path / str(number), toml, truth, files)["aggregates"]["recall"] == recall


def test_a_negative_size_is_refused(tmp_path: Path) -> None:
    truth = {"predictions.csv": HEADER.replace(",probability", "") + "a,2,2,2,2,2,2\nb,2,2,2,2,2,2\n"}
    toml = BOXES + metric("recall", threshold=0.3) + metrics(by="recall")
    rows = "a,3,2,2,2,-2,2,0.9\nb,2,2,2,2,2,2,1\n"
    found = score(tmp_path, toml, truth, {"predictions.csv": HEADER + rows})
    assert found["results"]["a"]["error"].endswith("'y_length' is negative.")


def test_columns_of_boxes_fit_the_axes(tmp_path: Path) -> None:
    toml = BOXES.replace(', "coordZ"', "") + metric("recall", threshold=0.3) + metrics(by="recall")
    assert any("centre and size need a column for the same axes" in each for each in errors(tmp_path, toml))


@pytest.mark.parametrize(
    ("table", "shape", "is_warned"),
    [
        *(("answers.csv", "predictions", True), ("predictions.csv", "predictions", False)),
        *(("answers.json", "predictions", False), ("answers.csv", "algorithm", False)),
    ],
)
def test_check_warns_of_a_bare_table_that_the_platform_renames(
    tmp_path: Path, table: str, shape: str, is_warned: bool
) -> None:
    toml = '[cases]\ninput = "scan"\n' + value("age", "number", socket="age", table=table, column="age", range=[0, 100])
    content = '[{"case": "a", "age": 1}]' if table.endswith("json") else "case,age\na,1\n"
    folder = write_challenge(tmp_path / "c", toml + metrics("mae"), {}, head=HEAD.replace("predictions", shape))
    (folder / "references" / table).write_text(content)
    found = check("c", folder, images=None, executor=Serial()).warnings
    assert any("delivers a bare CSV as 'predictions.csv'" in each for each in found) == is_warned
