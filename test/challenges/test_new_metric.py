"""Adding a metric touches one metric function and one declaration: everything else follows."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from challenges.lesions_folders import HALF, LESION, write, write_ground_truth
from scipy.spatial.distance import cdist

from podium import evaluate
from podium.challenges import load_challenge
from podium.challenges.format import read_challenge_folders
from podium.challenges.lesions import scoring as declarations
from podium.challenges.lesions.format import LesionsSettings
from podium.challenges.lesions.scoring import LesionsCase
from podium.cli import main
from podium.execution.executor import Serial
from podium.metrics.declaration import CaseMetric

NAME = "final_hd95_mm"


def hd95(case: LesionsCase) -> float | None:
    """The 95th percentile of all voxels' distances to the other mask, the larger of the two directions, in mm."""
    assert case.final is not None
    if case.reference.is_empty or not case.final.mask.any():
        return None
    spacing = case.reference.geometry.spacing[::-1]
    distances = cdist(np.argwhere(case.final.mask) * spacing, np.argwhere(case.reference.mask()) * spacing)
    return float(max(np.percentile(distances.min(axis=axis), 95) for axis in (0, 1)))


DECLARATION = CaseMetric(
    name=NAME,
    title="Final HD95",
    direction="lower",
    lowest=0.0,
    highest=math.inf,
    worst=math.inf,
    unit="mm",
    count=f"{NAME}.n",
    of=hd95,
)


@pytest.fixture
def ground_truth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    declared = declarations.lesions_metrics

    def with_hd95(settings: LesionsSettings) -> list[CaseMetric[LesionsCase]]:
        return [*declared(settings), DECLARATION]

    monkeypatch.setattr(declarations, "lesions_metrics", with_hd95)
    references = dict.fromkeys(("fdg_1", "fdg_2", "psma_1"), LESION)
    settings = "steps = 1\n[cases]\ngroups = '^(?P<group>[a-z]+)_'"
    return write_ground_truth(tmp_path, references, settings=settings)


def test_rows_means_groups_columns_and_ranking_follow_from_the_declaration(ground_truth: Path, tmp_path: Path) -> None:
    write(tmp_path / "north/fdg_1/iter_0.nii.gz", HALF)  # the last of three columns is missing: 1 mm
    write(tmp_path / "north/fdg_2/iter_0.nii.gz", LESION)
    write(tmp_path / "south/fdg_1/iter_0.nii.gz", LESION)
    results = {
        team: evaluate(tmp_path / team, ground_truth=ground_truth, output=tmp_path / "teams" / team, executor=Serial())
        for team in ("north", "south")
    }
    rows = {row.case: row.metrics[NAME] for row in results["north"].results}
    assert rows == {"fdg_1": 1.0, "fdg_2": 0.0, "psma_1": None}, "a missing case has no finite worst value"
    aggregates = results["north"].aggregates
    assert aggregates[NAME] == {"mean": 0.5, "std": 0.5, "n": 2}
    assert aggregates["groups"]["fdg"][NAME]["mean"] == aggregates[f"{NAME}_group_mean"] == 0.5

    (folder,) = read_challenge_folders(ground_truth).values()
    columns = {column.path: column for column in load_challenge(folder).columns()}
    assert columns[f"{NAME}.mean"].title == "Final HD95 (mm)"
    assert columns[f"{NAME}.mean"].error_path == f"{NAME}.std"
    assert columns[f"{NAME}.mean"].order == "asc"

    arguments = ("--scheme", "aggregate-then-rank", "--statistic", "median", "--metric", NAME)
    assert main(["rank", str(tmp_path / "teams"), "--output", str(tmp_path / "ranking"), *arguments]) == 0
    ranking = json.loads((tmp_path / "ranking/ranking.json").read_text())
    assert {team["name"]: team["rank"] for team in ranking["teams"]} == {"north": 1, "south": 2}
    assert "Final HD95" in (tmp_path / "ranking/report.html").read_text()
