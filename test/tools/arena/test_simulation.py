"""Simulated arenas: reproducible, compared with the true order, and the command that plays them."""

from dataclasses import replace
from pathlib import Path

import pytest

from podium.cli.main import load_command
from podium.tools.arena.settings import ArenaSettings, write_settings
from podium.tools.arena.simulation import Played, Scenario, play, summarise

QUICK = ArenaSettings(
    permutations=20, bootstraps=100, min_votes=30, min_votes_per_pair=3, window=20, epsilon_points=30, vote_budget=80
)
CLEAR = Scenario(gap_points=800, teams=3, raters=3, cases=30, tie_share=0.1, case_spread_points=50, settings=QUICK)


def test_the_same_seed_plays_the_same_arena() -> None:
    close = replace(CLEAR, gap_points=30)
    one, again, *others = (play(close, seed) for seed in ((1, 0), (1, 0), (1, 1), (1, 2), (2, 0), (2, 1)))
    assert one == again
    assert any(one != other for other in others)


def test_a_clear_order_is_found_before_the_budget_is_spent() -> None:
    for run in range(5):
        found = play(CLEAR, (0, run))
        assert (found.ended, found.first_group, found.teams_of_rank_1, found.tau) == ("apart", 1, 1, 1)
        assert all(found.is_first.values())
        assert found.has_rank_1
        assert found.is_in_first_group
        assert QUICK.min_votes <= found.votes < QUICK.vote_budget
        assert found.votes % 10 == 0


def test_equal_teams_spend_the_budget() -> None:
    """A gap of next to nothing: whoever is called the best is first about every third time."""
    even = replace(CLEAR, gap_points=1e-6)
    played = [play(even, (3, run)) for run in range(24)]
    assert {one.ended for one in played} == {"budget"}
    assert all(one.votes >= QUICK.vote_budget for one in played)
    named = sum(one.is_first["elo-averaged"] for one in played)
    assert 1 <= named <= 16  # 8 expected; a binomial of 24 and 1/3 is outside less than once in a thousand


def test_ratings_that_never_settle_leave_an_arena_unfinished() -> None:
    restless = QUICK.model_copy(update={"epsilon_points": 1e-9})
    found = play(replace(CLEAR, settings=restless), (0, 0))
    assert found.ended == "unfinished"
    assert found.votes == 2 * QUICK.vote_budget + 2  # three lists of 54


def test_nothing_but_ties_favours_no_name() -> None:
    """Equal ratings are in the order of the names, so the true order must not be."""
    played = [play(replace(CLEAR, tie_share=1.0), (0, run)) for run in range(12)]
    assert {(one.ended, one.first_group, one.teams_of_rank_1) for one in played} == {("budget", 3, 3)}
    assert {one.is_first["elo-averaged"] for one in played} == {True, False}


def test_a_summary_by_hand() -> None:
    one = Played(
        ended="apart",
        votes=100,
        is_first={"elo-averaged": True, "elo": True, "bradley-terry": False},
        has_rank_1=True,
        teams_of_rank_1=1,
        is_in_first_group=True,
        first_group=1,
        tau=1.0,
    )
    other = replace(
        one,
        ended="budget",
        votes=200,
        is_first={"elo-averaged": True, "elo": False, "bradley-terry": False},
        has_rank_1=False,
        teams_of_rank_1=2,
        first_group=3,
        tau=0.5,
    )
    found = summarise(50, [one, other])
    assert found.first == {"elo-averaged": 1, "elo": 0.5, "bradley-terry": 0}
    assert (found.with_rank_1, found.mean_teams_of_rank_1) == (0.5, 1.5)
    assert (found.in_first_group, found.mean_first_group) == (1, 2)
    assert (found.median_votes, found.votes_90) == (150, 190)
    assert (found.ended_by_budget, found.unfinished, found.mean_tau, found.runs) == (0.5, 0, 0.75, 2)


def run(*arguments: str) -> int:
    command, parser = load_command("arena simulate")
    return command(parser.read(arguments))


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)  # a table for a file is not folded
    write_settings(tmp_path, QUICK)
    small = ["--arena", str(tmp_path), "--teams", "3", "--raters", "3", "--cases", "30", "--runs", "3"]
    assert run(*small, "--gap", "20", "--gap", "800", "--workers", "2") == 0
    first = capsys.readouterr()
    heading, _, close, clear = [line.split() for line in first.out.splitlines() if line.strip()]
    assert " ".join(heading) == (
        "Gap Best is first By Elo By Bradley-Terry Best has rank 1 Best in first group "
        "Votes: median 90 % Budget ended it Never ended Kendall's tau"
    )
    assert close[0] == "20"
    assert clear[:8] == ["800", "100%", "100%", "100%", "100%", "(of", "1.0)", "100%"]
    assert clear[-3:] == ["0%", "0%", "1.00"]
    assert first.err.endswith("Played 6 arenas of 3 teams, 3 raters and 30 cases; seed 0.\n")
    assert run(*small, "--gap", "20", "--gap", "800", "--workers", "1") == 0
    assert capsys.readouterr().out == first.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--gap", "0"], "0 is not a positive number"),
        (["--gap", "nan"], "nan is not a positive number"),
        (["--teams", "1"], "1 is less than two teams"),
        (["--ties", "1"], "1 is not between 0 and 1"),
        (["--case-spread", "-1"], "-1 is not 0 or more"),
        (["--runs", "0"], "0 is not a positive number"),
    ],
)
def test_mistakes_on_the_command_line(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run(*arguments)
    assert words in capsys.readouterr().err
