"""The content of a cohort's files, gathered once: teams, cases, aggregates, tables of cases; any figure in every
replicate of a bootstrap; and whether the published figures are those that the rows give."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.challenges.board import Criterion, RankingRule
from podium.errors import UsageError, did_you_mean
from podium.figures import Figures, agrees, finite_number, get, holds, put
from podium.metrics import Floats
from podium.metrics.aggregation import CohortValues
from podium.metrics.declaration import GROUPS, CaseMetric, Metric
from podium.metrics.resampling import Resamples
from podium.platform.metrics_file import CaseResult
from podium.platform.privacy import are_anonymous
from podium.tools.ranking.documents import Cohort, Rules, TableRules, TeamFile
from podium.tools.ranking.result import GroupFigures, WorstGroup
from podium.tools.ranking.schemes import CaseTable, RankingOptions, case_table
from podium.tools.ranking.statistics import percentile_intervals

_CHANGED = "it was changed after it was written, or written by another version"


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Everything in the order of `files`. In `aggregates`, quantities that depend on all teams are recomputed, if the
    challenge has any (`is_adjusted`)."""

    files: Sequence[TeamFile]
    challenge: Rules
    rule: RankingRule | None
    cases: Sequence[str]  # sorted; empty where the files contain no per-case rows
    aggregates: Sequence[Figures]
    is_adjusted: bool
    rows: Sequence[Mapping[str, CaseResult]]
    tables: Mapping[str, CaseTable]  # by metric, for the metrics in the rows
    in_schemes: Sequence[CaseTable]  # the tables that the general schemes rank by, and the `weights` of their positions
    weights: Sequence[float]
    notes: Sequence[str]  # sentences on how the files were read
    missing_metrics: Sequence[str]  # the general schemes should rank by them, but the rows do not contain them

    def in_order(self, teams: Sequence[int]) -> "Facts":
        """The facts with the teams in this order."""
        tables = {
            name: replace(table, values=table.values[list(teams)], reasons=table.reasons[list(teams)])
            for name, table in self.tables.items()
        }
        return replace(
            self,
            files=[self.files[team] for team in teams],
            aggregates=[self.aggregates[team] for team in teams],
            rows=[self.rows[team] for team in teams],
            tables=tables,
            in_schemes=[tables[table.metric.name] for table in self.in_schemes],
        )

    @property
    def is_anonymous(self) -> bool:
        """Whether the rows have pseudonyms, and therefore no figures that would reveal a reference."""
        return are_anonymous(self.cases)

    @property
    def units(self) -> int:
        """How many patients the cases are of; how many cases there are where patients are not known."""
        return self.files[0].units

    @cached_property
    def patients(self) -> NDArray[np.int64] | None:
        """Whose case each is, numbered from 0; None where that is not known, or every patient has one case."""
        if (found := self.files[0].patients) is None:
            return None
        return np.unique([found[case] for case in self.cases], return_inverse=True)[1]

    @property
    def whole(self) -> Resamples:
        """The cases as they are."""
        return Resamples.whole(len(self.cases), patients=self.patients)

    @property
    def teams(self) -> Sequence[str]:
        return [file.team for file in self.files]

    @property
    def labels(self) -> Sequence[str]:
        return [file.label for file in self.files]


def gather_facts(cohort: Cohort[Any], options: RankingOptions) -> Facts:
    """Raises UsageError where a chosen metric is not in the files, a figure is not a number, or a file lacks a figure
    that it was written with."""
    challenge: Rules = cohort.challenge
    files, rule = cohort.files, challenge.ranking
    for file in files:
        _refuse_lacking_figures(file, challenge)
    adjusted = challenge.among({file.team: file.content.aggregates for file in files})
    cases = sorted(row.case for row in cohort.files[0].content.results)
    rows = [{row.case: row for row in file.content.results} for file in files]
    tables = {}
    for metric in challenge.scoreboard.all_metrics:
        values = [
            [_case_figure(file, team[case], metric.name) for case in cases]
            for file, team in zip(files, rows, strict=True)
        ]
        if any(value is not None for team in values for value in team):
            reasons = [[team[case].undefined.get(metric.name, "") for case in cases] for team in rows]
            tables[metric.name] = case_table(metric, values, reasons)
    chosen = [_metric_name(name, challenge) for name in options.metrics]
    for given, name in zip(options.metrics, chosen, strict=True):
        if name not in tables:
            raise UsageError(f"The files contain no per-case values of the metric '{given}'.")
    wanted = chosen or (rule.case_metrics if rule else tuple(tables))
    weights = {_metric_name(name, challenge): weight for name, weight in options.weights.items()}
    for name in weights:
        if name not in wanted:
            raise UsageError(f"There is a weight for '{name}', but teams are ranked by: {', '.join(wanted)}.")
    return Facts(
        files=files,
        challenge=challenge,
        rule=rule,
        cases=cases,
        aggregates=[adjusted[file.team] for file in files],
        is_adjusted=any(adjusted[file.team] is not file.content.aggregates for file in files),
        rows=rows,
        tables=tables,
        in_schemes=[tables[name] for name in wanted if name in tables],
        weights=[weights.get(name, 1.0) for name in wanted if name in tables],
        notes=cohort.notes,
        missing_metrics=[name for name in wanted if name not in tables],
    )


def figure_at(figures: Figures, path: str) -> float | None:
    """The number at a dotted path of nested figures; None where there is none."""
    try:
        return finite_number(get(figures, path))
    except (KeyError, TypeError):
        return None


def _refuse_lacking_figures(file: TeamFile, challenge: Rules) -> None:
    """Rows have the figures of all other rows of their file, undefined ones as null, and aggregates the figures that
    the rules need: without them, no published figure could be computed again."""
    for figure in challenge.scoreboard.given:
        if figure.known:
            known = figure_at(file.content.aggregates, figure.known)
            lacking = figure.known if known is None else figure.path if known else None
            if lacking and figure_at(file.content.aggregates, lacking) is None:
                raise UsageError(f"{file.label} lacks aggregates.{lacking}: {_CHANGED}.")
    for metric in challenge.scoreboard.all_metrics:
        without = [
            row.case
            for row in file.content.results
            if not holds(row.metrics, metric.name) and metric.name not in row.undefined  # no reference of the value
        ]
        if without and len(without) < len(file.content.results):
            raise UsageError(
                f"{file.label}: the case '{without[0]}' lacks the figure '{metric.name}', which other cases have: "
                f"{_CHANGED}."
            )


def _case_figure(file: TeamFile, row: CaseResult, path: str) -> float | None:
    if row.case in file.absent.get(path, ()):
        return None
    value: Any = row.metrics
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    if value is None:
        return None
    number = finite_number(value)
    if number is None:
        raise UsageError(f"{file.label}: '{path}' of the case '{row.case}' is not a number.")
    return number


def _metric_name(given: str, challenge: Rules) -> str:
    """The name of a per-case figure, which may also be given by its title."""
    board = challenge.scoreboard
    titled = (metric for metric in board.all_metrics if metric.title == given)
    found = board.names.find_metric(given, offline=True) or next(titled, None)
    if found is None:
        names = [metric.name for metric in board.all_metrics]
        what = f"There is no metric '{given}'"
        if board.names.find(given):
            what = f"'{given}' is a figure of all cases together, not of single cases"
        advice = did_you_mean(given, names) or f"; the metrics are: {', '.join(names)}."
        raise UsageError(what + advice)
    return found.name


def replicate_figures(
    facts: Facts, resamples: Resamples, *, also: Sequence[str] = ()
) -> tuple[dict[str, Floats], set[str]]:
    """Dotted path to `[replicate, team]`: criteria of the official rule, every column, and these, and those that are
    over the terms which each replicate defines (`CohortValues.over_defined_terms`).

    A path is left out where the figure does not come from the cases, and where a team's rows do not contain everything
    that it is computed from, as with anonymous rows.
    """
    found, over_defined_terms = _figures_by_team(facts, resamples, also)
    complete = {path: drawn for path, drawn in found.items() if len(drawn) == len(facts.files)}
    return {path: np.stack([*drawn.values()], axis=1) for path, drawn in complete.items()}, over_defined_terms


def _figures_by_team(
    facts: Facts, resamples: Resamples, also: Sequence[str] = ()
) -> tuple[dict[str, dict[int, Floats]], set[str]]:
    """`replicate_figures` by path and team, for every team whose rows contain everything that a figure is made of."""
    board = facts.challenge.scoreboard
    columns = (*facts.challenge.offline_columns(), *facts.challenge.columns())
    criteria = facts.rule.criteria if facts.rule else ()
    given = {figure.path for figure in board.given}
    paths = dict.fromkeys([*(each.path for each in criteria), *(each.path for each in columns), *also])
    means = {  # [replicate, team] where no team misses a value: one matrix product for all teams
        table.metric.mean_path: resamples.mean(table.values.T)
        for table in facts.tables.values()
        if table.metric.mean_path and not np.isnan(table.values).any()
    }
    groups = [facts.rows[0][case].groups for case in facts.cases]
    if facts.is_anonymous and not all(groups):  # anonymous rows of few cases do not say their groups
        groups = []
    by_team = []
    for number, (rows, aggregates) in enumerate(zip(facts.rows, facts.aggregates, strict=True)):
        known = {path: value for path in given if (value := finite_number(aggregates.get(path))) is not None}
        own = {path: values[:, number] for path, values in means.items()}
        rows_in_order = [rows[case].metrics for case in facts.cases]
        by_team.append(CohortValues(board, rows_in_order, resamples, {**known, **own}, groups))
    found: dict[str, dict[int, Floats]] = {path: {} for path in paths if path not in given}
    for path, drawn in found.items():
        for team, values in enumerate(by_team):
            with suppress(KeyError, TypeError, ValueError):  # a row may be any JSON object
                drawn[team] = np.broadcast_to(values[path], (resamples.replicates,))
    return found, set[str]().union(*(each.over_defined_terms for each in by_team))


# Figures are recomputed from the rows: they replace the published ones, which must agree with them.


def with_recomputed_figures(facts: Facts) -> Facts:
    """The facts with every column recomputed from the rows: published figures may be rounded.

    Raises UsageError, naming file, figure and values, where an aggregate differs from what the rows give, or a row has
    a figure outside the range of its metric. Figures that no team's rows are sufficient for are not checked.
    """
    for table in facts.tables.values():
        metric = table.metric
        for team, case in np.argwhere((table.values < metric.lowest) | (table.values > metric.highest)).tolist():
            raise UsageError(
                f"{facts.labels[team]}: '{metric.name}' of the case '{facts.cases[case]}' is "
                f"{table.values[team, case]:g}, outside {metric.lowest:g} to {metric.highest:g}."
            )
    _refuse_changed_rows(facts)
    if not facts.cases:
        return facts
    again: list[dict[str, Any]] = [deepcopy(dict(aggregates)) for aggregates in facts.aggregates]
    for path, found in _figures_by_team(facts, facts.whole)[0].items():
        for team in range(len(facts.files)) if found else ():  # else no team's rows contain what it is computed from
            published = figure_at(facts.aggregates[team], path)
            expected = float(found[team][0]) if team in found else None
            if published is None or (expected is not None and math.isnan(expected)):
                continue  # undefined over these cases: a rule sets the figure
            if expected is None or not agrees(published, expected):
                given = (
                    "are not sufficient, unlike those of other teams" if expected is None else f"give {expected:.10g}"
                )
                raise UsageError(
                    f"{facts.labels[team]} has aggregates.{path} = {published:.10g}, but its rows {given}: {_CHANGED}."
                )
            put(again[team], path, expected)
    return replace(facts, aggregates=again)


def _refuse_changed_rows(facts: Facts) -> None:
    """Figures of a row that are made of its other figures are computed again."""
    for table in facts.tables.values():
        metric = table.metric
        if not isinstance(metric, CaseMetric) or metric.compute_from_row is None:
            continue
        for (team, case), value in np.ndenumerate(table.values):
            row = facts.rows[team][facts.cases[case]]
            if math.isnan(value):
                continue
            try:
                expected = metric.from_row(row.metrics, is_missing=row.lacks(metric.uses))
            except (KeyError, TypeError, ValueError):  # anonymous rows do not have everything it is made of
                continue
            if expected is None or not agrees(float(value), expected):
                given = "no value" if expected is None else f"{expected:.10g}"
                raise UsageError(
                    f"{facts.labels[team]}: '{metric.name}' of the case '{row.case}' is {value:.10g}, but the "
                    f"row's other figures give {given}: {_CHANGED}."
                )


# Figures by group of cases: per way of grouping, how every team does in each group, and where it does worst.


def shown_figures(facts: Facts) -> list[tuple[str, Criterion | Metric]]:
    """With their paths: the figure that alone decides, and the first metric of the schemes for groups that lack it."""
    figures: list[tuple[str, Criterion | Metric]]
    rule, figures = facts.rule, [(table.metric.mean_path, table.metric) for table in facts.in_schemes[:1]]
    if rule is not None and len(rule.criteria) == 1 and not rule.by_case:
        figures.insert(0, (rule.criteria[0].path, rule.criteria[0]))
    return figures


def group_paths(facts: Facts) -> list[str]:
    """The paths of the shown figures of every group below `aggregates`."""
    names = sorted({name for figures in facts.aggregates for name in figures.get(GROUPS, {})})
    return [f"{GROUPS}.{name}.{path}" for path, _ in shown_figures(facts) for name in names]


def group_figures(facts: Facts, drawn: Mapping[str, Floats], options: RankingOptions) -> tuple[GroupFigures, ...]:
    """A table for every way of grouping; `drawn` are figures in all replicates."""
    tables = (_group_tables(facts, path, figure, drawn, options) for path, figure in shown_figures(facts))
    return next(filter(None, tables), ())


def _group_tables(
    facts: Facts, path: str, figure: Criterion | Metric, drawn: Mapping[str, Floats], options: RankingOptions
) -> tuple[GroupFigures, ...]:
    """Of one figure; none where fewer than two groups have it."""
    found = []
    names = [each.split(".")[1] for each in group_paths(facts) if each.endswith(f".{path}")]
    rows = [facts.rows[0][case] for case in facts.cases]
    sizes = Counter(name for row in rows for name in row.groups)
    patients = Counter(name for name, _ in {(name, row.patient or row.case) for row in rows for name in row.groups})
    for column in _group_columns(facts):
        groups = [name for name in names if name.startswith(f"{column}_" if column else "")]
        values = [[figure_at(each, f"{GROUPS}.{name}.{path}") for name in groups] for each in facts.aggregates]
        if sum(any(row[number] is not None for row in values) for number in range(len(groups))) < 2:
            continue
        intervals = [
            percentile_intervals(replicates, confidence=options.confidence, cases=patients[name])
            if (replicates := drawn.get(f"{GROUPS}.{name}.{path}")) is not None
            else (None,) * len(values)
            for name in groups
        ]
        table = GroupFigures(
            column=column,
            figure=figure.title,
            groups=tuple(name.removeprefix(f"{column}_" if column else "") for name in groups),
            cases=tuple(sizes[name] or None for name in groups),
            values=tuple(map(tuple, values)),
            intervals=tuple(zip(*intervals, strict=True)),
            worst=tuple(_worst_group(each, path, figure, groups) for each in facts.aggregates),
        )
        found.append(table)
    return tuple(found)


def _group_columns(facts: Facts) -> Sequence[str]:
    """The columns of cases.csv that cases are grouped by; "" for another way."""
    given = None if isinstance(facts.challenge, TableRules) else facts.challenge.cases.groups
    return given if isinstance(given, tuple) else ("",)


def _worst_group(
    aggregates: Figures, path: str, figure: Criterion | Metric, groups: Sequence[str]
) -> WorstGroup | None:
    """None unless two of the groups have the figure."""
    found = {name: figure_at(aggregates, f"{GROUPS}.{name}.{path}") for name in groups}
    known, mean = {name: each for name, each in found.items() if each is not None}, figure_at(aggregates, path)
    if len(known) < 2 or mean is None:
        return None
    sign = 1 if figure.direction == "higher" else -1
    group = min(known, key=lambda name: sign * known[name])
    return WorstGroup(figure=figure.title, group=group, value=known[group], gap=sign * (mean - known[group]))
