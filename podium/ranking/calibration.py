"""calibration.json: how far the judge agrees with the clinicians. `podium judge calibrate` writes it, `podium rank
--calibration` shows it."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import ConfigDict, TypeAdapter, ValidationError

from podium.errors import UsageError, first_problem

Interval = tuple[float, float]
Aspect = Literal["agreement", "position", "length", "repeats"]
_STRICT = ConfigDict(extra="forbid", allow_inf_nan=False)


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One figure. Shares are between 0 and 1.

    title     what was counted, as a phrase
    value     None where there was nothing to count
    interval  over cases; None where there is no value, or fewer than two cases
    total     of how many: votes, pairs of votes, repeats or matchups
    is_share  else it is a coefficient or a difference, where 0 means none
    """

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    aspect: Aspect
    name: str
    title: str
    value: float | None
    interval: Interval | None
    total: int
    is_share: bool


@dataclass(frozen=True, kw_only=True)
class TeamEstimate:
    """The share of comparisons with the other finalists that a team wins, a tie being half a win.

    by_votes  of the votes alone
    by_judge  by the judge's preference, over all judged cases
    by_both   the prediction-powered estimate, from the votes and what the judge says of all cases
    weight    how much the judge is followed in it (lambda of PPI++)
    worth     how many votes the votes alone would have to be for an interval as narrow; None where that is unknown
    """

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    name: str
    votes: int
    voted_cases: int
    by_votes: float
    by_votes_interval: Interval | None
    by_judge: float
    by_judge_interval: Interval | None
    by_both: float
    by_both_interval: Interval | None
    weight: float
    worth: float | None


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """The whole result. `teams` without a vote are left out, and named in the notes; the others best first."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    schema: Literal["podium-calibration-1"] = "podium-calibration-1"
    podium_version: str
    judge: str
    votes: int
    raters: int
    voted_cases: int
    cases: int
    confidence: float
    replicates: int
    seed: int
    figures: tuple[Measured, ...]
    teams: tuple[TeamEstimate, ...]
    notes: tuple[str, ...]

    def of(self, aspect: Aspect) -> tuple[Measured, ...]:
        return tuple(figure for figure in self.figures if figure.aspect == aspect)


def calibration_to_json(calibration: Calibration) -> str:
    """The content of calibration.json, the same bytes for the same result."""
    document = _adapter().dump_python(calibration, mode="json")
    return json.dumps(document, indent=2, sort_keys=True, allow_nan=False, ensure_ascii=False) + "\n"


def read_calibration(path: Path) -> Calibration:
    """Raises UsageError where the file cannot be read, or is not one that `podium judge calibrate` wrote."""
    try:
        return _adapter().validate_json(path.read_bytes())
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from None
    except ValidationError as error:
        raise UsageError(
            f"{path} is not a calibration.json written by 'podium judge calibrate': {first_problem(error)}."
        ) from None


@cache
def _adapter() -> TypeAdapter[Calibration]:
    return TypeAdapter(Calibration)
