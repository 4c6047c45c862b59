"""Landmarks: points that are found by their names; the figures are computed by hand."""

from pathlib import Path
from typing import Any

import pytest
from challenges.declared.declaring import errors, metric, score, value

from podium.challenges import load_challenge
from podium.challenges.ground_truth import read_challenge_folder

pytestmark = pytest.mark.usefixtures("in_process")

PLACES = value("marks", "landmarks", table="predictions.csv", unit="mm")
RADII = [2, 2.5, 4]
METRICS = metric("mre", failed=20) + metric("sdr", radii_mm=RADII) + '[ranking]\nby = "mre"\n'
HEADER = "case,name,x,y,z\n"
TRUTH = HEADER + "a,nasion,0,0,0\na,sella,10,0,0\nb,nasion,5,5,5\nb,sella,1,1,1\n"


def scored(tmp_path: Path, rows: str, toml: str = PLACES + METRICS) -> dict[str, Any]:
    return score(tmp_path, toml, {"predictions.csv": TRUTH}, {"predictions.csv": HEADER + rows})


def test_distances_are_paired_by_name_in_any_order(tmp_path: Path) -> None:
    """Errors: 5 (3-4-5) and 2.5 mm in a, 0 and 2 mm in b."""
    found = scored(tmp_path, "a,sella,12.5,0,0\na,nasion,3,4,0\nb,nasion,5,5,5\nb,sella,1,1,3\n")
    figures = found["aggregates"]
    assert figures["mre"]["mean"] == pytest.approx((3.75 + 1.0) / 2)
    assert {name: figures["sdr"][name]["mean"] for name in ("at_2", "at_2_5", "at_4")} == {
        "at_2": 0.5,
        "at_2_5": 0.75,
        "at_4": 0.75,
    }


def test_a_missing_name_counts_the_failed_distance_and_is_not_found(tmp_path: Path) -> None:
    found = scored(tmp_path, "a,nasion,0,0,0\na,other,1,1,1\nb,nasion,5,5,5\nb,sella,1,1,1\n")["aggregates"]
    assert found["mre"]["mean"] == (10.0 + 0.0) / 2
    assert found["sdr"]["at_4"]["mean"] == 0.75


def test_nothing_is_worse_than_a_missing_landmark_or_case(tmp_path: Path) -> None:
    far = scored(tmp_path / "far", "a,nasion,999,0,0\na,sella,10,0,0\nb,nasion,5,5,5\nb,sella,1,1,1\n")
    assert far["aggregates"]["mre"]["mean"] == (10.0 + 0.0) / 2
    absent = scored(tmp_path / "absent", "b,nasion,5,5,5\nb,sella,1,1,1\n")
    assert absent["results"]["a"]["status"] == "missing"
    assert absent["aggregates"]["mre"]["mean"] == (20.0 + 0.0) / 2
    assert absent["aggregates"]["sdr"]["at_4"]["mean"] == 0.5


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("a,nasion,0,0,0\na,nasion,1,0,0\n", "has the landmark 'nasion' twice"),
        ("a,,0,0,0\na,sella,1,0,0\n", "has a landmark without a name"),
    ],
)
def test_a_name_is_there_once(tmp_path: Path, rows: str, words: str) -> None:
    found = scored(tmp_path, rows + "b,nasion,5,5,5\nb,sella,1,1,1\n")
    assert words in found["results"]["a"]["error"]


def test_the_platforms_json_and_csv_score_the_same(tmp_path: Path) -> None:
    def points(*places: tuple[str, list[float]]) -> dict[str, Any]:
        return {"type": "Multiple points", "points": [{"name": name, "point": place} for name, place in places]}

    toml = value("marks", "landmarks", file="{case}.json", reference="{case}.json", unit="mm") + METRICS
    truth = {"a.json": points(("nasion", [0, 0, 0]), ("sella", [10, 0, 0]))}
    figures = score(tmp_path, toml, truth, {"a.json": points(("sella", [12, 0, 0]), ("nasion", [0, 0, 0]))})
    assert figures["aggregates"]["mre"]["mean"] == 1.0
    assert figures["results"]["a"]["metrics"]["sdr"] == {"at_2": 1.0, "at_2_5": 1.0, "at_4": 1.0}


def test_the_failed_distance_is_required_and_titles_have_the_radius(tmp_path: Path) -> None:
    toml = PLACES + METRICS.replace("failed = 20\n", "")
    assert any("failed' is missing: mre has no worst value" in each for each in errors(tmp_path / "failed", toml))
    scored(tmp_path / "titles", "a,nasion,0,0,0\n")
    challenge = load_challenge(read_challenge_folder(tmp_path / "titles/challenge", name="c"))
    assert [each.title for each in challenge.columns()] == ["MRE (mm)", "SDR at 2", "SDR at 2.5", "SDR at 4"]
