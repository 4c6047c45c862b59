"""The catalogue of label images: distances between the boundaries of regions."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from podium.challenges.declared.catalogue.base import Number
from podium.challenges.declared.catalogue.region_figures import RegionFigure, RegionSettings, agreement
from podium.challenges.declared.catalogue.region_pairs import RegionPair
from podium.challenges.declared.catalogue.regions import RegionMetric
from podium.challenges.settings import FigureName
from podium.errors import ValidationProblem
from podium.metrics.declaration import distance_policy

Tolerance = Annotated[Number, Field(ge=0)]
_NEVER = distance_policy(math.nan)  # empty masks were decided before


class SurfaceSettings(RegionSettings):
    """`boundary`: voxels (MONAI) or surface elements weighted by their area (DeepMind)."""

    boundary: Literal["voxels", "surface"] = "voxels"


class NsdSettings(SurfaceSettings):
    """`tolerance_mm` or `tolerance_px`: how far two boundaries may be apart and still agree; `tolerances_mm` for single
    regions."""

    tolerance_mm: Tolerance | None = None
    tolerance_px: Tolerance | None = None
    tolerances_mm: Mapping[FigureName, Tolerance] = {}

    @model_validator(mode="after")
    def _one_unit(self) -> Self:
        if self.tolerance_px is not None and (self.tolerance_mm is not None or self.tolerances_mm):
            raise ValueError("has a tolerance in mm and one in pixels; one of them")
        if self.tolerance_px is None and self.tolerance_mm is None and not self.tolerances_mm:
            raise ValueError("needs either tolerance_mm or tolerance_px")
        return self


class HausdorffSettings(SurfaceSettings):
    """`combine`: the larger of the two directions (max), or the percentile of all distances together (pooled)."""

    combine: Literal["max", "pooled"] = "max"


def _nsd(pair: RegionPair, settings: NsdSettings) -> float | None:
    in_mm = settings.tolerance_px is None
    tolerance = settings.tolerances_mm.get(pair.name, settings.tolerance_mm) if in_mm else settings.tolerance_px
    assert tolerance is not None
    return pair.surfaces(boundary=settings.boundary, in_mm=in_mm).nsd(tolerance)


def _check_tolerances(settings: NsdSettings, regions: Sequence[str]) -> Sequence[ValidationProblem]:
    lacking = [region for region in regions if region not in settings.tolerances_mm]
    if not lacking or settings.tolerance_mm is not None or settings.tolerance_px is not None:
        return ()
    words = f"gives none for '{lacking[0]}'; add it, or tolerance_mm for all other regions"
    return [ValidationProblem(key=("tolerances_mm",), words=words)]


def _hausdorff(percentile: float) -> Callable[[RegionPair, HausdorffSettings], float | None]:
    def of(pair: RegionPair, settings: HausdorffSettings) -> float | None:
        surfaces = pair.surfaces(boundary=settings.boundary, in_mm=True)
        return surfaces.hausdorff(percentile=percentile, combine=settings.combine, policy=_NEVER)

    return of


def _assd(pair: RegionPair, settings: SurfaceSettings) -> float | None:
    return pair.surfaces(boundary=settings.boundary, in_mm=True).assd(policy=_NEVER)


def _masd(pair: RegionPair, settings: SurfaceSettings) -> float | None:
    return pair.surfaces(boundary=settings.boundary, in_mm=True).masd(policy=_NEVER)


_distance: Callable[..., RegionFigure[Any]] = partial(
    RegionFigure,
    direction="lower",
    worst="diagonal",
    unit="mm",
    both_empty=0.0,
    prediction_empty="diagonal",
    reference_empty="diagonal",
)
SURFACE_METRICS = (
    RegionMetric(
        name="nsd",
        definition="share of both boundaries that lies within the tolerance of the other",
        settings_model=NsdSettings,
        figures={"": agreement(title="NSD", of=_nsd)},
        check=_check_tolerances,
    ),
    RegionMetric(
        name="hd",
        definition="largest distance of one boundary from the other",
        settings_model=HausdorffSettings,
        figures={"": _distance(title="HD", of=_hausdorff(100.0))},
    ),
    RegionMetric(
        name="hd95",
        definition="95th percentile of the distances of one boundary from the other",
        settings_model=HausdorffSettings,
        figures={"": _distance(title="HD95", of=_hausdorff(95.0))},
    ),
    RegionMetric(
        name="assd",
        definition="mean of all boundary distances of both directions",
        settings_model=SurfaceSettings,
        figures={"": _distance(title="ASSD", of=_assd)},
    ),
    RegionMetric(
        name="masd",
        definition="mean of the two directions' mean boundary distances",
        settings_model=SurfaceSettings,
        figures={"": _distance(title="MASD", of=_masd)},
    ),
)
