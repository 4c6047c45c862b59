"""What a metric of the catalogue declares once: options, direction, range, unit, worst value and its function.

Rows, means, columns, bootstrap and docs follow from the declaration. A metric of whole values has a function of one
case (`CaseValueMetric`) or of all cases (`CohortValueMetric`); metrics of regions are in `regions`.
"""

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypedDict

import numpy as np

from podium.challenges.board import title_of
from podium.challenges.declared.values import AnyValueKind, Compared, Texts
from podium.challenges.settings import FigureName, Finite, GatedSettings, Text, as_tuple
from podium.errors import Refused, ValidationProblem, did_you_mean
from podium.figures import Figures, get
from podium.metrics import Floats
from podium.metrics.aggregation import mean_of_defined
from podium.metrics.declaration import CaseMetric, CohortMetric, Figure, Formula, Reason, Values
from podium.metrics.engines import OWN, MetricEngine
from podium.metrics.resampling import Resamples

Empty = Finite | Literal["exclude", "worst", "diagonal"]
Failed = Finite | Literal["worst", "empty", "diagonal"]


@dataclass(kw_only=True)
class DeclaredCase:
    """One case, compared: every value by its name, why predictions were refused, and the case's row of cases.csv with
    numbers as numbers; for own metrics organiser-only files, what was prepared, and what they have returned."""

    values: Mapping[str, Compared[Any, Any]]
    facts: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Path] = field(default_factory=dict)
    prepared: Any = None
    own: dict[str, Any] = field(default_factory=dict)
    warnings: Sequence[str] = ()
    refused: Mapping[str, Refused] = field(default_factory=dict)


class MetricSettings(GatedSettings):
    """One table of `[[metrics]]`.

    kind    which metric of the catalogue
    name    where its figures are [the kind]
    of      the values that it compares [all that fit]
    title   of its columns [that of the name, or of the kind]
    failed  the figure of a case without a usable prediction: a number, "worst", or for labels also "empty", which is
            that of an empty prediction, and "diagonal" [worst: what the worst prediction could have]
    where   a condition on the case's figures of metrics before this one, `{region}` for the region of the figure; where
            it does not hold, the figure is `otherwise`
    """

    kind: Text
    name: FigureName | None = None
    of: Texts | None = None
    title: Text | None = None
    failed: Failed = "worst"

    @property
    def own_name(self) -> str:
        return self.name or self.kind

    def title_of(self, figure: Figure, *, alone: bool = True) -> str:
        """The title of a figure's columns; a named metric differs from others of its kind. `alone`: the metric has one
        figure."""
        own = self.title or (title_of(self.name) if self.name else "")
        if not own:
            return title_of(figure.title)
        return own if alone else f"{own} {figure.title}"


@dataclass(kw_only=True)
class Declared:
    """What one metric adds to a challenge.

    facts         what a row keeps for figures of all cases: path in the row -> the value, and a function of the case
    confidential  paths in a row that reveal a reference
    columns       paths for the leaderboard
    package       what computes its figures
    """

    metrics: list[CaseMetric[DeclaredCase]] = field(default_factory=list)
    cohort_metrics: list[CohortMetric] = field(default_factory=list)
    formulas: list[Formula] = field(default_factory=list)
    facts: dict[str, tuple[str, Callable[[DeclaredCase], Any]]] = field(default_factory=dict)
    confidential: list[str] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)
    package: str = OWN


@dataclass(frozen=True, kw_only=True)
class MetricKind(ABC):
    """A metric of the catalogue.

    name               the `kind` in challenge.toml
    compares           the kinds of values it is for
    definition         its formula, for the docs
    package            what computes it where no engine does
    by_engine          (settings) -> whether the challenge's engine computes it
    needs_probability  points and boxes must have one
    """

    name: str
    definition: str
    compares: tuple[str, ...]
    settings_model: type[MetricSettings] = MetricSettings
    package: str = OWN
    by_engine: Callable[[Any], bool] = lambda _: False
    needs_probability: bool = False

    def problems(self, settings: Any, values: Mapping[str, AnyValueKind]) -> Sequence[ValidationProblem]:  # noqa: ARG002
        """What is wrong with well-formed settings; keys are relative to the metric's table."""
        return ()

    def filled_in(self, settings: MetricSettings) -> dict[str, Any]:
        """The metric's table with its defaults."""
        return settings.model_dump(mode="json")

    def computed_by(self, settings: Any, engine: MetricEngine) -> str:
        """The package that computes the metric under an engine."""
        return engine.PACKAGES.get(self.name, OWN) if self.by_engine(settings) else self.package

    @abstractmethod
    def declare(self, settings: Any, values: Mapping[str, AnyValueKind], engine: MetricEngine) -> Declared:
        """The metric's figures for the values that it is `of`."""


@dataclass(frozen=True, kw_only=True)
class ChosenMetric:
    """A metric of the catalogue under the settings of its table in challenge.toml."""

    kind: MetricKind
    settings: MetricSettings

    def compared(self, values: Mapping[str, AnyValueKind]) -> Mapping[str, AnyValueKind]:
        """The values that it is `of`: those that its settings name, else all that fit."""
        fitting = {
            name: value
            for name, value in values.items()
            if value.settings.kind in self.kind.compares and value.settings.is_predicted
        }
        return {name: fitting[name] for name in as_tuple(self.settings.of) or fitting if name in fitting}

    def problems_of_values(self, values: Mapping[str, AnyValueKind]) -> Sequence[ValidationProblem]:
        """What is wrong with what it is `of`."""
        kinds = " or ".join(self.kind.compares)
        words = []
        for name in as_tuple(self.settings.of):
            if name not in values:
                words.append(f"names '{name}', which is not a value{did_you_mean(name, values)}")
            elif not values[name].settings.is_predicted:
                words.append(f"names '{name}', which is a reference-only value")
            elif (found := values[name].settings.kind) not in self.kind.compares:
                words.append(f"names '{name}', which is of the kind {found}; {self.kind.name} compares {kinds}")
        if self.settings.of is None and not self.compared(values):
            words.append(f"is missing: {self.kind.name} compares a value of the kind {kinds}, and there is none")
        return [ValidationProblem(key=("of",), words=each) for each in words]

    def declare(self, values: Mapping[str, AnyValueKind], engine: MetricEngine, number: int) -> Declared:
        """Its figures for the values that it is `of`, behind the gate of its settings; it is metric `number`."""
        declared = self.kind.declare(self.settings, self.compared(values), engine)
        gate = self.settings.gate(("metrics", number))
        if gate is None:
            return declared
        for place, metric in enumerate(declared.metrics):
            if metric.compute is not None:
                region = metric.name.removeprefix(f"{self.settings.own_name}.").partition(".")[0]
                own = replace(gate, where=gate.where.replace("{region}", region))
                declared.metrics[place] = replace(metric, gate=own)
        return declared


def needs_failed(name: str, lacking: str, choices: str) -> ValidationProblem:
    words = f"is missing: {name} has no worst value{lacking}, so say what a case without an answer counts: {choices}"
    return ValidationProblem(key=("failed",), words=words)


def outside(failed: float | str, figure: Figure) -> Sequence[ValidationProblem]:
    """Where `failed` is what the figure cannot be."""
    number = math.inf if failed == "diagonal" else failed
    if isinstance(number, str) or figure.lowest <= number <= figure.highest:
        return ()
    words = f"is {failed}, outside {figure.lowest:g} to {figure.highest:g}"
    return [ValidationProblem(key=("failed",), words=words)]


def length_of_range(_: Any, value: AnyValueKind) -> float | None:
    """Of the value, which no error exceeds; None where it has no range."""
    return None if value.settings.range is None else float(value.settings.range[1] - value.settings.range[0])


def words_of(part: str) -> str:
    """The last part of a path in a title: `at_0_5` as "at 0.5"."""
    if part == "cpm":
        return "CPM"
    return re.sub(r"^(at_\d+)_(\d+)$", r"\1.\2", part).replace("_", " ")


def joined_path(*parts: str) -> str:
    """A dotted path of the parts that are not empty."""
    return ".".join(part for part in parts if part)


def mean_of_figures(terms: Sequence[str], *, exclude: bool = True, **declared: Any) -> Formula:
    """The mean of figures of all cases, such as those of regions; `exclude`: of those that have a value."""

    def compute(values: Values) -> Floats:
        found = np.stack([values[each] for each in terms])
        return mean_of_defined(found) if exclude else np.asarray(np.mean(found, axis=0))

    return Formula(**declared, compute=compute, terms=tuple(terms))


# Metrics with a figure of every case that compare whole values: images, numbers, texts.

OfCase = Callable[[DeclaredCase, AnyValueKind, Any], float | Reason | None]


@dataclass(frozen=True, kw_only=True)
class CaseValueMetric(MetricKind):
    """One figure of every case.

    compute            (case, value, settings) -> the figure; None where its formula has no value
    worst              (settings, value) -> the worst that any prediction can have; None where there is none
    when_missing       (case, value, settings) -> the worst that any prediction of this case can have [worst]
    undefined          (case, value) -> why the reference leaves all predictions without a value
    reveals_reference  whether the figure, together with one's own prediction, reveals the reference
    needed             what a worst value would need, for the message
    undefined_when     (value) -> when the references leave all cases without a value
    several            (settings) -> of a metric with several figures the function of each, by the last part of its path
    has_unit           whether its unit is that of the value
    check              what is wrong with settings that are well-formed
    """

    figure: Figure
    compute: OfCase = lambda *_: None
    worst: Callable[[Any, AnyValueKind], float | None] = lambda _, __: None
    when_missing: OfCase | None = None
    undefined: Callable[[DeclaredCase, AnyValueKind], Reason | None] = lambda _, __: None
    reveals_reference: bool = False
    needed: str = ""
    undefined_when: Callable[[AnyValueKind], str] = lambda _: ""
    several: Callable[[Any], Mapping[str, OfCase]] | None = None
    has_unit: bool = True
    check: Callable[[Any, AnyValueKind], Sequence[ValidationProblem]] = lambda _, __: ()

    def problems(self, settings: Any, values: Mapping[str, AnyValueKind]) -> Sequence[ValidationProblem]:
        found = [problem for value in values.values() for problem in self.check(settings, value)]
        if settings.failed in ("empty", "diagonal"):
            words = f'is "{settings.failed}", which is for labels: it is a number or "worst" here'
            found.append(ValidationProblem(key=("failed",), words=words))
        elif settings.failed != "worst":
            found += outside(settings.failed, self.figure)
        elif any(self.worst(settings, value) is None for value in values.values()):
            found.append(needs_failed(self.name, self.needed, "a number"))
        return found

    def declare(self, settings: MetricSettings, values: Mapping[str, AnyValueKind], engine: MetricEngine) -> Declared:
        declared = Declared(package=self.computed_by(settings, engine))
        for part, compute in ({"": self.compute} if self.several is None else self.several(settings)).items():
            metrics = [
                self._case_metric(settings, value, part, compute, alone=len(values) == 1) for value in values.values()
            ]
            declared.metrics += metrics
            declared.columns += [each.mean_path for each in metrics]
            declared.confidential += [each.name for each in metrics] if self.reveals_reference else []
            if len(metrics) > 1:
                terms, path = [each.mean_path for each in metrics], joined_path(settings.own_name, part, "mean")
                title = f"{settings.title_of(self.figure)} {words_of(part)}".strip()
                lacking = max(each.undefined_when for each in metrics)
                words: dict[str, Any] = {"title": f"{title}, mean", "undefined_when": lacking}
                declared.formulas.append(mean_of_figures(terms, path=path, **words, **metrics[0].scale))
                declared.columns.append(path)
        return declared

    def _case_metric(
        self, settings: MetricSettings, value: AnyValueKind, part: str, compute: OfCase, *, alone: bool
    ) -> CaseMetric[DeclaredCase]:
        path = joined_path(settings.own_name, "" if alone else value.name, part)
        words = ["" if alone else value.title, words_of(part)]
        unit = getattr(value.settings, "unit", "") if self.has_unit else ""
        return CaseMetric(
            name=path,
            title=" ".join(filter(None, [settings.title_of(self.figure), *words])),
            **replace(self.figure, unit=unit or self.figure.unit).scale,
            worst=self._worst_number(settings, value),
            median=f"{path}.median",
            count=f"{path}.n",
            undefined_when=self.undefined_when(value),
            compute=lambda case: self._of_case(case, value, settings, compute),
            of=frozenset({value.name}),
        )

    def _worst_number(self, settings: MetricSettings, value: AnyValueKind) -> float:
        given = settings.failed if isinstance(settings.failed, int | float) else self.worst(settings, value)
        if given is None:
            return self.figure.highest if self.figure.direction == "lower" else self.figure.lowest
        return min(max(float(given), self.figure.lowest), self.figure.highest)

    def _of_case(
        self, case: DeclaredCase, value: AnyValueKind, settings: MetricSettings, compute: OfCase
    ) -> float | Reason | None:
        """Only this value may be missing. What the reference leaves undefined is so without a prediction too."""
        if (reason := self.undefined(case, value)) is not None:
            return reason
        if not case.values[value.name].is_missing:
            return compute(case, value, settings)
        if isinstance(settings.failed, int | float):
            return float(settings.failed)
        return self.worst(settings, value) if self.when_missing is None else self.when_missing(case, value, settings)


# Metrics of all cases together, from the facts that every row keeps of a value.


NO_REFERENCE: Figures = {}
"""What a row keeps of a value that the case has no reference of."""


def has_facts(rows: Sequence[Figures], path: str) -> bool:
    """Whether there is anything to compute from: a submission without any answer of an optional value has no facts."""
    return all(get(row, path) is not None for row in rows)


def referenced(rows: Sequence[Figures], path: str, resamples: Resamples) -> tuple[Sequence[Any], Resamples]:
    """The facts of the cases that have a reference, and the draws of these."""
    found = [get(row, path) for row in rows]
    kept = np.array([fact != NO_REFERENCE for fact in found], dtype=np.bool_)
    return [fact for fact, is_kept in zip(found, kept, strict=True) if is_kept], resamples.only(kept)


@dataclass(frozen=True, kw_only=True)
class CohortFacts:
    """All cases, as a figure of one value sees them.

    facts  what the rows keep of the value, in the order of the cases
    part   which of the metric's figures is wanted, "" where it has one
    """

    facts: Sequence[Any]
    resamples: Resamples
    value: AnyValueKind
    settings: Any
    part: str


class CohortArrays(TypedDict):
    """A cohort as the functions of `podium.metrics` take it: one entry per case that counts."""

    prediction: Floats
    reference: Any
    resamples: Resamples


@dataclass(frozen=True, kw_only=True)
class CohortValueMetric(MetricKind):
    """One or several figures of all cases, from the facts of one value.

    figure          what all of its figures share
    parts           (settings, value) -> the last parts of the figures' paths, "" for one figure
    compute         the figure in every replicate
    exact           the published figure by an engine; None where that is replicate zero, all cases once
    fact            (case, value, settings) -> what a row keeps of a case for this metric [what it keeps of the value]
    failed          what a case without a usable prediction may count besides "worst": "empty", "a number"
    undefined_when  when the references leave it without a value
    check           what is wrong with settings that are well-formed
    """

    figure: Figure
    parts: Callable[[Any, AnyValueKind], Sequence[str]] = lambda _, __: ("",)
    compute: Callable[[CohortFacts], Floats]
    exact: Callable[[CohortFacts, MetricEngine], float | None] | None = None
    fact: Callable[[DeclaredCase, AnyValueKind, Any], Any] | None = None
    failed: Literal['"empty"', "a number", ""] = ""
    undefined_when: str = ""
    check: Callable[[Any, AnyValueKind], Sequence[ValidationProblem]] = lambda _, __: ()

    def problems(self, settings: Any, values: Mapping[str, AnyValueKind]) -> Sequence[ValidationProblem]:
        singles = [each for value in values.values() for each in value.singles().values()]
        found = [*dict.fromkeys(problem for value in singles for problem in self.check(settings, value))]
        given = f'"{settings.failed}"' if isinstance(settings.failed, str) else "a number"
        if given not in ('"worst"', self.failed):
            words = f'is "worst"{self.failed and f" or {self.failed}"} here'
            found.append(ValidationProblem(key=("failed",), words=words))
        return found

    def declare(self, settings: MetricSettings, values: Mapping[str, AnyValueKind], engine: MetricEngine) -> Declared:
        declared = Declared(package=self.computed_by(settings, engine))
        fact, parts = self.fact, dict[str, list[CohortMetric]]()
        for name, each in ((name, each) for name, value in values.items() for each in value.singles().items()):
            single, value = each
            place, facts = "_".join(filter(None, (name if len(values) > 1 else "", single))), joined_path(name, single)
            if fact is not None:
                facts = joined_path("facts", settings.own_name, place)
                declared.facts[facts] = name, partial(lambda value, case: fact(case, value, settings), value)
                declared.confidential.append(facts)
            for part in self.parts(settings, value):
                metric = self._cohort_metric(settings, value, engine, place=place, part=part, facts=facts)
                parts.setdefault(part, []).append(metric)
                declared.cohort_metrics.append(metric)
                declared.columns += [] if single else [metric.path]
        for part, metrics in parts.items():
            if len(metrics) > 1:
                terms, path = [each.path for each in metrics], joined_path(settings.own_name, part, "mean")
                title = f"{settings.title_of(self.figure)} {words_of(part)}".strip()
                lacking, scale = self.undefined_when, self.figure.scale
                mean = mean_of_figures(terms, path=path, title=f"{title}, mean", undefined_when=lacking, **scale)
                declared.formulas.append(mean)
                declared.columns.append(path)
        return declared

    def _cohort_metric(  # noqa: PLR0913  (what its paths, titles and functions need)
        self, settings: MetricSettings, value: AnyValueKind, engine: MetricEngine, *, place: str, part: str, facts: str
    ) -> CohortMetric:
        words = " ".join(filter(None, (value.title if place else "", words_of(part))))

        def cohort(rows: Sequence[Figures], resamples: Resamples) -> CohortFacts:
            found, drawn = referenced(rows, facts, resamples)
            found = [value.expanded(fact) for fact in found]
            return CohortFacts(facts=found, resamples=drawn, value=value, settings=settings, part=part)

        def compute(rows: Sequence[Figures], resamples: Resamples) -> Floats:
            known = cohort(rows, resamples) if has_facts(rows, facts) else None
            if known is None or not known.facts:
                return np.full(resamples.replicates, np.nan)
            return np.where(known.resamples.sizes > 0, self.compute(known), np.nan)

        def exact(rows: Sequence[Figures]) -> float | None:
            assert self.exact is not None
            known = cohort(rows, Resamples.whole(len(rows))) if has_facts(rows, facts) else None
            return self.exact(known, engine) if known is not None and known.facts else None

        return CohortMetric(
            path=joined_path(settings.own_name, place, part),
            title=f"{settings.title_of(self.figure)} {words}".strip(),
            **self.figure.scale,
            compute=compute,
            exact=None if self.exact is None else exact,
            facts=facts,
            undefined_when=self.undefined_when,
        )
