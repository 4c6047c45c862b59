"""What a run found out about single cases, and helpers for nested figures."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, model_validator

from podium.figures import Figures
from podium.readers.names import escape_for_display

Status = Literal["scored", "failed", "missing"]

_ROW_KEYS = ("case", "status", "metrics", "warnings", "error")
_QUOTED = re.compile(r"(?<!\w)'.*'(?!\w)", re.DOTALL)
_NUMBER = re.compile(r"[0-9]+")
_LONGEST_WARNING = 300


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
class CaseScore:
    """What scoring one case gives."""

    metrics: Figures
    warnings: tuple[str, ...] = field(default=())


def summarise_warnings(results: Sequence[CaseResult]) -> list[str]:
    """A line for each kind of warning, with the number of its cases, in the order of their first.

    Warnings that quote a file's name are of one kind if they differ in that name and in numbers alone.
    """
    kinds: dict[str, dict[str, set[str]]] = {}  # kind -> text -> its cases
    for result in results:
        for text in result.warnings:
            kind, quoted = _QUOTED.subn("''", text)
            texts = kinds.setdefault(_NUMBER.sub("0", kind) if quoted else text, {})
            texts.setdefault(text, set()).add(result.case)
    lines = []
    for texts in kinds.values():
        first = escape_for_display(next(iter(texts)), longest=_LONGEST_WARNING)
        share = f"in {len(set().union(*texts.values()))} of {len(results)} cases"
        lines.append(f"{share}, such as: {first}" if len(texts) > 1 else f"{first.removesuffix('.')} {share}")
    return lines
