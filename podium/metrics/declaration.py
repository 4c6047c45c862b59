"""How figures are declared: once, so that rows, means, leaderboard, ranking, bootstrap and reports follow from it.

    Metric         one figure of every case, and its mean, spread and count over cases; CaseMetric with its function
    Curve          a list of figures along one case, for reports, and its mean over cases
    CohortMetric   one figure of all cases together, from the facts that every row keeps
    Formula        a figure made of others
    GivenFigure    a figure that does not come from the cases, such as the runtime

A challenge lists its figures in one `Scoreboard`; `FigureNames` says what the name of a figure means, for formulas,
columns, ranking and commands.
"""

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Generic, Literal, TypeVar, get_args

from podium.figures import Figures, get, put
from podium.metrics import Floats
from podium.metrics.resampling import Resamples

Direction = Literal["higher", "lower"]
Undefined = Literal["exclude", "worst"]
Reason = Literal["both_empty", "reference_empty", "prediction_empty", "too_few", "condition"]
"""Why a figure has no value. `both_empty` is right: nothing to find, and nothing found. `reference_empty` leaves the
case out for all teams. The others are a fault of the prediction: no answer, no result of the formula, a condition."""
REASONS: Sequence[Reason] = get_args(Reason)  # from right to wrong
_NO_ANSWER: Reason = "prediction_empty"
CaseT = TypeVar("CaseT")
GROUPS = "groups"
GROUP_MEAN = "_group_mean"
INTERVAL = "_ci"  # after the path of a ranked figure
HALF_WIDTH = f"{INTERVAL}.half_width"
_MEAN = ".mean"
_QUANTILE = re.compile(r"(.+)\.q([1-9][0-9]?)", re.ASCII)
SUMMARIES = frozenset({"mean", "std", "median", "n", "region_mean", "macro", "micro", "weighted", "cpm"})
"""Last parts of figures that summarise the others of their metric."""
Values = Mapping[str, Floats]  # dotted path below `aggregates` -> its value in every replicate


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One figure, before anything is scored."""

    title: str
    direction: Direction
    lowest: float = 0.0
    highest: float = math.inf
    unit: str = ""

    @property
    def scale(self) -> dict[str, Any]:
        """Direction, range and unit, for figures that share them."""
        return {"direction": self.direction, "lowest": self.lowest, "highest": self.highest, "unit": self.unit}


@dataclass(frozen=True, kw_only=True)
class Metric(Figure):
    """One figure of every case.

    mean, std, median, count   where mean, population standard deviation, median and number of defined values are
                               below `aggregates`; "" for nowhere. By default `<name>.mean` and `<name>.std` alone
    undefined_when  when the references leave all cases without a value, as in "has no value ...". There is then no mean
    """

    name: str  # dotted path in a result row's `metrics`
    worst: float  # the value that ranking gives to a team without one
    of: frozenset[str] = frozenset()  # the values that it is computed from, of kinds that have several
    mean: str | None = None
    std: str | None = None
    median: str = ""
    count: str = ""
    mean_title: str = ""  # of the mean's column, where the title would not distinguish it from another figure's
    undefined_when: str = ""

    def __post_init__(self) -> None:
        if not self.lowest <= self.worst <= self.highest:
            raise ValueError(f"{self.name}: worst value {self.worst} is outside {self.lowest} to {self.highest}")

    @property
    def uses(self) -> frozenset[str]:
        """All values that decide the figure."""
        return self.of

    @property
    def mean_path(self) -> str:
        return f"{self.name}.mean" if self.mean is None else self.mean

    @property
    def std_path(self) -> str:
        return f"{self.name}.std" if self.std is None else self.std


@dataclass(frozen=True, kw_only=True)
class Gate:
    """`where` and `otherwise` of challenge.toml: what a figure is where the condition at this key does not hold, None
    for no value. `applied` (row, figure) is the figure behind the gate, which names the `terms`; the values `of`
    decide it."""

    where: str
    otherwise: float | None
    key: tuple[str | int, ...]
    terms: tuple[str, ...] = ()
    applied: Callable[[Figures, float | None], float | None] = lambda _, figure: figure
    of: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class CaseMetric(Metric, Generic[CaseT]):
    """A metric with its function: `compute` from a case, or `compute_from_row` from the row's other figures, `terms`.

    A case without a usable prediction has a figure as well: the worst that any prediction of it could have.
    """

    compute: Callable[[CaseT], float | Reason | None] | None = None
    compute_from_row: Callable[[Figures], float | None] | None = None
    terms: tuple[str, ...] = ()
    gate: Gate | None = None

    def from_row(self, row: Figures, *, is_missing: bool) -> float | None:
        """The figure, made of the row's other figures or measured before, behind its gate. Without a usable prediction
        it is the worse one of those before and behind it."""
        figure = get(row, self.name) if self.compute_from_row is None else self.compute_from_row(row)
        if self.gate is None:
            return figure
        if not is_missing:
            return self.gate.applied(row, figure)
        known = [each for each in (figure, self.gate.otherwise) if each is not None]
        return None if figure is None else (min if self.direction == "higher" else max)(known)

    @property
    def uses(self) -> frozenset[str]:
        return self.of if self.gate is None else self.of | self.gate.of

    def why_undefined(self, reasons: Mapping[str, Reason]) -> Reason:
        """Why there is no value: by the `reasons` of figures before, its own or the worst of its terms."""
        names = (self.name, *self.terms, *(self.gate.terms if self.gate else ()))
        found = [REASONS.index(reasons[name]) for name in names if name in reasons]
        return REASONS[max(found)] if found else "too_few" if self.gate is None else "condition"


@dataclass(frozen=True, kw_only=True)
class Curve(Figure):
    """A figure that runs along one case, such as Dice over the steps of an interaction: for reports, never for a score.

    `name` is a dotted path in a result row's `metrics` that leads to a list of numbers, or through a list of objects
    (`steps.dice`); `along` says what the list runs over, and `first` is the number of its first place. Where the list
    holds the means of equal stretches, `length` is the dotted path to the number of places they cover. `mean` is
    the path of the mean curve over all cases below `aggregates`, if any.
    """

    name: str
    along: str
    first: int = 0
    length: str = ""
    mean: str = ""

    def by_place(self, rows: Sequence[Figures]) -> dict[int, list[float]]:
        """At every place that a case has, the values of the cases that have one there."""
        outer, _, inner = self.name.rpartition(".")
        values: dict[int, list[float]] = {}
        for row in rows:
            for place, entry in enumerate(get(row, outer), start=self.first):
                at_place = values.setdefault(place, [])
                if entry[inner] is not None:
                    at_place.append(entry[inner])
        return values


@dataclass(frozen=True, kw_only=True)
class GivenFigure(Figure):
    """A figure below `aggregates`; without a title it is shown nowhere but in metrics.json. `known` is the path of a
    figure that is 0 where this one is unknown and its number is only a placeholder; `undefined_when` says when the
    references leave it without a value."""

    path: str
    title: str = ""
    direction: Direction = "higher"
    lowest: float = -math.inf
    known: str = ""
    undefined_when: str = ""

    @property
    def worst(self) -> float:
        return self.lowest if self.direction == "higher" else self.highest


@dataclass(frozen=True, kw_only=True)
class CohortMetric(GivenFigure):
    """A figure of all cases together: `compute(rows, resamples)` in every replicate, NaN where it has no value there. A
    figure without a value is not published. `exact(rows)` is what a package of the field publishes instead."""

    compute: Callable[[Sequence[Figures], Resamples], Floats]
    exact: Callable[[Sequence[Figures]], float | None] | None = None
    facts: str = ""  # where rows keep what it is computed from; {} in a case that has no reference of the value
    whole: bool = False  # it counts something: published as an integer
    defined: str = ""  # path below `aggregates` of 1 if it has a value, else 0


@dataclass(frozen=True, kw_only=True)
class Formula(GivenFigure):
    """A figure made of others, on numbers and on bootstrap replicates by the same code.

    `compute` gives NaN where it has no value, because something that it is made of has none; infinite where its
    arithmetic has no result, which becomes the worst of the range or, where that is infinite, no value.
    """

    compute: Callable[[Values], Floats]
    compute_defined: Callable[[Values], Floats] | None = None  # over the terms that have a value, where it differs
    terms: tuple[str, ...] = ()  # the paths of the others


@dataclass(frozen=True, kw_only=True)
class NamedFigure(GivenFigure):
    """A figure below `aggregates` as others name it."""

    worst_value: float | None = None  # the worst value where it is not an end of the range
    error_path: str = ""  # the path of its spread
    judges: bool = True  # False where it says nothing about quality: a spread, a count, a fact

    @property
    def worst(self) -> float:
        return super().worst if self.worst_value is None else self.worst_value


@dataclass(frozen=True, kw_only=True)
class Scoreboard(Generic[CaseT]):
    """Every figure of a challenge, and which of them the leaderboard shows.

    tables           facts of all cases together that no score is made of, such as a confusion matrix
    facts            where rows keep what figures of all cases are made of, with the value that it is of
    offline          figures that offline tools add: no live leaderboard has them, the final table does
    titles           of figures that have no declaration of their own, such as a median, by path
    groupings        in how many ways the cases are grouped: every figure of the cases then has one per group, and where
                     there is one way, the mean over these
    """

    metrics: Sequence[CaseMetric[CaseT]]
    offline_metrics: Sequence[Metric] = ()  # per-case figures that offline tools add to the rows, for ranking
    curves: Sequence[Curve] = ()
    cohort_metrics: Sequence[CohortMetric] = ()
    tables: Mapping[str, Callable[[Sequence[Figures]], Figures]] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)
    given: Sequence[GivenFigure] = ()  # figures that do not come from the cases
    formulas: Sequence[Formula] = ()
    leaderboard: Sequence[str]  # paths in the order of the columns, the score that teams are ranked by first
    offline: Sequence[GivenFigure] = ()
    headline: Sequence[str] = ()  # those that make a short table
    ranked: Sequence[str] = ()  # where there are several, teams are ordered by the mean of their positions in these
    quantiles: Sequence[str] = ()  # paths of quantiles of per-case figures that the tables name, such as `tre.q70`
    titles: Mapping[str, str] = field(default_factory=dict)
    groupings: int = 0

    def row(
        self,
        case: CaseT,
        *,
        lacks: Callable[[frozenset[str]], bool] = lambda _: False,
        has_no_reference: Callable[[frozenset[str]], bool] = lambda _: False,
    ) -> tuple[dict[str, Any], dict[str, Reason]]:
        """The declared figures of one case, and why those without a value have none; the two functions say whether one
        of these values has no usable prediction, or no reference in this case."""
        row: dict[str, Any] = {}
        reasons: dict[str, Reason] = {}
        for metric in self.metrics:
            if metric.compute is not None:
                found = "reference_empty" if has_no_reference(metric.of) else metric.compute(case)
                if found is None or isinstance(found, str):
                    reasons[metric.name], found = found or "too_few", None
                put(row, metric.name, found)
        for metric in self.metrics:
            if metric.compute_from_row is not None or metric.gate is not None:
                put(row, metric.name, metric.from_row(row, is_missing=lacks(metric.uses)))
                if get(row, metric.name) is None:
                    reasons[metric.name] = metric.why_undefined(reasons)
        return row, reasons

    def without(
        self, row: Figures, undefined: Mapping[str, Reason], values: Collection[str]
    ) -> tuple[Figures, Mapping[str, Reason]]:
        """The row of a submission that is not scored by these values: nothing that uses them has a value."""
        figures = [metric.name for metric in self.metrics if not metric.uses.isdisjoint(values)]
        kept = deepcopy(dict(row))
        for path in (*figures, *(path for path, value in self.facts.items() if value in values)):
            put(kept, path, None)
        return kept, {**undefined, **dict.fromkeys(figures, _NO_ANSWER)}

    def is_resampled(self, path: str) -> bool:
        """Whether a figure changes with the cases: one that is not given, and is made of another than given ones."""
        terms = next((each.terms for each in self.formulas if each.path == path), None)
        if terms is not None:
            return any(map(self.is_resampled, terms))
        return path not in {each.path for each in self.given}

    @property
    def all_metrics(self) -> Sequence[Metric]:
        """Every per-case figure that a row may hold."""
        return (*self.metrics, *self.offline_metrics)

    @cached_property
    def names(self) -> "FigureNames":
        """What the name of a figure means."""
        names = FigureNames(titles=self.titles, groupings=self.groupings)
        for metric in self.metrics:
            names.add_metric(metric)
        for figure in (*self.cohort_metrics, *self.given, *self.formulas):
            names.add(figure)
        names.offline_metrics.update({metric.name: metric for metric in self.offline_metrics})
        for path in self.quantiles:
            names.find(path)
        return names

    def quantiles_of(self, metric: Metric) -> Sequence[str]:
        """The paths of the quantiles of one metric."""
        return [path for path in self.quantiles if quantile_in(path)[0] == metric.name]


def quantile_in(path: str) -> tuple[str, float]:
    """The metric and the share of a path such as `tre.q70`; "" where it is none."""
    found = _QUANTILE.fullmatch(path)
    return (found[1], int(found[2]) / 100) if found else ("", 0.0)


class FigureNames:
    """One index of names, which formulas, columns, ranking and commands share; figures are added in any order, but a
    formula after its terms.

    figures      every figure below `aggregates` by its path; those of single groups are left to `find`
    metrics      every figure of single cases by its name; `offline_metrics` are those that offline tools add
    of_cases     the paths of the figures that come from the cases alone, so that a group of cases has them too
    quantiles    the paths of quantiles that were asked for
    group_means  the path of every figure that has a mean over the groups, by the name of that mean before `_group_mean`
    """

    def __init__(self, *, titles: Mapping[str, str], groupings: int) -> None:
        self.figures: dict[str, NamedFigure] = {}
        self.metrics: dict[str, Metric] = {}
        self.offline_metrics: dict[str, Metric] = {}
        self.of_cases: set[str] = set()
        self.group_means: dict[str, str] = {}
        self.quantiles: set[str] = set()
        self.titles = titles
        self._groupings = groupings
        self._of_mean: dict[str, str] = {}

    def add_metric(self, metric: Metric) -> None:
        """A figure of single cases, and its mean, median, spread and count."""
        self.metrics[metric.name] = metric
        statistics = (
            (metric.mean_path, ""),
            (metric.median, "median"),
            (metric.std_path, "standard deviation"),
            (metric.count, "number of cases"),
        )
        for path, words in statistics:
            if not path:
                continue
            is_mean, is_number = path == metric.mean_path, path in (metric.mean_path, metric.median)
            self.of_cases.add(path)
            self._enter(
                NamedFigure(
                    path=path,
                    title=(metric.mean_title or metric.title) if is_mean else f"{metric.title}, {words}",
                    direction=metric.direction if is_number else "higher" if path == metric.count else "lower",
                    lowest=metric.lowest if is_number else 0.0,
                    highest=metric.highest if is_number else math.inf,
                    unit="" if path == metric.count else metric.unit,
                    undefined_when="" if path == metric.count else metric.undefined_when,
                    worst_value=metric.worst if is_number else None,
                    error_path=metric.std_path if is_mean else "",
                    judges=is_number,
                ),
                group_mean=metric.name if is_mean else "",
            )
        if metric.mean_path:
            self._of_mean.setdefault(metric.mean_path, metric.name)

    def add(self, figure: GivenFigure) -> None:
        """A figure of all cases together."""
        is_of_cases = isinstance(figure, CohortMetric)
        if isinstance(figure, Formula):
            is_of_cases = self.of_cases.issuperset(figure.terms)
        if is_of_cases:
            self.of_cases.add(figure.path)
        shared = {each.name: getattr(figure, each.name) for each in fields(GivenFigure)}
        shared["title"] = figure.title or figure.path.replace(".", " ").replace("_", " ").capitalize()
        has_mean = is_of_cases and not (isinstance(figure, CohortMetric) and figure.whole)
        self._enter(NamedFigure(**shared, judges=bool(figure.title)), group_mean=figure.path if has_mean else "")

    def _enter(self, figure: NamedFigure, *, group_mean: str) -> None:
        places = [figure]
        if group_mean and self._groupings == 1:
            self.group_means[group_mean] = figure.path
            path, title = group_mean + GROUP_MEAN, f"{figure.title}, mean of groups"
            places.append(replace(figure, path=path, title=title, error_path=""))
        for each in places:
            self.figures[each.path] = replace(each, title=self.titles.get(each.path, each.title))

    def find(self, name: str) -> NamedFigure | None:
        """The figure below `aggregates` that a name means: its path, the path without `.mean`, and where cases have
        groups also `<name>.group_mean` and `groups.<group>.<name>`."""
        if self._groupings:
            first, _, rest = name.partition(".")
            group, _, inner = rest.partition(".")
            if first == GROUPS and inner:
                found = self.find(inner)
                if found is None or found.path not in self.of_cases:
                    return None
                path, error = f"{GROUPS}.{group}.{found.path}", found.error_path
                title = self.titles.get(path, f"{found.title}, {group}")
                return replace(found, path=path, title=title, error_path=error and f"{GROUPS}.{group}.{error}")
            inner = name.removesuffix(".group_mean")
            if inner != name and (found := self.find(inner)) is not None:
                name = next((each for each, path in self.group_means.items() if path == found.path), "") + GROUP_MEAN
        return self.figures.get(name) or self.figures.get(name + _MEAN) or self._quantile(name)

    def _quantile(self, name: str) -> NamedFigure | None:
        metric = self.metrics.get(quantile_in(name)[0])
        median = None if metric is None else self.figures.get(metric.median)
        if metric is None or median is None:
            return None
        self.quantiles.add(name)
        self.of_cases.add(name)
        title = f"{metric.title}, {quantile_in(name)[1]:.0%} quantile"
        self.figures[name] = replace(median, path=name, title=self.titles.get(name, title))
        return self.figures[name]

    def find_metric(self, name: str, *, offline: bool = False) -> Metric | None:
        """The per-case figure that a name means: its own name, or a name of its mean; `offline`: also of a figure that
        offline tools add."""
        metrics = {**self.metrics, **self.offline_metrics} if offline else self.metrics
        if name in metrics:
            return metrics[name]
        found = self.find(name)
        by_mean = None if found is None else self._of_mean.get(found.path)
        return metrics.get(by_mean or name + _MEAN)

    def matching(self, pattern: str, *, of_case: bool = False) -> Sequence[str]:
        """The names that one with `*`, any one part, stands for; means over regions, classes and so on are none."""
        form = re.compile(re.escape(pattern).replace(r"\*", r"([^.]+)"))
        known = list(self.metrics) if of_case else [path.removesuffix(_MEAN) for path in self.figures]
        found = {name: parts for name in known if (parts := form.fullmatch(name))}
        return [name for name, parts in found.items() if SUMMARIES.isdisjoint(parts.groups())]

    def suggestions(self, *, of_case: bool = False) -> list[str]:
        """Names that are accepted: means without `.mean` too; `of_case`: those of per-case figures."""
        known = list(self.metrics if of_case else self.figures)
        return [*known, *(name.removesuffix(_MEAN) for name in known if name.endswith(_MEAN))]
