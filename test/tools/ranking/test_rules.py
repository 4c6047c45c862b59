"""freehand: the final score to 3 decimals, equal ones by the smaller runtime, an unknown runtime behind its equals."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from challenges.built import lesions
from tools.ranking.files import printed, ranked, said, small_document, write_teams
from tools.ranking.replicates import resampled

from podium.challenges import published_settings
from podium.challenges.freehand.scoring import FreehandSettings
from podium.challenges.lesions.files import LesionsSettings
from podium.cli.main import main
from podium.errors import UsageError
from podium.metrics.resampling import Resamples
from podium.tools.ranking.documents import read_cohorts
from podium.tools.ranking.result import ranking_from_json

SCANS = ("sub050__one", "sub050__two")


def freehand_document(scores: Sequence[float], runtime: float | None) -> dict[str, Any]:
    mean = sum(scores) / len(scores)
    aggregates = {
        "score": round(mean, 3),
        "final_score": mean,
        "runtime_known": int(runtime is not None),
        "runtime_seconds": 1e9 if runtime is None else runtime,
    }
    rows = {scan: {"final_score": score} for scan, score in zip(SCANS, scores, strict=True)}
    return small_document("freehand", FreehandSettings(edition="2024").model_dump(mode="json"), aggregates, rows)


def test_three_decimals_then_the_runtime(tmp_path: Path) -> None:
    """Means .7004, .6996, .7001 and .6998 are all .700; .7011 is .701 and wins however slow it is."""
    teams = {
        "slow": freehand_document((0.8004, 0.6004), 20.0),
        "quick": freehand_document((0.7996, 0.5996), 3.0),
        "unknown": freehand_document((0.8001, 0.6001), None),
        "as quick": freehand_document((0.7998, 0.5998), 3.0),
        "best": freehand_document((0.8011, 0.6011), 900.0),
    }
    ranking = ranked(tmp_path, teams, bootstraps=50)
    assert [team.name for team in ranking.teams] == ["best", "as quick", "quick", "slow", "unknown"]
    assert [team.rank for team in ranking.teams] == [1, 2, 2, 4, 5]
    assert ranking.deciding.scores == pytest.approx([0.701, 0.7, 0.7, 0.7, 0.7])
    # Whichever scans are drawn, the differences stay below the third decimal or decide: the order holds.
    assert ranking.deciding.stability.rank_intervals[0] == (1, 1)
    assert any("ordered by lower mean runtime" in sentence for sentence in ranking.methods.sentences)
    runtimes = next(column.values for column in ranking.columns if column.path == "runtime_seconds")
    assert runtimes == (900.0, 3.0, 3.0, 20.0, None)
    assert printed(ranking).count("unknown") == 2  # the team, and its runtime
    # Another scheme breaks no tie, and does not claim to.
    other = ranked(tmp_path, teams, bootstraps=0, scheme="mean-then-rank")
    assert not any("runtime" in sentence for sentence in other.methods.sentences[2:])
    assert "Teams with equal scores share the smaller position (1, 1, 3)." in other.methods.sentences


# lesions: the mean of two positions, each regime apart, cases without lesions left out.

Areas = Sequence[float | None]
CASES = ("a", "b", "c")
FINALS = ("final_dice", "final_dmm", "final_fpv_ml", "final_fnv_ml")


def lesions_document(dice: Areas, dmm: Areas, *, regime: Any = "simulated") -> dict[str, Any]:
    """What the container writes, less the steps; an area over five intervals is five times its mean height."""
    rows = {}
    for case, one, two in zip(CASES, dice, dmm, strict=True):
        areas = {"auc_dice": one, "auc_dmm": two}
        heights = {f"{name}_normalised": None if area is None else area / 5 for name, area in areas.items()}
        rows[case] = {**areas, **heights, **dict.fromkeys(FINALS, 0.5)}
    scale = 1 if regime == "simulated" else 5

    def mean(values: Areas) -> dict[str, float]:
        defined = [value for value in values if value is not None]
        return {"mean": sum(defined) / len(defined) / scale} if defined else {}

    suffix = "" if regime == "simulated" else "_normalised"
    aggregates = {f"auc_dice{suffix}": mean(dice), f"auc_dmm{suffix}": mean(dmm)}
    settings = {"regime": regime} | ({} if scale == 1 else {"clinician_auc": "normalised"})
    return small_document("lesions", published_settings(lesions(settings)), aggregates, rows)


def write(path: Path, content: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))


# Positions by AUC-Dice 1, 2, 3 and by AUC-DMM 3, 1, 2: means 2, 1.5, 2.5.
TEAMS: dict[str, tuple[Areas, Areas]] = {
    "one": ((4.5, None, 4.0), (1.0, None, 1.5)),
    "two": ((4.0, None, 3.5), (3.0, None, 4.0)),
    "three": ((3.0, None, 2.0), (2.0, None, 2.5)),
}


def test_the_mean_of_two_positions_decides(tmp_path: Path) -> None:
    ranking = ranked(tmp_path, {team: lesions_document(*areas) for team, areas in TEAMS.items()})
    found = {team.name: (team.rank, team.score) for team in ranking.teams}
    assert found == {"two": (1, 1.5), "one": (2, 2.0), "three": (3, 2.5)}
    assert ranking.division == {"regime": "simulated"}
    assert ranking.deciding.stability is not None
    assert "No team has a value of 'AUC-Dice' in 1 of 3 cases; the general schemes leave these out." in said(ranking)


def test_where_no_case_has_lesions_all_teams_are_equal(tmp_path: Path) -> None:
    ranking = ranked(tmp_path, dict.fromkeys(TEAMS, lesions_document((None,) * 3, (None,) * 3)))
    assert [team.rank for team in ranking.teams] == [1, 1, 1]
    assert ranking.deciding.stability.rank_frequencies == ((1.0, 0.0, 0.0),) * 3


def test_replicates_leave_out_undefined_cases_and_an_empty_one_has_no_value() -> None:
    challenge = lesions()
    rows = [row["metrics"] for row in lesions_document(*TEAMS["one"])["results"]]
    resamples = Resamples(np.array([[1, 1, 1], [0, 1, 2], [0, 3, 0]], dtype=np.int32))
    found = resampled(challenge, rows, {}, resamples)
    assert found["auc_dice.mean"].tolist() == pytest.approx([4.25, 4.0, np.nan], nan_ok=True)
    assert found["auc_dmm.mean"].tolist() == pytest.approx([1.25, 1.5, np.nan], nan_ok=True)


@pytest.mark.parametrize(
    "layout", ["{regime}/{team}/metrics.json", "{team}/{regime}/metrics.json", "{team}/{regime}.json"]
)
def test_both_regimes_in_one_call_are_ranked_apart(tmp_path: Path, layout: str) -> None:
    """Clinicians made their steps with other methods in front: the order there is turned round."""
    for team, areas in TEAMS.items():
        write(tmp_path / "in" / layout.format(team=team, regime="simulated"), lesions_document(*areas))
    for team, areas in zip(TEAMS, reversed(TEAMS.values()), strict=True):
        write(
            tmp_path / "in" / layout.format(team=team, regime="clinician"), lesions_document(*areas, regime="clinician")
        )
    output = tmp_path / "out"
    assert main(["rank", str(tmp_path / "in"), "--output", str(output), "--bootstraps", "20"]) == 0
    found = {
        regime: ranking_from_json((output / regime / "ranking.json").read_bytes())
        for regime in ("simulated", "clinician")
    }
    assert [team.name for team in found["simulated"].teams] == ["two", "one", "three"]
    assert [team.name for team in found["clinician"].teams] == ["two", "three", "one"]
    assert found["clinician"].significance[0].metric == "auc_dice_normalised"
    assert "divided by the number of corrections" in found["clinician"].deciding.words


def test_settings_of_both_regimes_can_be_read_again() -> None:
    for settings in (
        LesionsSettings(steps=4, empty_reference="undefined"),
        LesionsSettings(regime="clinician", empty_reference="undefined", iou_threshold=0.2),
    ):
        assert LesionsSettings.model_validate(settings.model_dump(mode="json")) == settings


def test_within_a_regime_settings_must_agree(tmp_path: Path) -> None:
    other = lesions_document(*TEAMS["two"])
    other["settings"]["lesions"]["iou_threshold"] = 0.5
    write_teams(tmp_path, {"a": lesions_document(*TEAMS["one"]), "b": other})
    with pytest.raises(UsageError, match=r"was scored with lesions\.iou_threshold = 0\.5, but .*= 0\.1"):
        read_cohorts([tmp_path])
