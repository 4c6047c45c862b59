"""The tables of a declared challenge: `[values]`, `[[metrics]]` and `[time]`."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field, SerializerFunctionWrapHandler, TypeAdapter, ValidationError, model_serializer

from podium.challenges.base import Examined
from podium.challenges.declared.catalogue import metric_kinds, metric_names
from podium.challenges.declared.catalogue.base import MetricKind, MetricSettings, fitting_values
from podium.challenges.declared.catalogue.own import own_kind
from podium.challenges.declared.value_settings import AnyValue, as_tuple
from podium.challenges.declared.values import VALUE_KINDS, AnyValueKind, make_value
from podium.challenges.settings import CasesSettings, FigureName, Settings, problems_of, without_problems
from podium.challenges.time_rule import TimeSettings
from podium.errors import ValidationProblem, all_problems, did_you_mean
from podium.own_metrics import KINDS_WITH_FACTS, OwnMetric

OWN_METRICS = "own_metrics"
_TAKEN = {"facts", "groups", "confusion_matrix"}
_ONE_VALUE: TypeAdapter[AnyValue] = TypeAdapter(AnyValue)


class DeclaredSettings(Settings):
    """The three tables; what a metric's table may hold depends on its kind and is checked separately. `own_metrics`
    come from metrics.py, never from challenge.toml."""

    values: Annotated[Mapping[FigureName, AnyValue], Field(min_length=1)]
    metrics: Annotated[tuple[Mapping[str, Any], ...], Field(min_length=1)]
    time: TimeSettings | None = None
    own_metrics: tuple[OwnMetric, ...] = ()

    @model_serializer(mode="wrap")
    def _without_nothing(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        content: dict[str, Any] = serialize(self)
        return content if self.own_metrics else {key: each for key, each in content.items() if key != OWN_METRICS}


def values_of(settings: DeclaredSettings) -> Mapping[str, AnyValueKind]:
    """Every value by its name."""
    return {name: make_value(name, value) for name, value in settings.values.items()}


def metric_kind(
    table: Mapping[str, Any], values: Mapping[str, AnyValueKind], own: Sequence[MetricKind]
) -> MetricKind | None:
    """The metric that a table names: by its kind and by what it is `of`, since metrics share names such as f1."""
    of = table.get("of")
    named = [of] if isinstance(of, str) else of if isinstance(of, list | tuple) else list(values)
    compared = {values[name].settings.kind for name in named if name in values}
    name = str(table.get("kind"))
    fitting = [kind for kind in (*metric_kinds(compared), *own) if kind.name == name and compared & {*kind.compares}]
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
    problems = problems_of(_Outer, content, ())
    values, value_problems = _examined_values(content.get("values"))
    own = () if any(problem.key[0] == OWN_METRICS for problem in problems) else _own_metrics(content)
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
            own_metrics=own,
        )
    return Examined(
        settings=settings, problems=[*problems, *value_problems, *metric_problems], excused=frozenset(excused)
    )


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


class _Outer(Settings):
    """The tables; their values and metrics are examined one by one."""

    values: Annotated[Mapping[FigureName, Mapping[str, Any]], Field(min_length=1)]
    metrics: Annotated[tuple[Mapping[str, Any], ...], Field(min_length=1)]
    time: TimeSettings | None = None
    own_metrics: tuple[OwnMetric, ...] = ()


def _own_metrics(content: Mapping[str, Any]) -> tuple[OwnMetric, ...]:
    return tuple(OwnMetric.model_validate(each) for each in content.get(OWN_METRICS, ()))


def _examined_values(tables: Any) -> tuple[dict[str, Any], list[ValidationProblem]]:
    values: dict[str, Any] = {}
    problems: list[ValidationProblem] = []
    for name, table in tables.items() if isinstance(tables, dict) else ():
        if not isinstance(table, dict):
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
    if is_lost and sum(other.name == kind.name for other in metric_kinds()) > 1:  # what it means depends on the value
        return []
    found = problems_of(kind.settings_model, table, ())
    right = without_problems(table, found, depth=0)
    if is_lost or (found and problems_of(kind.settings_model, right, ())):
        return found
    settings = kind.settings_model.model_validate(right)
    chosen, problems = fitting_values(kind, settings, values)
    return [*found, *problems] if problems else [*found, *kind.problems(settings, chosen)]
