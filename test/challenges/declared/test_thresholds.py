"""What equals a threshold: a bare number and ">= 0.3" accept 0.3, "> 0.3" does not."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from challenges.declared.declaring import errors, metric, score, value

pytestmark = pytest.mark.usefixtures("in_process")

IMAGES = {"file": "{case}.mha", "reference": "{case}.mha"}
ORGAN = value("v", "labels", **IMAGES, labels={"node": 1})
POINT = "case,x,y\na,0,0\n"
NODES = {"pairing": "any", "over": "pooled"}


def row(voxels: int, kind: Any = np.uint8) -> dict[str, Any]:
    """One component."""
    return {"a.mha": (np.arange(20) < voxels).astype(kind).reshape(1, 1, 20)}


def box(width: float) -> dict[str, str]:
    return {"p.csv": f"case,x_min,y_min,x_max,y_max\na,0,0,{width},1\n"}


CASES: dict[str, tuple[str, str, dict[str, Any], Any, Any]] = {
    # The value, the metric with its keys, and references and predictions with a probability, IoU, ... of 0.3.
    "probability": (
        value("v", "probability", positive="ill", table="p.csv", column="v"),
        "sensitivity",
        {},
        {"p.csv": "case,v\na,1\n"},
        {"p.csv": "case,v\na,0.3\n"},
    ),
    "points": (
        value("v", "points", unit="index", table="p.csv"),
        "recall",
        {"radius_px": 0.5},
        {"p.csv": POINT},
        {"p.csv": "case,x,y,probability\na,0,0,0.3\n"},
    ),
    "boxes": (value("v", "boxes", unit="index", table="p.csv"), "recall", {}, box(10), box(3)),
    "detection_map": (value("v", "detection_map", **IMAGES), "recall", {}, row(10), row(3, np.float32)),
    "iou": (ORGAN, "lesions", {"match": "iou", **NODES}, row(10), row(3)),
    "overlap": (ORGAN, "lesions", {"match": "overlap", **NODES}, row(10), row(3)),
    "dice": (ORGAN, "lesions", {"match": "dice", **NODES}, row(17), row(3)),
}


@pytest.mark.parametrize("of", CASES)
@pytest.mark.parametrize(("threshold", "accepted"), [(0.3, 1), (">= 0.3", 1), ("> 0.3", 0), (">.3", 0), ("> 0.29", 1)])
def test_what_equals_a_threshold(tmp_path: Path, of: str, threshold: Any, accepted: int) -> None:
    toml, kind, keys, references, predictions = CASES[of]
    by = "lesions.node.tp" if kind == "lesions" else kind
    keys = {**keys, "failed": "empty"} if kind == "lesions" else keys
    toml += metric(kind, threshold=threshold, **keys) + f'[ranking]\nby = "{by}"\n'
    found = score(tmp_path, toml, references, predictions)["aggregates"][kind]
    assert (found["node"]["tp"] if kind == "lesions" else found) == accepted


def test_a_threshold_of_probabilities_beside_one_of_overlap(tmp_path: Path) -> None:
    toml = CASES["points"][0] + metric("recall", radius_px=0.5, probability_threshold="> 0.3")
    found = score(tmp_path, toml + '[ranking]\nby = "recall"\n', *CASES["points"][3:])
    assert found["aggregates"]["recall"] == 0.0


@pytest.mark.parametrize("threshold", ["< 0.3", "0.3", "> 1.5", "> 1", "> -1", "> nan", 1.5])
def test_what_is_no_threshold(tmp_path: Path, threshold: Any) -> None:
    toml = CASES["probability"][0] + metric("sensitivity", threshold=threshold) + '[ranking]\nby = "sensitivity"\n'
    (error,) = errors(tmp_path, toml)
    assert "'metrics.0.threshold' is wrong" in error


def test_a_distance_is_no_comparison(tmp_path: Path) -> None:
    """Centroids match up to the threshold: `"> 5"` would say the opposite."""
    toml = (
        ORGAN + metric("lesions", match="centroid", pairing="any", threshold="> 5") + '[ranking]\nby = "lesions.f1"\n'
    )
    (error,) = errors(tmp_path, toml)
    assert "'metrics.0.threshold' is wrong" in error
