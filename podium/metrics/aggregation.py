"""From rows to `aggregates`, on the cases as they are or on bootstrap replicates."""

import logging
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from podium.figures import Figures, get, holds, put
from podium.metrics import Floats
from podium.metrics.declaration import (
    GROUP_MEAN,
    GROUPS,
    HALF_WIDTH,
    CohortMetric,
    Formula,
    Metric,
    Scoreboard,
    Values,
    quantile_in,
)
from podium.metrics.resampling import Resamples, percentile_interval

LOG = logging.getLogger(__name__)
_CONFIDENCE = 0.95  # of error bars
_NO_VALUE = "undefined: the figure '%s' has no value for these cases: it is left out"
_SQUARES_OVERFLOW_FROM = 1e150


def mean_of(values: Sequence[float]) -> float:
    """The mean by an exact sum: equal data give equal figures in any order.

    0 without values: the platform needs a number, and the counts beside it say what it is worth.
    """
    return math.fsum(values) / len(values) if values else 0.0


def harmonic_mean(one: float, other: float) -> float:
    """2ab / (a + b), 0 where both are 0."""
    return 2 * one * other / (one + other) if one + other else 0.0


def rounded(values: Floats, decimals: int | None) -> Floats:
    """As Python rounds, by the exact binary value: NumPy scales first, which can lift a figure over the half. None does
    not round."""
    if decimals is None:
        return values
    return np.array([round(value, decimals) for value in values.ravel().tolist()]).reshape(values.shape)


def mean_of_defined(values: Floats) -> Floats:
    """The mean over the first axis of what has a value; NaN where nothing has."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.nansum(values, axis=0) / np.count_nonzero(~np.isnan(values), axis=0))


def mean_and_std(values: Sequence[float]) -> tuple[float, float]:
    """Mean and standard deviation of the population (over n)."""
    mean = mean_of(values)
    deviations = [value - mean for value in values]
    largest = max(map(abs, deviations), default=0.0)
    unit = largest if largest > _SQUARES_OVERFLOW_FROM else 1.0
    return mean, unit * math.sqrt(mean_of([(deviation / unit) ** 2 for deviation in deviations]))


class CohortValues(Mapping[str, Floats]):
    """Every figure below `aggregates` by its path, computed on access; KeyError where rows do not have its facts.

    `given` are figures that are not computed from rows here: numbers that all replicates share, or one for each.
    `groups` are the groups of every row, where there are any. `over_defined_terms` are the formulas read so far that
    are over the terms which each replicate defines, since most replicates lack one.
    """

    def __init__(
        self,
        board: Scoreboard[Any],
        rows: Sequence[Figures],
        resamples: Resamples,
        given: Mapping[str, float | Floats],
        groups: Sequence[Collection[str]] = (),
    ) -> None:
        self._rows, self._resamples, self._groups = rows, resamples, groups
        self._known: dict[str, Floats] = {path: np.asarray(value, dtype=np.float64) for path, value in given.items()}
        self._metrics = {
            path: (metric, statistic)
            for metric in board.metrics
            for path, statistic in (
                (metric.mean_path, self._mean),
                (metric.std_path, self._std),
                (metric.median, self._median),
                (metric.count, self._count),
            )
            if path
        }
        for metric in board.metrics:
            for path in board.quantiles_of(metric) if board.quantiles else ():
                self._metrics[path] = (metric, partial(self._quantile, share=quantile_in(path)[1]))
        declared = (*board.cohort_metrics, *board.formulas, *board.offline)
        self._cohort = {figure.path: figure for figure in declared if isinstance(figure, CohortMetric)}
        self._formulas = {figure.path: figure for figure in declared if isinstance(figure, Formula)}
        self._board, self._given = board, given
        self.over_defined_terms: set[str] = set()

    def __getitem__(self, path: str) -> Floats:
        if path not in self._known:
            if path in self._metrics:
                metric, statistic = self._metrics[path]
                self._known[path] = statistic(metric)
            elif path in self._cohort:
                self._known[path] = self._cohort[path].compute(self._rows, self._resamples)
            elif path.startswith(f"{GROUPS}.") or path.endswith(GROUP_MEAN):
                self._known[path] = self._of_groups(path)
            else:
                formula = self._formulas[path]
                self._known[path] = self._of_terms(formula)
                if not self.over_defined_terms.isdisjoint(formula.terms):
                    self.over_defined_terms.add(path)
        return self._known[path]

    def _of_terms(self, formula: Formula) -> Floats:
        """A replicate that lacks other terms than all cases do is another formula: it has no value. Where that is more
        than half of them, each is over the terms that it has, as far as the formula allows that."""
        found = formula_value(formula, self)
        lacks = {term: np.isnan(self[term]) for term in formula.terms}
        if not any(each.any() for each in lacks.values()):
            return found
        same = np.all([lacks[term] == np.isnan(self._of_all_cases[term]) for term in lacks], axis=0)
        if same.mean() < 0.5:
            over_defined = formula_value(replace(formula, compute=formula.compute_defined or formula.compute), self)
            if np.count_nonzero(np.isnan(over_defined)) < np.count_nonzero(~same):
                self.over_defined_terms.add(formula.path)
                return over_defined
        return np.where(same, found, np.nan)

    @cached_property
    def _of_all_cases(self) -> "CohortValues":
        whole = Resamples.whole(len(self._rows))
        return CohortValues(self._board, self._rows, whole, self._given, self._groups)

    def __iter__(self) -> Iterator[str]:
        yield from {**self._known, **self._metrics, **self._cohort, **self._formulas}

    def __len__(self) -> int:
        return len(list(iter(self)))

    def _of_groups(self, path: str) -> Floats:
        """A figure of one group, or the mean over the groups that have a value; KeyError where there are none.

        A replicate that lacks other groups than all cases do has no mean: it would be one over other groups.
        """
        first, _, rest = path.partition(".")
        name, _, inner = rest.partition(".")
        names = sorted({name for own in self._groups for name in own})
        if not names or (first == GROUPS and name not in names):
            raise KeyError(path)
        if first == GROUPS:
            of_group = self._group(name)
            found = of_group[inner]
            self.over_defined_terms |= {path} if inner in of_group.over_defined_terms else set()
            return found
        inner = self._board.names.group_means[path.removesuffix(GROUP_MEAN)]
        values = np.stack(np.broadcast_arrays(*(self._group(name)[inner] for name in names)))
        whole = np.stack([self._of_all_cases._group(name)[inner] for name in names])
        same = (np.isnan(values) == np.isnan(whole)).all(axis=0)
        return np.where(same, mean_of_defined(values), np.nan)

    def _group(self, name: str) -> "CohortValues":
        kept = np.array([name in own for own in self._groups])
        rows = [row for row, is_kept in zip(self._rows, kept, strict=True) if is_kept]
        return CohortValues(self._board, rows, self._resamples.only(kept), {})

    def _defined(self, metric: Metric) -> tuple[Floats, Resamples]:
        values = np.array([get(row, metric.name) for row in self._rows], dtype=np.float64)
        defined = ~np.isnan(values)
        return values[defined], self._resamples.only(defined)

    def _mean(self, metric: Metric) -> Floats:
        """Over the drawn cases that have a value."""
        values, resamples = self._defined(metric)
        return resamples.mean(values)

    def _std(self, metric: Metric) -> Floats:
        values, resamples = self._defined(metric)
        deviations = values - mean_of(values.tolist())  # small numbers: their squares cancel less
        return np.asarray(np.sqrt(np.maximum(resamples.mean(deviations**2) - resamples.mean(deviations) ** 2, 0.0)))

    def _median(self, metric: Metric) -> Floats:
        return self._quantile(metric, share=0.5)

    def _quantile(self, metric: Metric, share: float) -> Floats:
        values, resamples = self._defined(metric)
        return np.asarray(resamples.quantiles(values, [share])[0])

    def _count(self, metric: Metric) -> Floats:
        return self._defined(metric)[1].sizes.astype(np.float64)


def formula_value(formula: Formula, values: Values) -> Floats:
    """The formula's value in every replicate: NaN where it has none, the worst of its range where the arithmetic has no
    result; NaN if that is infinite too."""
    found = np.asarray(formula.compute(values), dtype=np.float64)
    worst = formula.worst if math.isfinite(formula.worst) else math.nan
    return np.where(np.isinf(found), worst, found)


def aggregate(
    board: Scoreboard[Any], rows: Sequence[Figures], given: Mapping[str, float], groups: Sequence[Collection[str]] = ()
) -> dict[str, Any]:
    """All figures over the given rows, nested as below `aggregates`; finite numbers only.

    A metric that the rows do not hold is left out (METEOR with synonyms exists only where WordNet is installed), and so
    is a formula whose terms are not given: a group of cases has no runtime and no groups.
    """
    exact = {cohort.path: cohort.exact(rows) for cohort in board.cohort_metrics if cohort.exact is not None}
    known = {path: value for path, value in exact.items() if value is not None}
    values = CohortValues(board, rows, Resamples.whole(len(rows)), {**given, **known}, groups)
    figures: dict[str, Any] = {}
    for metric in board.metrics:
        if metric.mean_path and all(holds(row, metric.name) for row in rows):
            _publish(figures, metric, values, rows, board.quantiles_of(metric))
    for curve in board.curves:
        if curve.mean:
            means = {place: mean_of(values) for place, values in curve.by_place(rows).items() if values}
            figures[curve.mean] = {str(place): means[place] for place in sorted(means)}
    for cohort in board.cohort_metrics:
        _publish_cohort(figures, cohort, float(values[cohort.path].item()))
    for path, table in board.tables.items():
        put(figures, path, table(rows))
    for path, value in given.items():
        put(figures, path, value)
    for formula in board.formulas:
        try:
            _publish_formula(figures, formula, values)
        except KeyError:
            if formula.path in board.names.of_cases:
                raise
    return figures


def _publish(
    figures: dict[str, Any], metric: Metric, values: CohortValues, rows: Sequence[Figures], quantiles: Sequence[str]
) -> None:
    mean = float(values[metric.mean_path].item())
    defined = [value for row in rows if (value := get(row, metric.name)) is not None]
    if math.isnan(mean):
        LOG.info(_NO_VALUE, metric.mean_path)
    else:
        put(figures, metric.mean_path, mean)
        if metric.std_path:
            put(figures, metric.std_path, mean_and_std(defined)[1])
        if metric.median:
            put(figures, metric.median, float(values[metric.median].item()))
        for path in quantiles:
            put(figures, path, float(values[path].item()))
    if metric.count:
        put(figures, metric.count, len(defined))


def _publish_cohort(figures: dict[str, Any], cohort: CohortMetric, value: float) -> None:
    if math.isnan(value):
        LOG.info(_NO_VALUE, cohort.path)
    else:
        put(figures, cohort.path, int(value) if cohort.whole else value)
    if cohort.defined:
        put(figures, cohort.defined, int(not math.isnan(value)))


def _publish_formula(figures: dict[str, Any], formula: Formula, values: Values) -> None:
    value = float(values[formula.path].item())
    if math.isnan(value):
        LOG.info(_NO_VALUE, formula.path)
        return
    if np.isinf(formula.compute(values)).any():
        words = "undefined: the figure '%s' has no finite value: it counts as the worst of its range, %g"
        LOG.info(words, formula.path, value)
    put(figures, formula.path, value)


def add_groups(
    board: Scoreboard[Any], rows: Sequence[Figures], groups: Sequence[Collection[str]], figures: dict[str, Any]
) -> None:
    """Add `groups.<group>` with every figure of the group's rows, and `<name>_group_mean`, the mean over the groups."""
    names = sorted({name for own in groups for name in own})
    members = {name: [row for row, own in zip(rows, groups, strict=True) if name in own] for name in names}
    figures[GROUPS] = {name: aggregate(board, own, {}) for name, own in members.items()}
    for name, path in board.names.group_means.items():
        if found := [get(each, path) for each in figures[GROUPS].values() if holds(each, path)]:
            put(figures, name + GROUP_MEAN, mean_of(found))


def add_error_bars(drawn: CohortValues, figures: dict[str, Any], *, paths: Sequence[str], cases: int) -> None:
    """Add half of the bootstrap interval of every figure at these paths that has a value; given figures, such as the
    time, are the same in every replicate."""
    for path in paths:
        with suppress(KeyError):  # a formula whose terms are not given
            replicates = np.ravel(drawn[path]) if holds(figures, path) else np.zeros(0)
            if interval := percentile_interval(replicates, confidence=_CONFIDENCE, cases=cases):
                put(figures, path + HALF_WIDTH, (interval[1] - interval[0]) / 2)


def recombined(board: Scoreboard[Any], aggregates: Figures, changed: Mapping[str, float]) -> dict[str, Any]:
    """`aggregates` with some figures changed, and every formula over them evaluated again."""
    values = _Published(aggregates, changed)
    again: dict[str, Any] = deepcopy(dict(aggregates))
    for path, value in changed.items():
        put(again, path, value)
    for formula in board.formulas:
        values[formula.path] = formula_value(formula, values)
        if not np.isnan(values[formula.path]).any():
            put(again, formula.path, float(values[formula.path].item()))
    return again


class _Published(dict[str, Floats]):
    """Published aggregates as the values that formulas read; NaN where a figure is not published, being undefined."""

    def __init__(self, aggregates: Figures, changed: Mapping[str, float]) -> None:
        super().__init__({path: np.asarray(float(value)) for path, value in changed.items()})
        self._aggregates = aggregates

    def __missing__(self, path: str) -> Floats:
        return np.asarray(float(get(self._aggregates, path)) if holds(self._aggregates, path) else math.nan)
