"""Entries of the gallery, uploaded as ground truth: the image scores challenges that it was not built for."""

import json
from pathlib import Path

import pytest
from container.engine import evaluate
from places import ROOT

from podium.figures import get

pytestmark = pytest.mark.container

GALLERY = ROOT / "gallery"
ENTRIES = ("midog", "panther", "synthrad")  # points; volumes and surfaces; images within a mask


@pytest.mark.parametrize("entry", ENTRIES)
def test_an_uploaded_gallery_entry_scores_what_its_rules_say(image: str, entry: str, tmp_path: Path) -> None:
    teams = sorted((GALLERY / entry / "teams").iterdir())
    assert len(teams) > 1
    for team in teams:
        environment = {"PODIUM_CHALLENGE": entry}
        run = evaluate(image, team, tmp_path / team.name, ground_truth=GALLERY / entry, environment=environment)
        found = json.loads(run.metrics)
        expected = json.loads((GALLERY / entry / "expected" / f"{team.name}.json").read_bytes())
        assert (found["challenge"], found["kind"]) == (entry, "declared")
        assert {row["case"]: row["status"] for row in found["results"] if row["status"] != "scored"} == expected["lost"]
        figures = {path: get(found["aggregates"], path) for path in expected["aggregates"]}
        assert figures == pytest.approx(expected["aggregates"], rel=0, abs=1e-6)
