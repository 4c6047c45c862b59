"""metrics.json: one model that writes the file, checks it, generates its JSON Schema, and represents it to readers.

`python -m podium.platform.metrics_file` prints the schema; metrics.schema.json beside this file is its output.
"""

import json
import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from html import escape
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic.json_schema import GenerateJsonSchema

from podium.errors import UsageError, first_problem, read_given
from podium.figures import Figures, finite_number, get, holds, leaves
from podium.kernel import whole_file
from podium.metrics.declaration import Reason
from podium.packages import pandas
from podium.readers.files import escape_for_display

METRICS_FILE = "metrics.json"
SCHEMA_NAME: Final = "podium-metrics-3"
Status = Literal["scored", "partial", "failed", "missing"]

_ROW_KEYS = ("case", "status", "metrics", "warnings", "error")
_QUOTED = re.compile(r"(?<!\w)'.*'(?!\w)", re.DOTALL)
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:e[-+][0-9]+)?")
_LONGEST_WARNING = 500  # two geometries
_LONGEST_SENTENCE = 1000  # messages quote what was submitted, which may be of any length
_KEY = r"^[A-Za-z0-9_-]+$"
_FINITE_FIGURES = {
    "description": "Leaderboard columns are dotted paths, so keys have no dot, and every leaf is a finite number.",
    "type": "object",
    "patternProperties": {_KEY: {"anyOf": [{"type": "number"}, {"$ref": "#/$defs/FiniteFigures"}]}},
    "additionalProperties": False,
}
Count = Annotated[int, Field(strict=True, ge=0)]
NonEmpty = Annotated[str, Field(min_length=1)]

# The row of a case.


class CaseResult(BaseModel):
    """Facts about one expected case: a row of metrics.json. `error`, `warnings` and the reasons in `missing` are
    sentences its author may read.

    In Python `warnings` and `error` may be left out; in a file they are present. A partial case has some of its values:
    `missing` has the others, each with the reason. `undefined` says of figures without a value, by dotted name, why.
    `groups` are those of the case, one for each way in which cases are grouped; `patient` is a pseudonym.
    """

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        json_schema_extra={
            "required": list(_ROW_KEYS),
            "if": {"properties": {"status": {"enum": ["scored", "partial"]}}},
            "then": {"properties": {"error": {"type": "null"}}},
            "else": {"properties": {"error": {"type": "string", "minLength": 1}}},
            "oneOf": [
                {"properties": {"status": {"not": {"const": "partial"}}, "missing": {"maxProperties": 0}}},
                {
                    "properties": {"status": {"const": "partial"}, "missing": {"minProperties": 1}},
                    "required": ["missing"],
                },
            ],
        },
    )

    case: NonEmpty
    status: Status
    metrics: Figures
    warnings: tuple[str, ...] = ()
    error: str | None = None
    missing: Mapping[str, str] = {}
    undefined: Mapping[str, Reason] = {}
    groups: tuple[str, ...] = ()
    patient: str | None = None

    @model_validator(mode="after")
    def _check(self, info: ValidationInfo) -> Self:
        lacking = [key for key in _ROW_KEYS if key not in self.model_fields_set]
        if info.mode == "json" and lacking:
            raise ValueError(f"'{lacking[0]}' is missing")
        if self.has_answers and self.error is not None:
            raise ValueError(f"a {self.status} case has no error")
        if not self.has_answers and not self.error:
            raise ValueError(f"a {self.status} case has an error")
        if bool(self.missing) != (self.status == "partial"):
            raise ValueError("a partial case, and no other, has missing values")
        if given := [
            name for name in self.undefined if holds(self.metrics, name) and get(self.metrics, name) is not None
        ]:
            raise ValueError(f"'{given[0]}' is undefined, but has a value")
        return self

    @property
    def has_answers(self) -> bool:
        """Whether the prediction of one value at least was usable."""
        return self.status in ("scored", "partial")

    def lacks(self, values: Collection[str]) -> bool:
        """Whether there is no usable prediction of one of these values."""
        return not (self.has_answers and self.missing.keys().isdisjoint(values))

    @property
    def trouble(self) -> str | None:
        """What is wrong with the case, in one line."""
        return self.error or " ".join(dict.fromkeys(self.missing.values())) or None


@dataclass(frozen=True, kw_only=True)
class CaseScore:
    """What scoring one case gives."""

    metrics: Figures
    warnings: tuple[str, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)  # values without a usable prediction, and why
    undefined: Mapping[str, Reason] = field(default_factory=dict)
    was_killed: bool = False  # a process that read one of the missing values

    def result(self, case: str, *, status: Status | None = None, error: str | None = None) -> CaseResult:
        """The row of the case; without a status it is scored, or partial where values are missing."""
        status = status or ("partial" if self.missing else "scored")
        given = {name: getattr(self, name) for name in ("metrics", "warnings", "missing", "undefined")}
        return CaseResult(case=case, status=status, error=error, **given)


def summarise_warnings(warnings: Mapping[str, Sequence[str]]) -> list[str]:
    """Of warnings by case, a line for each kind with the number of its cases, in the order of first appearance.

    Warnings that quote a file's name are of one kind if they differ in that name and in numbers alone.
    """
    kinds: dict[str, dict[str, set[str]]] = {}  # kind -> text -> its cases
    for case, given in warnings.items():
        for text in given:
            kind, quoted = _QUOTED.subn("''", text)
            texts = kinds.setdefault(_NUMBER.sub("0", kind) if quoted else text, {})
            texts.setdefault(text, set()).add(case)
    lines = []
    for texts in kinds.values():
        first = escape_for_display(next(iter(texts)), longest=_LONGEST_WARNING)
        share = f"in {len(set().union(*texts.values()))} of {len(warnings)} cases"
        lines.append(f"{share}{', such as' if len(texts) > 1 else ''}: {first}")
    return lines


# The whole file.


def _check_aggregates(figures: Figures) -> Figures:
    problem = next(_problems(figures), None) if figures else "there is no figure"
    if problem:
        raise ValueError(problem)
    return figures


def _problems(figures: Mapping[Any, Any], path: str = "") -> Iterator[str]:
    for key, value in figures.items():
        if not isinstance(key, str) or not re.fullmatch(_KEY, key):
            yield f"the key '{key}' has characters other than A-Z, a-z, 0-9, _ and -"
        elif isinstance(value, Mapping):
            yield from _problems(value, f"{path}{key}.")
        elif isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= sys.float_info.max:
            yield f"'{path}{key}' is not a finite number"  # or it is a whole number beyond all floats


class Counts(BaseModel):
    """How many cases were expected and what became of them, and how many predictions belong to none."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    expected: Count
    scored: Count
    partial: Count
    failed: Count
    missing: Count
    unmatched: Count

    @classmethod
    def of(cls, results: Sequence[CaseResult], *, unmatched: int = 0) -> Self:
        """The counts of all rows."""
        statuses = [result.status for result in results]
        counted = {status: statuses.count(status) for status in get_args(Status)}
        return cls(expected=len(statuses), **counted, unmatched=unmatched)


class MetricsFile(BaseModel):
    """A scored submission as metrics.json holds it.

    Attributes:
        challenge: the challenge's own name, which is its folder's.
        kind: which code scores it.
        settings: the rules it was scored by; files under different rules must never be ranked together.
        counts: of all expected cases, also where `results` are not published.
        computed_by: the package and its version that computed each metric.
        provenance: how offline tools computed their figures, by tool.
        sealed: all rows, for whoever has the organiser's secret key (podium/platform/sealing.py).
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_name: Literal["podium-metrics-3"] = Field(alias="schema")
    challenge: NonEmpty
    kind: NonEmpty
    title: str
    version: str
    settings: Mapping[str, Any]
    aggregates: Annotated[Figures, AfterValidator(_check_aggregates)]
    counts: Counts
    computed_by: Mapping[str, NonEmpty] = {}
    provenance: Mapping[str, Any] = {}
    sealed: NonEmpty | None = None
    results: Sequence[CaseResult]
    _published_score: str = PrivateAttr("")  # such as "Score 71.69", with the digits that participants see

    @property
    def published_score(self) -> str:
        return self._published_score

    def __repr__(self) -> str:
        figures = [f", {path} = {value:.4g}" for path, value in leaves(self.aggregates) if "." not in path]
        return f"<{self.challenge}: {self.counts.scored} of {self.counts.expected} cases scored{''.join(figures[-3:])}>"

    __str__ = __repr__

    def _case_figures(self) -> dict[str, list[float | None]]:
        """By dotted path the figures of all cases that have a number in one at least, in the order of `results`."""
        rows = [dict(leaves(row.metrics)) for row in self.results]
        paths = dict.fromkeys(path for row in rows for path, value in row.items() if finite_number(value) is not None)
        return {path: [finite_number(row.get(path)) for row in rows] for path in paths}

    def _repr_html_(self) -> str:
        figures = self._case_figures()
        cases = [row.case for row in self.results]
        rows = zip(cases, [row.status for row in self.results], *figures.values(), strict=True)
        return html_table(repr(self)[1:-1], ["case", "status", *figures], rows)

    def to_frame(self) -> Any:
        """A pandas table with a row for every case, figure and region; NaN where a figure has no value."""
        rows = [
            (row.case, row.status, *path.partition(".")[::2], value)
            for path, values in self._case_figures().items()
            for row, value in zip(self.results, values, strict=True)
        ]
        return pandas.DataFrame(rows, columns=["case", "status", "figure", "region", "value"]).astype({"value": float})

    def document(self) -> dict[str, Any]:
        """The content as plain objects; sentences are cut to a printable line."""
        shown = partial(escape_for_display, longest=_LONGEST_SENTENCE)
        content = self.model_dump(by_alias=True)
        for key in ("computed_by", "provenance", "sealed"):
            if not content[key]:
                del content[key]
        for row in content["results"]:
            row["warnings"] = [shown(each) for each in row["warnings"]]
            row["error"] = row["error"] and shown(row["error"])
            row["missing"] = {name: shown(each) for name, each in row["missing"].items()}
            for key in ("missing", "undefined", "groups", "patient"):
                if not row[key]:
                    del row[key]
        return content

    def to_json(self) -> str:
        """The text of the file, one line per case, the same bytes for the same content. Raises ValueError where readers
        would refuse it: copies made with `model_copy` are not checked before."""
        document = sorted_outside(self.document())
        rows, document["results"] = document["results"], []
        text = json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False) + "\n"
        # Without indents the encoder is C code: with them the rows of 100 lesions cases took seconds.
        lines = ",\n".join(f"    {json.dumps(row, allow_nan=False, ensure_ascii=False)}" for row in rows)
        if rows:
            text = text.replace('\n  "results": []', f'\n  "results": [\n{lines}\n  ]')
        type(self).model_validate_json(text)
        return text


def html_table(caption: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A result as a notebook shows it, with everything escaped; what has no value is a dash."""

    def line(tag: str, cells: Sequence[object]) -> str:
        texts = ("–" if each is None else f"{each:.4g}" if isinstance(each, float) else str(each) for each in cells)
        return f"<tr>{''.join(f'<{tag}>{escape(text)}</{tag}>' for text in texts)}</tr>"

    lines = "".join([line("th", head), *(line("td", row) for row in rows)])
    return f"<table><caption>{escape(caption)}</caption>{lines}</table>"


def read_metrics(path: Path) -> MetricsFile:
    """Raises UsageError where the file cannot be read, or is not one that Podium writes."""
    try:
        return MetricsFile.model_validate_json(read_given(path))
    except ValidationError as error:
        problem = first_problem(error)
        where = f" ({problem})" if problem.place else ""
        raise UsageError(f"{path} is not a metrics.json written by Podium{where}.") from None


def prepare_output(output: Path) -> None:
    """Make the folder and delete an older metrics.json, which must not be mistaken for this run's. It is better to fail
    now than after an hour of scoring."""
    try:
        output.mkdir(parents=True, exist_ok=True)
        (output / METRICS_FILE).unlink(missing_ok=True)
        probe = output / f".{METRICS_FILE}.{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise UsageError(f"The output folder cannot be written to: {error.strerror}.", detail=str(output)) from None


def write_metrics(metrics: MetricsFile, output: Path) -> Path:
    """Write metrics.json atomically: a reader finds the old file, no file, or the whole new one."""
    text = metrics.to_json()
    target = output / METRICS_FILE
    try:
        with whole_file(target) as temporary, temporary.open("w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise UsageError(f"metrics.json cannot be written: {error.strerror}.", detail=str(output)) from None
    return target


class _WithoutTitles(GenerateJsonSchema):
    """A field's name serves as its title."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002
        return False


def metrics_schema() -> dict[str, Any]:
    """The JSON Schema of metrics.json, from the model; metrics.schema.json is this."""
    schema = MetricsFile.model_json_schema(schema_generator=_WithoutTitles)
    schema["$defs"]["FiniteFigures"] = _FINITE_FIGURES
    schema["properties"]["aggregates"] = {"$ref": "#/$defs/FiniteFigures", "minProperties": 1}  # _check_aggregates
    return titled_schema(schema, METRICS_FILE)


def titled_schema(schema: Mapping[str, Any], file: str) -> dict[str, Any]:
    """The JSON Schema of a file that Podium writes."""
    dialect = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": dialect, **schema, "title": f"{file} as Podium writes it"}


def sorted_outside(document: dict[str, Any]) -> dict[str, Any]:
    """The document with sorted keys, except in the settings: the order of figures and classes has a meaning."""
    return {key: value if key == "settings" else _sorted(value) for key, value in sorted(document.items())}


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(member) for key, member in sorted(value.items())}
    return [_sorted(member) for member in value] if isinstance(value, list) else value


if __name__ == "__main__":
    print(json.dumps(metrics_schema(), indent=2))
