"""Label images in which every label is one object, touching or not."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from challenges.declared.declaring import errors, metric, metrics, score, value
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import linear_sum_assignment

from podium.metrics.lesions import MatchingRule, match_components

BONES = value("bones", "instances", file="{case}.png", reference="{case}.png", groups={"sacrum": "1-3", "hip": "4-9"})
RULE = {"match": "iou", "threshold": 0.5, "pairing": "optimal", "miss_mm": 10.0, "failed": "empty"}


def row(*labels: int) -> Any:
    """An image of one row, so that figures are counted by eye."""
    return np.array([labels], np.uint8)


@pytest.mark.usefixtures("in_process")
def test_touching_objects_are_not_one(tmp_path: Path) -> None:
    """Sacrum: fragments 1 (4 pixels) and 2 (4), found as 3 (4, IoU 3/5) and 1 (3, IoU 3/4). One hip of two is found."""
    truth = {"a.png": row(1, 1, 1, 1, 2, 2, 2, 2, 0, 4, 4, 0, 5, 5)}
    found = {"a.png": row(0, 3, 3, 3, 3, 1, 1, 1, 0, 7, 7, 0, 0, 0)}
    figures = score(tmp_path, BONES + metric("instances", **RULE) + metrics(by="instances.pq"), truth, found)
    sacrum, hip = (figures["aggregates"]["instances"][name] for name in ("sacrum", "hip"))
    assert sacrum["f1"]["mean"] == 1.0
    assert sacrum["pq"]["mean"] == pytest.approx((3 / 5 + 3 / 4) / 2)
    assert sacrum["dice"]["mean"] == pytest.approx((6 / 8 + 6 / 7) / 2)
    assert (hip["tp"]["mean"], hip["fn"]["mean"], hip["dice"]["mean"], hip["hd95"]["mean"]) == (1, 1, 0.5, 5.0)


@pytest.mark.usefixtures("in_process")
def test_a_label_of_no_group_is_refused_and_groups_are_ranges(tmp_path: Path) -> None:
    truth = {f"{case}.png": row(1, 2, 0, 4) for case in "ab"}
    toml = BONES + metric("instances", **RULE) + metrics(by="instances.pq")
    found = score(tmp_path / "score", toml, truth, {**truth, "b.png": row(1, 10, 0, 4)})
    assert found["results"]["b"]["error"] == (
        "'b.png' holds the value 10, which is no object's; the groups are sacrum 1-3 and hip 4-9."
    )
    for groups in ({"a": "3-1"}, {"a": "1-3", "b": "3"}, {"mean": "1"}, {"a": "0-4"}):
        wrong = value("v", "instances", file="{case}.png", reference="{case}.png", groups=groups)
        assert any("values.v" in each for each in errors(tmp_path / str(groups), wrong + metric("instances", **RULE)))


OBJECTS = hnp.arrays(np.uint8, (4, 5), elements=st.integers(0, 3))


def literal(prediction: Any, reference: Any, rule: MatchingRule) -> tuple[int, int, int, float]:
    """TP, FP, FN and the summed IoU of matched pairs, every pair of labels compared by itself."""
    labels = [[each for each in np.unique(side).tolist() if each] for side in (reference, prediction)]
    iou = np.zeros((len(labels[0]), len(labels[1])))
    for (i, one), (j, other) in product(enumerate(labels[0]), enumerate(labels[1])):
        shared = ((reference == one) & (prediction == other)).sum()
        iou[i, j] = shared / ((reference == one) | (prediction == other)).sum()
    iou[(iou < rule.threshold) | (iou == 0)] = 0
    if rule.match == "best_iou":
        pairs = [(i, int(line.argmax())) for i, line in enumerate(iou) if line.size and line.max() > 0]
    else:
        pairs = [(i, j) for i, j in zip(*linear_sum_assignment(-iou), strict=True) if iou[i, j] > 0]
    found = {j for _, j in pairs}
    return len(pairs), len(labels[1]) - len(found), len(labels[0]) - len(pairs), sum(iou[pair] for pair in pairs)


@pytest.mark.parametrize(
    "rule",
    [
        MatchingRule(instances=True, match="iou", threshold=0.3, pairing="optimal"),
        MatchingRule(instances=True, match="best_iou", threshold=0, pairing="any"),
    ],
)
@given(prediction=OBJECTS, reference=OBJECTS)
def test_matching_agrees_with_a_literal_reading(rule: MatchingRule, prediction: Any, reference: Any) -> None:
    found = match_components(prediction=prediction, reference=reference, spacing_mm=(1, 1), rule=rule)
    tp, fp, fn, iou = literal(prediction, reference, rule)
    assert (found.counts.tp, found.counts.fp, found.counts.fn) == (tp, fp, fn)
    if tp:
        assert found.pq == pytest.approx(iou / tp * 2 * tp / (2 * tp + fp + fn))


@pytest.mark.usefixtures("in_process")
def test_touching_findings_of_a_detection_map_are_two_by_their_labels(tmp_path: Path) -> None:
    truth = {"a.mha": row(1, 1, 2, 2, 0, 0), "b.mha": row(0, 0, 0, 0, 0, 0)}
    found = {"a.mha": row(1, 1, 0, 0, 0, 0).astype(np.float32), "b.mha": row(0, 0, 0, 0, 0, 0).astype(np.float32)}
    for is_known, recall in ((True, 0.5), (False, 1.0)):
        toml = value(
            "v", "detection_map", file="{case}.mha", reference="{case}.mha", reference_instances=is_known
        ) + metrics("recall")
        assert score(tmp_path / str(is_known), toml, truth, found)["aggregates"]["recall"] == recall


@pytest.mark.usefixtures("in_process")
def test_lesions_by_volume(tmp_path: Path) -> None:
    """Pixels of 1 ml: lesions of 1, 2 and 5; found are the second, whole, and half of the third."""
    toml = value("v", "labels", file="{case}.mha", reference="{case}.mha", labels={"lesion": 1})
    rule = {"match": "overlap", "threshold": 0, "pairing": "any", "failed": "empty", "strata_ml": [2, 4]}
    truth = {"a.mha": row(1, 0, 1, 1, 0, 1, 1, 1, 1, 1)}
    found = {"a.mha": row(0, 0, 1, 1, 0, 1, 1, 0, 0, 0)}
    figures = score(
        tmp_path, toml + metric("lesions", **rule) + metrics(by="lesions.f1"), truth, found, spacing=(10.0, 100.0)
    )["aggregates"]["lesions"]["lesion"]
    shown = {name: figures[name]["mean"] for name in figures if name.startswith(("recall_", "dice_", "tp_"))}
    assert shown == pytest.approx(
        {
            **{"recall_below_2_ml": 0, "dice_below_2_ml": 0, "tp_below_2_ml": 0},
            **{"recall_from_2_to_4_ml": 1, "dice_from_2_to_4_ml": 1, "tp_from_2_to_4_ml": 1},
            **{"recall_from_4_ml": 1, "dice_from_4_ml": 4 / 7, "tp_from_4_ml": 1},
        }
    )
