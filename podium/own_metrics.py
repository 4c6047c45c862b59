"""An organiser's own metrics: what `metrics.py` in a challenge's folder imports.

    from podium.own_metrics import cohort_metric, metric

    @metric(compares="labels", direction="higher", lowest=0.0, highest=1.0, both_empty=1.0)
    def overlap(*, prediction, reference, spacing_mm):
        return ...

The declaration is published with the settings; the code stays with the organiser. See docs/own-metrics.md.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, Self, TypedDict, TypeVar, Unpack

from pydantic import BaseModel, ConfigDict, Field, model_validator

from podium.errors import Refused

__all__ = ["Refused", "case_metric", "cohort_metric", "metric", "prepare"]

Function = Callable[..., Any]
FunctionT = TypeVar("FunctionT", bound=Function)
Number = Annotated[float, Field(allow_inf_nan=False)]
WhereEmpty = Number | Literal["exclude", "worst", "diagonal"]
Compared = Literal[
    "labels", "image", "detection_map", "number", "class", "probability", "points", "boxes", "text", "survival"
]
PARAMETERS: Mapping[str, type] = {"float": float, "int": int, "str": str, "bool": bool}

KINDS_WITH_FACTS = ("class", "number", "probability", "survival")  # rows keep both sides, by the value's name


class OwnFigure(BaseModel):
    """Direction, range and unit of one figure."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    direction: Literal["higher", "lower"]
    title: str = ""
    unit: str = ""
    lowest: Number | None = None
    highest: Number | None = None

    def holds(self, value: float) -> bool:
        """Whether a value is within the range."""
        return (self.lowest is None or self.lowest <= value) and (self.highest is None or value <= self.highest)


class OwnMetric(OwnFigure):
    """One metric as it is published.

    kind             its name in `[[metrics]]` [the function's]
    scope            case: a figure of every case; cohort: one of all cases
    compares         the kinds of values that it is for
    lowest, highest  its range [without a bound]
    worst            of a case without a usable prediction: "diagonal", or the worse end of the range [the latter]
    both_empty, prediction_empty, reference_empty
                     of a region without voxels [the function is called]
    values, extra, parameters, figures
                     of a metric of whole cases: the values that it sees, templates of organiser-only files, the keys of
                     `[[metrics]]` with their types, and its figures where it has several
    code             SHA-256 of metrics.py: files that other code scored must not be ranked together
    """

    kind: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
    scope: Literal["case", "cohort"]
    compares: tuple[Compared, ...] = ()
    values: tuple[str, ...] = ()
    extra: Mapping[str, str] = {}
    parameters: Mapping[str, Literal["float", "int", "str", "bool"]] = {}
    figures: Mapping[str, OwnFigure] = {}
    worst: Number | Literal["diagonal"] | None = None
    both_empty: WhereEmpty | None = None
    prediction_empty: WhereEmpty | None = None
    reference_empty: WhereEmpty | None = None
    code: str = ""
    function: Annotated[Function | None, Field(exclude=True, repr=False)] = None
    of_case: Annotated[Function | None, Field(exclude=True, repr=False)] = None
    prepare: Annotated[Function | None, Field(exclude=True, repr=False)] = None

    @property
    def is_of_regions(self) -> bool:
        return self.compares == ("labels",)

    @property
    def worst_value(self) -> float | Literal["diagonal"] | None:
        """As declared, or the worse end of the range."""
        if self.worst is not None:
            return self.worst
        return self.lowest if self.direction == "higher" else self.highest

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if "labels" in self.compares and not self.is_of_regions:
            raise ValueError("labels are compared region by region: a metric of labels compares nothing else")
        if taken := {"kind", "name", "of", "title", "failed", "where", "otherwise"}.intersection(self.parameters):
            raise ValueError(f"a parameter cannot be called '{min(taken)}', which is a key of every metric")
        if bool(self.compares) == bool(self.values):
            raise ValueError("name the kinds that it compares, or the values that it sees")
        if self.scope == "cohort" and not set(self.compares) <= set(KINDS_WITH_FACTS):
            raise ValueError(f"a metric of all cases compares {', '.join(KINDS_WITH_FACTS)}: rows keep no other values")
        given = (self.both_empty, self.prediction_empty, self.reference_empty)
        if not self.is_of_regions and (self.worst == "diagonal" or given != (None, None, None)):
            raise ValueError("diagonal, both_empty, prediction_empty and reference_empty are for labels")
        if self.scope == "cohort" and self.worst is not None:
            raise ValueError("a metric of all cases has no worst value: it is given the cases without a prediction")
        if self.lowest is not None and self.highest is not None and not self.lowest < self.highest:
            raise ValueError("lowest must be below highest")
        if "worst" in given and self.worst_value is None:
            raise ValueError("a figure for empty masks is worst, but the range has no worse end")
        end = "lowest" if self.direction == "higher" else "highest"
        if isinstance(self.worst, float) and self.worst != getattr(self, end):
            raise ValueError(f"worst is {self.worst:g}, but other values can be worse: {end} must be the same number")
        return self


class Scale(TypedDict, total=False):
    """What every declaration may say; without `lowest` or `highest` there is no bound."""

    kind: str
    title: str
    unit: str
    lowest: float | None
    highest: float | None


def metric(  # noqa: PLR0913  (a declaration)
    *,
    compares: str | Sequence[str],
    direction: Literal["higher", "lower"],
    worst: float | Literal["diagonal"] | None = None,
    both_empty: float | str | None = None,
    prediction_empty: float | str | None = None,
    reference_empty: float | str | None = None,
    **scale: Unpack[Scale],
) -> Callable[[FunctionT], FunctionT]:
    """Declare a function of one case: `function(*, prediction, reference)` returns a number, or None where it has no
    value. For labels the two are masks of one region, and `spacing_mm` is a third argument; so it is for images."""
    given = {name: value for name, value in locals().items() if name != "scale"}
    return _declared("case", **given, **scale)


def case_metric(
    *,
    values: str | Sequence[str],
    direction: Literal["higher", "lower"] | None = None,
    figures: Sequence[str] | Mapping[str, Mapping[str, Any]] = (),
    extra: Mapping[str, str] | None = None,
    parameters: Mapping[str, type] | None = None,
    **scale: Unpack[Scale],
) -> Callable[[FunctionT], FunctionT]:
    """Declare a function of whole cases. It returns one figure, or those in `figures` by name; each may have a
    direction, range, unit and title of its own. See docs/own-metrics.md for the arguments that it may name."""
    shared = {"direction": direction, **{name: scale.get(name) for name in ("lowest", "highest")}}
    own = figures if isinstance(figures, Mapping) else {name: dict[str, Any]() for name in figures}
    named = {name: {**shared, "unit": scale.get("unit", ""), **each} for name, each in own.items()}
    direction = direction or next((each["direction"] for each in named.values()), None)
    given = {"values": values, "extra": extra, "parameters": parameters, "figures": named, "direction": direction}
    return _declared("case", **given, **scale)


def prepare(function: FunctionT) -> FunctionT:
    """Declare what runs once per reference and is kept for all teams: what it returns is `prepared`."""
    PREPARED.append(function)
    return function


def cohort_metric(  # noqa: PLR0913  (a declaration)
    *,
    direction: Literal["higher", "lower"],
    compares: str | Sequence[str] = (),
    of_case: Function | None = None,
    values: str | Sequence[str] = (),
    extra: Mapping[str, str] | None = None,
    parameters: Mapping[str, type] | None = None,
    **scale: Unpack[Scale],
) -> Callable[[FunctionT], FunctionT]:
    """Declare a function of all cases: `function(*, predictions, references)`, two lists in one order. A case without a
    usable prediction has None among the predictions. With `of_case`, a function like that of `case_metric` that returns
    small numbers or lists: `function(facts)`, a list with one entry per case."""
    given = {name: value for name, value in locals().items() if name != "scale"}
    return _declared("cohort", **given, **scale)


DECLARED: list[OwnMetric] = []
PREPARED: list[Function] = []  # what the metrics.py that runs declares, bound to a name or not


def _declared(scope: str, **declared: Any) -> Callable[[FunctionT], FunctionT]:
    given = {name: value for name, value in declared.items() if value is not None}
    for name in ("compares", "values"):
        given[name] = (found,) if isinstance(found := given.get(name, ()), str) else tuple(found)
    given["parameters"] = {name: kind.__name__ for name, kind in given.get("parameters", {}).items()}

    def declare(function: FunctionT) -> FunctionT:
        about = {"kind": function.__name__, "scope": scope, "function": function, **given}
        DECLARED.append(OwnMetric.model_validate(about))
        return function

    return declare
