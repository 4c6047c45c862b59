"""The tables of a declared challenge: `[values]`, `[[metrics]]` and `[time]`.

The model of a value or of a metric is looked up by its kind: metrics of several kinds of values share a name such as
f1, and an organiser's metrics.py adds more.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    Field,
    PlainSerializer,
    PlainValidator,
    SerializeAsAny,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic_core import PydanticCustomError

from podium.challenges.declared.catalogue import metric_kinds, metric_names
from podium.challenges.declared.catalogue.base import ChosenMetric, MetricKind
from podium.challenges.declared.values import MEAN, VALUE_KINDS, ValueSettings, value_kind
from podium.challenges.settings import (
    FigureName,
    Positive,
    RankingSettings,
    Settings,
    Tables,
    as_tuple,
    problem_at,
    unknown_key,
)
from podium.errors import ValidationProblem, all_problems, did_you_mean
from podium.figures import Figures
from podium.metrics.declaration import GivenFigure
from podium.metrics.engines import EngineName, engine_named
from podium.own_metrics import OwnMetric
from podium.platform.jobs import Runtime
from podium.platform.metrics_file import CaseResult
from podium.platform.submission import SubmissionShape

_FASTEST: Mapping[str, str] = {"fixed": "2/3", "cohort": "1/3"}  # shares of the baseline by rule
_SLOWEST = dict.fromkeys(_FASTEST, "2")
_TAKEN = {"facts", "groups", "confusion_matrix"}
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


BaselineShare = Annotated[str, AfterValidator(_is_a_share)]


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
    fastest: BaselineShare | None = Field(default_factory=lambda given: _FASTEST.get(given.get("rule", "")))
    slowest: BaselineShare | None = Field(default_factory=lambda given: _SLOWEST.get(given.get("rule", "")))
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
        fast, slow = (
            self.baseline_seconds * share.numerator / share.denominator
            for share in (Fraction(self.fastest), Fraction(self.slowest))
        )
        return TimeBounds(fast=fast, slow=slow)

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
        seconds = runtime.seconds_of(usable)
        known = {"time_known": int(seconds is not None), **runtime.clock_figures()}
        if self.rule == "none":
            if seconds is None:
                return known
            return {**known, "total_seconds": seconds, "runtime_seconds": seconds / max(1, len(usable))}
        bounds = self.bounds
        unusable_seconds = (len(results) - len(usable)) * bounds.slow / len(results)
        total = bounds.slow if seconds is None else seconds + unusable_seconds
        return {
            "time_score": bounds.score(total),
            "time_score_is_provisional": int(self.rule == "cohort"),
            **known,
            "total_seconds": total,
            "runtime_seconds": total / max(1, len(results)),
        }

    def cohort_figures(self, aggregates: Mapping[str, Figures]) -> Mapping[str, Mapping[str, float]]:
        """Under the cohort rule the time score needs all teams' times; a team without a known time keeps 0 and sets no
        bound."""
        times = {team: figures["total_seconds"] for team, figures in aggregates.items() if figures["time_known"]}
        if self.rule != "cohort" or not times:
            return {}
        scores = dict(zip(times, cohort_scores(list(times.values()), self.bounds), strict=True))
        return {team: {"time_score": scores.get(team, 0.0), "time_score_is_provisional": 0} for team in aggregates}


# `[values]` and `[[metrics]]`: the model of each is looked up by its kind.


def _value_by_kind(table: Any) -> ValueSettings:
    if isinstance(table, ValueSettings):
        return table
    if not isinstance(table, Mapping):
        raise PydanticCustomError("dict_type", "a value is a table")
    kind = table.get("kind")
    if not isinstance(kind, str) or kind not in VALUE_KINDS:
        words = "" if kind is None else f"is '{kind}', which is not a kind of value"
        close = did_you_mean(str(kind), VALUE_KINDS) or f"; there are: {', '.join(VALUE_KINDS)}"
        raise problem_at("kind", words + close, is_missing=kind is None)
    return value_kind(kind)[0].model_validate(table)


@dataclass(frozen=True, kw_only=True)
class _Choices:
    """What a metric's table may name: the kinds of all values by name, as far as they are known, and own metrics."""

    values: Mapping[str, str]
    own: Sequence[MetricKind]


def _metric_by_kind(table: Any, info: ValidationInfo) -> ChosenMetric:
    if isinstance(table, ChosenMetric):
        return table
    if not isinstance(table, Mapping):
        raise PydanticCustomError("dict_type", "a metric is a table")
    if "kind" not in table:
        raise problem_at("kind", "", is_missing=True)
    choices = info.context
    assert isinstance(choices, _Choices), "tables are read by `read`"
    # Metrics share names: the table may mean those of its kind that compare what it is `of`.
    of = table.get("of")
    named = [of] if isinstance(of, str) else of if isinstance(of, list | tuple) else list(choices.values)
    compared = {choices.values[name] for name in named if name in choices.values}
    kinds = [*metric_kinds(compared), *choices.own]
    fitting = [kind for kind in kinds if kind.name == table["kind"] and compared & {*kind.compares}]
    if len(fitting) > 1 and "of" not in table:
        both = " and of ".join(" or ".join(each.compares) for each in fitting)
        raise problem_at("of", f": {table['kind']} exists of {both}", is_missing=True)
    same_name = [] if fitting else [each for each in (*metric_kinds(), *choices.own) if each.name == table["kind"]]
    if not fitting and not same_name:
        names = [*metric_names(), *(each.name for each in choices.own)]
        close = did_you_mean(str(table["kind"]), names) or f"; there are: {', '.join(names)}"
        raise problem_at("kind", f"is '{table['kind']}', which is not a metric{close}")
    kind = (fitting or same_name)[0]
    return ChosenMetric(kind=kind, settings=kind.settings_model.model_validate(table))


AnyValue = Annotated[SerializeAsAny[ValueSettings], PlainValidator(_value_by_kind)]
AnyMetric = Annotated[
    ChosenMetric, PlainValidator(_metric_by_kind), PlainSerializer(lambda each: each.kind.filled_in(each.settings))
]


class DeclaredTables(Tables):
    """All tables, and the engine, a key above them. `own_metrics` come from metrics.py, never from challenge.toml."""

    values: Annotated[Mapping[FigureName, AnyValue], Field(min_length=1)]
    metrics: Annotated[tuple[AnyMetric, ...], Field(min_length=1)]
    time: TimeSettings | None = None
    engine: EngineName = "monai"
    own_metrics: tuple[OwnMetric, ...] = ()
    ranking: RankingSettings = Field(description='say what teams are ranked by, as in [ranking] by = "score"')

    @classmethod
    def own_code(cls, path: Path) -> Mapping[str, Any]:
        if not path.is_file():
            return {}
        from podium.challenges.declared.catalogue.own import load_own_metrics

        return {"own_metrics": load_own_metrics(path)}

    @classmethod
    def read(cls, content: Mapping[str, Any]) -> tuple[Self | None, Sequence[ValidationProblem]]:
        given = content.get("values")
        filled, defaults = _with_defaults(given)
        content = {**content, "values": filled} if isinstance(given, dict) else dict(content)
        known = frozenset(chain.from_iterable(_keys_of(table.get("kind")) for table in filled.values()))
        unknown = [key for key in defaults if key not in known and key not in _all_keys()]
        problems = [ValidationProblem(key=("values", key), words=unknown_key(key, _all_keys())) for key in unknown]
        kinds = {name: str(table.get("kind")) for name, table in filled.items()}
        try:
            own: Sequence[MetricKind] = ()
            if content.get("own_metrics"):
                from podium.challenges.declared.catalogue.own import own_kind

                own = [own_kind(OwnMetric.model_validate(each)) for each in content["own_metrics"]]
            taken = [each.name for each in own if each.name in metric_names()]
            words = "declares '{}', which is a metric of Podium"
            problems += [ValidationProblem(key=("own_metrics",), words=words.format(name)) for name in taken]
            if taken:  # which of the two a table means is not known
                return None, problems
            tables = cls.model_validate(content, context=_Choices(values=kinds, own=own))
        except ValidationError as error:
            found = all_problems(error, content=content)
            # What is wrong with a default is reported once, where it is defined.
            moved = [
                replace(each, key=("values", *each.key[2:])) if _is_inherited(each.key, given, defaults) else each
                for each in found
                if not _is_of_empty(each, found)
            ]
            return None, [*problems, *dict.fromkeys(moved)]
        return (None, problems) if problems else (tables, ())

    def problems(self, submission: SubmissionShape | None) -> Sequence[ValidationProblem]:
        found = [*_value_problems(self.values)]
        if not found:
            found += _metric_problems(self)
        return [*found, *(_missing_places(self, submission) if submission is not None else ())]

    def published(self) -> dict[str, Any]:
        content = super().published()
        return content if self.own_metrics else {key: each for key, each in content.items() if key != "own_metrics"}


def _all_keys() -> frozenset[str]:
    """Of all kinds of values, whose modules are all imported then."""
    return frozenset(chain.from_iterable(map(_keys_of, VALUE_KINDS)))


def _keys_of(kind: Any) -> Collection[str]:
    return value_kind(kind)[0].model_fields if kind in VALUE_KINDS else ("kind",)


def _is_of_empty(problem: ValidationProblem, others: Sequence[ValidationProblem]) -> bool:
    """Whether a list is called empty only because everything in it is wrong."""
    inside = any(each.key[: len(problem.key)] == problem.key != each.key for each in others)
    return inside and problem.words.endswith("must not be empty")


def _with_defaults(tables: Any) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """Every value with what `[values]` says for all of them, and these defaults: what is not itself a value's table.

    A value inherits the keys that its kind has, `{value}` replaced by its name. The organiser's mask of an image
    inherits no place of a prediction.
    """
    tables = tables if isinstance(tables, dict) else {}
    values = {
        name: table
        for name, table in tables.items()
        if isinstance(table, dict) and (isinstance(table.get("kind"), str) or name not in _all_keys())
    }
    defaults = {key: value for key, value in tables.items() if key not in values}
    masks = {str(table.get("within")) for table in values.values()}
    filled = {}
    for name, own in values.items():
        keys = _keys_of(own.get("kind", defaults.get("kind")))
        unwanted = {"socket", "file", "table"} if name in masks else set()
        unwanted |= {key for key, others in _OTHER_PLACE.items() if any(other in own for other in others)}
        inherited = {key: value for key, value in defaults.items() if key in keys and key not in unwanted}
        filled[name] = {key: _of_value(value, name) for key, value in inherited.items()} | own
    return filled, defaults


def _of_value(default: Any, name: str) -> Any:
    if isinstance(default, list):
        return [_of_value(each, name) for each in default]
    return default.replace("{value}", name) if isinstance(default, str) else default


def _is_inherited(key: tuple[str | int, ...], tables: Any, defaults: Mapping[str, Any]) -> bool:
    return len(key) > 2 and key[0] == "values" and key[2] in defaults and key[2] not in tables[str(key[1])]


def _value_problems(values: Mapping[str, ValueSettings]) -> Sequence[ValidationProblem]:
    problems = []
    within = {name: mask for name, value in values.items() if (mask := getattr(value, "within", None)) is not None}
    for name, mask in within.items():
        key = ("values", name, "within")
        if mask not in values:
            words = f"names '{mask}', which is not a value{did_you_mean(mask, values)}"
            problems.append(ValidationProblem(key=key, words=words))
        elif values[mask].kind != "labels":
            problems.append(ValidationProblem(key=key, words=f"names '{mask}', which is not of the kind labels"))
    for name, value in values.items():
        if name == MEAN:
            words = "is 'mean', which is where figures of several values have their mean; choose another name"
            problems.append(ValidationProblem(key=("values", name), words=words))
        if not value.is_predicted and name not in within.values():
            words = "needs a socket, a file or a table: where is the prediction?"
            problems.append(ValidationProblem(key=("values", name), words=words))
        shared = {*as_tuple(value.file)}.intersection(
            file for other, each in values.items() if other != name for file in as_tuple(each.file)
        )
        if value.optional and shared:
            words = f"is for a value with a file, table or socket of its own: '{min(shared)}' holds other values too"
            problems.append(ValidationProblem(key=("values", name, "optional"), words=words))
    return problems


def _metric_problems(tables: DeclaredTables) -> Sequence[ValidationProblem]:
    """What metrics are `of`, what their settings need of these values, and names that two of them share."""
    values = {name: value_kind(value.kind)[1](name, value) for name, value in tables.values.items()}
    problems: list[ValidationProblem] = []
    names: dict[str, int] = {}
    for number, metric in enumerate(tables.metrics):
        kind, settings, name = metric.kind, metric.settings, metric.settings.own_name
        found, chosen = metric.problems_of_values(values), metric.compared(values)
        gated = settings.where is not None and not found
        if gated and not kind.declare(settings, chosen, engine_named("native")).metrics:
            words = f"is a condition on single cases, and {kind.name} has figures of all cases alone"
            found = [ValidationProblem(key=("where",), words=words)]
        found = found or kind.problems(settings, chosen)
        if not found and name in _TAKEN:
            found = [ValidationProblem(key=("name",), words=f"is '{name}', which is reserved; choose another name")]
        if not found and name in values and values[name].fact_paths:
            words = f"is '{name}', which is the name of a value: result rows keep it there; choose another name"
            found = [ValidationProblem(key=("name",), words=words)]
        if not found and name in names:
            words = f"is '{name}' a second time: figures of metrics {names[name]} and {number} would have the same path"
            found = [ValidationProblem(key=("name",), words=f"{words}; give one of them a name")]
        names.setdefault(name, number)
        problems += [replace(problem, key=("metrics", number, *problem.key)) for problem in found]
    return problems


def _missing_places(tables: DeclaredTables, shape: SubmissionShape) -> Sequence[ValidationProblem]:
    """Values without a place in the submissions that the phase takes, and jobs whose case cannot be determined."""
    problems = []
    predicted = {name: value for name, value in tables.values.items() if value.is_predicted}
    for name, value in predicted.items():
        if shape == "algorithm" and value.socket is None:
            words = 'is missing: submission = "algorithm", so every value needs a socket'
            problems.append(ValidationProblem(key=("values", name, "socket"), words=words))
        if shape == "predictions" and value.file is None and value.table is None:
            words = 'is missing: submission = "predictions", so every value needs a file or a table'
            problems.append(ValidationProblem(key=("values", name, "file"), words=words))
    sockets = [value.socket for value in tables.values.values() if value.socket is not None]
    if sockets and shape != "predictions" and tables.cases.input is None:
        words = (
            f"is missing: name the input of a job whose image or file name is the case, for outputs such as "
            f"'{sockets[0]}', or write submission = \"predictions\""
        )
        problems.append(ValidationProblem(key=("cases", "input"), words=words))
    return problems
