"""The catalogue of label images: overlap, surfaces, volumes, centre lines and components."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from podium.challenges.declared.catalogue.base import Number
from podium.challenges.declared.catalogue.region_pairs import RegionPair
from podium.challenges.declared.catalogue.regions import EMPTY, RegionFigure, RegionMetric, RegionSettings
from podium.challenges.settings import FigureName
from podium.metrics.components import Connectivity, as_connectivity
from podium.metrics.policy import distance_policy
from podium.metrics.resampling import Floats
from podium.metrics.topology import cldice, component_error
from podium.metrics.volumes import relative_volume_difference, volume_similarity
from podium.validation_errors import ValidationProblem

Tolerance = Annotated[Number, Field(ge=0)]
Neighbours = Literal[1, 2, 3, 4, 6, 8, 18, 26]
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


class ConnectedSettings(RegionSettings):
    """`connectivity`: neighbours that make a component: 1 faces, 2 also edges, 3 also corners, or their number."""

    connectivity: Neighbours = 26

    @property
    def neighbours(self) -> Connectivity:
        return as_connectivity(self.connectivity)


# Overlap


def _counts(pair: RegionPair, _: RegionSettings) -> Sequence[int]:
    counts = pair.counts
    return (counts.shared, counts.prediction, counts.reference)


def _pooled_dice(totals: Floats) -> Floats:
    return np.asarray(2 * totals[..., 0] / (totals[..., 1] + totals[..., 2]))


def _pooled_iou(totals: Floats) -> Floats:
    return np.asarray(totals[..., 0] / (totals[..., 1] + totals[..., 2] - totals[..., 0]))


_agreement: Callable[..., RegionFigure[Any]] = partial(
    RegionFigure,
    direction="higher",
    highest=1.0,
    worst=0.0,
    both_empty=1.0,
    prediction_empty=0.0,
    reference_empty=0.0,
)
DICE = RegionMetric(
    name="dice",
    definition="2 |P and G| / (|P| + |G|)",
    counts=_counts,
    figures={"": _agreement(title="Dice", of=lambda pair, _: pair.counts.dice(), pooled=_pooled_dice)},
)
IOU = RegionMetric(
    name="iou",
    definition="|P and G| / |P or G|",
    counts=_counts,
    figures={"": _agreement(title="IoU", of=lambda pair, _: pair.counts.iou(), pooled=_pooled_iou)},
)


# Surfaces


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
        figures={"": _agreement(title="NSD", of=_nsd)},
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


# Volumes


def _difference_ml(pair: RegionPair, _: RegionSettings) -> float:
    counts = pair.counts
    return abs(counts.prediction - counts.reference) * pair.voxel_ml


def _largest_difference_ml(pair: RegionPair, _: RegionSettings) -> float:
    """Nothing predicted, or everything: whichever is further off."""
    reference = pair.counts.reference
    return max(reference, pair.image_voxels - reference) * pair.voxel_ml


def _relative(pair: RegionPair, _: RegionSettings) -> float | None:
    return relative_volume_difference(prediction=pair.counts.prediction, reference=pair.counts.reference)


def _largest_relative(pair: RegionPair, settings: RegionSettings) -> float | None:
    reference = pair.counts.reference
    return _largest_difference_ml(pair, settings) / (reference * pair.voxel_ml) if reference else None


def _similarity(pair: RegionPair, _: RegionSettings) -> float | None:
    return volume_similarity(prediction=pair.counts.prediction, reference=pair.counts.reference)


def _squares(pair: RegionPair, settings: RegionSettings) -> Sequence[float]:
    """The squared difference of a case, and that it counts."""
    if not pair.is_lost:
        return (_difference_ml(pair, settings) ** 2, 1)
    if settings.failed == "exclude":
        return (0, 0)
    given = settings.failed
    return ((given if isinstance(given, int | float) else _largest_difference_ml(pair, settings)) ** 2, 1)


VOLUME_METRICS = (
    RegionMetric(
        name="volume_difference_ml",
        definition="|Vp - Vg|",
        figures={
            "": RegionFigure(
                title="Volume difference",
                direction="lower",
                unit="ml",
                of=_difference_ml,
                worst=_largest_difference_ml,
            )
        },
    ),
    RegionMetric(
        name="relative_volume_difference",
        definition="|Vp - Vg| / Vg",
        figures={
            "": RegionFigure(
                title="Relative volume difference",
                direction="lower",
                of=_relative,
                worst=_largest_relative,
                both_empty="exclude",
                reference_empty="exclude",
            )
        },
    ),
    RegionMetric(
        name="volume_similarity",
        definition="1 - |Vp - Vg| / (Vp + Vg)",
        figures={"": _agreement(title="Volume similarity", of=_similarity)},
    ),
    RegionMetric(
        name="volume_rmse_ml",
        definition="root of the mean of (Vp - Vg)^2 over the cases",
        counts=_squares,
        only_pooled=True,
        figures={
            "": RegionFigure(
                title="Volume RMSE",
                direction="lower",
                unit="ml",
                of=_difference_ml,
                pooled=lambda totals: np.asarray(np.sqrt(totals[..., 0] / totals[..., 1])),
            )
        },
    ),
)


# Shape


def _cldice(pair: RegionPair, _: RegionSettings) -> float | None:
    prediction, reference = pair.masks()
    return cldice(prediction=prediction, reference=reference)


def _component_error(pair: RegionPair, settings: ConnectedSettings) -> float:
    prediction, reference = pair.masks()
    return component_error(prediction=prediction, reference=reference, connectivity=settings.neighbours)


SHAPE_METRICS = (
    RegionMetric(
        name="cldice",
        definition="harmonic mean of the shares of each centre line that lies in the other mask",
        figures={"": _agreement(title="clDice", of=_cldice)},
    ),
    RegionMetric(
        name="component_error",
        definition="|components of P - components of G|",
        settings_model=ConnectedSettings,
        figures={
            "": RegionFigure(
                title="Component error",
                direction="lower",
                of=_component_error,
                worst=EMPTY,
            )
        },
    ),
)
LABEL_METRICS = (DICE, IOU, *SURFACE_METRICS, *VOLUME_METRICS, *SHAPE_METRICS)
