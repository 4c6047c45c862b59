"""What the arena knows, kept by the ranking: groups share ranks, votes and stop rule are told."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tools.ranking.test_reports_rule import document

from podium.cli.main import main
from podium.tools.arena.settings import ArenaSettings
from podium.tools.arena.standing import arena_result, result_to_json
from podium.tools.arena.store import Ballot
from podium.tools.ranking.result import Ranking, ranking_from_json
from podium.tools.report.ranking_report import ranking_report


@pytest.fixture
def four_teams(tmp_path: Path) -> Path:
    """team1 is best by the official rule, team4 worst."""
    folder = tmp_path / "teams"
    folder.mkdir()
    for number in range(1, 5):
        value = 1 - number / 10
        (folder / f"team{number}.json").write_text(json.dumps(document(((value, value), (value, value)))))
    return folder


def arena_file(folder: Path, **changes: Any) -> Path:
    """team3 alone in the first group, team1 and team2 together in the second, team4 in the third."""
    ratings = {"team1": 1010.0, "team2": 1020.0, "team3": 1200.0, "team4": 800.0}
    groups = {"team3": 1, "team1": 2, "team2": 2, "team4": 3}
    teams = [
        {
            "name": name,
            "rank": groups[name],
            "group": groups[name],
            "elo": rating,
            "elo_averaged": rating,
            "bradley_terry": rating,
            "interval": [rating - 50, rating + 50],
            "votes": 30,
            "wins": 15,
            "losses": 10,
            "ties": 5,
        }
        for name, rating in ratings.items()
    ]
    content: dict[str, Any] = {
        "ratings": ratings,
        "decided_by": "bradley-terry",
        "teams": teams,
        "votes": 60,
        "raters": 5,
        "cases": 12,
        "stop_rule": {"holds": False, "missing": ["40 more votes are needed."]},
    }
    path = folder.parent / "arena.json"
    path.write_text(json.dumps(content | changes))
    return path


def run(folder: Path, arena: Path, *arguments: str) -> Ranking:
    output = folder.parent / "out"
    code = main(["rank", str(folder), "--output", str(output), "--replicates", "20", "--arena", str(arena), *arguments])
    assert code == 0
    return ranking_from_json((output / "ranking.json").read_bytes())


def order(ranking: Ranking) -> Sequence[tuple[str, int | None, int | None]]:
    return [(team.name, team.rank, team.group) for team in ranking.teams]


def test_teams_of_one_group_share_the_rank_in_the_order_of_their_ratings(four_teams: Path) -> None:
    ranking = run(four_teams, arena_file(four_teams))
    assert order(ranking) == [("team3", 1, 1), ("team2", 2, 2), ("team1", 2, 2), ("team4", 4, 3)]
    column = next(column for column in ranking.columns if column.path == "arena.rating")
    assert column.intervals == ((1150, 1250), (970, 1070), (960, 1060), (750, 850))
    assert ranking.differences == ()
    assert ranking.deciding.score_intervals is not None, "the official score keeps its interval"


def test_ties_may_be_broken(four_teams: Path) -> None:
    ranking = run(four_teams, arena_file(four_teams), "--break-arena-ties")
    assert order(ranking) == [("team3", 1, 1), ("team2", 2, 2), ("team1", 3, 2), ("team4", 4, 3)]
    assert any("nevertheless ordered by their ratings" in each for each in ranking.methods.sentences)


def test_votes_and_stop_rule_are_told(four_teams: Path, capfd: pytest.CaptureFixture[str]) -> None:
    ranking = run(four_teams, arena_file(four_teams))
    warning = "Warning: the arena's stop rule does not hold. 40 more votes are needed."
    assert warning in ranking.notes
    assert warning in " ".join(capfd.readouterr().out.split())
    text = " ".join(ranking.methods.sentences)
    assert "In this arena 5 raters gave 60 votes on 12 cases." in text
    assert "Finalists are ordered by their Bradley-Terry ratings; those whose intervals" in text
    assert "The arena's stop rule did not hold when the ratings were taken." in text
    page = ranking_report(ranking).page
    for words in ("Arena rating 1200.0", "5 raters gave 60 votes on 12 cases.", "1150.0 to 1250.0"):
        assert words in page


def test_intervals_belong_to_bradley_terry_alone(four_teams: Path) -> None:
    ranking = run(four_teams, arena_file(four_teams, decided_by="elo-averaged"))
    assert next(column for column in ranking.columns if column.path == "arena.rating").intervals is None
    assert ranking.arena is not None
    assert ranking.arena.teams[0] is not None
    assert ranking.arena.teams[0].interval == (1150, 1250)


def test_a_file_whose_parts_name_different_teams(four_teams: Path, capfd: pytest.CaptureFixture[str]) -> None:
    arena = arena_file(four_teams, ratings={"team1": 1.0, "team2": 2.0})
    code = main(["rank", str(four_teams), "--output", str(four_teams.parent / "out"), "--arena", str(arena)])
    assert code == 2
    assert "'teams' and 'ratings' name different teams." in capfd.readouterr().err


def test_what_the_arena_writes_is_read(four_teams: Path) -> None:
    """A whole arena.json of the arena's own code; team1 wins every vote."""
    methods = [f"team{number}" for number in range(1, 5)]
    ballots = [
        Ballot(case=f"c{case}", left=left, right=right, answer="left", rater=f"r{case % 3}")
        for case in range(6)
        for left in methods
        for right in methods
        if left < right
    ]
    result = arena_result(ballots, methods, ArenaSettings(), notes=(), by="bradley-terry")
    path = four_teams.parent / "arena.json"
    path.write_text(result_to_json(result))
    ranking = run(four_teams, path)
    assert ranking.arena is not None
    assert (ranking.arena.votes, ranking.arena.raters, ranking.arena.cases) == (36, 3, 6)
    assert [team.name for team in ranking.teams] == methods
    assert [team.group for team in ranking.teams] == [team.group for team in result.teams]
