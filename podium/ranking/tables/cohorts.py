"""From a table of scores to cohorts, one per task: rows as if a challenge with these metrics had scored the teams."""

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from podium.errors import UsageError
from podium.figures import Figures, get
from podium.metrics import Floats
from podium.metrics.aggregation import aggregate
from podium.metrics.declaration import CaseMetric, CohortMetric, Direction, Scoreboard
from podium.metrics.resampling import Resamples
from podium.platform.metrics_file import SCHEMA_NAME, CaseResult, Counts, MetricsFile
from podium.platform.privacy import Column, column
from podium.ranking.documents import Cohort, TeamFile
from podium.ranking.tables.options import TableOptions, by_metric, direction_of, refuse_unknown
from podium.ranking.tables.reading import Score, ScoreTable

_GROUP = "group"  # the key of a row that holds its group
_SHOWN_COLUMNS = 4


@dataclass(frozen=True, kw_only=True)
class TableRules:
    """The columns of a table as declared figures; there is no official rule."""

    name: str
    scoreboard: Scoreboard[Any]
    ranking: None = None

    def among(self, aggregates: Mapping[str, Figures]) -> Mapping[str, Figures]:
        return aggregates

    def columns(self) -> Sequence[Column]:
        return [column(self.scoreboard, path) for path in self.scoreboard.leaderboard]

    def offline_columns(self) -> Sequence[Column]:
        return ()


def table_cohorts(table: ScoreTable, options: TableOptions) -> list[Cohort[TableRules]]:
    """One cohort per task in the order of the table, each with all teams: one that a task does not have misses all of
    its cases.

    Raises UsageError where a direction or a worst value is needed and not given, or a value is missing that must not.
    """
    refuse_unknown(table, options)
    options = replace(options, worst=by_metric(options.worst, table.metrics))
    directions = {metric: direction_of(metric, table, options) for metric in table.metrics}
    tasks: dict[str, list[Score]] = defaultdict(list)
    for score in table.scores:
        tasks[score.task].append(score)
    teams = sorted({score.team for score in table.scores})
    return [
        _Task(table=table, name=task, scores=scores, teams=teams, directions=directions, options=options).cohort()
        for task, scores in tasks.items()
    ]


@dataclass(frozen=True, kw_only=True)
class _Task:
    """The part of a table that is ranked on its own."""

    table: ScoreTable
    name: str
    scores: Sequence[Score]
    teams: Sequence[str]
    directions: Mapping[str, Direction]
    options: TableOptions

    @cached_property
    def metrics(self) -> Sequence[str]:
        present = {score.metric for score in self.scores}
        return [metric for metric in self.table.metrics if metric in present]

    @cached_property
    def keys(self) -> Mapping[str, str]:
        return _keys(self.table.metrics)

    @cached_property
    def groups(self) -> Mapping[str, str]:
        """The group of every case; empty where there is none."""
        groups: dict[str, str] = {}
        for score in self.scores:
            before = groups.setdefault(score.case, score.group)
            if before != score.group:
                raise UsageError(f"The case '{score.case}' is in the groups '{before}' and '{score.group}'.")
        return groups

    @cached_property
    def group_keys(self) -> Mapping[str, str]:
        return _keys([group for group in dict.fromkeys(self.groups.values()) if group])

    @cached_property
    def cases(self) -> Sequence[str]:
        return sorted(self.groups)

    @cached_property
    def values(self) -> Mapping[tuple[str, str, str], float | None]:
        return {(score.team, score.case, score.metric): score.value for score in self.scores}

    @cached_property
    def absent(self) -> Mapping[str, set[tuple[str, str]]]:
        """By metric, the teams and cases without a value."""
        return {
            metric: {
                (team, case)
                for team in self.teams
                for case in self.cases
                if self.values.get((team, case, metric)) is None
            }
            for metric in self.metrics
        }

    @cached_property
    def excluded(self) -> Mapping[str, set[str]]:
        """By metric, the cases that are left out for all teams."""
        if self.options.missing != "exclude":
            return {metric: set() for metric in self.metrics}
        return {metric: {case for _, case in self.absent[metric]} for metric in self.metrics}

    def cohort(self) -> Cohort[TableRules]:
        for metric in self.metrics:
            self._check(metric)
        rules = self._rules()
        return Cohort(
            challenge=rules,
            division={"task": self.name} if self.name else {},
            files=[self._file(team, rules) for team in self.teams],
            notes=tuple(self._notes()),
        )

    def _file(self, team: str, rules: TableRules) -> TeamFile:
        rows = [self._row(team, case) for case in self.cases]
        content = MetricsFile(
            schema=SCHEMA_NAME,
            challenge=self.table.name,
            kind="table",
            title=self.table.name,
            version="",
            settings=self._settings(),
            aggregates=aggregate(rules.scoreboard, [row.metrics for row in rows], {}),
            counts=Counts.of(rows),
            results=rows,
        )
        absent = {
            self.keys[metric]: frozenset(case for who, case in self.absent[metric] if who == team)
            for metric in self.metrics
        }
        return TeamFile(team=team, label=f"{self.table.name}: {team}", content=content, absent=absent)

    def _row(self, team: str, case: str) -> CaseResult:
        figures: dict[str, Any] = {_GROUP: self.group_keys.get(self.groups[case], "")}
        for metric in self.metrics:
            value = self.values.get((team, case, metric))
            if case in self.excluded[metric]:
                value = None
            elif value is None:
                value = self.options.worst[metric]
            figures[self.keys[metric]] = value
        is_lost = all((team, case) in self.absent[metric] for metric in self.metrics)
        return CaseResult(
            case=case,
            status="missing" if is_lost else "scored",
            metrics=figures,
            error="The table has no value of this team for this case." if is_lost else None,
        )

    def _rules(self) -> TableRules:
        declared = [
            _metric(self.keys[metric], metric, self.directions[metric], self.options.worst.get(metric))
            for metric in self.metrics
        ]
        by_group = [
            CohortMetric(
                path=f"{metric.name}.groups.{key}",
                title=f"{metric.title}, {group}",
                direction=metric.direction,
                known=f"{metric.name}.has_group.{key}",
                defined=f"{metric.name}.has_group.{key}",
                of=_group_mean(metric.name, key),
            )
            for metric in declared
            for group, key in self.group_keys.items()
        ]
        means = [metric.mean_path for metric in declared]
        board: Scoreboard[Any] = Scoreboard(
            metrics=declared,
            cohort_metrics=by_group,
            leaderboard=(*means, *(figure.path for figure in by_group)),
            headline=means[:_SHOWN_COLUMNS],
            ranked=means if len(means) > 1 else (),
        )
        return TableRules(name=self.table.name, scoreboard=board)

    def _check(self, metric: str) -> None:
        worst, absent = self.options.worst.get(metric), self.absent[metric]
        needs_worst = self.options.missing == "worst" and worst is None
        if absent and (self.options.missing == "error" or needs_worst):
            team, case = min(absent)
            where = f" in the task '{self.name}'" if self.name else ""
            advice = f" Say what it counts as (--worst {metric}=VALUE), or leave such cases out (--missing exclude)."
            raise UsageError(
                f"The team '{team}' has no '{metric}' for the case '{case}'{where} "
                f"({len(absent)} such).{advice if needs_worst else ''}"
            )
        if len(self.excluded[metric]) == len(self.cases):
            raise UsageError(f"No case has a value of '{metric}' from every team, so --missing exclude leaves nothing.")
        if worst is None:
            return
        sign = 1 if self.directions[metric] == "higher" else -1
        for score in self.scores:
            if score.metric == metric and score.value is not None and sign * score.value < sign * worst:
                raise UsageError(
                    f"--worst {metric}={worst:g}, but the team '{score.team}' has {score.value:g} for the case "
                    f"'{score.case}': a missing value would be better than that."
                )

    def _settings(self) -> dict[str, Any]:
        options = self.options
        return {
            "table": {
                "missing": options.missing,
                "direction": {metric: self.directions[metric] for metric in self.metrics},
                "worst": {metric: options.worst[metric] for metric in self.metrics if metric in options.worst},
                "weights": {metric: options.weights.get(metric, 1.0) for metric in self.metrics},
            }
        }

    def _notes(self) -> Iterator[str]:
        for metric, left_out in self.excluded.items():
            if left_out:
                yield (
                    f"{len(left_out)} of {len(self.cases)} cases are left out of '{metric}' for all teams, because at "
                    "least one team has no value there (--missing exclude)."
                )


def _metric(key: str, title: str, direction: Direction, worst: float | None) -> CaseMetric[Any]:
    unbounded = -math.inf if direction == "higher" else math.inf
    bound = unbounded if worst is None else worst
    return CaseMetric(
        name=key,
        title=title,
        direction=direction,
        lowest=bound if direction == "higher" else -math.inf,
        highest=bound if direction == "lower" else math.inf,
        worst=bound,
    )


def _group_mean(name: str, group: str) -> Any:
    """The mean over the drawn cases of one group; NaN where none was drawn."""

    def mean(rows: Sequence[Figures], resamples: Resamples) -> Floats:
        kept = np.array([row[_GROUP] == group and get(row, name) is not None for row in rows], dtype=bool)
        values = [get(row, name) for row, is_kept in zip(rows, kept, strict=True) if is_kept]
        return resamples.only(kept).mean(np.array(values, dtype=np.float64))

    return mean


def _keys(names: Sequence[str]) -> dict[str, str]:
    """Every name as a key of metrics.json: letters, digits, _ and - only, and different ones for different names."""
    keys: dict[str, str] = {}
    for name in names:
        stem = re.sub(r"[^A-Za-z0-9_-]+", "_", name).strip("_") or "metric"
        key = stem
        while key in keys.values() or key == _GROUP:
            key = f"{stem}_{len(keys) + 1}"
        keys[name] = key
    return keys
