"""The tables of a declared challenge: `[values]`, `[[metrics]]` and `[time]`."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from podium.challenges.base import Examined
from podium.challenges.declared.catalogue import NAMES, find_kind
from podium.challenges.declared.catalogue.base import MetricKind, MetricSettings, fitting_values
from podium.challenges.declared.value_settings import AnyValue, as_tuple
from podium.challenges.declared.values import AnyValueKind, make_value
from podium.challenges.settings import FigureName, Settings, problems_of
from podium.challenges.time_rule import TimeSettings
from podium.validation_errors import ValidationProblem, all_problems

_ONE_VALUE: TypeAdapter[AnyValue] = TypeAdapter(AnyValue)


class DeclaredSettings(Settings):
    """The three tables; what a metric's table may hold depends on its kind and is checked apart."""

    values: Annotated[Mapping[FigureName, AnyValue], Field(min_length=1)]
    metrics: Annotated[tuple[Mapping[str, Any], ...], Field(min_length=1)]
    time: TimeSettings | None = None


def values_of(settings: DeclaredSettings) -> Mapping[str, AnyValueKind]:
    """Every value by its name."""
    return {name: make_value(name, value) for name, value in settings.values.items()}


def metric_kind(table: Mapping[str, Any], values: Mapping[str, AnyValueKind]) -> MetricKind | None:
    """The metric of the catalogue that a table means: by its kind, and by what it is of."""
    of = table.get("of")
    named = [of] if isinstance(of, str) else of if isinstance(of, list | tuple) else list(values)
    return find_kind(str(table.get("kind")), [values[name].settings.kind for name in named if name in values])


def metric_settings(table: Mapping[str, Any], values: Mapping[str, AnyValueKind]) -> tuple[MetricKind, MetricSettings]:
    """A metric of well-formed settings."""
    kind = metric_kind(table, values)
    assert kind is not None, "the table was examined"
    return kind, kind.settings_model.model_validate(table)


def examine(content: Any) -> Examined[DeclaredSettings]:
    """Everything that is wrong with the three tables; wrong values and metrics are left out of the settings."""
    if not isinstance(content, dict):
        content = {}
    problems = problems_of(_Outer, content, ())
    values, value_problems = _examined_values(content.get("values"))
    kept, metric_problems, excused = _examined_metrics(content.get("metrics"), values, content.get("values"))
    time = None if any(problem.key[0] == "time" for problem in problems) else content.get("time")
    excused |= {"time_score", "total_seconds", "runtime_seconds"} if time is None and "time" in content else set()
    settings = None
    if values and kept:
        settings = DeclaredSettings(
            values=values, metrics=kept, time=TimeSettings.model_validate(time) if time is not None else None
        )
    return Examined(
        settings=settings, problems=[*problems, *value_problems, *metric_problems], excused=frozenset(excused)
    )


class _Outer(Settings):
    """The tables with their values and metrics unread: these are examined one by one."""

    values: Annotated[Mapping[FigureName, Mapping[str, Any]], Field(min_length=1)]
    metrics: Annotated[tuple[Mapping[str, Any], ...], Field(min_length=1)]
    time: TimeSettings | None = None


def _examined_values(tables: Any) -> tuple[dict[str, Any], list[ValidationProblem]]:
    values: dict[str, Any] = {}
    problems: list[ValidationProblem] = []
    for name, table in tables.items() if isinstance(tables, dict) else ():
        if not isinstance(table, dict):
            continue
        try:
            values[name] = _ONE_VALUE.validate_python(table)
        except ValidationError as error:
            kind = table.get("kind")
            for problem in all_problems(error, prefix=("values", name)):
                # pydantic names the kind between the table and its key
                key = (*problem.key[:2], *problem.key[3:]) if problem.key[2:3] == (kind,) else problem.key
                problems.append(ValidationProblem(key=_without_union(key, table), words=problem.words))
    within = [(name, value.within) for name, value in values.items() if getattr(value, "within", None)]
    for name, mask in within:
        if mask not in (tables or {}):
            problems.append(
                ValidationProblem(key=("values", name, "within"), words=f"names '{mask}', which is no value")
            )
        elif mask in values and values[mask].kind != "labels":
            words = f"names '{mask}', which is not of the kind labels"
            problems.append(ValidationProblem(key=("values", name, "within"), words=words))
    masks = {mask for _, mask in within}
    for name in [name for name, value in values.items() if not value.is_predicted and name not in masks]:
        del values[name]
        words = "needs a socket, a file or a table: where is the prediction?"
        problems.append(ValidationProblem(key=("values", name), words=words))
    return values, problems


def _without_union(key: tuple[str | int, ...], table: Mapping[str, Any]) -> tuple[str | int, ...]:
    """The key without what pydantic adds for alternatives of a type, such as `str` or `tuple[...]`."""
    found: list[str | int] = list(key[:2])
    content: Any = table
    for part in key[2:]:
        if isinstance(content, dict) and len(found) > 2 and part not in content:
            break
        if not isinstance(content, dict | list | tuple) and len(found) > 2:
            break
        found.append(part)
        if isinstance(content, dict):
            content = content.get(part)
        elif isinstance(content, list | tuple) and isinstance(part, int) and part < len(content):
            content = content[part]
        else:
            content = None
    return tuple(found)


def _examined_metrics(
    tables: Any, values: Mapping[str, Any], all_values: Any
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
        if wanted & lost_values or (not wanted and lost_values):
            excused.add(name)
            continue
        found = _metric_problems(table, kinds)
        if not found and name in names:
            first = names[name]
            words = f"is '{name}' a second time: figures of metrics {first} and {number} would stand in one place"
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


def _metric_problems(table: Mapping[str, Any], values: Mapping[str, AnyValueKind]) -> list[ValidationProblem]:
    if "kind" not in table:
        return [ValidationProblem(key=("kind",), words="is missing")]
    kind = metric_kind(table, values)
    if kind is None:
        words = f"is '{table['kind']}', which is no metric; there are: {', '.join(NAMES)}"
        return [ValidationProblem(key=("kind",), words=words)]
    found = problems_of(kind.settings_model, table, ())
    if found:
        return found
    settings = kind.settings_model.model_validate(table)
    chosen, problems = fitting_values(kind, settings, values)
    return [*problems] if problems else [*kind.problems(settings, chosen)]
