"""Figures by group of cases: per way of grouping, how every team does in each group, and where it does worst."""

from collections import Counter
from collections.abc import Mapping, Sequence

from podium.challenges.board import Criterion
from podium.figures import Figures
from podium.metrics import Floats
from podium.metrics.declaration import GROUPS, Metric
from podium.tools.ranking.documents import TableRules
from podium.tools.ranking.facts import Facts, figure_at
from podium.tools.ranking.result import GroupFigures, WorstGroup
from podium.tools.ranking.schemes import RankingOptions
from podium.tools.ranking.statistics import percentile_intervals


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
    tables = (_tables(facts, path, figure, drawn, options) for path, figure in shown_figures(facts))
    return next(filter(None, tables), ())


def _tables(
    facts: Facts, path: str, figure: Criterion | Metric, drawn: Mapping[str, Floats], options: RankingOptions
) -> tuple[GroupFigures, ...]:
    """Of one figure; none where fewer than two groups have it."""
    found = []
    names = [each.split(".")[1] for each in group_paths(facts) if each.endswith(f".{path}")]
    rows = [facts.rows[0][case] for case in facts.cases]
    sizes = Counter(name for row in rows for name in row.groups)
    patients = Counter(name for name, _ in {(name, row.patient or row.case) for row in rows for name in row.groups})
    for column in _columns(facts):
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


def _columns(facts: Facts) -> Sequence[str]:
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
