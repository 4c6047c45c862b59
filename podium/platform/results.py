"""What a run found out: one result a case, counts, aggregates. metrics.json is this and nothing else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from podium.figures import Figures

Status = Literal["scored", "failed", "missing"]


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
class CaseScore:
    """What scoring one case gives."""

    metrics: Figures
    warnings: tuple[str, ...] = field(default=())
