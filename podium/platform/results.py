"""What a run found out: one result a case, counts, aggregates. metrics.json is this and nothing else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Status = Literal["scored", "failed", "missing"]
Figures = Mapping[str, Any]  # nested objects whose leaves are numbers, or null where a per-case figure is undefined


@dataclass(frozen=True, kw_only=True)
class CaseResult:
    """Facts about one expected case. `error` is a sentence its author may read; `warnings` likewise."""

    case: str
    status: Status
    metrics: Figures
    warnings: tuple[str, ...] = ()
    error: str | None = None


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """A whole submission, scored."""

    challenge: str
    title: str
    version: str
    settings: Mapping[str, Any]  # the rules it was scored by: files under different rules must never be ranked together
    aggregates: Figures
    results: Sequence[CaseResult]
    unmatched: int = 0

    def counts(self) -> dict[str, int]:
        """How many cases were expected and what became of them, and how many predictions belong to none."""
        by_status = dict.fromkeys(("scored", "failed", "missing"), 0)
        for result in self.results:
            by_status[result.status] += 1
        return {"expected": len(self.results), **by_status, "unmatched": self.unmatched}


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
    """A copy of nested figures that lacks the dotted paths; a path through a list means each of its objects."""
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
