"""What a kind of metric declares once: its options, direction, range, unit, worst value, what empty input means, and
its functions of one case and of all cases. Rows, means, columns, bootstrap and docs follow from it."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from podium.challenges.declared.value_settings import Texts, as_tuple
from podium.challenges.declared.values import AnyValueKind, Compared
from podium.challenges.figure_names import title_of
from podium.challenges.settings import FigureName, Finite, Settings, Text
from podium.errors import ValidationProblem, did_you_mean
from podium.metrics.declaration import CaseMetric, CohortMetric, Direction, Formula

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
