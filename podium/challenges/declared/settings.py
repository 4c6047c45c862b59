"""The tables of a declared challenge: `[values]`, `[[metrics]]` and `[time]`."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import (
    AfterValidator,
    Field,
    SerializerFunctionWrapHandler,
    TypeAdapter,
    ValidationError,
    model_serializer,
    model_validator,
)

from podium.challenges.base import Examined
from podium.challenges.declared.catalogue import metric_kinds, metric_names
from podium.challenges.declared.catalogue.base import MetricKind, MetricSettings, fitting_values
from podium.challenges.declared.catalogue.own import own_kind
from podium.challenges.declared.value_settings import AnyValue, as_tuple
from podium.challenges.declared.values import VALUE_KINDS, AnyValueKind, make_value
from podium.challenges.settings import (
    CasesSettings,
    FigureName,
    Positive,
    Settings,
    problems_of,
    unknown_key,
    without_problems,
)
from podium.errors import ValidationProblem, all_problems, did_you_mean
from podium.figures import Figures
from podium.metrics.declaration import GivenFigure
from podium.metrics.engines import EngineName, engine_named
from podium.own_metrics import KINDS_WITH_FACTS, OwnMetric
from podium.platform.jobs import Runtime
from podium.platform.metrics_file import CaseResult

OWN_METRICS = "own_metrics"
_FASTEST: Mapping[str, str] = {"fixed": "2/3", "cohort": "1/3"}  # shares of the baseline by rule
_SLOWEST = dict.fromkeys(_FASTEST, "2")
_TAKEN = {"facts", "groups", "confusion_matrix"}
_ONE_VALUE: TypeAdapter[AnyValue] = TypeAdapter(AnyValue)
_VALUE_NAME: TypeAdapter[str] = TypeAdapter(FigureName)
_VALUE_KEYS: Mapping[str, Collection[str]] = {
    kind: model.model_fields
    for model in get_args(get_args(AnyValue)[0])
    for kind in get_args(model.model_fields["kind"].annotation)
}
_ANY_KEY = frozenset(chain.from_iterable(_VALUE_KEYS.values()))
_OTHER_PLACE = {"file": ("table",), "reference": ("reference_table", "table"), "reference_table": ("reference",)}
"""Keys of `[values]` that a value does not inherit where it has one of these."""


# `[time]`: processing time as a score from 0 (slow) to 100 (fast), by the two rules published for CSV 2026.


@dataclass(frozen=True, kw_only=True)
class TimeBounds:
    """Times at or below `fast` seconds score 100, at or above `slow` seconds 0, linearly between."""

    fast: float
    slow: float

    def clamped(self, seconds: float) -> float:
        return min(max(seconds, self.fast), self.slow)

    def score(self, seconds: float) -> float:
        """(slow - t) / (slow - fast) * 100 with t clamped to the bounds, which must differ."""
        return (self.slow - self.clamped(seconds)) / (self.slow - self.fast) * 100.0


def time_bounds(baseline_seconds: float, *, fastest: Fraction, slowest: Fraction) -> TimeBounds:
    """Bounds that are shares of the baseline."""
    fast, slow = (baseline_seconds * share.numerator / share.denominator for share in (fastest, slowest))
    return TimeBounds(fast=fast, slow=slow)


def cohort_scores(team_seconds: Sequence[float], widest: TimeBounds) -> list[float]:
    """The challenge site's rule, one score per team: the bounds are the fastest and the slowest time, all times
    clamped to `widest` first. Where the two are equal, every team has 0 if that is the slowest time allowed, else
    100."""
    clamped = [widest.clamped(seconds) for seconds in team_seconds]
    bounds = TimeBounds(fast=min(clamped), slow=max(clamped))
    if bounds.fast == bounds.slow:
        return [0.0 if bounds.slow == widest.slow else 100.0] * len(clamped)
    return [bounds.score(seconds) for seconds in clamped]


def _is_a_share(text: str) -> str:
    try:
        share = Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise ValueError('a share of the baseline is written as "2/3" or "2"') from None
    if share <= 0:
        raise ValueError("a share of the baseline is above 0")
    return text


Share = Annotated[str, AfterValidator(_is_a_share)]


class TimeSettings(Settings):
    """`[time]`.

    rule              fixed: the bounds are shares of the baseline; cohort: they are the fastest and the slowest team's
                      time within these shares, final only once all teams' times are known; none: seconds only
    baseline_seconds  the time that the shares refer to
    fastest, slowest  shares of the baseline ["2/3" and "2" for fixed, "1/3" and "2" for cohort]
    clock             the one that counts: jobs that were measured by the other are then an error
    """

    rule: Literal["fixed", "cohort", "none"]
    baseline_seconds: Positive | None = None
    fastest: Share | None = Field(default_factory=lambda given: _FASTEST.get(given.get("rule", "")))
    slowest: Share | None = Field(default_factory=lambda given: _SLOWEST.get(given.get("rule", "")))
    clock: Literal["exec", "invoke", "any"] = "any"

    @model_validator(mode="after")
    def _fits_the_rule(self) -> Self:
        if self.rule == "none" and (self.baseline_seconds or self.fastest or self.slowest):
            raise ValueError('with rule = "none" there is no baseline, fastest or slowest')
        if self.rule != "none" and self.baseline_seconds is None:
            raise ValueError("baseline_seconds is missing")
        if self.rule != "none" and self.bounds.fast >= self.bounds.slow:
            raise ValueError("fastest must be below slowest")
        return self

    @property
    def bounds(self) -> TimeBounds:
        """The times between which the score falls; under the cohort rule the widest that they can be."""
        assert self.baseline_seconds is not None
        assert self.fastest is not None
        assert self.slowest is not None
        return time_bounds(self.baseline_seconds, fastest=Fraction(self.fastest), slowest=Fraction(self.slowest))

    def figures(self) -> tuple[GivenFigure, ...]:
        """What `[time]` publishes."""
        seconds, mean = (
            GivenFigure(path=path, title=title, direction="lower", lowest=0.0, known="time_known")
            for path, title in (("total_seconds", "Seconds"), ("runtime_seconds", "Seconds per case"))
        )
        known = GivenFigure(path="time_known")
        if self.rule == "none":
            return (known, seconds, mean)
        score = GivenFigure(path="time_score", title="Time", lowest=0.0, highest=100.0)
        return (score, GivenFigure(path="time_score_is_provisional"), known, seconds, mean)

    def team_figures(self, results: Sequence[CaseResult], runtime: Runtime) -> Mapping[str, float]:
        """The time figures as far as one team's time determines them.

        A case without a usable prediction counts with its share of the slowest time, so that failing fast never beats
        working slowly. An unknown time is published as the slowest: no column may show it as the fastest.
        """
        usable = [result.case for result in results if result.status == "scored"]
        seconds = runtime.of(usable)
        known = {"time_known": int(seconds is not None), **runtime.clock_figures()}
        if self.rule == "none":
            return known if seconds is None else {**known, **_seconds(seconds, usable=len(usable))}
        bounds = self.bounds
        unusable_seconds = (len(results) - len(usable)) * bounds.slow / len(results)
        total = bounds.slow if seconds is None else seconds + unusable_seconds
        return {
            "time_score": bounds.score(total),
            "time_score_is_provisional": int(self.rule == "cohort"),
            **known,
            **_seconds(total, usable=len(results)),
        }

    def cohort_figures(self, aggregates: Mapping[str, Figures]) -> Mapping[str, Mapping[str, float]]:
        """Under the cohort rule the time score needs all teams' times; a team without a known time keeps 0 and sets no
        bound."""
        times = {team: figures["total_seconds"] for team, figures in aggregates.items() if figures["time_known"]}
        if self.rule != "cohort" or not times:
            return {}
        scores = dict(zip(times, cohort_scores(list(times.values()), self.bounds), strict=True))
        return {team: {"time_score": scores.get(team, 0.0), "time_score_is_provisional": 0} for team in aggregates}


def _seconds(total: float, *, usable: int) -> dict[str, float]:
    return {"total_seconds": total, "runtime_seconds": total / max(1, usable)}


# All tables of a declared challenge.


class _Outer(Settings):
    """The tables; their values and metrics are examined one by one."""

    values: Annotated[Mapping[FigureName, Any], Field(min_length=1)]
    metrics: Annotated[tuple[Mapping[str, Any], ...], Field(min_length=1)]
    time: TimeSettings | None = None
    engine: EngineName = "monai"
    own_metrics: tuple[OwnMetric, ...] = ()


class DeclaredSettings(_Outer):
    """The three tables and the engine, which is a key above them; what a metric's table may hold depends on its kind
    and is checked separately. `own_metrics` come from metrics.py, never from challenge.toml."""

    values: Annotated[Mapping[FigureName, AnyValue], Field(min_length=1)]

    @model_serializer(mode="wrap")
    def _filled_in(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """With every default of the metrics, and without own metrics where there are none."""
        content: dict[str, Any] = serialize(self)
        content["metrics"] = [kind.filled_in(metric) for kind, metric in metrics_of(self)]
        return content if self.own_metrics else {key: each for key, each in content.items() if key != OWN_METRICS}


def values_of(settings: DeclaredSettings) -> Mapping[str, AnyValueKind]:
    """Every value by its name."""
    return {name: make_value(name, value) for name, value in settings.values.items()}


def _fitting_kinds(
    table: Mapping[str, Any], values: Mapping[str, AnyValueKind], own: Sequence[MetricKind]
) -> Sequence[MetricKind]:
    """The metrics that a table may mean: by its kind and by what it is `of`, since metrics share names such as f1."""
    of = table.get("of")
    named = [of] if isinstance(of, str) else of if isinstance(of, list | tuple) else list(values)
    compared = {values[name].settings.kind for name in named if name in values}
    name = str(table.get("kind"))
    return [kind for kind in (*metric_kinds(compared), *own) if kind.name == name and compared & {*kind.compares}]


def metric_kind(
    table: Mapping[str, Any], values: Mapping[str, AnyValueKind], own: Sequence[MetricKind]
) -> MetricKind | None:
    """The metric that a table names."""
    fitting, name = _fitting_kinds(table, values, own), str(table.get("kind"))
    return next(iter(fitting), None) or next((kind for kind in (*metric_kinds(), *own) if kind.name == name), None)


def metrics_of(settings: DeclaredSettings) -> Sequence[tuple[MetricKind, MetricSettings]]:
    """Every metric of settings that were examined."""
    values, own = values_of(settings), [own_kind(each) for each in settings.own_metrics]
    found = []
    for table in settings.metrics:
        kind = metric_kind(table, values, own)
        assert kind is not None, "the table was examined"
        found.append((kind, kind.settings_model.model_validate(table)))
    return found


def examine(content: Any) -> Examined[DeclaredSettings]:
    """Everything that is wrong with the three tables; the settings leave out wrong values and metrics."""
    if not isinstance(content, dict):
        content = {}
    given = content.get("values")
    filled, defaults = _with_defaults(given)
    content = content | {"values": filled} if isinstance(given, dict) else content
    problems = problems_of(_Outer, content, ())
    problems += [
        ValidationProblem(key=("values", key), words=unknown_key(key, _ANY_KEY))
        for key in defaults
        if key not in _ANY_KEY
    ]
    values, value_problems = _examined_values(filled)
    # What is wrong with a default is said once, at its place.
    value_problems = [
        replace(each, key=("values", *each.key[2:])) if _is_inherited(each.key, given, defaults) else each
        for each in value_problems
    ]
    own = (
        ()
        if any(problem.key[0] == OWN_METRICS for problem in problems)
        else tuple(OwnMetric.model_validate(each) for each in content.get(OWN_METRICS, ()))
    )
    problems += [
        ValidationProblem(key=(OWN_METRICS,), words=f"declares '{each.kind}', which is a metric of Podium")
        for each in own
        if each.kind in metric_names()
    ]
    kinds = [own_kind(each) for each in own]
    kept, metric_problems, excused = _examined_metrics(content.get("metrics"), values, content.get("values"), kinds)
    time = None if any(problem.key[0] == "time" for problem in problems) else content.get("time")
    excused |= {"time_score", "total_seconds", "runtime_seconds"} if time is None and "time" in content else set()
    settings = None
    if values and kept:
        settings = DeclaredSettings(
            values=values,
            metrics=kept,
            time=TimeSettings.model_validate(time) if time is not None else None,
            engine=content.get("engine", "monai") if not any(each.key[0] == "engine" for each in problems) else "monai",
            own_metrics=own,
        )
    found = [*problems, *dict.fromkeys(value_problems), *metric_problems]
    return Examined(settings=settings, problems=found, excused=frozenset(excused))


def fits_submission(cases: CasesSettings, settings: DeclaredSettings, shape: str) -> Sequence[ValidationProblem]:
    """Values without a place in the submissions that the phase takes, and jobs whose case cannot be determined."""
    problems = []
    predicted = {name: value for name, value in settings.values.items() if value.is_predicted}
    for name, value in predicted.items():
        if shape == "algorithm" and value.socket is None:
            words = 'is missing: submission = "algorithm", so every value needs a socket'
            problems.append(ValidationProblem(key=("values", name, "socket"), words=words))
        if shape == "predictions" and value.file is None and value.table is None:
            words = 'is missing: submission = "predictions", so every value needs a file or a table'
            problems.append(ValidationProblem(key=("values", name, "file"), words=words))
    sockets = [value.socket for value in settings.values.values() if value.socket is not None]
    if sockets and shape != "predictions" and cases.input is None:
        words = (
            f"is missing: name the input of a job whose image or file name is the case, for outputs such as "
            f"'{sockets[0]}', or write submission = \"predictions\""
        )
        problems.append(ValidationProblem(key=("cases", "input"), words=words))
    return problems


def _with_defaults(tables: Any) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """Every value with what `[values]` says for all of them, and these defaults: what is not itself a value's table.

    A value inherits the keys that its kind has, `{value}` replaced by its name. The organiser's mask of an image
    inherits no place of a prediction.
    """
    tables = tables if isinstance(tables, dict) else {}
    values = {
        name: table
        for name, table in tables.items()
        if isinstance(table, dict) and (name not in _ANY_KEY or isinstance(table.get("kind"), str))
    }
    defaults = {key: value for key, value in tables.items() if key not in values}
    masks = {str(table.get("within")) for table in values.values()}
    filled = {}
    for name, own in values.items():
        keys = _VALUE_KEYS.get(str(own.get("kind", defaults.get("kind"))), ("kind",))
        unwanted = {"socket", "file", "table"} if name in masks else set()
        unwanted |= {key for key, others in _OTHER_PLACE.items() if any(other in own for other in others)}
        inherited = {key: value for key, value in defaults.items() if key in keys and key not in unwanted}
        filled[name] = {key: _of_value(value, name) for key, value in inherited.items()} | own
    return filled, defaults


def _of_value(default: Any, name: str) -> Any:
    if isinstance(default, list):
        return [_of_value(each, name) for each in default]
    return default.replace("{value}", name) if isinstance(default, str) else default


def _is_inherited(key: tuple[str | int, ...], tables: Mapping[str, Any], defaults: Mapping[str, Any]) -> bool:
    return len(key) > 2 and key[2] in defaults and key[2] not in tables[str(key[1])]


def _examined_values(tables: Mapping[str, Any]) -> tuple[dict[str, Any], list[ValidationProblem]]:
    values: dict[str, Any] = {}
    problems: list[ValidationProblem] = []
    for name, table in tables.items():
        try:
            _VALUE_NAME.validate_python(name)
        except ValidationError:
            words = "is not a usable name: use letters, digits and _, and no digit first"
            problems.append(ValidationProblem(key=("values", name), words=words))
            continue
        try:
            values[name] = _ONE_VALUE.validate_python(table)
        except ValidationError as error:
            problems += _value_problems(name, table, error)
    within = [(name, value.within) for name, value in values.items() if getattr(value, "within", None)]
    for name, mask in within:
        key = ("values", name, "within")
        if mask not in tables:
            words = f"names '{mask}', which is not a value{did_you_mean(mask, tables)}"
            problems.append(ValidationProblem(key=key, words=words))
        elif mask in values and values[mask].kind != "labels":
            problems.append(ValidationProblem(key=key, words=f"names '{mask}', which is not of the kind labels"))
    masks = {mask for _, mask in within}
    for name in [name for name, value in values.items() if not value.is_predicted and name not in masks]:
        del values[name]
        words = "needs a socket, a file or a table: where is the prediction?"
        problems.append(ValidationProblem(key=("values", name), words=words))
    return values, problems


def _value_problems(name: str, table: Mapping[str, Any], error: ValidationError) -> list[ValidationProblem]:
    kind = table.get("kind")
    if kind not in VALUE_KINDS:
        words = "is missing" if kind is None else f"is '{kind}', which is not a kind of value"
        close = did_you_mean(str(kind), VALUE_KINDS) or f"; there are: {', '.join(VALUE_KINDS)}"
        return [ValidationProblem(key=("values", name, "kind"), words=words + close)]
    # pydantic names the kind between the table and its keys
    found = all_problems(error, content={kind: table})
    return [ValidationProblem(key=("values", name, *problem.key[1:]), words=problem.words) for problem in found]


def _examined_metrics(
    tables: Any, values: Mapping[str, Any], all_values: Any, own: Sequence[MetricKind]
) -> tuple[list[Mapping[str, Any]], list[ValidationProblem], set[str]]:
    """The metrics that are right, what is wrong with the others, and the names that these would have had."""
    kinds = {name: make_value(name, value) for name, value in values.items()}
    lost_values = set(all_values if isinstance(all_values, dict) else ()) - set(values)
    kept: list[Mapping[str, Any]] = []
    problems: list[ValidationProblem] = []
    excused: set[str] = set()
    names: dict[str, int] = {}
    for number, table in enumerate(tables if isinstance(tables, list | tuple) else ()):
        if not isinstance(table, dict):
            continue
        name = str(table.get("name") or table.get("kind"))
        of = table.get("of")
        wanted = (
            set(as_tuple(tuple(of) if isinstance(of, list) else of)) if isinstance(of, str | list | tuple) else set()
        )
        is_lost = bool(wanted & lost_values or (not wanted and lost_values))
        if is_lost:
            excused.add(name)
        found = _metric_problems(table, kinds, own, is_lost=is_lost)
        if is_lost and not found:
            continue
        if not found and (taken := _taken(name, kinds)):
            found = [ValidationProblem(key=("name",), words=f"is '{name}', {taken}; choose another name")]
        if not found and name in names:
            first = names[name]
            words = f"is '{name}' a second time: figures of metrics {first} and {number} would have the same path"
            found = [ValidationProblem(key=("name",), words=f"{words}; give one of them a name")]
        if found:
            excused.add(name)
            problems += [
                ValidationProblem(key=("metrics", number, *problem.key), words=problem.words) for problem in found
            ]
        else:
            names[name] = number
            kept.append(table)
    return kept, problems, excused


def _taken(name: str, values: Mapping[str, AnyValueKind]) -> str:
    """Why a metric cannot have a name: rows or aggregates have something else there."""
    if name in values and values[name].settings.kind in KINDS_WITH_FACTS:
        return "which is the name of a value: result rows keep it there"
    return "which is reserved" if name in _TAKEN else ""


def _metric_problems(
    table: Mapping[str, Any], values: Mapping[str, AnyValueKind], own: Sequence[MetricKind], *, is_lost: bool
) -> list[ValidationProblem]:
    """What is wrong with a metric; where one of its values `is_lost`, being wrong itself, only what does not depend on
    values."""
    if "kind" not in table:
        return [ValidationProblem(key=("kind",), words="is missing")]
    kind = metric_kind(table, values, own)
    if kind is None:
        names = [*metric_names(), *(each.name for each in own)]
        words = f"is '{table['kind']}', which is not a metric"
        close = did_you_mean(str(table["kind"]), names) or f"; there are: {', '.join(names)}"
        return [ValidationProblem(key=("kind",), words=words + close)]
    if not is_lost and "of" not in table and len(fitting := _fitting_kinds(table, values, own)) > 1:
        both = " and of ".join(" or ".join(each.compares) for each in fitting)
        return [ValidationProblem(key=("of",), words=f"is missing: {kind.name} exists of {both}")]
    if is_lost and sum(other.name == kind.name for other in metric_kinds()) > 1:  # what it means depends on the value
        return []
    found = problems_of(kind.settings_model, table, ())
    right = without_problems(table, found, depth=0)
    if is_lost or (found and problems_of(kind.settings_model, right, ())):
        return found
    settings = kind.settings_model.model_validate(right)
    chosen, problems = fitting_values(kind, settings, values)
    if (
        settings.where is not None
        and not problems
        and not kind.declare(settings, chosen, engine_named("native")).metrics
    ):
        words = f"is a condition on single cases, and {kind.name} has figures of all cases alone"
        found.append(ValidationProblem(key=("where",), words=words))
    return [*found, *problems] if problems else [*found, *kind.problems(settings, chosen)]
