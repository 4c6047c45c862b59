"""A calibration as words: the same rows on a terminal and on a page."""

from collections.abc import Iterable

from podium.ranking.calibration import Calibration, Interval, Measured
from podium.ranking.decimals import fixed

_UNKNOWN = "–"


def figure_rows(calibration: Calibration) -> list[tuple[str, str, str, str]]:
    """What was asked, the figure, its interval and of how many; what nobody could answer is left out."""
    return [
        (figure.title, _value(figure, figure.value), _interval(figure), f"{figure.total:,}")
        for figure in calibration.figures
        if figure.value is not None
    ]


def team_rows(calibration: Calibration) -> list[tuple[str, str, str, str, str, str]]:
    """Points of 100, with intervals, by votes, by the judge and by both; votes, and what they are worth."""
    return [
        (
            team.name,
            _points(team.by_votes, team.by_votes_interval),
            _points(team.by_judge, team.by_judge_interval),
            _points(team.by_both, team.by_both_interval),
            f"{team.votes:,}",
            _UNKNOWN if team.worth is None else f"{team.worth:,.0f}",
        )
        for team in calibration.teams
    ]


def calibration_sentences(calibration: Calibration) -> Iterable[str]:
    """How it was done, for a page and a methods section."""
    yield (
        f"Clinicians cast {calibration.votes:,} votes on {calibration.voted_cases} of the {calibration.cases} cases "
        f"that the judge {calibration.judge} rated. The judge prefers the report with the larger RadFact F1 in the "
        "case; equal ones are a tie. It sees one report at a time, so it cannot favour a side."
    )
    yield (
        "Comparisons won are the share of comparisons with the other teams of the arena that clinicians decide for a "
        "team, a tie being half a win. The prediction-powered estimate (PPI++) corrects the votes by what the judge "
        "says of all cases; a poor judge gets little weight and changes little. It assumes that the cases with "
        "votes are like the others."
    )


def _value(figure: Measured, value: float) -> str:
    return f"{100 * value:.0f} %" if figure.is_share else fixed(value, 2)


def _interval(figure: Measured) -> str:
    if figure.interval is None:
        return _UNKNOWN
    low, high = (_value(figure, end) for end in figure.interval)
    return f"{low} to {high}"


def _points(value: float, interval: Interval | None) -> str:
    if interval is None:
        return fixed(100 * value, 1)
    low, high = (fixed(100 * end, 1) for end in interval)
    return f"{fixed(100 * value, 1)} [{low}, {high}]"
