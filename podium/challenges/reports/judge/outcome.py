"""What became of each team, in words: its score, how much of it rests on doubtful verdicts, what went wrong."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from podium.challenges.reports.judge.figures import CaseFigures
from podium.errors import PodiumError
from podium.readers.files import escape_for_display


@dataclass(frozen=True, kw_only=True)
class Doubts:
    """Counted over a team's cases."""

    verdicts: int
    failed: int
    suspicious_verdicts: int
    suspicious_findings: int

    def __str__(self) -> str:
        return (
            f"{self.suspicious_verdicts:,} suspicious and {self.failed:,} failed of {self.verdicts:,} verdicts, "
            f"{self.suspicious_findings:,} suspicious findings"
        )


def count_doubts(cases: Sequence[CaseFigures]) -> Doubts:
    return Doubts(
        verdicts=sum(case.verdicts for case in cases),
        failed=sum(case.failed for case in cases),
        suspicious_verdicts=sum(case.suspicious_verdicts for case in cases),
        suspicious_findings=sum(case.suspicious_findings for case in cases),
    )


@dataclass(frozen=True, kw_only=True)
class TeamVerdict:
    """The file written, the final score and its lower bound if there are any, and what went wrong if anything."""

    team: str
    written: Path | None = None
    score_final: float | None = None
    lower_bound: float | None = None
    doubts: Doubts | None = None
    problem: PodiumError | None = None

    def __str__(self) -> str:
        said = [str(self.problem)] if self.problem else []
        if self.score_final is not None:
            said.append(f"{self.score_final:.4f}, lower bound {self.lower_bound:.4f}")
        if self.doubts:
            said.append(f"{self.doubts}")
        if self.score_final is not None:
            said.append(f"in {self.written}")
        return f"{escape_for_display(self.team)}: {'; '.join(said)}"


def order_warning(outcomes: Sequence[TeamVerdict]) -> str | None:
    """A sentence where the teams are in another order by the lower bound than by the score; teams may share a place."""
    teams = [each.team for each in outcomes if each.score_final is not None]
    scores = [each.score_final for each in outcomes if each.score_final is not None]
    bounds = [each.lower_bound for each in outcomes if each.lower_bound is not None]
    by_score, by_bound = _places(scores), _places(bounds)
    if by_score == by_bound:
        return None
    return (
        "Warning: the order of the teams depends on suspicious or failed verdicts. By score: "
        f"{_in_order(teams, by_score)}. By lower bound: {_in_order(teams, by_bound)}."
    )


def _places(values: Sequence[float]) -> list[int]:
    return [1 + sum(other > value for other in values) for value in values]


def _in_order(teams: Sequence[str], places: Sequence[int]) -> str:
    return ", ".join(f"{place} {escape_for_display(team)}" for place, team in sorted(zip(places, teams, strict=True)))
