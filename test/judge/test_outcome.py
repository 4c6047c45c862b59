"""What is said of the teams once they are judged."""

from pathlib import Path

import pytest

from podium.errors import OrganiserError
from podium.tools.judge.judging import Doubts
from podium.tools.judge.run import TeamVerdict, order_warning

DOUBTS = Doubts(verdicts=1200, failed=3, suspicious_verdicts=14, suspicious_findings=2)


def teams(**scores: tuple[float, float]) -> list[TeamVerdict]:
    return [TeamVerdict(team=name, score_final=score, lower_bound=bound) for name, (score, bound) in scores.items()]


def test_a_team_with_a_score() -> None:
    outcome = TeamVerdict(team="a\x1b[2J", written=Path("j/a"), score_final=0.75, lower_bound=0.5, doubts=DOUBTS)
    said = str(outcome)
    assert said.endswith(
        ": 0.7500, lower bound 0.5000; 14 suspicious and 3 failed of 1,200 verdicts, 2 suspicious findings; in j/a"
    )
    assert "\x1b" not in said


def test_a_team_without() -> None:
    assert str(TeamVerdict(team="a", problem=OrganiserError("No."), doubts=DOUBTS)) == f"a: No.; {DOUBTS}"


@pytest.mark.parametrize(
    "outcomes",
    [
        [],
        teams(a=(0.9, 0.8), b=(0.7, 0.7)),
        teams(b=(0.7, 0.7), a=(0.9, 0.8)),
        teams(a=(0.9, 0.8), b=(0.9, 0.8)),
        [*teams(a=(0.9, 0.1)), TeamVerdict(team="b", problem=OrganiserError("No."))],
    ],
)
def test_the_same_order_needs_no_words(outcomes: list[TeamVerdict]) -> None:
    assert order_warning(outcomes) is None


@pytest.mark.parametrize(
    ("outcomes", "words"),
    [
        (teams(a=(0.9, 0.6), b=(0.7, 0.7)), "By score: 1 a, 2 b. By lower bound: 1 b, 2 a."),
        (teams(b=(0.9, 0.6), a=(0.9, 0.9)), "By score: 1 a, 1 b. By lower bound: 1 a, 2 b."),
        (teams(a=(0.9, 0.7), b=(0.7, 0.7), c=(0.1, 0)), "By score: 1 a, 2 b, 3 c. By lower bound: 1 a, 1 b, 3 c."),
    ],
)
def test_another_order_is_told(outcomes: list[TeamVerdict], words: str) -> None:
    assert order_warning(outcomes) == (
        f"Warning: the order of the teams depends on suspicious or failed verdicts. {words}"
    )
