"""How figures are declared: once, so that rows, means, leaderboard, ranking, bootstrap and reports follow from it.

    Metric         one figure of every case, and its mean, spread and count over cases; CaseMetric with its function
    Curve          a list of figures along one case, for reports, and its mean over cases
    CohortMetric   one figure of all cases together, from the facts that every row keeps
    Formula        a figure made of others
    GivenFigure    a figure that does not come from the cases, such as the runtime

A challenge lists its figures in one `Scoreboard`, which also says what the name of a figure means: formulas, columns,
ranking, tie-breaks and commands all ask it. A `Policy` decides the value of a metric for empty and failed cases.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Generic, Literal, TypeVar

from podium.figures import Figures, get, put
from podium.metrics import Floats
from podium.metrics.resampling import Resamples

Direction = Literal["higher", "lower"]
Undefined = Literal["exclude", "worst"]
CaseT = TypeVar("CaseT")
GROUPS = "groups"
GROUP_MEAN = "_group_mean"
_MEAN = ".mean"
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

    name       dotted path in a result row's `metrics`
    worst      the value that ranking gives to a team without one
    mean, std, median, count   where mean, population standard deviation, median and number of defined values are
                               below `aggregates`; "" for nowhere. By default `<name>.mean` and `<name>.std` alone
    mean_title  of the mean's column, where the title would not distinguish it from another figure's
    no_value_if  when the references leave all cases without a value, as in "has no value ...". There is then no mean
    """

    name: str
    worst: float
    mean: str | None = None
    std: str | None = None
    median: str = ""
    count: str = ""
    mean_title: str = ""
    no_value_if: str = ""

    def __post_init__(self) -> None:
        if not self.lowest <= self.worst <= self.highest:
            raise ValueError(f"{self.name}: worst value {self.worst} is outside {self.lowest} to {self.highest}")

    @property
    def mean_path(self) -> str:
        return f"{self.name}.mean" if self.mean is None else self.mean

    @property
    def std_path(self) -> str:
        return f"{self.name}.std" if self.std is None else self.std


@dataclass(frozen=True, kw_only=True)
class Gate:
    """`where` and `otherwise` of challenge.toml: what a figure is where the condition at this key does not hold, None
    for no value. `applied` (row, figure) is the figure behind the gate."""

    where: str
    otherwise: float | None
    key: tuple[str | int, ...]
    applied: Callable[[Figures, float | None], float | None] = lambda _, figure: figure


@dataclass(frozen=True, kw_only=True)
class CaseMetric(Metric, Generic[CaseT]):
    """A metric with its function: `of` a case, or `of_row`, made of the row's other figures.

    when_lost  the figure of a case without a usable prediction; by default the worst value, null if that is infinite
    """

    of: Callable[[CaseT], float | None] | None = None
    of_row: Callable[[Figures], float | None] | None = None
    when_lost: Callable[[CaseT], float | None] | None = None
    gate: Gate | None = None

    def from_row(self, row: Figures) -> float | None:
        """The figure, made of the row's other figures or measured before, behind its gate."""
        figure = get(row, self.name) if self.of_row is None else self.of_row(row)
        return figure if self.gate is None else self.gate.applied(row, figure)

    def score_missing(self, case: CaseT) -> float | None:
        """The figure of a case without a usable prediction."""
        if self.when_lost is not None:
            return self.when_lost(case)
        return self.worst if math.isfinite(self.worst) else None


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
    figure that is 0 where this one is unknown and its number is only a placeholder; `no_value_if` says when the
    references leave it without a value."""

    path: str
    title: str = ""
    direction: Direction = "higher"
    lowest: float = -math.inf
    known: str = ""
    no_value_if: str = ""

    @property
    def worst(self) -> float:
        return self.lowest if self.direction == "higher" else self.highest


@dataclass(frozen=True, kw_only=True)
class CohortMetric(GivenFigure):
    """A figure of all cases together: `of(rows, resamples)` in every replicate, NaN where it has no value there. A
    figure without a value is not published.

    exact      of(rows): what is published, where a package of the field computes it; None where `of` does
    whole      it counts something: published as an integer
    reveals    one case can move it further than chance does: its last digits tell the case's label
    defined    path below `aggregates` of 1 if it has a value, else 0
    """

    of: Callable[[Sequence[Figures], Resamples], Floats]
    exact: Callable[[Sequence[Figures]], float | None] | None = None
    whole: bool = False
    reveals: bool = False
    defined: str = ""


@dataclass(frozen=True, kw_only=True)
class Formula(GivenFigure):
    """A figure made of others, on numbers and on bootstrap replicates by the same code.

    of         NaN where it has no value, because something that it is made of has none; infinite where its arithmetic
               has no result, which becomes the worst of the range or, where that is infinite, no value
    terms      the paths of the others
    undefined  what terms without a value do: nothing is without them (None), they are left out, or count as the worst
    """

    of: Callable[[Values], Floats]
    terms: tuple[str, ...] = ()
    undefined: Undefined | None = None


@dataclass(frozen=True, kw_only=True)
class NamedFigure(GivenFigure):
    """A figure below `aggregates` as others name it.

    lost        the worst value where it is not an end of the range
    of_case     the per-case figure that it is the mean, median, spread or count of, "" where it is none of these
    error_path  the path of its spread
    judges      False where it says nothing about quality: a spread, a count, a fact
    """

    lost: float | None = None
    of_case: str = ""
    error_path: str = ""
    judges: bool = True

    @property
    def worst(self) -> float:
        return super().worst if self.lost is None else self.lost


@dataclass(frozen=True, kw_only=True)
class Scoreboard(Generic[CaseT]):
    """Every figure of a challenge, and which of them the leaderboard shows.

    offline_metrics  per-case figures that offline tools add to the rows, for ranking
    tables           facts of all cases together that no score is made of, such as a confusion matrix
    given            figures that do not come from the cases
    leaderboard      paths in the order of the columns, the score that teams are ranked by first
    offline          figures that offline tools add: no live leaderboard has them, the final table does
    aliases          a second place for all figures of a metric: the leaderboard's path stays where the settings decide
                     which metric teams are ranked by
    headline         those that make a short table
    ranked           where there are several, teams are ordered by the mean of their positions in these
    titles           of figures that have no declaration of their own, such as a median, by path
    group_of         the group of a case, where cases have groups: every figure of the cases then has one per group,
                     and the mean over these
    """

    metrics: Sequence[CaseMetric[CaseT]]
    offline_metrics: Sequence[Metric] = ()
    curves: Sequence[Curve] = ()
    cohort_metrics: Sequence[CohortMetric] = ()
    tables: Mapping[str, Callable[[Sequence[Figures]], Figures]] = field(default_factory=dict)
    given: Sequence[GivenFigure] = ()
    formulas: Sequence[Formula] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)
    leaderboard: Sequence[str]
    offline: Sequence[GivenFigure] = ()
    headline: Sequence[str] = ()
    ranked: Sequence[str] = ()
    titles: Mapping[str, str] = field(default_factory=dict)
    group_of: Callable[[str], str | None] | None = None

    def row(self, case: CaseT, *, is_missing: bool = False) -> dict[str, Any]:
        """The declared figures of one case; `is_missing` where it has no usable prediction."""
        row: dict[str, Any] = {}
        for metric in self.metrics:
            if metric.of is not None:
                put(row, metric.name, metric.score_missing(case) if is_missing else metric.of(case))
        for metric in self.metrics:
            if metric.of_row is not None or (metric.gate is not None and not is_missing):
                put(row, metric.name, metric.from_row(row))
        return row

    def resolved(self, path: str) -> str:
        """`path` with an alias replaced by its target."""
        for alias, target in self.aliases.items():
            if path.startswith(f"{alias}."):
                return target + path.removeprefix(alias)
        return path

    @property
    def all_metrics(self) -> Sequence[Metric]:
        """Every per-case figure that a row may hold."""
        return (*self.metrics, *self.offline_metrics)

    # What a name means.

    def find(self, name: str) -> NamedFigure | None:
        """The figure below `aggregates` that a name means: its path, the path without `.mean`, and where cases have
        groups also `<name>.group_mean` and `groups.<group>.<name>`."""
        first, _, rest = name.partition(".")
        group, _, inner = rest.partition(".")
        if first == GROUPS and inner and self.group_of is not None:
            found = self.find(inner)
            if found is None or found.path not in self.of_cases:
                return None
            error = found.error_path and f"{GROUPS}.{group}.{found.error_path}"
            path = f"{GROUPS}.{group}.{found.path}"
            return replace(found, path=path, title=self.titles.get(path, f"{found.title}, {group}"), error_path=error)
        inner = name.removesuffix(".group_mean")
        if inner != name and (found := self.find(inner)) is not None:
            name = next((each for each, path in self.group_means.items() if path == found.path), "") + GROUP_MEAN
        return next((self.named[path] for path in (name, name + _MEAN) if path in self.named), None)

    def find_metric(self, name: str, *, offline: bool = False) -> Metric | None:
        """The per-case figure that a name means: its own name, or a name of its mean; `offline`: also of a figure that
        offline tools add."""
        found = self.find(name)
        metrics = self.all_metrics if offline else self.metrics
        of_mean = [metric.name for metric in metrics if found is not None and metric.mean_path == found.path]
        paths = [name, *of_mean, name + _MEAN]
        return next((metric for path in paths for metric in metrics if metric.name == path), None)

    def names(self, *, of_case: bool = False) -> list[str]:
        """Names that are accepted, for suggestions: means without `.mean` too; `of_case`: those of per-case figures."""
        known = [metric.name for metric in self.metrics] if of_case else list(self.named)
        return [*known, *(name.removesuffix(_MEAN) for name in known if name.endswith(_MEAN))]

    @cached_property
    def of_cases(self) -> frozenset[str]:
        """The paths of the figures that come from the cases alone, so that a group of cases has them too."""
        found = {path for metric in self.metrics for path, _ in self._statistics(metric)}
        found |= {cohort.path for cohort in self.cohort_metrics}
        for formula in self.formulas:  # a formula comes after its terms
            found |= {formula.path} if found.issuperset(formula.terms) else set()
        return frozenset(found)

    @cached_property
    def named(self) -> Mapping[str, NamedFigure]:
        """Every figure below `aggregates` by its path; those of single groups are left to `find`."""
        found = {figure.path: figure for figure in self._all_named()}
        for alias, target in self.aliases.items():
            for path in [path for path in found if path.startswith(f"{target}.")]:
                error = found[path].error_path and alias + found[path].error_path.removeprefix(target)
                again = alias + path.removeprefix(target)
                found[again] = replace(found[path], path=again, error_path=error)
        if self.group_of is not None:
            for name, path in self.group_means.items():
                title, mean = f"{found[path].title}, mean of groups", name + GROUP_MEAN
                found[mean] = replace(found[path], path=mean, title=title, of_case="", error_path="")
        return {path: replace(each, title=self.titles.get(path, each.title)) for path, each in found.items()}

    @cached_property
    def group_means(self) -> Mapping[str, str]:
        """The path of every figure that has a mean over the groups, by the name of that mean before `_group_mean`."""
        means = {metric.name: metric.mean_path for metric in self.metrics if metric.mean_path}
        others = [each.path for each in self.cohort_metrics if not each.whole]
        others += [each.path for each in self.formulas if each.path in self.of_cases]
        return means | {path: path for path in others}

    def _all_named(self) -> Iterator[NamedFigure]:
        for metric in self.metrics:
            for path, words in self._statistics(metric):
                is_mean, is_number = path == metric.mean_path, path in (metric.mean_path, metric.median)
                title = (metric.mean_title or metric.title) if is_mean else f"{metric.title}, {words}"
                yield NamedFigure(
                    path=path,
                    title=title,
                    direction=metric.direction if is_number else "higher" if path == metric.count else "lower",
                    lowest=metric.lowest if is_number else 0.0,
                    highest=metric.highest if is_number else math.inf,
                    unit="" if path == metric.count else metric.unit,
                    no_value_if="" if path == metric.count else metric.no_value_if,
                    lost=metric.worst if is_number else None,
                    of_case=metric.name,
                    error_path=metric.std_path if is_mean else "",
                    judges=is_number,
                )
        for figure in (*self.cohort_metrics, *self.given, *self.formulas):
            shared = {each.name: getattr(figure, each.name) for each in fields(GivenFigure)}
            shared["title"] = figure.title or figure.path.replace(".", " ").replace("_", " ").capitalize()
            yield NamedFigure(**shared, judges=bool(figure.title))

    @staticmethod
    def _statistics(metric: Metric) -> Sequence[tuple[str, str]]:
        """The paths of a per-case figure below `aggregates`, each with its words in a title."""
        given = (
            (metric.mean_path, ""),
            (metric.median, "median"),
            (metric.std_path, "standard deviation"),
            (metric.count, "number of cases"),
        )
        return [(path, words) for path, words in given if path]


# The value of a metric for empty and failed cases. Libraries differ here (MONAI: NaN or 0, panoptica: configurable,
# scikit-learn: a warning), so every metric asks its policy before it calls a library.


@dataclass(frozen=True, kw_only=True)
class Policy:
    """A metric's value where its formula has none; None is undefined: left out of every mean, and counted.

    both_empty        neither the prediction nor the reference has anything of what is compared
    prediction_empty  only the reference has something
    reference_empty   only the prediction has something
    failed            there is no prediction (missing), or none that can be used, and the reference has something
    failed_on_empty   the same, and the reference has nothing
    """

    both_empty: float | None
    prediction_empty: float | None
    reference_empty: float | None
    failed: float | None
    failed_on_empty: float | None

    def applies(self, *, prediction: float, reference: float) -> bool:
        """Whether one of the two sizes (pixels, tokens, lesions) is zero, so that the formula does not decide."""
        return prediction == 0 or reference == 0

    def value(self, *, prediction: float, reference: float) -> float | None:
        """The metric's value where the policy applies."""
        if reference:
            return self.prediction_empty
        return self.reference_empty if prediction else self.both_empty

    def when_failed(self, *, reference: float) -> float | None:
        """The metric's value without a usable prediction; `reference` is the size of the reference."""
        return self.failed if reference else self.failed_on_empty


AGREEMENT = Policy(both_empty=1.0, prediction_empty=0.0, reference_empty=0.0, failed=0.0, failed_on_empty=0.0)
"""Two masks without a pixel agree."""

UNDEFINED_WITHOUT_REFERENCE = Policy(
    both_empty=None, prediction_empty=0.0, reference_empty=None, failed=0.0, failed_on_empty=None
)
"""Where the reference has no lesion there is nothing to find: the figure does not exist."""

RELATIVE_TO_REFERENCE = Policy(
    both_empty=None, prediction_empty=1.0, reference_empty=None, failed=math.inf, failed_on_empty=None
)
"""A difference as a share of the reference, which must have something: all of it is missing, or there is no figure."""


def distance_policy(worst: float) -> Policy:
    """Two masks without a voxel agree, distance 0; where only one has any, or there is no prediction, the worst
    distance, such as the diagonal of the image (`diagonal_mm`)."""
    return Policy(both_empty=0.0, prediction_empty=worst, reference_empty=worst, failed=worst, failed_on_empty=worst)
