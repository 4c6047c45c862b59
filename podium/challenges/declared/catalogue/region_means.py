"""Figures over the regions of a case, and over all cases."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from podium.challenges.declared.catalogue.base import DeclaredCase
from podium.challenges.declared.catalogue.region_figures import RegionFigure
from podium.figures import Figures, get
from podium.metrics.declaration import CaseMetric, CohortMetric, Formula, Values
from podium.metrics.resampling import Floats, Resamples


def mean_over_regions(
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


def mean_of_means(path: str, title: str, paths: Sequence[str], like: CaseMetric[DeclaredCase]) -> Formula:
    """The mean over the regions of their means over cases."""

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


def mean_of_pooled(path: str, title: str, paths: Sequence[str], like: RegionFigure[Any]) -> Formula:
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


def pooled_metric(path: str, title: str, facts: str, figure: RegionFigure[Any], settings: Any) -> CohortMetric:
    """The figure of one region from the counts of all cases."""
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
