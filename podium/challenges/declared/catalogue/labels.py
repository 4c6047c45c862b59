"""The catalogue of label images: overlap, boundaries, volumes, centre lines and matched lesions."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, StrictInt, model_validator

from podium.challenges.declared.catalogue.regions import (
    EMPTY,
    RegionFigure,
    RegionMetric,
    RegionPair,
    RegionSettings,
    agreement,
)
from podium.challenges.settings import FigureName, Finite, LeastAccepted, Positive
from podium.errors import ValidationProblem
from podium.metrics import Floats
from podium.metrics.overlap import relative_volume_difference, volume_difference_ml, volume_rmse_ml, volume_similarity

if TYPE_CHECKING:
    from podium.metrics.components import Connectivity
    from podium.metrics.lesions import MatchingRule

Weights = tuple[Sequence[int], Sequence[int]]  # above and below: of the voxels shared, predicted, and in the reference
Tolerance = Annotated[Finite, Field(ge=0)]
Neighbours = Literal[1, 2, 3, 4, 6, 8, 18, 26]


# Overlap


class OverlapSettings(RegionSettings):
    """`unit`: whether pooled figures sum volumes (mm3; voxels where files have no spacing) or numbers of voxels."""

    unit: Literal["mm3", "voxels"] = "mm3"


def _sizes(pair: RegionPair, settings: OverlapSettings) -> Sequence[float]:
    counts, size = pair.counts, 1.0 if settings.unit == "voxels" else float(np.prod(pair.spacing))
    return (size * counts.shared, size * counts.prediction, size * counts.reference)


def _precision(pair: RegionPair, _: RegionSettings) -> float:
    return pair.counts.shared / pair.counts.prediction


def _recall(pair: RegionPair, _: RegionSettings) -> float:
    return pair.counts.shared / pair.counts.reference


def _pooled(numerator: Sequence[int], denominator: Sequence[int], totals: Floats) -> Floats:
    """A quotient of weighted counts."""
    return np.asarray((totals @ np.array(numerator)) / (totals @ np.array(denominator)))


def _overlap(
    name: str, definition: str, compute: Callable[..., float | None], weights: Weights, title: str = ""
) -> RegionMetric:
    """A quotient of voxel counts, pooled with these weights; the engines have those with a title of their own."""
    return RegionMetric(
        name=name,
        definition=definition,
        settings_model=OverlapSettings,
        counts=_sizes,
        by_engine=lambda _: bool(title),
        figures={
            "": agreement(title=title or name.capitalize(), compute=compute, pooled=partial(_pooled, *weights)),
        },
    )


OVERLAP_METRICS = (
    _overlap(
        "dice",
        "2 |P and G| / (|P| + |G|)",
        lambda pair, _: pair.engine.dice(pair),
        ((2, 0, 0), (0, 1, 1)),
        title="Dice",
    ),
    _overlap(
        "iou", "|P and G| / |P or G|", lambda pair, _: pair.engine.iou(pair), ((1, 0, 0), (-1, 1, 1)), title="IoU"
    ),
    _overlap("precision", "|P and G| / |P|, of voxels", _precision, ((1, 0, 0), (0, 1, 0))),
    _overlap("recall", "|P and G| / |G|, of voxels", _recall, ((1, 0, 0), (0, 0, 1))),
)


# Distances between boundaries


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
            raise ValueError("has a tolerance in mm and one in pixels; keep one of them")
        if self.tolerance_px is None and self.tolerance_mm is None and not self.tolerances_mm:
            raise ValueError("needs either tolerance_mm or tolerance_px")
        return self


class HausdorffSettings(SurfaceSettings):
    """`combine`: the larger of the two directions (max), or the percentile of all distances together (pooled)."""

    combine: Literal["max", "pooled"] = "max"


def _is_by_engine(settings: SurfaceSettings) -> bool:
    """Surface elements and pooled percentiles have one implementation, Podium's."""
    return settings.boundary == "voxels" and getattr(settings, "combine", "max") == "max"


def _nsd(pair: RegionPair, settings: NsdSettings) -> float | None:
    in_mm = settings.tolerance_px is None
    tolerance = settings.tolerances_mm.get(pair.name, settings.tolerance_mm) if in_mm else settings.tolerance_px
    assert tolerance is not None
    if _is_by_engine(settings):
        return pair.engine.nsd(pair, tolerance=tolerance, in_mm=in_mm)
    return pair.surfaces(boundary=settings.boundary, in_mm=in_mm).nsd(tolerance)


def _check_tolerances(settings: NsdSettings, regions: Sequence[str]) -> Sequence[ValidationProblem]:
    lacking = [region for region in regions if region not in settings.tolerances_mm]
    if not lacking or settings.tolerance_mm is not None or settings.tolerance_px is not None:
        return ()
    words = f"gives none for '{lacking[0]}'; add it, or tolerance_mm for all other regions"
    return [ValidationProblem(key=("tolerances_mm",), words=words)]


def _hausdorff(pair: RegionPair, settings: HausdorffSettings, percentile: float) -> float | None:
    if _is_by_engine(settings):
        return pair.engine.hausdorff(pair, percentile=percentile)
    surfaces = pair.surfaces(boundary=settings.boundary, in_mm=True)
    return surfaces.hausdorff(percentile=percentile, combine=settings.combine)


def _mean_distance(pair: RegionPair, settings: SurfaceSettings, name: Literal["assd", "masd"]) -> float | None:
    if _is_by_engine(settings):
        return pair.engine.assd(pair) if name == "assd" else pair.engine.masd(pair)
    surfaces = pair.surfaces(boundary=settings.boundary, in_mm=True)
    return surfaces.assd() if name == "assd" else surfaces.masd()


_distance: Callable[..., RegionFigure[Any]] = partial(
    RegionFigure,
    direction="lower",
    worst="diagonal",
    unit="mm",
    both_empty=0.0,
    prediction_empty="diagonal",
    reference_empty="diagonal",
)
_surface_metric = partial(RegionMetric, by_engine=_is_by_engine)
SURFACE_METRICS = (
    _surface_metric(
        name="nsd",
        definition="share of both boundaries within the tolerance of the other",
        settings_model=NsdSettings,
        figures={"": agreement(title="NSD", compute=_nsd)},
        check=_check_tolerances,
    ),
    _surface_metric(
        name="hd",
        definition="largest distance of one boundary from the other",
        settings_model=HausdorffSettings,
        figures={"": _distance(title="HD", compute=partial(_hausdorff, percentile=100.0))},
    ),
    _surface_metric(
        name="hd95",
        definition="95th percentile of the distances of one boundary from the other",
        settings_model=HausdorffSettings,
        figures={"": _distance(title="HD95", compute=partial(_hausdorff, percentile=95.0))},
    ),
    _surface_metric(
        name="assd",
        definition="mean of all boundary distances of both directions",
        settings_model=SurfaceSettings,
        figures={"": _distance(title="ASSD", compute=partial(_mean_distance, name="assd"))},
    ),
    _surface_metric(
        name="masd",
        definition="mean of the two directions' mean boundary distances",
        settings_model=SurfaceSettings,
        figures={"": _distance(title="MASD", compute=partial(_mean_distance, name="masd"))},
    ),
)


# Volumes


def _difference_ml(pair: RegionPair, _: RegionSettings) -> float:
    counts = pair.counts
    return volume_difference_ml(prediction=counts.prediction, reference=counts.reference, spacing_mm=pair.spacing)


def _of_voxels(formula: Callable[..., float | None], pair: RegionPair, _: RegionSettings) -> float | None:
    return formula(prediction=pair.counts.prediction, reference=pair.counts.reference)


def _squares(pair: RegionPair, settings: RegionSettings) -> Sequence[float]:
    """The squared difference of a case, and that it counts."""
    is_given = pair.is_missing and isinstance(settings.failed, int | float)
    return ((float(settings.failed) if is_given else _difference_ml(pair, settings)) ** 2, 1)


_difference: Callable[..., RegionFigure[Any]] = partial(
    RegionFigure, direction="lower", unit="ml", compute=_difference_ml, worst=None
)
VOLUME_METRICS = (
    RegionMetric(
        name="volume_difference_ml",
        definition="|Vp - Vg|",
        figures={"": _difference(title="Volume difference")},
    ),
    RegionMetric(
        name="relative_volume_difference",
        definition="|Vp - Vg| / Vg",
        figures={
            "": RegionFigure(
                title="Relative volume difference",
                direction="lower",
                compute=partial(_of_voxels, relative_volume_difference),
                worst=None,
                both_empty="exclude",
                reference_empty="exclude",
            )
        },
    ),
    RegionMetric(
        name="volume_similarity",
        definition="1 - |Vp - Vg| / (Vp + Vg)",
        figures={"": agreement(title="Volume similarity", compute=partial(_of_voxels, volume_similarity))},
    ),
    RegionMetric(
        name="volume_rmse_ml",
        definition="root of the mean of (Vp - Vg)^2 over the cases",
        counts=_squares,
        only_pooled=True,
        figures={
            "": _difference(
                title="Volume RMSE", pooled=lambda totals: volume_rmse_ml(squares=totals[..., 0], cases=totals[..., 1])
            )
        },
    ),
)


# Centre lines and components


class ConnectedSettings(RegionSettings):
    """`connectivity`: neighbours that make a component: 1 faces, 2 also edges, 3 also corners, or their number."""

    connectivity: Neighbours = 26

    @property
    def neighbours(self) -> "Connectivity":
        from podium.metrics.components import as_connectivity

        return as_connectivity(self.connectivity)


def _cldice(pair: RegionPair, _: RegionSettings) -> float | None:
    from podium.metrics.components import cldice

    prediction, reference = pair.masks()
    return cldice(prediction=prediction, reference=reference)


def _component_error(pair: RegionPair, settings: ConnectedSettings) -> float:
    from podium.metrics.components import component_error

    prediction, reference = pair.masks()
    return component_error(prediction=prediction, reference=reference, connectivity=settings.neighbours)


SHAPE_METRICS = (
    RegionMetric(
        name="component_dice",
        definition="mean over G's components of the Dice among the voxels that are nearest to each",
        by_engine=lambda _: True,
        figures={"": agreement(title="Dice per component", compute=lambda pair, _: pair.engine.component_dice(pair))},
    ),
    RegionMetric(
        name="cldice",
        package="scikit-image",
        definition="harmonic mean of the shares of each centre line inside the other mask; a 3-D mask of which Lee's "
        "method leaves no line, such as a cube of 2 x 2 x 2 voxels, is its own",
        figures={"": agreement(title="clDice", compute=_cldice)},
    ),
    RegionMetric(
        name="component_error",
        definition="|components of P - components of G|",
        settings_model=ConnectedSettings,
        figures={"": RegionFigure(title="Component error", direction="lower", compute=_component_error, worst=None)},
    ),
)


# Lesions: connected components, matched between prediction and reference


class MatchedSettings(RegionSettings):
    """How objects are matched.

    match, threshold       iou, dice: at least the threshold; overlap: the share of the lesion that is found, at least
                           the threshold ("> 0.3": more than 0.3); centroid: at most the threshold apart in mm;
                           best_iou, of instances: as iou, of every object of the reference the best one alone
    pairing                any: every pair that matches (autoPET); greedy or optimal: one to one
    min_voxels             smaller components do not count
    miss_mm                the distance of a lesion or component without a match; HD95 and ASSD need it
    boundary               of these: voxels or surface elements
    strata_ml              volumes that divide the lesions of the reference: recall, mean Dice and the number found of
                           each band are further figures
    failed                 "empty", or a number for fp and fpv_ml, which have no worst value; others then have theirs
    both_empty             the quotients of a case without lesions and false positives ["exclude": left out of their
                           means]; counts and volumes are 0 there
    """

    match: Literal["iou", "dice", "overlap", "centroid"]
    threshold: Annotated[Finite, LeastAccepted, Field(ge=0)]
    pairing: Literal["any", "greedy", "optimal"]
    min_voxels: Annotated[StrictInt, Field(ge=1)] = 1
    miss_mm: Annotated[Finite, Field(ge=0)] | None = None
    boundary: Literal["voxels", "surface"] = "voxels"
    strata_ml: tuple[Positive, ...] = ()

    @model_validator(mode="after")
    def _formulas_decide(self) -> Self:
        if self.prediction_empty is not None or self.reference_empty is not None:
            raise ValueError("takes no prediction_empty or reference_empty: its formulas have a value there")
        if [*self.strata_ml] != sorted({*self.strata_ml}):
            raise ValueError("strata_ml must rise")
        return self

    @property
    def components(self) -> Mapping[str, Any]:
        """Of the rule: what the objects are."""
        return {"instances": True}

    @property
    def rule(self) -> "MatchingRule":
        from podium.metrics.lesions import MatchingRule

        shared = {name: getattr(self, name) for name in ("min_voxels", "match", "threshold", "pairing")}
        return MatchingRule(**shared, **self.components)

    @property
    def bands(self) -> Mapping[str, tuple[float, float]]:
        """The lowest volume of every band and that of the next one, by name."""
        names = [f"{limit:g}".replace(".", "_") for limit in self.strata_ml]
        ends = [0.0, *self.strata_ml, math.inf]
        found = {f"below_{names[0]}_ml": (0.0, ends[1])} if names else {}
        for number, name in enumerate(names, start=1):
            upper = f"_to_{names[number]}" if number < len(names) else ""
            found[f"from_{name}{upper}_ml"] = (ends[number], ends[number + 1])
        return found


class LesionsMetricSettings(MatchedSettings, ConnectedSettings):
    """How components are found.

    min_predicted_voxels   min_voxels of predicted components [min_voxels]
    dilate                 lesions within this number of voxels of each other are one
    """

    min_predicted_voxels: Annotated[StrictInt, Field(ge=1)] | None = None
    dilate: Annotated[StrictInt, Field(ge=0)] = 0

    @property
    def components(self) -> Mapping[str, Any]:
        own = {"min_predicted_voxels": self.min_predicted_voxels, "dilate": self.dilate}
        return {"connectivity": self.neighbours, **own}


class InstancesMetricSettings(MatchedSettings):
    match: Literal["iou", "dice", "overlap", "centroid", "best_iou"]  # type: ignore[assignment]


def _of(name: str, pair: RegionPair, settings: Any) -> float | None:
    """A figure of the matches: one of the counts, or one of the lesions'."""
    found = pair.matches(settings.rule)
    value: float | None = getattr(found.counts, name) if hasattr(found.counts, name) else getattr(found, name)
    return value


def _distances(pair: RegionPair, settings: Any, *, name: Literal["lesion_hd95", "lesion_assd"]) -> float | None:
    assert settings.miss_mm is not None
    found: float | None = getattr(pair.matches(settings.rule), name)(
        miss_mm=settings.miss_mm, boundary=settings.boundary
    )
    return found


def _of_band(pair: RegionPair, settings: Any, *, name: str, band: tuple[float, float]) -> float | None:
    found = pair.matches(settings.rule).of_size(*band)
    value: float | None = found.lesion_dice if name == "dice" else getattr(found.counts, name)
    return value


def _lesion_counts(pair: RegionPair, settings: Any) -> Sequence[int]:
    counts = pair.matches(settings.rule).counts
    return (counts.tp, counts.fp, counts.fn)


def _nothing(pair: RegionPair, settings: Any) -> bool:
    """No lesion that counts, and no false positive: quotients are 0 / 0."""
    return not any(_lesion_counts(pair, settings))


_figure: Callable[..., RegionFigure[Any]] = partial(RegionFigure, nothing=lambda *_: False)
_share = partial(_figure, direction="higher", highest=1.0, worst=0.0, both_empty="exclude", nothing=_nothing)
_miss_distance = partial(
    _figure,
    direction="lower",
    unit="mm",
    both_empty="exclude",
    nothing=_nothing,
    worst=lambda settings: settings.miss_mm,
)
_FIGURES: dict[str, RegionFigure[Any]] = {
    # Without a false positive, nothing is worse than an empty prediction; there is no limit to false positives.
    **{
        name: _figure(
            title=name.upper(), direction=direction, compute=partial(_of, name), worst=worst, pooled=itemgetter(place)
        )
        for name, direction, worst, place in (
            ("tp", "higher", EMPTY, (..., 0)),
            ("fp", "lower", None, (..., 1)),
            ("fn", "lower", EMPTY, (..., 2)),
        )
    },
    "f1": _share(title="Lesion F1", compute=partial(_of, "f1"), pooled=partial(_pooled, (2, 0, 0), (2, 1, 1))),
    "precision": _share(
        title="Lesion precision", compute=partial(_of, "precision"), pooled=partial(_pooled, (1, 0, 0), (1, 1, 0))
    ),
    "recall": _share(
        title="Lesion recall",
        compute=partial(_of, "recall"),
        reference_empty="exclude",
        pooled=partial(_pooled, (1, 0, 0), (1, 0, 1)),
    ),
    "sq": _share(title="SQ", compute=partial(_of, "sq")),
    "rq": _share(title="RQ", compute=partial(_of, "rq"), pooled=partial(_pooled, (2, 0, 0), (2, 1, 1))),
    "pq": _share(title="PQ", compute=partial(_of, "pq")),
    "lesion_dice": _share(title="Lesion-wise Dice", compute=partial(_of, "lesion_dice")),
    "lesion_hd95": _miss_distance(title="Lesion-wise HD95", compute=partial(_distances, name="lesion_hd95")),
    "lesion_assd": _miss_distance(title="Lesion-wise ASSD", compute=partial(_distances, name="lesion_assd")),
    "fpv_ml": _figure(
        title="False positive volume", direction="lower", unit="ml", compute=partial(_of, "fpv_ml"), worst=None
    ),
    "fnv_ml": _figure(
        title="False negative volume", direction="lower", unit="ml", compute=partial(_of, "fnv_ml"), worst=EMPTY
    ),
}


def _offered(settings: Any, figures: Mapping[str, RegionFigure[Any]] = _FIGURES) -> Sequence[str]:
    without = () if settings.miss_mm is not None else ("lesion_hd95", "lesion_assd", "hd95", "assd")
    return [
        name
        for name, figure in figures.items()
        if name not in without and (settings.over == "cases" or figure.pooled is not None)
    ]


def _no_lesion(pair: RegionPair, settings: Any, *, band: tuple[float, float]) -> bool:
    """The reference has none of this size: nothing there can be found or missed."""
    return not pair.matches(settings.rule).of_size(*band).counted_lesions.any()


def _strata(settings: Any) -> Mapping[str, RegionFigure[Any]]:
    """Of every band of volumes; without a lesion of the band there is no value."""
    words = {"recall": "Lesion recall", "dice": "Lesion-wise Dice", "tp": "Lesions found"}
    return {
        f"{name}_{band}": _share(
            title=f"{title} {band.replace('_', ' ')}",
            highest=1.0 if name != "tp" else math.inf,
            reference_empty="exclude",
            compute=partial(_of_band, name=name, band=ends),
            nothing=partial(_no_lesion, band=ends),
        )
        for band, ends in (settings.bands if settings.over == "cases" else {}).items()
        for name, title in words.items()
    }


_INSTANCE_FIGURES = {
    name.removeprefix("lesion_"): replace(
        figure,
        title=re.sub("Lesion-wise|Lesion", "Instance", figure.title) if "esion" in figure.title else figure.title,
    )
    for name, figure in _FIGURES.items()
    if name not in ("fpv_ml", "fnv_ml")
}
_matched: Callable[..., RegionMetric] = partial(RegionMetric, counts=_lesion_counts, more=_strata)
LESIONS_METRIC = _matched(
    name="lesions",
    definition="connected components, matched: counts, quotients, panoptic quality, lesion-wise Dice, HD95 and ASSD",
    settings_model=LesionsMetricSettings,
    figures=_FIGURES,
    offers=_offered,
)
INSTANCES_METRIC = _matched(
    name="instances",
    definition="objects, matched: counts, quotients, panoptic quality, Dice, HD95 and ASSD per object",
    compares=("instances",),
    settings_model=InstancesMetricSettings,
    figures=_INSTANCE_FIGURES,
    offers=partial(_offered, figures=_INSTANCE_FIGURES),
)
METRICS = (
    *OVERLAP_METRICS,
    *SURFACE_METRICS,
    *VOLUME_METRICS,
    *SHAPE_METRICS,
    LESIONS_METRIC,
    INSTANCES_METRIC,
)
