"""What a declared challenge offers to draw: curves from the published rows, nothing where rows do not show them."""

from typing import Any

import pytest
from sklearn.metrics import roc_curve

from podium.challenges import challenge_from_settings
from podium.challenges.pictures import Diagram, FigureGrid

VALUES: dict[str, Any] = {
    "p": {
        "kind": "probability",
        "positive": "ill",
        "classes": {"well": 0, "ill": 1},
        "table": "p.csv",
        "column": "p",
        "reference_table": "r.csv",
        "reference_column": "label",
    },
    "age": {"kind": "number", "table": "p.csv", "column": "age", "reference_table": "r.csv", "range": [0, 100]},
}
TABLES: dict[str, Any] = {
    "values": VALUES,
    "metrics": [{"kind": "auroc"}, {"kind": "mae"}],
    "ranking": {"by": "auroc"},
}
SCORES, TRUTH = (0.1, 0.4, 0.35, 0.8), (0, 0, 1, 1)
ROWS: list[dict[str, Any]] = [
    {
        "p": {"reference": ("well", "ill")[label], "prediction": {"well": 1 - score, "ill": score}},
        "age": {"reference": 10.0 * number, "prediction": 10.0 * number + 1},
    }
    for number, (score, label) in enumerate(zip(SCORES, TRUTH, strict=True))
]


def drawn(rows: list[dict[str, Any]], tables: dict[str, Any] = TABLES, aggregates: Any = None) -> dict[str, Any]:
    challenge = challenge_from_settings("x", "declared", tables)
    assert challenge.pictures is not None
    return {picture.title: picture for picture in challenge.pictures(rows, aggregates or {})}


def test_curves_of_probabilities() -> None:
    pictures = drawn(ROWS)
    roc = pictures["ROC: p"]
    false, true, _ = roc_curve(TRUTH, SCORES, drop_intermediate=False)
    assert roc.lines["ill"][: len(false)] == [
        pytest.approx(point) for point in zip(false.tolist(), true.tolist(), strict=True)
    ]
    assert pictures["Precision and recall: p"].lines["ill"][0] == (0.5, 1.0)
    assert (0.1, 0.0) in pictures["Calibration: p"].lines["ill"]


def test_scatter_and_bland_altman() -> None:
    pictures = drawn(ROWS)
    assert pictures["Prediction against reference: age"].dots[1] == (10, 11)
    bland = pictures["Bland-Altman: age"]
    assert isinstance(bland, Diagram)
    assert bland.dots[1] == (10.5, 1)
    assert bland.levels["bias"] == 1


def test_nothing_is_drawn_of_what_rows_do_not_show() -> None:
    assert drawn([{} for _ in ROWS]) == {}
    assert drawn([]) == {}


def test_lost_cases_and_one_class_only() -> None:
    lost = {"p": {"reference": "ill", "prediction": None}, "age": {"reference": 1.0, "prediction": None}}
    assert drawn([lost, lost]) == {}
    assert "ROC: p" not in drawn(ROWS[:2])


def test_regions_by_metrics() -> None:
    labels = {"kind": "labels", "file": "{case}.mha", "reference": "{case}.mha", "labels": {"a": 1, "b": 2}}
    tables = {"values": {"seg": labels}, "metrics": [{"kind": "dice"}, {"kind": "hd95"}], "ranking": {"by": "dice"}}
    means = {"dice": {"a": {"mean": 0.5}, "b": {"mean": 0.75}}, "hd95": {"a": {"mean": 3.0}}}
    (grid,) = drawn([], tables, means).values()
    assert isinstance(grid, FigureGrid)
    assert (grid.rows, grid.columns) == (["a", "b"], ["Dice", "HD95"])
    assert grid.values == [[0.5, 3.0], [0.75, None]]
    assert grid.directions == ["higher", "lower"]
