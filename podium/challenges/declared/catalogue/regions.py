"""Metrics of label images, region by region."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Literal, TypeVar

import numpy as np

from podium.challenges.declared.catalogue.base import (
    Declared,
    DeclaredCase,
    Empty,
    Figure,
    MetricKind,
    MetricSettings,
)
from podium.challenges.declared.catalogue.region_pairs import RegionPair, region_pair
from podium.challenges.declared.value_settings import Texts, as_tuple
from podium.challenges.declared.values import AnyValueKind
from podium.figures import Figures, get
from podium.metrics.declaration import CaseMetric, CohortMetric, Formula, Values
from podium.metrics.resampling import Floats, Resamples
from podium.validation_errors import ValidationProblem

T = TypeVar("T")
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


@dataclass(frozen=True, kw_only=True)
class _Place:
    """A region of a value: the name of its figures, and its words in titles."""

    name: str
    title: str
    value: str
    region: str


@dataclass(frozen=True, kw_only=True)
class RegionMetric(MetricKind):
    """A metric of label images with one figure, or several under names of their own.

    counts        what `pooled` figures are made of: summed over cases
    only_pooled   the metric is of all cases by its definition
    offers        (settings) -> the names of the figures that these settings allow [all]
    check         what is wrong with settings that are well-formed, for the regions that they choose
    """

    compares: tuple[str, ...] = ("labels",)
    settings_model: type[MetricSettings] = RegionSettings
    figures: Mapping[str, RegionFigure[Any]]
    counts: Callable[[RegionPair, Any], Sequence[float]] | None = None
    only_pooled: bool = False
    offers: Callable[[Any], Sequence[str]] | None = None
    check: Callable[[Any, Sequence[str]], Sequence[ValidationProblem]] = lambda _, __: ()

    def problems(self, settings: Any, values: Mapping[str, AnyValueKind]) -> Sequence[ValidationProblem]:
        known = {region for value in values.values() for region in value.settings.regions}
        named = [("regions", region) for region in as_tuple(settings.regions)]
        named += [("tolerances_mm", region) for region in getattr(settings, "tolerances_mm", ())]
        found = [
            ValidationProblem(key=(key,), words=f"names '{region}', which is no region; there are: {_listed(known)}")
            for key, region in named
            if region not in known
        ]
        found += self.check(settings, [place.region for place in self._places(settings, values)])
        pooled = self._is_pooled(settings)
        if pooled and settings.failed not in ("worst", "exclude"):
            words = 'is "worst" or "exclude" with pooled counts: a missing case has no figure of its own'
            found.append(ValidationProblem(key=("failed",), words=words))
        for key in ("prediction_empty", "reference_empty"):
            if pooled and getattr(settings, key) is not None:
                words = "has no meaning with pooled counts: no case has a figure of its own"
                found.append(ValidationProblem(key=(key,), words=words))
        if pooled and not any(figure.pooled for figure in self.figures.values()):
            found.append(
                ValidationProblem(key=("over",), words=f"cannot be pooled: {self.name} is no quotient of counts")
            )
        return found

    def declare(self, settings: Any, values: Mapping[str, AnyValueKind]) -> Declared:
        declared = Declared()
        for suffix in self._offered(settings):
            self._declare_figure(declared, settings, values, suffix)
        if self._is_pooled(settings):
            self._declare_facts(declared, settings, values)
        return declared

    def _is_pooled(self, settings: Any) -> bool:
        return self.only_pooled or settings.over == "pooled"

    def _offered(self, settings: Any) -> Sequence[str]:
        return list(self.figures) if self.offers is None else self.offers(settings)

    def _places(self, settings: Any, values: Mapping[str, AnyValueKind]) -> list[_Place]:
        """Where the figures of every value and region stand."""
        several = len(values) > 1
        return [
            _Place(
                name=f"{name}_{region}" if several else region,
                title=" ".join(([value.title] if several else []) + [region.replace("_", " ")]),
                value=name,
                region=region,
            )
            for name, value in values.items()
            for region in value.settings.regions
            if settings.regions is None or region in as_tuple(settings.regions)
        ]

    def _declare_figure(
        self,
        declared: Declared,
        settings: Any,
        values: Mapping[str, AnyValueKind],
        suffix: str,
    ) -> None:
        figure = self.figures[suffix]
        title = settings.title_of(figure, alone=len(self._offered(settings)) == 1)
        places = self._places(settings, values)
        paths = [_joined(settings.own_name, place.name, suffix) for place in places]
        overall = _joined(settings.own_name, "", suffix)
        if self._is_pooled(settings):
            if figure.pooled is not None:
                declared.formulas.append(_mean_of_pooled(f"{overall}.mean", title, paths, figure))
                for path, place in zip(paths, places, strict=True):
                    facts = _facts_path(settings, place.name)
                    declared.cohort_metrics.append(_pooled(path, f"{title} {place.title}", facts, figure, settings))
                    declared.columns.append(path)
            return
        worst = _worst_number(figure, settings)
        for path, place in zip(paths, places, strict=True):
            declared.metrics.append(
                CaseMetric(
                    name=path,
                    title=f"{title} {place.title}",
                    direction=figure.direction,
                    lowest=figure.lowest,
                    highest=figure.highest,
                    worst=worst,
                    unit=figure.unit,
                    median=f"{path}.median",
                    count=f"{path}.n",
                    undefined=None,
                    of=_of(place, figure, settings),
                    when_lost=_when_lost(place, figure, settings),
                )
            )
        mean = _mean_over_regions(overall, title, paths, declared.metrics[-1])
        declared.metrics.append(mean)
        if len(paths) > 1:
            declared.formulas.append(_mean_of_means(f"{overall}.region_mean", title, paths, mean))
            declared.columns.append(mean.mean_path)
        declared.columns += [f"{path}.mean" for path in paths]

    def _declare_facts(self, declared: Declared, settings: Any, values: Mapping[str, AnyValueKind]) -> None:
        counts = self.counts
        assert counts is not None
        for place in self._places(settings, values):

            def fact(case: DeclaredCase, place: _Place = place) -> list[float]:
                pair = region_pair(case, place.value, place.region)
                found = list(counts(pair, settings))
                return [0.0] * len(found) if pair.is_lost and settings.failed == "exclude" else found

            declared.facts[_facts_path(settings, place.name)] = fact
        declared.confidential.append(f"facts.{settings.own_name}")


def _listed(names: set[str]) -> str:
    return ", ".join(sorted(names))


def _joined(*parts: str) -> str:
    return ".".join(part for part in parts if part)


def _facts_path(settings: MetricSettings, place: str) -> str:
    return f"facts.{settings.own_name}.{place}"


# Empty input


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


def _of(place: _Place, figure: RegionFigure[Any], settings: Any) -> Callable[[DeclaredCase], float | None]:
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


def _when_lost(place: _Place, figure: RegionFigure[Any], settings: Any) -> Callable[[DeclaredCase], float | None]:
    if settings.failed == "worst" and figure.worst == EMPTY:
        return _of(place, figure, settings)

    def of(case: DeclaredCase) -> float | None:
        return _resolved(settings.failed, figure, region_pair(case, place.value, place.region), settings)

    return of


def _worst_number(figure: RegionFigure[Any], settings: Any) -> float:
    """What ranking gives to a team without a value."""
    given = figure.worst if isinstance(settings.failed, str) else settings.failed
    if isinstance(given, int | float):
        return min(max(float(given), figure.lowest), figure.highest)
    return figure.highest if figure.direction == "lower" else figure.lowest


# Figures over regions and cases


def _mean_over_regions(
    overall: str, title: str, paths: Sequence[str], like: CaseMetric[DeclaredCase]
) -> CaseMetric[DeclaredCase]:
    """The mean over a case's regions that have a value."""

    def of_row(row: Figures) -> float | None:
        defined = [value for path in paths if (value := get(row, path)) is not None]
        return math.fsum(defined) / len(defined) if defined else None

    return replace(
        like,
        name=f"{overall}.mean",
        title=title,
        mean=f"{overall}.mean",
        std=f"{overall}.std",
        median=f"{overall}.median",
        count=f"{overall}.n",
        of=None,
        when_lost=None,
        of_row=of_row,
    )


def _mean_of_means(path: str, title: str, paths: Sequence[str], like: CaseMetric[DeclaredCase]) -> Formula:
    def of(values: Values) -> Floats:
        """Over the regions that have a value in some case."""
        means = np.stack([values[f"{each}.mean"] for each in paths])
        with np.errstate(invalid="ignore"):
            return np.asarray(np.nansum(means, axis=0) / np.count_nonzero(~np.isnan(means), axis=0))

    return Formula(
        path=path,
        title=f"{title}, mean of regions",
        direction=like.direction,
        lowest=like.lowest,
        highest=like.highest,
        unit=like.unit,
        of=of,
    )


def _mean_of_pooled(path: str, title: str, paths: Sequence[str], like: RegionFigure[Any]) -> Formula:
    """The mean over the regions of figures of all cases."""

    def of(values: Values) -> Floats:
        return np.asarray(np.mean(np.stack([values[each] for each in paths]), axis=0))

    return Formula(
        path=path,
        title=title,
        direction=like.direction,
        lowest=like.lowest,
        highest=like.highest,
        unit=like.unit,
        of=of,
        terms=tuple(paths),
    )


def _pooled(path: str, title: str, facts: str, figure: RegionFigure[Any], settings: Any) -> CohortMetric:
    pooled = figure.pooled
    assert pooled is not None
    empty = figure.both_empty if settings.both_empty is None else settings.both_empty
    instead = float(empty) if isinstance(empty, int | float) else math.nan

    def of(rows: Sequence[Figures], resamples: Resamples) -> Floats:
        totals = resamples.total(np.array([get(row, facts) for row in rows], dtype=np.float64))
        with np.errstate(all="ignore"):
            found = pooled(totals)
        return np.where(np.isnan(found), instead, found)

    return CohortMetric(
        path=path,
        title=title,
        direction=figure.direction,
        lowest=figure.lowest,
        highest=figure.highest,
        unit=figure.unit,
        of=of,
        undefined=None,
    )
