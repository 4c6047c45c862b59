"""Metrics of label images: figures of one region of one case, their values where a side is empty or missing, and what
follows from them over regions and cases.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from podium.challenges.declared.catalogue.base import (
    Declared,
    DeclaredCase,
    Empty,
    MetricKind,
    MetricSettings,
    has_facts,
    joined_path,
    mean_of_figures,
    needs_failed,
    outside,
    referenced,
)
from podium.challenges.declared.values import AnyValueKind, Compared, Texts
from podium.challenges.declared.values.labels import LabelsValue
from podium.challenges.samples import CaseImage
from podium.challenges.settings import as_tuple
from podium.errors import ValidationProblem
from podium.figures import Figures, get
from podium.metrics import Floats, Mask
from podium.metrics.declaration import CaseMetric, CohortMetric, Figure, Reason
from podium.metrics.engines import OWN, MetricEngine
from podium.metrics.overlap import Region, VoxelCounts, count_voxels, find_regions
from podium.metrics.resampling import Resamples
from podium.metrics.surfaces import BoundaryKind, SurfaceDistances, diagonal_mm, measure_surfaces

if TYPE_CHECKING:
    from podium.metrics.lesions import LesionMatches, MatchingRule

FORMULA: Literal["formula"] = "formula"
EMPTY: Literal["empty"] = "empty"
Default = float | Literal["exclude", "diagonal", "formula"]
SettingsT = TypeVar("SettingsT", bound="RegionSettings")


@dataclass(frozen=True, kw_only=True, eq=False)
class RegionPair:
    """One region of one case on both sides; without a usable prediction it is empty there.

    What several metrics of a region share is computed once: its voxel counts, surface distances and lesions.

    spacing      of the reference in array order, mm
    diagonal_mm  of the whole image
    engine       computes what a package of the field has too
    """

    name: str
    region: Region
    spacing: tuple[float, ...]
    diagonal_mm: float
    is_missing: bool
    engine: MetricEngine
    _surfaces: dict[tuple[BoundaryKind, bool], SurfaceDistances] = field(default_factory=dict)
    _matches: "dict[MatchingRule, LesionMatches]" = field(default_factory=dict)

    def masks(self) -> tuple[Mask, Mask]:
        """Of prediction and reference, cut to what they cover; made when asked for and not kept."""
        prediction, reference = self.region.masks()
        return (np.zeros_like(reference) if self.is_missing else prediction), reference

    def objects(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """The labels of the region in prediction and reference, cut like the masks."""
        box = self.region.box or (slice(0, 0),) * self.region.reference_labels.ndim
        labels = (self.region.prediction_labels[box], self.region.reference_labels[box])
        prediction, reference = (mask * each for mask, each in zip(self.masks(), labels, strict=True))
        return prediction, reference

    @cached_property
    def counts(self) -> VoxelCounts:
        """Voxels of the two masks."""
        prediction, reference = self.masks()
        return count_voxels(prediction=prediction, reference=reference)

    def surfaces(self, *, boundary: BoundaryKind, in_mm: bool) -> SurfaceDistances:
        """The distances of the two boundaries, in mm or in voxels."""
        if (boundary, in_mm) not in self._surfaces:
            prediction, reference = self.masks()
            spacing = self.spacing if in_mm else None
            measured = measure_surfaces(prediction=prediction, reference=reference, spacing=spacing, boundary=boundary)
            self._surfaces[boundary, in_mm] = measured
        return self._surfaces[boundary, in_mm]

    def matches(self, rule: "MatchingRule") -> "LesionMatches":
        """The connected components of the two masks, matched by the rule."""
        from podium.metrics.lesions import match_components

        if rule not in self._matches:
            prediction, reference = self.objects() if rule.instances else self.masks()
            self._matches[rule] = match_components(
                prediction=prediction, reference=reference, spacing_mm=self.spacing, rule=rule
            )
        return self._matches[rule]


def region_pair(case: DeclaredCase, place: "RegionPlace") -> RegionPair:
    """One region of a case: all regions of a label image are found in one pass, for all metrics."""
    compared: Compared[CaseImage, CaseImage] = case.values[place.value.name]
    if "pairs" not in compared.cache:
        compared.cache["pairs"] = _all_pairs(compared, place)
    pair: RegionPair = compared.cache["pairs"][place.region]
    return pair


def _all_pairs(compared: Compared[CaseImage, CaseImage], place: "RegionPlace") -> Mapping[str, RegionPair]:
    value = place.value
    assert isinstance(value, LabelsValue)
    reference = compared.reference
    found = find_regions(
        prediction=reference.pixels if compared.prediction is None else compared.prediction.pixels,
        reference=reference.pixels,
        regions={name: frozenset(values) for name, values in value.regions.items()},
        ignore=value.settings.ignore,
    )
    return {
        name: RegionPair(
            name=name,
            region=region,
            spacing=reference.spacing,
            diagonal_mm=diagonal_mm(shape=reference.pixels.shape, spacing_mm=reference.spacing),
            is_missing=compared.is_missing,
            engine=place.engine,
        )
        for name, region in found.items()
    }


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


@dataclass(frozen=True, kw_only=True)
class RegionFigure(Figure, Generic[SettingsT]):
    """A figure of a region.

    compute            its formula; None where it is undefined
    worst              the worst that its formula can have for a reference: a number, "diagonal", "empty" where an empty
                       prediction has it, or a function of the settings; None where only the number of voxels bounds it
    both_empty, ...    its value where the formula does not decide; "formula" lets it decide
    nothing            whether neither side has anything that counts, for both_empty [no side has a voxel]; with it the
                       formula decides all else
    pooled             the figure from counts that were summed over cases, `[..., count]`
    """

    compute: Callable[[RegionPair, SettingsT], float | None]
    worst: float | Literal["diagonal", "empty"] | Callable[[SettingsT], float | None] | None = 0.0
    both_empty: Default = FORMULA
    prediction_empty: Default = FORMULA
    reference_empty: Default = FORMULA
    nothing: Callable[[RegionPair, SettingsT], bool] | None = None
    pooled: Callable[[Floats], Floats] | None = None

    def of_pair(self, pair: RegionPair, settings: SettingsT) -> float | Reason | None:
        """The figure of a region; where there is nothing to compare, what the settings or the declaration say."""
        key = self._emptiness(pair, settings)
        if pair.is_missing and settings.failed != EMPTY:
            return self._of_missing(pair, settings, key)
        policy = FORMULA if key is None else self._policy(key, settings)
        if policy == FORMULA:
            found = self.compute(pair, settings)
            return self._without_result(pair) if found is None else found
        return key if policy == "exclude" else self._resolved(policy, pair, settings)

    def _of_missing(self, pair: RegionPair, settings: SettingsT, key: Reason | None) -> float | Reason | None:
        """The worst that any prediction could have had of this region; `key` is what holds for an empty one.

        Excluded where the reference lacks the region and predictions of it are not counted.
        """
        instead = self._policy("reference_empty", settings) if key == "both_empty" else FORMULA
        if instead == "exclude":
            return "reference_empty"
        if settings.failed != "worst":
            return self._resolved(settings.failed, pair, settings)
        policies = {instead, FORMULA if key is None else self._policy(key, settings)} - {"exclude"}
        found = [self._resolved("worst" if each == FORMULA else each, pair, settings) for each in policies]
        return (max if self.direction == "lower" else min)(found)

    def undefined_when(self, settings: SettingsT) -> str:
        """When the references leave every case without a value: empty masks may be left out."""
        if "exclude" in (self._policy("both_empty", settings), self._policy("reference_empty", settings)):
            return "where the region is empty in every reference"
        return ""

    def _policy(self, key: str, settings: SettingsT) -> Any:
        """What the settings, or else the declaration, say of this emptiness."""
        chosen = getattr(settings, key)
        return getattr(self, key) if chosen is None else chosen

    def _emptiness(self, pair: RegionPair, settings: SettingsT) -> Reason | None:
        """The setting that decides instead of the formula, where there is nothing to compare."""
        if self.nothing is not None:
            return "both_empty" if self.nothing(pair, settings) else None
        reason = self._without_result(pair)
        return None if reason == "too_few" else reason

    @staticmethod
    def _without_result(pair: RegionPair) -> Reason:
        """Why a formula has no result."""
        counts = pair.counts
        if counts.prediction and counts.reference:
            return "too_few"
        return "prediction_empty" if counts.reference else "reference_empty" if counts.prediction else "both_empty"

    def _resolved(self, given: Any, pair: RegionPair, settings: SettingsT) -> float:
        """The number that a setting means for this region."""
        if given == "worst":
            given = self.worst(settings) if callable(self.worst) else self.worst
        if given == EMPTY:
            given = self.compute(pair, settings)
        return pair.diagonal_mm if given == "diagonal" else float(given)


# What most figures between 0 and 1 have in common: two empty masks agree, one empty mask does not.
agreement: Callable[..., RegionFigure[Any]] = partial(
    RegionFigure, direction="higher", highest=1.0, both_empty=1.0, prediction_empty=0.0, reference_empty=0.0
)


@dataclass(frozen=True, kw_only=True)
class RegionPlace:
    """A region of a value: the name of its figures, its words in titles, and what computes them."""

    name: str
    title: str
    value: AnyValueKind
    region: str
    engine: MetricEngine


# Declared figures: of one region of a case, over the regions of a case, and over all cases.


def case_metric(
    path: str, title: str, place: RegionPlace, figure: RegionFigure[Any], settings: Any
) -> CaseMetric[DeclaredCase]:
    """The figure of one region of every case."""
    worst = figure.worst if isinstance(settings.failed, str) else settings.failed
    if not isinstance(worst, int | float):
        worst = figure.highest if figure.direction == "lower" else figure.lowest
    return CaseMetric(
        name=path,
        title=title,
        **figure.scale,
        worst=min(max(float(worst), figure.lowest), figure.highest),
        median=f"{path}.median",
        count=f"{path}.n",
        undefined_when=figure.undefined_when(settings),
        compute=lambda case: figure.of_pair(region_pair(case, place), settings),
        of=frozenset({place.value.name}),
    )


def mean_over_regions(
    overall: str, title: str, regions: Sequence[CaseMetric[DeclaredCase]]
) -> CaseMetric[DeclaredCase]:
    """The mean over a case's regions that have a value."""
    paths = [each.name for each in regions]

    def compute_from_row(row: Figures) -> float | None:
        defined = [value for path in paths if (value := get(row, path)) is not None]
        return math.fsum(defined) / len(defined) if defined else None

    return replace(
        regions[-1],
        name=f"{overall}.mean",
        title=title,
        mean=f"{overall}.mean",
        std=f"{overall}.std",
        median=f"{overall}.median",
        count=f"{overall}.n",
        compute=None,
        of=frozenset().union(*(each.of for each in regions)),
        compute_from_row=compute_from_row,
        terms=tuple(paths),
    )


def pooled_metric(path: str, title: str, facts: str, figure: RegionFigure[Any], settings: Any) -> CohortMetric:
    """The figure of one region from the counts of all cases."""
    pooled = figure.pooled
    assert pooled is not None
    empty = figure.both_empty if settings.both_empty is None else settings.both_empty
    instead = float(empty) if isinstance(empty, int | float) else math.nan

    def compute(rows: Sequence[Figures], resamples: Resamples) -> Floats:
        if not has_facts(rows, facts):
            return np.full(resamples.replicates, np.nan)
        counts, drawn = referenced(rows, facts, resamples)
        totals = drawn.total(np.array(counts, dtype=np.float64)) if counts else np.zeros((0,))
        with np.errstate(all="ignore"):
            found = pooled(totals) if counts else np.full(resamples.replicates, np.nan)
        return np.where(np.isnan(found) & (drawn.sizes > 0), instead, found)

    return CohortMetric(
        path=path,
        title=title,
        **figure.scale,
        compute=compute,
        facts=facts,
        undefined_when=figure.undefined_when(settings),
    )


def _chosen(settings: Any, value: AnyValueKind) -> Sequence[str]:
    """The regions of a value that a metric is for."""
    return [
        region for region in value.settings.regions if settings.regions is None or region in as_tuple(settings.regions)
    ]


@dataclass(frozen=True, kw_only=True)
class RegionMetric(MetricKind):
    """A metric of label images with one figure, or several named ones.

    counts        what `pooled` figures are made of: summed over cases
    only_pooled   the metric is of all cases by its definition
    more          (settings) -> further figures
    offers        (settings) -> the names of the figures that these settings allow [all]
    check         what is wrong with settings that are well-formed, for the regions that they choose
    """

    compares: tuple[str, ...] = ("labels",)
    settings_model: type[MetricSettings] = RegionSettings
    figures: Mapping[str, RegionFigure[Any]]
    counts: Callable[[RegionPair, Any], Sequence[float]] | None = None
    only_pooled: bool = False
    more: Callable[[Any], Mapping[str, RegionFigure[Any]]] = lambda _: {}
    offers: Callable[[Any], Sequence[str]] | None = None
    check: Callable[[Any, Sequence[str]], Sequence[ValidationProblem]] = lambda _, __: ()

    def problems(self, settings: Any, values: Mapping[str, AnyValueKind]) -> Sequence[ValidationProblem]:
        known = {region for value in values.values() for region in value.settings.regions}
        listed = ", ".join(sorted(known))
        named = [("regions", region) for region in as_tuple(settings.regions)]
        named += [("tolerances_mm", region) for region in getattr(settings, "tolerances_mm", ())]
        found = [
            ValidationProblem(key=(key,), words=f"names '{region}', which is not a region; there are: {listed}")
            for key, region in named
            if region not in known
        ]
        found += self.check(settings, [region for value in values.values() for region in _chosen(settings, value)])
        pooled, offered = self._is_pooled(settings), self._offered(settings)
        lacking = [name for name in offered if self._figure(name, settings).worst is None]
        if settings.failed == "worst" and lacking:
            found.append(needs_failed(joined_path(self.name, lacking[0]), "", '"empty", as no voxel, or a number'))
        elif pooled and not self.only_pooled and settings.failed not in ("worst", EMPTY):
            words = 'is "worst" or "empty" with pooled counts: a missing case has no separate figure'
            found.append(ValidationProblem(key=("failed",), words=words))
        for name in offered if len(offered) == 1 else lacking:
            found += outside(settings.failed, self._figure(name, settings))
        for key in ("both_empty", "prediction_empty", "reference_empty") if lacking and len(offered) == 1 else ():
            if getattr(settings, key) == "worst":
                found.append(ValidationProblem(key=(key,), words=f'is "worst", but {self.name} has no worst value'))
        for key in ("prediction_empty", "reference_empty"):
            if pooled and getattr(settings, key) is not None:
                words = "has no meaning with pooled counts: no case has a separate figure"
                found.append(ValidationProblem(key=(key,), words=words))
        if pooled and not any(figure.pooled for figure in self.figures.values()):
            found.append(
                ValidationProblem(key=("over",), words=f"cannot be pooled: {self.name} is not a quotient of counts")
            )
        return found

    def filled_in(self, settings: Any) -> dict[str, Any]:
        """Also what empty regions count, where there is one figure and no formula decides."""
        table = super().filled_in(settings)
        [figure, *others] = self.figures.values()
        for key in () if others or self._is_pooled(settings) else ("both_empty", "prediction_empty", "reference_empty"):
            if table[key] is None and getattr(figure, key) != FORMULA:
                table[key] = getattr(figure, key)
        return table

    def computed_by(self, settings: Any, engine: MetricEngine) -> str:
        return OWN if self._is_pooled(settings) else super().computed_by(settings, engine)

    def declare(self, settings: Any, values: Mapping[str, AnyValueKind], engine: MetricEngine) -> Declared:
        declared = Declared(package=self.computed_by(settings, engine))
        several = len(values) > 1
        places = [
            RegionPlace(
                name=f"{name}_{region}" if several else region,
                title=" ".join(([value.title] if several else []) + [region.replace("_", " ")]),
                value=value,
                region=region,
                engine=engine,
            )
            for name, value in values.items()
            for region in _chosen(settings, value)
        ]
        offered = self._offered(settings)
        for suffix in offered:
            title = settings.title_of(self._figure(suffix, settings), alone=len(offered) == 1)
            self._declare_figure(declared, settings, places, suffix, title)
        if self._is_pooled(settings):
            self._declare_facts(declared, settings, places)
        return declared

    def _offered(self, settings: Any) -> Sequence[str]:
        return [*(self.figures if self.offers is None else self.offers(settings)), *self.more(settings)]

    def _figure(self, name: str, settings: Any) -> RegionFigure[Any]:
        return {**self.figures, **self.more(settings)}[name]

    def _is_pooled(self, settings: Any) -> bool:
        return self.only_pooled or settings.over == "pooled"

    def _declare_figure(
        self, declared: Declared, settings: Any, places: Sequence[RegionPlace], suffix: str, title: str
    ) -> None:
        figure = self._figure(suffix, settings)
        if len(self.figures) > 1 and figure.worst is not None and settings.failed != EMPTY:
            settings = settings.model_copy(update={"failed": "worst"})  # a number is for those that have no worst value
        paths = [joined_path(settings.own_name, place.name, suffix) for place in places]
        overall = joined_path(settings.own_name, suffix)
        if self._is_pooled(settings):
            if figure.pooled is not None:
                lacking, at = figure.undefined_when(settings), f"{overall}.mean"
                declared.formulas.append(
                    mean_of_figures(paths, exclude=False, path=at, title=title, undefined_when=lacking, **figure.scale)
                )
                for path, place in zip(paths, places, strict=True):
                    facts = f"facts.{settings.own_name}.{place.name}"
                    declared.cohort_metrics.append(
                        pooled_metric(path, f"{title} {place.title}", facts, figure, settings)
                    )
                    declared.columns.append(path)
            return
        for path, place in zip(paths, places, strict=True):
            declared.metrics.append(case_metric(path, f"{title} {place.title}", place, figure, settings))
        mean = mean_over_regions(overall, title, declared.metrics[-len(paths) :])
        declared.metrics.append(mean)
        means = [f"{path}.mean" for path in paths]
        if len(paths) > 1:
            words: dict[str, Any] = {"title": f"{title}, mean of regions", "undefined_when": mean.undefined_when}
            declared.formulas.append(mean_of_figures(means, path=f"{overall}.region_mean", **words, **mean.scale))
            declared.columns.append(mean.mean_path)
        declared.columns += means

    def _declare_facts(self, declared: Declared, settings: Any, places: Sequence[RegionPlace]) -> None:
        counts = self.counts
        assert counts is not None
        for place in places:

            def fact(case: DeclaredCase, place: RegionPlace = place) -> list[float]:
                return list(counts(region_pair(case, place), settings))

            declared.facts[f"facts.{settings.own_name}.{place.name}"] = place.value.name, fact
        declared.confidential.append(f"facts.{settings.own_name}")
