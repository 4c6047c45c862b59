"""What a run found out about single cases, and helpers for nested figures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, model_validator

Status = Literal["scored", "failed", "missing"]
Figures = Mapping[str, Any]  # nested objects whose leaves are numbers, or null where a per-case figure is undefined

_ROW_KEYS = ("case", "status", "metrics", "warnings", "error")


class CaseResult(BaseModel):
    """Facts about one expected case: a row of metrics.json. `error` and `warnings` are sentences its author may read.

    In Python `warnings` and `error` may be left out; in a file every key is present.
    """

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        json_schema_extra={
            "required": list(_ROW_KEYS),
            "if": {"properties": {"status": {"const": "scored"}}},
            "then": {"properties": {"error": {"type": "null"}}},
            "else": {"properties": {"error": {"type": "string", "minLength": 1}}},
        },
    )

    case: Annotated[str, Field(min_length=1)]
    status: Status
    metrics: Figures
    warnings: tuple[str, ...] = ()
    error: str | None = None

    @model_validator(mode="after")
    def _check(self, info: ValidationInfo) -> Self:
        if info.mode == "json" and len(self.model_fields_set) < len(_ROW_KEYS):
            missing = next(key for key in _ROW_KEYS if key not in self.model_fields_set)
            raise ValueError(f"'{missing}' is missing")
        if self.status == "scored" and self.error is not None:
            raise ValueError("a scored case has no error")
        if self.status != "scored" and not self.error:
            raise ValueError(f"a {self.status} case has an error")
        return self


@dataclass(frozen=True, kw_only=True)
class Unmatched:
    """A prediction that belongs to no expected case, and why."""

    name: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class CaseScore:
    """What scoring one case gives."""

    metrics: Figures
    warnings: tuple[str, ...] = field(default=())


def put(figures: dict[str, Any], path: str, value: Any) -> None:
    """Set a dotted path (`dice.long_plaque.mean`) in nested objects."""
    *parents, last = path.split(".")
    for parent in parents:
        figures = figures.setdefault(parent, {})
    figures[last] = value


def get(figures: Figures, path: str) -> Any:
    """The value at a dotted path; KeyError where there is none."""
    value: Any = figures
    for part in path.split("."):
        value = value[part]
    return value


def without(figures: Figures, paths: Sequence[str]) -> dict[str, Any]:
    """A copy of nested figures without the dotted paths; a path through a list means each of its objects."""
    kept: dict[str, Any] = {}
    for key, value in figures.items():
        if key in paths:
            continue
        inner = [path.split(".", 1)[1] for path in paths if path.startswith(f"{key}.")]
        if inner and isinstance(value, list):
            kept[key] = [without(each, inner) for each in value]
        else:
            kept[key] = without(value, inner) if inner else value
    return kept
