"""More candidates than `max_candidates`: the most confident count, and a warning says how many do not."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from challenges.declared.declaring import metric, metrics, score, value, write_challenge

from podium.checking import check
from podium.execution.executor import Serial

pytestmark = pytest.mark.usefixtures("in_process")


def points_challenge(**limit: int) -> str:
    recall = metric("recall", radius_mm=0.5) + metrics(by="recall")
    return value("v", "points", unit="mm", table="predictions.csv", **limit) + recall


def map_challenge(**options: int) -> str:
    return value("v", "detection_map", file="{case}.mha", reference="{case}.mha", **options) + metrics("recall")


def points(number: int, *, with_probability: bool = True) -> str:
    """In a row, the last the most probable."""
    head = "case,x,y,probability" if with_probability else "case,x,y"
    rows = (f"a,{n},0" + (f",{n / number}" if with_probability else "") for n in range(number))
    return "\n".join([head, *rows])


def facts_of(found: dict[str, Any]) -> dict[str, Any]:
    (facts,) = [value for value in found["results"]["a"]["metrics"].values() if isinstance(value, dict)]
    (facts,) = [each for each in (facts, *facts.values()) if isinstance(each, dict) and "hits" in each]
    return facts


def row(found: dict[str, Any]) -> tuple[int, list[str]]:
    return len(facts_of(found)["hits"]), found["results"]["a"]["warnings"]


def test_many_points_fill_neither_memory_nor_metrics_json(tmp_path: Path) -> None:
    """12 cases of 199,999 points made a metrics.json of 58 MB."""
    references = {"predictions.csv": "case,x,y\na,0,0\na,4999,0\n"}
    found = score(tmp_path, points_challenge(), references, {"predictions.csv": points(5000)})
    words = "5,000 points were found; only the 1,000 most confident count."
    assert row(found) == (1000, [words])
    assert found["aggregates"]["recall"] == 0.5  # the first point is the least probable one
    assert (tmp_path / "teams/team/metrics.json").stat().st_size < 50_000


def test_without_probabilities_places_decide(tmp_path: Path) -> None:
    references, found = (
        {"predictions.csv": "case,x,y\na,0,0\na,4,0\n"},
        {"predictions.csv": points(5, with_probability=False)},
    )
    metrics_file = score(tmp_path, points_challenge(max_candidates=3), references, found)
    assert row(metrics_file) == (3, ["5 points were found; only the 3 with the lowest coordinates count."])
    assert metrics_file["aggregates"]["recall"] == 0.5


@pytest.mark.parametrize("head", ["case,x,y", "case,x,y,probability"])
def test_the_order_in_the_file_does_not_matter(tmp_path: Path, head: str) -> None:
    """Four candidates of one probability, of which two count, and FROC: no order finds another reference."""
    toml = points_challenge(max_candidates=2)
    if "probability" in head:
        toml += metric("froc", radius_mm=0.5)
    references = {"predictions.csv": "case,x,y\na,0,0\n"}
    rows = [f"a,{x},0" + ",0.5" * ("probability" in head) for x in range(4)]
    found = [
        score(tmp_path / str(number), toml, references, {"predictions.csv": "\n".join([head, *order])})["aggregates"]
        for number, order in enumerate([rows, rows[::-1], [*rows[2:], *rows[:2]]])
    ]
    assert found == [found[0]] * 3
    assert found[0]["recall"] == 1.0


def test_as_many_as_allowed_are_no_warning(tmp_path: Path) -> None:
    found = score(
        tmp_path, points_challenge(), {"predictions.csv": "case,x,y\na,0,0\n"}, {"predictions.csv": points(1000)}
    )
    assert row(found) == (1000, [])


@pytest.mark.parametrize(
    ("limit", "warnings"), [(3, ["5 candidates were found; only the 3 most confident count."]), (5, [])]
)
def test_candidates_of_a_map(tmp_path: Path, limit: int, warnings: list[str]) -> None:
    confidences = np.zeros((1, 4, 9), np.float32)
    confidences[0, :3, ::2] = np.arange(1, 6) / 10
    truth = np.zeros((1, 4, 9), np.uint8)
    truth[0, :3, 8] = 1
    found = score(tmp_path, map_challenge(max_candidates=limit), {"a.mha": truth}, {"a.mha": confidences})
    assert row(found) == (limit, warnings)
    assert found["aggregates"]["recall"] == 1.0


@pytest.mark.parametrize(("connectivity", "of_volume", "of_image"), [(1, 3, 2), (2, 2, 1), (3, 1, 1)])
def test_connectivity_of_a_map(tmp_path: Path, connectivity: int, of_volume: int, of_image: int) -> None:
    """In a volume three voxels that share an edge and a corner, in an image two that share a corner."""
    volume = np.zeros((2, 3, 3), np.float32)
    volume[0, 0, 0] = volume[0, 1, 1] = volume[1, 2, 2] = 0.5
    toml = map_challenge(connectivity=connectivity)
    for number, (image, expected) in enumerate([(volume, of_volume), (volume[0], of_image)]):
        truth = (image > 0).astype(np.uint8)
        for predictions in ({"a.mha": image}, {}):
            folder = tmp_path / f"{number}{len(predictions)}"
            found = score(folder, toml, {"a.mha": truth, "b.mha": truth}, {**predictions, "b.mha": image})
            facts = facts_of(found)
            assert (facts["references"], len(facts["hits"])) == (expected, expected if predictions else 0)


def test_more_findings_than_candidates_are_a_warning_of_the_check(tmp_path: Path) -> None:
    folder = write_challenge(tmp_path / "challenge", points_challenge(max_candidates=3), {"predictions.csv": points(5)})
    (warning,) = check("challenge", folder, images=None, executor=Serial()).warnings
    assert "'v' has more findings (5) than max_candidates (3)" in warning
