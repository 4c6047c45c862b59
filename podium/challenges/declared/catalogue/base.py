"""What a kind of metric declares once: its options, direction, range, unit, worst value, what empty input means, and
its functions of one case and of all cases. Rows, means, columns, bootstrap and docs follow from it.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from podium.challenges.board import title_of
from podium.challenges.declared.value_settings import Texts, as_tuple
from podium.challenges.declared.values import AnyValueKind, Compared
from podium.challenges.settings import FigureName, Finite, Settings, Text
from podium.errors import ValidationProblem, did_you_mean
from podium.figures import Figures, get
from podium.metrics import Floats
from podium.metrics.declaration import CaseMetric, CohortMetric, Direction, Formula
from podium.metrics.resampling import Resamples

Number = Finite
Empty = Number | Literal["exclude", "worst", "diagonal"]


@dataclass(kw_only=True)
class DeclaredCase:
    """One case, compared: every value by its name."""

    values: Mapping[str, Compared[Any, Any]]
    warnings: Sequence[str] = ()


class MetricSettings(Settings):
    """One table of `[[metrics]]`.

    kind    which metric of the catalogue
    name    where its figures stand [the kind]
    of      the values that it compares [the only one that fits]
    title   of its columns [that of the name, or of the kind]
    failed  the figure of a case without a usable prediction [worst]
    """

    kind: Text
    name: FigureName | None = None
    of: Texts | None = None
    title: Text | None = None
    failed: Empty = "worst"

    @property
    def own_name(self) -> str:
        return self.name or self.kind

    def title_of(self, figure: "Figure", *, alone: bool = True) -> str:
        """Of a figure's columns; a metric with a name of its own can be told from another of its kind. `alone` is
        whether the metric has one figure."""
        own = self.title or (title_of(self.name) if self.name else "")
        if not own:
            return title_of(figure.title)
        return own if alone else f"{own} {figure.title}"


@dataclass(kw_only=True)
class Declared:
    """What one metric adds to a challenge.

    facts         what a row keeps for figures of all cases: path in the row -> function of the case
    confidential  paths in a row that give a reference away
    columns       paths for the leaderboard
    """

    metrics: list[CaseMetric[DeclaredCase]] = field(default_factory=list)
    cohort_metrics: list[CohortMetric] = field(default_factory=list)
    formulas: list[Formula] = field(default_factory=list)
    facts: dict[str, Callable[[DeclaredCase], Any]] = field(default_factory=dict)
    confidential: list[str] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One figure of a metric: what is known of it before anything is scored."""

    title: str
    direction: Direction
    lowest: float = 0.0
    highest: float = math.inf
    unit: str = ""


@dataclass(frozen=True, kw_only=True)
class MetricKind(ABC):
    """A metric of the catalogue.

    name        the `kind` in challenge.toml
    compares    the kinds of values it is for
    definition  its formula in words, for the docs
    """

    name: str
    definition: str
    compares: tuple[str, ...]
    settings_model: type[MetricSettings] = MetricSettings

    def problems(self, settings: Any, values: Mapping[str, AnyValueKind]) -> Sequence[ValidationProblem]:  # noqa: ARG002
        """What is wrong with well-formed settings; keys are relative to the metric's table."""
        return ()

    @abstractmethod
    def declare(self, settings: Any, values: Mapping[str, AnyValueKind]) -> Declared:
        """The metric's figures for the values that it is `of`."""


def fitting_values(
    kind: MetricKind, settings: MetricSettings, values: Mapping[str, AnyValueKind]
) -> tuple[Mapping[str, AnyValueKind], Sequence[ValidationProblem]]:
    """The values that a metric is of, and what is wrong with them."""
    fitting = {
        name: value
        for name, value in values.items()
        if value.settings.kind in kind.compares and value.settings.is_predicted
    }
    wanted = as_tuple(settings.of)
    problems = []
    kinds = " or ".join(kind.compares)
    for name in wanted:
        if name not in values:
            words = f"names '{name}', which is no value{did_you_mean(name, values)}"
            problems.append(ValidationProblem(key=("of",), words=words))
        elif not values[name].settings.is_predicted:
            problems.append(ValidationProblem(key=("of",), words=f"names '{name}', which nobody predicts"))
        elif name not in fitting:
            found = values[name].settings.kind
            words = f"names '{name}', which is of the kind {found}; {kind.name} compares {kinds}"
            problems.append(ValidationProblem(key=("of",), words=words))
    if not wanted and len(fitting) != 1:
        listed = f"there are {', '.join(fitting)}" if fitting else "there is none"
        words = f"is missing: {kind.name} compares a value of the kind {kinds}, and {listed}"
        problems.append(ValidationProblem(key=("of",), words=words))
    chosen = wanted or tuple(fitting)
    return {name: fitting[name] for name in chosen if name in fitting}, problems


# Metrics of all cases together, from the facts that every row keeps of a value.

Facts = Sequence[Any]  # in the order of the cases
Compute = Callable[[Facts, Resamples], Floats]


def one_figure(_: Any, __: AnyValueKind) -> Sequence[str]:
    """Most metrics have one figure, at their own name."""
    return ("",)


@dataclass(frozen=True, kw_only=True)
class CohortValueMetric(MetricKind):
    """One or several figures of all cases, from the facts of one value.

    figure   what all of its figures share
    parts    the last parts of the figures' paths, "" for one figure
    compute  (part, settings, value) -> how that figure is computed from the facts of all cases
    fact     what a row keeps of a case for this metric, from both sides and (settings, value) [what it keeps of the
             value]
    check    what is wrong with settings that are well-formed
    """

    figure: Figure
    parts: Callable[[Any, AnyValueKind], Sequence[str]] = one_figure
    compute: Callable[[str, Any, AnyValueKind], Compute]
    fact: Callable[[Compared[Any, Any], tuple[Any, AnyValueKind]], Any] | None = None
    check: Callable[[Any, AnyValueKind], Sequence[ValidationProblem]] = lambda _, __: ()

    def problems(self, settings: Any, values: Mapping[str, AnyValueKind]) -> Sequence[ValidationProblem]:
        return [problem for value in values.values() for problem in self.check(settings, value)]

    def declare(self, settings: MetricSettings, values: Mapping[str, AnyValueKind]) -> Declared:
        declared = Declared()
        for name, value in values.items():
            place = name if len(values) > 1 else ""
            path_of_facts = name
            if self.fact is not None:
                path_of_facts = ".".join(each for each in ("facts", settings.own_name, place) if each)
                declared.facts[path_of_facts] = _fact_of_case(self.fact, settings, value)
                declared.confidential.append(path_of_facts)
            for part in self.parts(settings, value):
                path = ".".join(each for each in (settings.own_name, place, part) if each)
                words = " ".join(each for each in (value.title if place else "", part) if each).replace("_", " ")
                declared.cohort_metrics.append(
                    CohortMetric(
                        path=path,
                        title=f"{settings.title_of(self.figure)} {words}".strip(),
                        direction=self.figure.direction,
                        lowest=self.figure.lowest,
                        highest=self.figure.highest,
                        unit=self.figure.unit,
                        of=_from_rows(path_of_facts, self.compute(part, settings, value)),
                        undefined=None,
                    )
                )
                declared.columns.append(path)
        return declared


def _from_rows(path: str, compute: Compute) -> Compute:
    def of(rows: Sequence[Figures], resamples: Resamples) -> Floats:
        return compute([get(row, path) for row in rows], resamples)

    return of


def _fact_of_case(
    fact: Callable[[Compared[Any, Any], tuple[Any, AnyValueKind]], Any], settings: Any, value: AnyValueKind
) -> Callable[[DeclaredCase], Any]:
    return lambda case: fact(case.values[value.name], (settings, value))


# Metrics with a figure of every case that compare whole values: images, numbers, texts.

Of = Callable[[DeclaredCase, AnyValueKind, Any], float | None]
NoWorst = Callable[[Any, AnyValueKind], float | None]


@dataclass(frozen=True, kw_only=True)
class CaseValueMetric(MetricKind):
    """One figure of every case.

    of            (case, value, settings) -> the figure; None where it is undefined
    worst         (settings, value) -> the figure of a failed case; None where there is none by nature
    lost          (case, value, settings) -> the same where it depends on the reference
    tells         whether the figure, together with one's own prediction, gives the reference away
    needed        what a worst value would need, for the message
    check         what is wrong with settings that are well-formed
    """

    figure: Figure
    of: Of
    worst: NoWorst = lambda _, __: None
    lost: Of | None = None
    tells: bool = False
    needed: str = ""
    check: Callable[[Any, AnyValueKind], Sequence[ValidationProblem]] = lambda _, __: ()

    def problems(self, settings: Any, values: Mapping[str, AnyValueKind]) -> Sequence[ValidationProblem]:
        found = [problem for value in values.values() for problem in self.check(settings, value)]
        for value in values.values():
            undecided = self.lost is None or self.needed
            if settings.failed in ("worst", "diagonal") and undecided and self.worst(settings, value) is None:
                words = (
                    f"is missing: {self.name} has no worst value{self.needed}, so say what a case without a usable "
                    'prediction counts: a number, or "exclude"'
                )
                found.append(ValidationProblem(key=("failed",), words=words))
                break
        return found

    def declare(self, settings: MetricSettings, values: Mapping[str, AnyValueKind]) -> Declared:
        declared = Declared()
        for name, value in values.items():
            path = f"{settings.own_name}.{name}" if len(values) > 1 else settings.own_name
            title = settings.title_of(self.figure)
            worst = self._worst_number(settings, value)
            declared.metrics.append(
                CaseMetric(
                    name=path,
                    title=f"{title} {value.title}" if len(values) > 1 else title,
                    direction=self.figure.direction,
                    lowest=self.figure.lowest,
                    highest=self.figure.highest,
                    worst=worst,
                    unit=getattr(value.settings, "unit", "") or self.figure.unit,
                    median=f"{path}.median",
                    count=f"{path}.n",
                    undefined=worst if math.isfinite(worst) else None,
                    of=_figure_of_case(self.of, value, settings),
                    when_lost=self._when_lost(settings, value),
                )
            )
            declared.columns.append(f"{path}.mean")
            if self.tells:
                declared.confidential.append(path)
        return declared

    def _worst_number(self, settings: MetricSettings, value: AnyValueKind) -> float:
        given = settings.failed if isinstance(settings.failed, int | float) else self.worst(settings, value)
        if given is None:
            return self.figure.highest if self.figure.direction == "lower" else self.figure.lowest
        return min(max(float(given), self.figure.lowest), self.figure.highest)

    def _when_lost(self, settings: MetricSettings, value: AnyValueKind) -> Callable[[DeclaredCase], float | None]:
        if isinstance(settings.failed, int | float):
            number = float(settings.failed)
            return lambda _: number
        if settings.failed == "exclude":
            return lambda _: None
        if self.lost is not None:
            return _figure_of_case(self.lost, value, settings)
        worst = self.worst(settings, value)
        return lambda _: worst


def _figure_of_case(of: Of, value: AnyValueKind, settings: Any) -> Callable[[DeclaredCase], float | None]:
    return lambda case: of(case, value, settings)
