"""Metrics of label images, region by region."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from podium.challenges.declared.catalogue.base import Declared, DeclaredCase, MetricKind, MetricSettings
from podium.challenges.declared.catalogue.region_figures import (
    RegionFigure,
    RegionPlace,
    RegionSettings,
    of_case,
    when_lost,
    worst_number,
)
from podium.challenges.declared.catalogue.region_means import (
    mean_of_means,
    mean_of_pooled,
    mean_over_regions,
    pooled_metric,
)
from podium.challenges.declared.catalogue.region_pairs import RegionPair, region_pair
from podium.challenges.declared.value_settings import as_tuple
from podium.challenges.declared.values import AnyValueKind
from podium.errors import ValidationProblem
from podium.metrics.declaration import CaseMetric


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

    def _places(self, settings: Any, values: Mapping[str, AnyValueKind]) -> list[RegionPlace]:
        """Where the figures of every value and region stand."""
        several = len(values) > 1
        return [
            RegionPlace(
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
                declared.formulas.append(mean_of_pooled(f"{overall}.mean", title, paths, figure))
                for path, place in zip(paths, places, strict=True):
                    facts = _facts_path(settings, place.name)
                    declared.cohort_metrics.append(
                        pooled_metric(path, f"{title} {place.title}", facts, figure, settings)
                    )
                    declared.columns.append(path)
            return
        worst = worst_number(figure, settings)
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
                    of=of_case(place, figure, settings),
                    when_lost=when_lost(place, figure, settings),
                )
            )
        mean = mean_over_regions(overall, title, paths, declared.metrics[-1])
        declared.metrics.append(mean)
        if len(paths) > 1:
            declared.formulas.append(mean_of_means(f"{overall}.region_mean", title, paths, mean))
            declared.columns.append(mean.mean_path)
        declared.columns += [f"{path}.mean" for path in paths]

    def _declare_facts(self, declared: Declared, settings: Any, values: Mapping[str, AnyValueKind]) -> None:
        counts = self.counts
        assert counts is not None
        for place in self._places(settings, values):

            def fact(case: DeclaredCase, place: RegionPlace = place) -> list[float]:
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
