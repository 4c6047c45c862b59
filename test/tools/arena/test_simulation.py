"""Simulated arenas: reproducible, compared with the true order, and the command that plays them."""

from dataclasses import replace
from pathlib import Path

import pytest

from podium.cli.main import load_command
from podium.tools.arena.settings import ArenaSettings, write_settings
from podium.tools.arena.simulation import Played, Scenario, play, summarise

QUICK = ArenaSettings(
    matchups_per_rater=27,
    permutations=20,
    bootstraps=100,
    min_votes=30,
    min_votes_per_pair=3,
    window=20,
    epsilon_points=30,
)
CLEAR = Scenario(
    gap_points=800,
    teams=3,
    raters=3,
    cases=30,
    tie_share=0.1,
    case_spread_points=50,
    rater_spread_points=20,
    settings=QUICK,
)


def test_the_same_seed_plays_the_same_arena() -> None:
    close = replace(CLEAR, gap_points=30)
    one, again, *others = (play(close, seed) for seed in ((1, 0), (1, 0), (1, 1), (1, 2), (2, 0), (2, 1)))
    assert one == again
    assert any(one != other for other in others)


def test_a_clear_order_is_found() -> None:
    for run in range(5):
        found = play(CLEAR, (0, run))
        assert (found.finished, found.tau) == (True, 1)
        assert all(found.is_first.values())
        assert found.is_in_first_group
        assert QUICK.min_votes <= found.votes < 81
        assert found.votes % 10 == 0


def test_equal_teams_end_too() -> None:
    """A gap of next to nothing: whoever is called the best is first about every third time."""
    even = replace(CLEAR, gap_points=1e-6)
    played = [play(even, (3, run)) for run in range(24)]
    assert all(one.finished for one in played)
    named = sum(one.is_first["elo-averaged"] for one in played)
    assert 1 <= named <= 16  # 8 expected; a binomial of 24 and 1/3 is outside less than once in a thousand


def test_ratings_that_never_settle_leave_an_arena_unfinished() -> None:
    restless = QUICK.model_copy(update={"epsilon_points": 1e-9})
    found = play(replace(CLEAR, settings=restless), (0, 0))
    assert not found.finished
    assert found.votes == 81  # three lists of 27


def test_nothing_but_ties_favours_no_name() -> None:
    """Equal ratings are in the order of the names, so the true order must not be."""
    played = [play(replace(CLEAR, tie_share=1.0), (0, run)) for run in range(12)]
    assert {(one.finished, one.first_group) for one in played} == {(True, 3)}
    assert {one.is_first["elo-averaged"] for one in played} == {True, False}


def test_a_summary_by_hand() -> None:
    one = Played(
        finished=True,
        votes=100,
        is_first={"elo-averaged": True, "elo": True, "bradley-terry": False},
        is_in_first_group=True,
        first_group=1,
        tau=1.0,
    )
    other = replace(
        one,
        finished=False,
        votes=200,
        is_first={"elo-averaged": True, "elo": False, "bradley-terry": False},
        first_group=3,
        tau=0.5,
    )
    found = summarise(50, [one, other])
    assert found.first == {"elo-averaged": 1, "elo": 0.5, "bradley-terry": 0}
    assert (found.in_first_group, found.mean_first_group) == (1, 2)
    assert (found.median_votes, found.votes_90) == (150, 190)
    assert (found.unfinished, found.mean_tau, found.runs) == (0.5, 0.75, 2)


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
        "Gap Best is first By Elo By Bradley-Terry Best in first group Votes: median 90 % Never ended Kendall's tau"
    )
    assert close[0] == "20"
    assert clear[:6] == ["800", "100%", "100%", "100%", "100%", "(of"]
    assert clear[-2:] == ["0%", "1.00"]
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
        (["--rater-spread", "inf"], "inf is not 0 or more"),
        (["--runs", "0"], "0 is not a positive number"),
    ],
)
def test_mistakes_on_the_command_line(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run(*arguments)
    assert words in capsys.readouterr().err
