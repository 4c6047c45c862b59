"""What a ranking found: everything a table, a report or a paper needs, as plain frozen facts.

Teams are always in the order of the final table, cases in sorted order: `[team][case]` and `[team][team]` tables follow
these two orders and become arrays with `numpy.array(table, dtype=float)`, where a missing value turns into NaN.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from pydantic import ConfigDict

from podium.metrics.declaration import Direction
from podium.platform.metrics_file import Status
from podium.ranking.calibration import Calibration

ARENA_PATH = "arena.rating"  # the column that holds the arena's ratings, once they have decided

Row = tuple[float | None, ...]
Table = tuple[Row, ...]
Interval = tuple[float, float]  # both ends, at the confidence of the methods
Intervals = tuple[Interval | None, ...]  # [team]
_STRICT = ConfigDict(extra="forbid")


@dataclass(frozen=True, kw_only=True)
class Trouble:
    """A failed or missing case, with the error message its team was given."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    case: str
    status: Status
    error: str


@dataclass(frozen=True, kw_only=True)
class Team:
    """One line of the final table.

    rank       by the deciding scheme; None for a team that scheme leaves unranked (only `platform` does)
    score      what that scheme ranks by, in the scheme's own unit and direction
    group      1 for the teams that do not differ from the best one, 2 for those that do not differ from the best of the
               others, and so on; None where the cases could not be drawn
    group_p    p of the comparison with the group's best team after Holm's adjustment; None for that team itself
    tied_with  the other teams that share the rank
    finalist   goes to (or came through) the arena, where the challenge has one
    """

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    name: str
    rank: int | None
    score: float | None
    score_interval: Interval | None
    group: int | None
    group_p: float | None
    tied_with: tuple[str, ...]
    finalist: bool
    expected: int
    scored: int
    failed: int
    missing: int
    unmatched: int
    troubles: tuple[Trouble, ...]


@dataclass(frozen=True, kw_only=True)
class AggregateColumn:
    """One leaderboard column over all teams, cohort quantities recomputed; None where a team has none."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    path: str
    title: str
    direction: Direction
    headline: bool
    values: Row  # [team]
    errors: Row | None  # [team], the spread beside it
    intervals: Intervals | None  # [team]; None where the figure does not come from the cases, or they cannot be drawn


@dataclass(frozen=True, kw_only=True)
class CaseMetricResult:
    """One declared per-case figure of all teams.

    values           as in the files: None where a team has none there, before any worst value is put in
    lowest, highest, worst
                     as declared; None stands for an infinite bound
    in_schemes       whether the general schemes rank by it
    undefined_cases  cases where no team has a value (such as Dice where the reference is empty): the metric is not
                     defined there, so they are left out of this metric for everybody
    """

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    name: str
    title: str
    direction: Direction
    lowest: float | None
    highest: float | None
    worst: float | None
    unit: str
    in_schemes: bool
    undefined_cases: int
    means: Row  # [team], over the defined cases with the worst value where there is none; None where that is infinite
    mean_intervals: Intervals | None  # [team]; None without a bootstrap
    values: Table  # [team][case]


@dataclass(frozen=True, kw_only=True)
class Taus:
    """Kendall's tau-b of every replicate to the full ranking; undefined where either has all teams tied."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    values: tuple[float, ...]
    undefined: int
    mean: float | None
    median: float | None
    lower_quartile: float | None
    upper_quartile: float | None


@dataclass(frozen=True, kw_only=True)
class Stability:
    """How stable one scheme's ranking is when cases are drawn with replacement.

    rank_frequencies   [team][rank - 1], share of replicates; each row sums to one
    rank_intervals     [team], the central interval of ranks at the stated confidence, both ends included
    win_probabilities  [team], a shared first place counting as an equal part of a win: they sum to one
    """

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    replicates: int
    rank_frequencies: tuple[tuple[float, ...], ...]
    rank_intervals: tuple[tuple[int, int], ...]
    mean_ranks: tuple[float, ...]
    win_probabilities: tuple[float, ...]
    taus: Taus


@dataclass(frozen=True, kw_only=True)
class SchemeRanking:
    """The teams under one scheme. `official` is the challenge's own rule; the others rank by single cases."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    scheme: str
    title: str
    words: str  # the scheme in one sentence, for a methods section
    score_title: str
    score_direction: Direction
    ranks: tuple[int | None, ...]  # [team]
    scores: Row  # [team]
    score_intervals: Intervals | None  # [team]; None where there is no stability
    stability: Stability | None
    why_no_stability: str | None  # in words, where there is none


@dataclass(frozen=True, kw_only=True)
class Difference:
    """Two neighbours of the final table.

    difference         the better team's score minus the other's, in the unit of the score
    interval           of the difference, over the same drawn cases for both teams
    probability_ahead  the share of replicates in which the better team is ahead, an equal rank counting half
    """

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    better: str
    worse: str
    difference: float | None
    interval: Interval | None
    probability_ahead: float


@dataclass(frozen=True, kw_only=True)
class Significance:
    """One-sided paired Wilcoxon tests by one metric: is the row's team better than the column's?"""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    metric: str
    p: Table  # [team][team]; None on the diagonal and where two teams never differ
    p_holm: Table  # adjusted over all ordered pairs
    significant: tuple[tuple[bool, ...], ...]  # [team][team], p <= alpha
    significant_holm: tuple[tuple[bool, ...], ...]


@dataclass(frozen=True, kw_only=True)
class ArenaTeam:
    """What the arena knows of a finalist, None where it does not say; `interval` is of the Bradley-Terry rating."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    rating: float
    group: int | None
    bradley_terry: float | None
    interval: Interval | None
    votes: int | None
    wins: int | None
    losses: int | None
    ties: int | None


@dataclass(frozen=True, kw_only=True)
class Arena:
    """The arena that decided among the finalists.

    decided_by   the name of the rating; empty where the file does not say
    ties_broken  whether teams of one group were ordered by their ratings all the same
    teams        [team], None for those that were not in the arena
    """

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    decided_by: str
    ties_broken: bool
    votes: int | None
    raters: int | None
    cases: int | None
    stop_rule_holds: bool | None
    stop_rule_missing: tuple[str, ...]
    teams: tuple[ArenaTeam | None, ...]


@dataclass(frozen=True, kw_only=True)
class Methods:
    """What has to be stated to repeat the ranking. `sentences` say it in prose, ready for a paper."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    podium_version: str
    python_version: str
    numpy_version: str
    scipy_version: str
    seed: int
    bootstraps: int
    confidence: float
    alpha: float
    quantile: float
    sentences: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """The whole result.

    division              the settings that part a challenge into separately ranked halves, such as the regime
    deciding_scheme       the scheme the final table follows: `official` unless asked otherwise
    statuses              [team][case]; empty, as `cases` is, where the files hold no single cases
    differences           between every team and the next; empty where the cases could not be drawn
    not_resampled         titles of columns that do not come from the cases, such as the time
    scheme_taus           [scheme][scheme], Kendall's tau-b between the full rankings of two schemes, in their order
    calibration           of the judge by the arena's votes, where it was given
    notes                 in words: what could not be done, what an organiser should look at
    """

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    schema: Literal["podium-ranking-2"] = "podium-ranking-2"
    challenge: str
    title: str
    version: str
    division: Mapping[str, str]
    settings: Mapping[str, Any]
    deciding_scheme: str
    teams: tuple[Team, ...]
    cases: tuple[str, ...]
    statuses: tuple[tuple[Status, ...], ...]
    columns: tuple[AggregateColumn, ...]
    metrics: tuple[CaseMetricResult, ...]
    schemes: tuple[SchemeRanking, ...]
    differences: tuple[Difference, ...]
    not_resampled: tuple[str, ...]
    scheme_taus: Table
    significance: tuple[Significance, ...]
    arena: Arena | None
    methods: Methods
    notes: tuple[str, ...]
    calibration: Calibration | None = None

    def scheme(self, name: str) -> SchemeRanking:
        """The ranking under one scheme."""
        return next(scheme for scheme in self.schemes if scheme.scheme == name)

    @property
    def deciding(self) -> SchemeRanking:
        """The scheme the final table follows."""
        return self.scheme(self.deciding_scheme)
