"""What a ranking found, as plain frozen facts, and the file that holds them: ranking.json.

Teams are always in the order of the final table, cases in sorted order: `[team][case]` and `[team][team]` tables follow
these two orders and become arrays with `numpy.array(table, dtype=float)`, where a missing value turns into NaN.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from podium.errors import UsageError, first_problem
from podium.metrics import Floats
from podium.metrics.declaration import Direction
from podium.packages import pandas
from podium.platform.metrics_file import Status, html_table, titled_schema
from podium.tools.ranking.calibration import Calibration, Strict
from podium.tools.ranking.wording import Interval, count

ARENA_PATH = "arena.rating"  # of the column with the arena's ratings, where they decided
NARROW_BELOW = 20  # rare failures may be missing from fewer cases, whatever the method of an interval
Intervals = tuple[Interval | None, ...]  # [team]
IntervalKind = Literal["percentile", "defined-terms", "binomial"]
"""Of bootstrap replicates, or of the order of the cases, for medians; `defined-terms`: percentiles of a formula over
the terms that each replicate defines, since most lack one."""

Row = tuple[float | None, ...]
Matrix = tuple[Row, ...]


@dataclass(frozen=True, kw_only=True)
class Trouble(Strict):
    """A case that is not scored in full, with the message that its team was given."""

    case: str
    status: Status
    error: str


@dataclass(frozen=True, kw_only=True)
class Team(Strict):
    """One line of the final table.

    rank       by the deciding scheme; None for a team that it does not rank (only `platform` leaves teams out)
    score      what this scheme ranks by, in its own unit and direction
    group      1 for the teams that do not differ from the best one, 2 for those that do not differ from the best of the
               others, and so on; None without a bootstrap, and for a team without a score
    group_p    p-value against the group's best team, adjusted over all pairs; None for that team itself
    tied_with  the other teams that share the rank
    finalist   goes on to the arena, or was in it, where the challenge has one
    """

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
    partial: int
    failed: int
    missing: int
    unmatched: int
    troubles: tuple[Trouble, ...]


@dataclass(frozen=True, kw_only=True)
class AggregateColumn(Strict):
    """One leaderboard column over all teams, with cohort quantities recomputed; None where a team has no value.

    is_given   it does not come from the cases: None means unknown
    undefined  [team], the replicates in which the figure has no value: its interval leaves them out
    """

    path: str
    title: str
    direction: Direction
    headline: bool
    values: Row  # [team]
    errors: Row | None  # [team], standard deviations
    intervals: Intervals | None  # [team]; None where the figure does not come from the cases, or without a bootstrap
    interval_kind: IntervalKind = "percentile"
    is_given: bool = False
    undefined: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CaseMetricResult(Strict):
    """One declared per-case figure of all teams.

    values           as in the files: None where a team has none, not replaced by the worst value
    lowest, highest, worst
                     as declared; None means infinite
    in_schemes       whether the general schemes rank by it
    undefined_cases  cases where no team has a value (such as Dice where the reference is empty): the metric is not
                     defined there, so they are left out of this metric for everybody
    """

    name: str
    title: str
    direction: Direction
    lowest: float | None
    highest: float | None
    worst: float | None
    unit: str
    in_schemes: bool
    undefined_cases: int
    means: Row  # [team], over the defined cases, missing values counting as the worst; None if infinite
    mean_intervals: Intervals | None  # [team]; None without a bootstrap
    values: Matrix  # [team][case]


@dataclass(frozen=True, kw_only=True)
class Taus(Strict):
    """Kendall's tau-b of every replicate to the full ranking; undefined where either has all teams tied."""

    values: tuple[float, ...]
    undefined: int
    mean: float | None
    median: float | None
    lower_quartile: float | None
    upper_quartile: float | None


@dataclass(frozen=True, kw_only=True)
class Stability(Strict):
    """How stable one scheme's ranking is when cases are drawn with replacement.

    rank_frequencies   [team][rank - 1], share of replicates; each row sums to one
    rank_intervals     [team], the central interval of ranks at the stated confidence, both ends included
    win_probabilities  [team], a shared first place counting as an equal part of a win: they sum to one
    """

    replicates: int
    rank_frequencies: tuple[tuple[float, ...], ...]
    rank_intervals: tuple[tuple[int, int], ...]
    mean_ranks: tuple[float, ...]
    win_probabilities: tuple[float, ...]
    taus: Taus


@dataclass(frozen=True, kw_only=True)
class SchemeRanking(Strict):
    """The teams under one scheme. `official` is the challenge's own rule; the others rank by per-case values.

    undefined_replicates  left out because a figure that a team has over all cases has no value there
    """

    scheme: str
    title: str
    words: str  # the scheme in one sentence, for a methods section
    score_title: str
    score_direction: Direction
    ranks: tuple[int | None, ...]  # [team]
    scores: Row  # [team]
    score_intervals: Intervals | None  # [team]; None where there is no stability
    interval_kind: IntervalKind = "percentile"
    stability: Stability | None
    why_no_stability: str | None  # a sentence, where there is none
    undefined_replicates: int = 0


@dataclass(frozen=True, kw_only=True)
class Difference(Strict):
    """Two teams compared; figures in the unit of the score. None below where a score is missing, or of a single case.

    difference         the better team's score minus the other's
    interval           of the difference, over the same drawn cases for both teams
    probability_ahead  the share of replicates in which the better team is ahead, an equal rank counting half
    false_claim        the probability that the team is in truth not better, by the method of `Claims`
    agreement          the correlation of the teams' figures over cases; None where the score is no mean over cases
    resolvable         the smallest difference that a paired test over these cases finds with a power of 80 %
    cases_needed       to resolve the difference; None where it is 0, or needs more than a million
    permutation_p      the share of random swaps of the teams per case that give at least this difference of ranks
    """

    better: str
    worse: str
    difference: float | None
    interval: Interval | None
    probability_ahead: float
    false_claim: float | None = None
    agreement: float | None = None
    resolvable: float | None = None
    cases_needed: int | None = None
    permutation_p: float | None = None


@dataclass(frozen=True, kw_only=True)
class VarianceShares(Strict):
    """What explains the variance of a metric that teams are ranked by, as shares that sum to one."""

    metric: str
    case: float
    team: float
    residual: float


@dataclass(frozen=True, kw_only=True)
class WorstGroup(Strict):
    """The group of cases with a team's worst figure, and how much worse than over all cases that is."""

    figure: str
    group: str
    value: float
    gap: float


@dataclass(frozen=True, kw_only=True)
class GroupFigures(Strict):
    """A figure of every group of cases, for one way of grouping them.

    column     of cases.csv; "" for another way
    cases      how many a group has; None where rows do not say it
    values     [team][group], with `intervals` over the group's cases
    worst      [team]
    """

    column: str
    figure: str
    groups: tuple[str, ...]
    cases: tuple[int | None, ...]
    values: Matrix
    intervals: tuple[Intervals, ...]
    worst: tuple[WorstGroup | None, ...]


@dataclass(frozen=True, kw_only=True)
class Claims(Strict):
    """What can be claimed of the teams.

    method           of the probability of a false claim: a t distribution of the differences of two teams over cases,
                     their shares of correct cases, or the share of replicates
    pairs            every team and the next one (`differences`), then the winner and every other one
    p                [team][team], two-sided, of the scores, adjusted over all pairs: groups follow it; None for the
                     team itself and without a score
    rank_intervals   [team], from 1 + the teams significantly better to all but those significantly worse (paired tests,
                     Holm's adjustment over all pairs); None without a score
    variance_shares  of every metric that teams are ranked by
    sentences        [team]
    """

    method: Literal["t", "shares", "bootstrap"]
    pairs: tuple[Difference, ...]
    p: Matrix
    rank_intervals: tuple[tuple[int, int] | None, ...]
    variance_shares: tuple[VarianceShares, ...]
    sentences: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Significance(Strict):
    """One-sided paired Wilcoxon tests by one metric: p-values that the row's team beats the column's."""

    metric: str
    p: Matrix  # [team][team]; None on the diagonal and where two teams never differ
    p_holm: Matrix  # adjusted over all ordered pairs
    significant: tuple[tuple[bool, ...], ...]  # [team][team], p <= alpha
    significant_holm: tuple[tuple[bool, ...], ...]


@dataclass(frozen=True, kw_only=True)
class ArenaTeam(Strict):
    """What arena.json says about a finalist, None where it says nothing; `interval` is of the Bradley-Terry rating."""

    rating: float
    group: int | None
    bradley_terry: float | None
    interval: Interval | None
    votes: int | None
    wins: int | None
    losses: int | None
    ties: int | None


@dataclass(frozen=True, kw_only=True)
class Arena(Strict):
    """The arena that decided among the finalists.

    decided_by   the name of the rating; empty where the file does not name it
    tied_groups  whether the teams of a group share its rank
    teams        [team], None for teams that were not in the arena
    """

    decided_by: str
    tied_groups: bool
    votes: int | None
    raters: int | None
    cases: int | None
    stop_rule_holds: bool | None
    stop_rule_missing: tuple[str, ...]
    teams: tuple[ArenaTeam | None, ...]


@dataclass(frozen=True, kw_only=True)
class Note(Strict):
    """What could not be done, or what an organiser should check: one `line`, the sentences, and their numbers; `kind`
    as in notes.jinja, such as "intervals" or "missing"."""

    kind: str
    line: str
    text: str
    numbers: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class RuleTerm(Strict):
    """A figure that the score adds up, or one that has positions in the mean of which teams are ranked."""

    title: str
    path: str
    weight: float


@dataclass(frozen=True, kw_only=True)
class Methods(Strict):
    """What is needed to repeat the ranking. `sentences` say it in prose, ready for a paper."""

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


@dataclass(frozen=True, kw_only=True, repr=False)
class Ranking(Strict):
    """The whole result.

    division              the setting that divides a challenge into separately ranked parts, such as the regime
    deciding_scheme       the scheme the final table follows: `official` by default
    patients              how many the cases are of, where these are not independent; None where that is not known
    statuses              [team][case]; empty, like `cases`, where the files contain no per-case rows
    differences           between every team and the next; empty without a bootstrap
    not_resampled         titles of columns that do not come from the cases, such as the time
    scheme_taus           [scheme][scheme], Kendall's tau-b between the full rankings of two schemes, in their order
    calibration           of the judge by the arena's votes, where it was given
    groups                what teams are ranked by, of every group of cases
    claims                None without a bootstrap, with a single team or case, and where an arena decided
    rule                  what the official rule adds up or compares; empty for another formula, and without the rule
    """

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
    scheme_taus: Matrix
    significance: tuple[Significance, ...]
    arena: Arena | None
    methods: Methods
    notes: tuple[Note, ...]
    rule: tuple[RuleTerm, ...] = ()
    calibration: Calibration | None = None
    claims: Claims | None = None
    patients: int | None = None
    groups: tuple[GroupFigures, ...] = ()

    def __repr__(self) -> str:
        best = ", ".join(f"{team.rank} {team.name}" for team in self.teams[:3])
        return f"<{self.challenge}: {len(self.teams)} teams, {self.size}; {best}>"

    def _repr_html_(self) -> str:
        from podium.tools.ranking.output import rank_range, table_columns

        columns = table_columns(self)
        rows = [
            [team.rank, team.name, *(rank_range(each, "–") if isinstance(each, tuple) else each for each in cells)]
            for team, cells in zip(self.teams, zip(*(column.cells for column in columns), strict=True), strict=True)
        ]
        return html_table(self.title, ["Rank", "Team", *(column.title for column in columns)], rows)

    def to_frame(self) -> Any:
        """A pandas table with a row for every team, case, figure and region; NaN where a team has no value."""
        rows = [
            (team.name, team.rank, case, status, *metric.name.partition(".")[::2], value)
            for metric in self.metrics
            for team, statuses, values in zip(self.teams, self.statuses, metric.values, strict=True)
            for case, status, value in zip(self.cases, statuses, values, strict=True)
        ]
        columns = ["team", "rank", "case", "status", "figure", "region", "value"]
        return pandas.DataFrame(rows, columns=columns).astype({"value": float})

    @property
    def units(self) -> int:
        """How many independent units were resampled: patients, or cases."""
        return len(self.cases) if self.patients is None else self.patients

    @property
    def unit(self) -> str:
        return "case" if self.patients is None else "patient"

    @property
    def size(self) -> str:
        """`64 cases of 32 patients`."""
        cases = len(self.cases) or max((team.expected for team in self.teams), default=0)
        return count(cases, "case") + (f" of {count(self.patients, 'patient')}" if self.patients is not None else "")

    def scheme(self, name: str) -> SchemeRanking:
        """The ranking under one scheme."""
        return next(scheme for scheme in self.schemes if scheme.scheme == name)

    @property
    def deciding(self) -> SchemeRanking:
        """The scheme the final table follows."""
        return self.scheme(self.deciding_scheme)


@dataclass(frozen=True, kw_only=True)
class Consensus:
    """Teams by mean rank over the tasks, equals by name.

    ranks      [task][team]; `task_taus` are Kendall's tau-b of each task to the consensus
    kemeny     the order with the fewest pairwise disagreements with the tasks; None for more than 12 teams
    mean_rank_intervals, stability
               from the replicates of the tasks; None where a task has none
    """

    schema: str = "podium-consensus-1"
    title: str
    tasks: tuple[str, ...]
    teams: tuple[str, ...]
    consensus_ranks: tuple[int, ...]
    mean_ranks: tuple[float, ...]
    mean_rank_intervals: Intervals | None
    ranks: tuple[tuple[int, ...], ...]
    task_taus: Row
    kemeny: tuple[str, ...] | None
    kemeny_disagreements: int | None
    stability: Stability | None
    confidence: float
    cases: int  # of the task with the fewest
    sentences: tuple[str, ...]


# From arrays to plain numbers.


def plain_row(values: Floats) -> Row:
    """For JSON, which has neither NaN nor infinity: they become None."""
    return tuple(value if math.isfinite(value) else None for value in values.tolist())


def plain_table(values: Floats) -> Matrix:
    return tuple(plain_row(row) for row in values)


# ranking.json and its JSON Schema.


def ranking_to_json(ranking: Ranking) -> str:
    """The content of ranking.json, the same bytes for the same ranking; without NaN and infinity.

    One line per field: indented, the tables of cases would have one line per number.
    """
    document = ranking_adapter().dump_python(ranking, mode="json")
    lines = (
        f"{json.dumps(key)}: "
        + json.dumps(document[key], sort_keys=key != "settings", allow_nan=False, ensure_ascii=False)
        for key in sorted(document)
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"


def ranking_from_json(text: str | bytes, *, name: str = "ranking.json") -> Ranking:
    """The ranking in a ranking.json; error messages call the file `name`."""
    try:
        ranking = ranking_adapter().validate_json(text)
    except ValidationError as error:
        raise UsageError(f"{name} is not a ranking.json written by 'podium rank': {first_problem(error)}.") from None
    if not ranking.teams or ranking.deciding_scheme not in [each.scheme for each in ranking.schemes]:
        missing = f"scheme '{ranking.deciding_scheme}'" if ranking.teams else "teams"
        raise UsageError(f"{name} is not a ranking.json written by 'podium rank': it has no {missing}.")
    return ranking


def class_schema(adapter: TypeAdapter[Any], file: str) -> dict[str, Any]:
    """The JSON Schema of a file, derived from its classes; `python -m podium.tools.ranking.result` prints that of
    ranking.json."""
    return titled_schema(adapter.json_schema(mode="serialization"), file)


@cache
def ranking_adapter() -> TypeAdapter[Ranking]:
    return TypeAdapter(Ranking)


def json_text(result: object, *, indent: int) -> str:
    """The content of arena.json, calibration.json or consensus.json, the same bytes for the same result."""
    document = TypeAdapter(type(result)).dump_python(result, mode="json")
    return json.dumps(document, indent=indent, sort_keys=True, allow_nan=False, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    print(json.dumps(class_schema(ranking_adapter(), "ranking.json"), indent=2))
