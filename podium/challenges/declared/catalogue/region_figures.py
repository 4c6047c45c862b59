"""Figures of one region of one case, and what they are where a side is empty or lost."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Literal, TypeVar

from podium.challenges.declared.catalogue.base import DeclaredCase, Empty, Figure, MetricSettings
from podium.challenges.declared.catalogue.region_pairs import RegionPair, region_pair
from podium.challenges.declared.value_settings import Texts
from podium.metrics.resampling import Floats

FORMULA: Literal["formula"] = "formula"
EMPTY: Literal["empty"] = "empty"
Default = float | Literal["exclude", "diagonal", "formula"]


class RegionSettings(MetricSettings):
    """A metric of regions.

    regions           which of them [all]
    both_empty, prediction_empty, reference_empty
                      the figure where both sides, only the prediction or only the reference have no voxel of a region
    over              cases: the mean over cases; pooled: counts are summed over cases first
    """

    regions: Texts | None = None
    both_empty: Empty | None = None
    prediction_empty: Empty | None = None
    reference_empty: Empty | None = None
    over: Literal["cases", "pooled"] = "cases"


SettingsT = TypeVar("SettingsT", bound=RegionSettings)


@dataclass(frozen=True, kw_only=True)
class RegionFigure(Figure, Generic[SettingsT]):
    """A figure of a region.

    of                 its formula; None where it is undefined
    worst              the figure of a failed case: a number, "diagonal", "empty" for that of an empty prediction, or a
                       function of the region
    both_empty, ...    its value where the formula does not decide; "formula" lets it decide
    nothing            whether neither side has anything that counts, for both_empty [no side has a voxel]; with it the
                       formula decides all else
    pooled             the figure from counts that were summed over cases, `[..., count]`
    """

    of: Callable[[RegionPair, SettingsT], float | None]
    worst: float | Literal["diagonal", "empty"] | Callable[[RegionPair, SettingsT], float | None] = 0.0
    both_empty: Default = FORMULA
    prediction_empty: Default = FORMULA
    reference_empty: Default = FORMULA
    nothing: Callable[[RegionPair, SettingsT], bool] | None = None
    pooled: Callable[[Floats], Floats] | None = None


# What most figures between 0 and 1 have in common: two empty masks agree, one empty mask does not.
agreement: Callable[..., RegionFigure[Any]] = partial(
    RegionFigure,
    direction="higher",
    highest=1.0,
    worst=0.0,
    both_empty=1.0,
    prediction_empty=0.0,
    reference_empty=0.0,
)


@dataclass(frozen=True, kw_only=True)
class RegionPlace:
    """A region of a value: the name of its figures, and its words in titles."""

    name: str
    title: str
    value: str
    region: str


def _resolved(given: Any, figure: RegionFigure[Any], pair: RegionPair, settings: Any) -> float | None:
    """What the words for an undefined figure mean in this case."""
    if given == "worst":
        given = figure.worst
    if given == "diagonal":
        return pair.diagonal_mm
    if given == EMPTY:
        return figure.of(pair, settings)
    if callable(given):
        worst: float | None = given(pair, settings)
        return worst
    return None if given in ("exclude", None) else float(given)


def of_case(place: RegionPlace, figure: RegionFigure[Any], settings: Any) -> Callable[[DeclaredCase], float | None]:
    """The figure of a region, as a function of a case with a prediction."""

    def of(case: DeclaredCase) -> float | None:
        pair = region_pair(case, place.value, place.region)
        key = _emptiness(pair, figure, settings)
        if key is None:
            return figure.of(pair, settings)
        chosen = getattr(settings, key)
        given = getattr(figure, key) if chosen is None else chosen
        return figure.of(pair, settings) if given == FORMULA else _resolved(given, figure, pair, settings)

    return of


def _emptiness(pair: RegionPair, figure: RegionFigure[Any], settings: Any) -> str | None:
    """The setting that decides instead of the formula, where there is nothing to compare."""
    if figure.nothing is not None:
        return "both_empty" if figure.nothing(pair, settings) else None
    counts = pair.counts
    if counts.prediction and counts.reference:
        return None
    return "prediction_empty" if counts.reference else "reference_empty" if counts.prediction else "both_empty"


def when_lost(place: RegionPlace, figure: RegionFigure[Any], settings: Any) -> Callable[[DeclaredCase], float | None]:
    """The figure of a region, as a function of a case without a usable prediction."""
    if settings.failed == "worst" and figure.worst == EMPTY:
        return of_case(place, figure, settings)

    def of(case: DeclaredCase) -> float | None:
        return _resolved(settings.failed, figure, region_pair(case, place.value, place.region), settings)

    return of


def worst_number(figure: RegionFigure[Any], settings: Any) -> float:
    """What ranking gives to a team without a value."""
    given = figure.worst if isinstance(settings.failed, str) else settings.failed
    if isinstance(given, int | float):
        return min(max(float(given), figure.lowest), figure.highest)
    return figure.highest if figure.direction == "lower" else figure.lowest
