"""What a participant may learn about single cases: everything, figures under a pseudonym, or nothing. Aggregates of few
cases tell about single ones too, the more digits they have."""

import hashlib
import hmac
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

from podium.figures import Figures, without
from podium.platform.results import CaseResult

PerCase = Literal["full", "anonymous", "none"]
_PSEUDONYM = re.compile(r"case-[0-9a-f]{16}")


def published_results(
    results: Sequence[CaseResult], *, per_case: PerCase, key: bytes, confidential: Sequence[str]
) -> list[CaseResult]:
    """The rows as the organiser chose to publish them, in sorted order of the names they then carry.

    `anonymous` sorts by pseudonym, since the true order would undo it, and drops the confidential figures. Errors and
    warnings stay: they name the participant's own files, which links those pseudonyms to their cases.
    """
    match per_case:
        case "none":
            return []
        case "full":
            return sorted(results, key=lambda result: result.case)
    hidden = [
        result.model_copy(
            update={"case": pseudonym(result.case, key=key), "metrics": without(result.metrics, confidential)}
        )
        for result in results
    ]
    return sorted(hidden, key=lambda result: result.case)


def published_aggregates(aggregates: Figures, *, decimals: int | None) -> Figures:
    """The aggregates rounded to so many decimals, or as they are (None); counts are whole numbers and stay."""
    return aggregates if decimals is None else {key: _rounded(value, decimals) for key, value in aggregates.items()}


def _rounded(value: Any, decimals: int) -> Any:
    if isinstance(value, Mapping):
        return {key: _rounded(each, decimals) for key, each in value.items()}
    return round(value, decimals) + 0.0 if isinstance(value, float) else value  # + 0.0: never -0.0


def pseudonym(case: str, *, key: bytes) -> str:
    """A keyed hash: the same case has the same pseudonym in every submission, and names cannot be found by guessing."""
    return "case-" + hmac.new(key, case.encode(), hashlib.sha256).hexdigest()[:16]


def are_anonymous(cases: Collection[str]) -> bool:
    """Whether these are the names of anonymous rows; no names are not anonymous."""
    return bool(cases) and all(_PSEUDONYM.fullmatch(case) for case in cases)
