"""How a challenge ranks its teams, declared with the challenge; `podium rank` applies it and knows no challenge."""

from dataclasses import dataclass

from podium.metrics.declaration import Direction


@dataclass(frozen=True, kw_only=True)
class Criterion:
    """One figure below `aggregates` that teams are compared by.

    decimals    compare after rounding to this many; None compares as it stands
    known_path  a figure below `aggregates` that is 0 where this one is unknown: unknown is behind everything known
    if_absent   what an organiser has to do where a file lacks the figure, as a sentence
    absent_is_last  a team without the figure is behind all others: an undefined figure is not published
    """

    path: str
    title: str
    direction: Direction
    weight: float = 1.0
    decimals: int | None = None
    known_path: str | None = None
    if_absent: str | None = None
    absent_is_last: bool = False


@dataclass(frozen=True, kw_only=True)
class RankingRule:
    """One criterion ranks by its value; several rank by the weighted mean of the positions in each.

    words         the rule in one sentence, for tables, reports and papers
    tie_breaks    asked in turn among teams that the criteria leave equal; teams equal in these too share the position
    case_metrics  the declared per-case metrics that the general schemes rank by
    by_case       the criteria are not compared themselves: teams have a position in every case by each of
                  `case_metrics`, and the mean of all these positions decides
    division      a setting whose values are ranked apart, such as a regime: files that differ in it are no mixture
    lower_bound   a figure below `aggregates`: the only criterion without what is doubtful in it; another order by it is
                  told first
    doubts        figures below `aggregates` that count what is doubtful, each with its name in a sentence
    finalists     how many of the best go on to the arena, whose ratings then decide among them
    """

    words: str
    criteria: tuple[Criterion, ...]
    case_metrics: tuple[str, ...]
    tie_breaks: tuple[Criterion, ...] = ()
    by_case: bool = False
    division: str | None = None
    finalists: int | None = None
    lower_bound: str | None = None
    doubts: tuple[tuple[str, str], ...] = ()


NO_RULE = RankingRule(words="", criteria=(), case_metrics=())
"""Of a kind that leaves the ranking to challenge.toml."""
