"""How far the judge agrees with clinicians: calibration.json, which `podium judge calibrate` writes, and its rows.

A ranking shows it on its page.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import ConfigDict, TypeAdapter, ValidationError

from podium.errors import UsageError, first_problem, read_given
from podium.tools.ranking.wording import NOTHING, Interval, fixed

Aspect = Literal["agreement", "position", "length", "repeats"]


class Strict:
    """A part of a file: keys that it does not know, NaN and infinity are refused."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid", allow_inf_nan=False)


@dataclass(frozen=True, kw_only=True)
class Measured(Strict):
    """One figure. Shares are between 0 and 1.

    title     a phrase: what was counted
    value     None where there was nothing to count
    interval  over cases; None where there is no value, or fewer than two cases
    total     the number of votes, pairs of votes, repeats or matchups
    is_share  False for a coefficient or a difference, where 0 means none
    """

    aspect: Aspect
    name: str
    title: str
    value: float | None
    interval: Interval | None
    total: int
    is_share: bool


@dataclass(frozen=True, kw_only=True)
class TeamEstimate(Strict):
    """The share of comparisons with the other finalists that a team wins, a tie being half a win.

    by_votes  of the votes alone
    by_judge  by the judge's preference, over all judged cases
    by_both   the prediction-powered estimate, from the votes and the judge's preferences in all cases
    weight    of the judge in it (lambda of PPI++)
    worth     how many votes would give an equally narrow interval without the judge; None where that is unknown
    """

    name: str
    votes: int
    voted_cases: int
    by_votes: float
    by_votes_interval: Interval | None
    by_judge: float
    by_judge_interval: Interval | None
    by_both: float
    by_both_interval: Interval | None
    weight: float
    worth: float | None


@dataclass(frozen=True, kw_only=True)
class Calibration(Strict):
    """The whole result of `podium judge calibrate`. `teams` are best first; the notes name teams without a vote."""

    schema: Literal["podium-calibration-1"] = "podium-calibration-1"
    podium_version: str
    judge: str
    votes: int
    raters: int
    voted_cases: int
    cases: int
    confidence: float
    replicates: int
    seed: int
    figures: tuple[Measured, ...]
    teams: tuple[TeamEstimate, ...]
    notes: tuple[str, ...]


def read_calibration(path: Path) -> Calibration:
    """Raises UsageError where the file cannot be read or was not written by `podium judge calibrate`."""
    try:
        return TypeAdapter(Calibration).validate_json(read_given(path))
    except ValidationError as error:
        raise UsageError(
            f"{path} is not a calibration.json written by 'podium judge calibrate': {first_problem(error)}."
        ) from None


# The rows of its tables, at the terminal and on a page.


def figure_rows(calibration: Calibration) -> list[tuple[str, str, str, str]]:
    """The question, its figure, the interval and the total; questions without an answer are left out."""
    return [
        (
            figure.title,
            _measured(figure, figure.value),
            _measured(figure, *figure.interval) if figure.interval else NOTHING,
            f"{figure.total:,}",
        )
        for figure in calibration.figures
        if figure.value is not None
    ]


def team_rows(calibration: Calibration) -> list[tuple[str, str, str, str, str, str]]:
    """Points out of 100 with intervals, by votes, by the judge and by both; the votes, and what they are worth."""
    return [
        (
            team.name,
            _points(team.by_votes, team.by_votes_interval),
            _points(team.by_judge, team.by_judge_interval),
            _points(team.by_both, team.by_both_interval),
            f"{team.votes:,}",
            NOTHING if team.worth is None else f"{team.worth:,.0f}",
        )
        for team in calibration.teams
    ]


def _measured(figure: Measured, *values: float) -> str:
    return " to ".join(f"{100 * value:.0f} %" if figure.is_share else fixed(value, 2) for value in values)


def _points(value: float, interval: Interval | None) -> str:
    brackets = f" [{fixed(100 * interval[0], 1)}, {fixed(100 * interval[1], 1)}]" if interval else ""
    return fixed(100 * value, 1) + brackets
