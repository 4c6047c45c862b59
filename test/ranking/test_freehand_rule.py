"""freehand: the final score to 3 decimals, equal ones by the smaller runtime, an unknown runtime behind its equals."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from podium.challenges.freehand.format import FreehandSettings
from podium.tools.ranking.documents import read_cohorts
from podium.tools.ranking.output import print_ranking
from podium.tools.ranking.rank import rank
from podium.tools.ranking.schemes import RankingOptions

SCANS = ("sub050__one", "sub050__two")


def document(scores: Sequence[float], runtime: float | None) -> dict[str, Any]:
    mean = sum(scores) / len(scores)
    rows = [
        {"case": scan, "status": "scored", "metrics": {"final_score": score}, "warnings": [], "error": None}
        for scan, score in zip(SCANS, scores, strict=True)
    ]
    return {
        "schema": "podium-metrics-2",
        "challenge": "freehand",
        "kind": "freehand",
        "title": "Freehand in small",
        "version": "1",
        "settings": FreehandSettings().model_dump(mode="json"),
        "aggregates": {
            "score": round(mean, 3),
            "final_score": mean,
            "runtime_known": int(runtime is not None),
            "runtime_seconds": 1e9 if runtime is None else runtime,
        },
        "counts": {"expected": 2, "scored": 2, "failed": 0, "missing": 0, "unmatched": 0},
        "results": rows,
    }


def test_three_decimals_then_the_runtime(tmp_path: Path) -> None:
    """Means .7004, .6996, .7001 and .6998 are all .700; .7011 is .701 and wins however slow it is."""
    teams = {
        "slow": document((0.8004, 0.6004), 20.0),
        "quick": document((0.7996, 0.5996), 3.0),
        "unknown": document((0.8001, 0.6001), None),
        "as quick": document((0.7998, 0.5998), 3.0),
        "best": document((0.8011, 0.6011), 900.0),
    }
    for team, content in teams.items():
        (tmp_path / f"{team}.json").write_text(json.dumps(content))
    (cohort,) = read_cohorts([tmp_path])
    ranking = rank(cohort, RankingOptions(bootstraps=50))
    assert [(team.name, team.rank) for team in ranking.teams] == [
        ("best", 1),
        ("as quick", 2),
        ("quick", 2),
        ("slow", 4),
        ("unknown", 5),
    ]
    assert ranking.deciding.scores == pytest.approx([0.701, 0.7, 0.7, 0.7, 0.7])
    # Whichever scans are drawn, the differences stay below the third decimal or decide: the order holds.
    assert ranking.deciding.stability is not None
    assert ranking.deciding.stability.rank_intervals[0] == (1, 1)
    assert any("ordered by lower mean runtime" in sentence for sentence in ranking.methods.sentences)
    runtimes = next(column.values for column in ranking.columns if column.path == "runtime_seconds")
    assert runtimes == (900.0, 3.0, 3.0, 20.0, None)
    console = Console(width=160, record=True)
    print_ranking(ranking, console)
    assert console.export_text().count("unknown") == 2  # the team, and its runtime
    # Another scheme breaks no tie, and does not claim to.
    other = rank(cohort, RankingOptions(bootstraps=0, scheme="mean-then-rank"))
    assert not any("runtime" in sentence for sentence in other.methods.sentences[2:])
    assert "Teams with equal scores share the smaller position (1, 1, 3)." in other.methods.sentences
