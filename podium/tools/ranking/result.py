"""What a ranking found, as plain frozen facts, and the files that hold them: ranking.json and calibration.json.

Teams are always in the order of the final table, cases in sorted order: `[team][case]` and `[team][team]` tables follow
these two orders and become arrays with `numpy.array(table, dtype=float)`, where a missing value turns into NaN.
"""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import ConfigDict, TypeAdapter, ValidationError

from podium.errors import UsageError, first_problem, pandas, read_given
from podium.figures import html_table
from podium.metrics import Floats
from podium.metrics.declaration import Direction
from podium.platform.metrics_file import Status

ARENA_PATH = "arena.rating"
"""The path of the column with the arena's ratings, where they decided."""

FEW_CASES = 10
"""With fewer cases, no probability is written as certain."""

NARROW_BELOW = 50
"""Percentile intervals over fewer cases are too narrow."""

Interval = tuple[float, float]
Intervals = tuple[Interval | None, ...]  # [team]
IntervalKind = Literal["percentile", "binomial"]
"""Of bootstrap replicates, or of the order of the cases, for medians."""

Row = tuple[float | None, ...]
Table = tuple[Row, ...]
Aspect = Literal["agreement", "position", "length", "repeats"]


class Strict:
    """A part of a file that refuses keys it does not know."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")


class StrictAndFinite(Strict):
    """One that also refuses NaN and infinity."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid", allow_inf_nan=False)


@dataclass(frozen=True, kw_only=True)
class Trouble(Strict):
    """A failed or missing case, with the error message its team was given."""

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
    group_p    p-value against the group's best team after Holm's adjustment; None for that team itself
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
    values: Table  # [team][case]


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
    """Two neighbours of the final table.

    difference         the better team's score minus the other's, in the unit of the score
    interval           of the difference, over the same drawn cases for both teams
    probability_ahead  the share of replicates in which the better team is ahead, an equal rank counting half
    """

    better: str
    worse: str
    difference: float | None
    interval: Interval | None
    probability_ahead: float


@dataclass(frozen=True, kw_only=True)
class Significance(Strict):
    """One-sided paired Wilcoxon tests by one metric: p-values that the row's team beats the column's."""

    metric: str
    p: Table  # [team][team]; None on the diagonal and where two teams never differ
    p_holm: Table  # adjusted over all ordered pairs
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
    ties_broken  whether teams of the same group were nevertheless ordered by their ratings
    teams        [team], None for teams that were not in the arena
    """

    decided_by: str
    ties_broken: bool
    votes: int | None
    raters: int | None
    cases: int | None
    stop_rule_holds: bool | None
    stop_rule_missing: tuple[str, ...]
    teams: tuple[ArenaTeam | None, ...]


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


@dataclass(frozen=True, kw_only=True)
class Measured(StrictAndFinite):
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
class TeamEstimate(StrictAndFinite):
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
class Calibration(StrictAndFinite):
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


@dataclass(frozen=True, kw_only=True, repr=False)
class Ranking(Strict):
    """The whole result.

    division              the setting that divides a challenge into separately ranked parts, such as the regime
    deciding_scheme       the scheme the final table follows: `official` by default
    statuses              [team][case]; empty, like `cases`, where the files contain no per-case rows
    differences           between every team and the next; empty without a bootstrap
    not_resampled         titles of columns that do not come from the cases, such as the time
    scheme_taus           [scheme][scheme], Kendall's tau-b between the full rankings of two schemes, in their order
    calibration           of the judge by the arena's votes, where it was given
    notes                 sentences: what could not be done, what an organiser should check
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
    scheme_taus: Table
    significance: tuple[Significance, ...]
    arena: Arena | None
    methods: Methods
    notes: tuple[str, ...]
    calibration: Calibration | None = None

    def __repr__(self) -> str:
        best = ", ".join(f"{team.rank} {team.name}" for team in self.teams[:3])
        return f"<{self.challenge}: {len(self.teams)} teams, {len(self.cases)} cases; {best}>"

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


def plain_table(values: Floats) -> Table:
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
    problem = next(_contradictions(ranking), None)
    if problem:
        raise UsageError(f"{name} is not a ranking.json written by 'podium rank': {problem}.")
    return ranking


def _contradictions(ranking: Ranking) -> Iterator[str]:
    """Problems that types alone do not reveal: tables of the wrong shape, and ranks that do not exist."""
    teams, cases, schemes = len(ranking.teams), len(ranking.cases), len(ranking.schemes)
    if not teams:
        yield "it has no teams"
    if ranking.deciding_scheme not in [scheme.scheme for scheme in ranking.schemes]:
        yield f"it has no scheme '{ranking.deciding_scheme}'"
    for place, table, shape in _tables(ranking, teams=teams, cases=cases, schemes=schemes):
        if table is not None and not _has_shape(table, shape):
            yield f"{place} must be {' x '.join(map(str, shape))} ({teams} teams, {cases} cases, {schemes} schemes)"
    ranks = [("teams", team.rank) for team in ranking.teams]
    ranks += [(f"schemes.{number}.ranks", rank) for number, each in enumerate(ranking.schemes) for rank in each.ranks]
    yield from (
        f"{place} has the rank {rank} of {teams}"
        for place, rank in ranks
        if rank is not None and not 1 <= rank <= teams
    )


def _tables(ranking: Ranking, *, teams: int, cases: int, schemes: int) -> Iterator[tuple[str, Any, tuple[int, ...]]]:
    """Every table by its place, None where there is none, with the shape it must have."""
    yield "statuses", ranking.statuses, (teams, cases)
    yield "scheme_taus", ranking.scheme_taus, (schemes, schemes)
    if ranking.arena is not None:
        yield "arena.teams", ranking.arena.teams, (teams,)
    row, square = (teams,), (teams, teams)
    shapes: Mapping[str, Mapping[str, tuple[int, ...]]] = {
        "columns": {"values": row, "errors": row, "intervals": row},
        "metrics": {"values": (teams, cases), "means": row, "mean_intervals": row},
        "schemes": {"ranks": row, "scores": row, "score_intervals": row},
        "significance": dict.fromkeys(("p", "p_holm", "significant", "significant_holm"), square),
    }
    for part, fields in shapes.items():
        for number, each in enumerate(getattr(ranking, part)):
            for name, shape in fields.items():
                yield f"{part}.{number}.{name}", getattr(each, name), shape
    for number, scheme in enumerate(ranking.schemes):
        if scheme.stability is not None:
            yield f"schemes.{number}.stability.rank_frequencies", scheme.stability.rank_frequencies, square
            for name in ("rank_intervals", "mean_ranks", "win_probabilities"):
                yield f"schemes.{number}.stability.{name}", getattr(scheme.stability, name), row


def _has_shape(table: Any, shape: tuple[int, ...]) -> bool:
    inner = shape[1:]
    return len(table) == shape[0] and (not inner or all(_has_shape(row, inner) for row in table))


def class_schema(adapter: TypeAdapter[Any], file: str) -> dict[str, Any]:
    """The JSON Schema of a file, derived from its classes; `python -m podium.tools.ranking.result` prints that of
    ranking.json."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **adapter.json_schema(mode="serialization"),
        "title": f"{file} as Podium writes it",
    }


@cache
def ranking_adapter() -> TypeAdapter[Ranking]:
    return TypeAdapter(Ranking)


# calibration.json.


def json_text(result: Calibration | Consensus, *, indent: int) -> str:
    """The content of calibration.json or consensus.json, the same bytes for the same result."""
    document = TypeAdapter(type(result)).dump_python(result, mode="json")
    return json.dumps(document, indent=indent, sort_keys=True, allow_nan=False, ensure_ascii=False) + "\n"


def read_calibration(path: Path) -> Calibration:
    """Raises UsageError where the file cannot be read or was not written by `podium judge calibrate`."""
    try:
        return TypeAdapter(Calibration).validate_json(read_given(path))
    except ValidationError as error:
        raise UsageError(
            f"{path} is not a calibration.json written by 'podium judge calibrate': {first_problem(error)}."
        ) from None


if __name__ == "__main__":
    print(json.dumps(class_schema(ranking_adapter(), "ranking.json"), indent=2))
