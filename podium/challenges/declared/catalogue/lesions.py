"""The catalogue's `lesions`: connected components, matched between prediction and reference."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, StrictInt, model_validator

from podium.challenges.declared.catalogue.base import Number
from podium.challenges.declared.catalogue.labels import ConnectedSettings
from podium.challenges.declared.catalogue.region_figures import EMPTY, RegionFigure
from podium.challenges.declared.catalogue.region_pairs import RegionPair
from podium.challenges.declared.catalogue.regions import RegionMetric
from podium.metrics.lesions import LesionMatches, MatchingRule, match_components
from podium.metrics.resampling import Floats


class LesionsMetricSettings(ConnectedSettings):
    """How components are matched.

    match, threshold       iou, dice: at least the threshold; overlap: the share of the lesion that is found, at least
                           the threshold; centroid: at most the threshold apart in mm
    pairing                any: every pair that matches (autoPET); greedy or optimal: one to one
    min_voxels             smaller components do not count
    min_predicted_voxels   the same for predicted components [min_voxels]
    dilate                 lesions within this number of voxels of each other are one
    miss_mm                the distance of a lesion or component without a match; lesion_hd95 needs it
    boundary               of lesion_hd95: voxels or surface elements
    both_empty             the quotients of a case without lesions and false positives; counts and volumes are 0 there
    """

    match: Literal["iou", "dice", "overlap", "centroid"]
    threshold: Annotated[Number, Field(ge=0)]
    pairing: Literal["any", "greedy", "optimal"]
    min_voxels: Annotated[StrictInt, Field(ge=1)] = 1
    min_predicted_voxels: Annotated[StrictInt, Field(ge=1)] | None = None
    dilate: Annotated[StrictInt, Field(ge=0)] = 0
    miss_mm: Annotated[Number, Field(ge=0)] | None = None
    boundary: Literal["voxels", "surface"] = "voxels"

    @model_validator(mode="after")
    def _formulas_decide(self) -> Self:
        if self.prediction_empty is not None or self.reference_empty is not None:
            raise ValueError("takes no prediction_empty or reference_empty: its formulas have a value there")
        return self

    @property
    def rule(self) -> MatchingRule:
        return MatchingRule(
            connectivity=self.neighbours,
            min_voxels=self.min_voxels,
            min_predicted_voxels=self.min_predicted_voxels,
            dilate=self.dilate,
            match=self.match,
            threshold=self.threshold,
            pairing=self.pairing,
        )


def _matches(pair: RegionPair, settings: LesionsMetricSettings) -> LesionMatches:
    def matched() -> LesionMatches:
        prediction, reference = pair.masks()
        return match_components(prediction=prediction, reference=reference, spacing_mm=pair.spacing, rule=settings.rule)

    return pair.once(("lesions", settings.rule), matched)


def _of(name: str) -> Callable[[RegionPair, LesionsMetricSettings], float | None]:
    """A figure of the matches: one of the counts, or one of the lesions'."""

    def of(pair: RegionPair, settings: LesionsMetricSettings) -> float | None:
        found = _matches(pair, settings)
        value: float | None = getattr(found.counts, name) if hasattr(found.counts, name) else getattr(found, name)
        return value

    return of


def _hd95(pair: RegionPair, settings: LesionsMetricSettings) -> float | None:
    assert settings.miss_mm is not None
    return _matches(pair, settings).lesion_hd95(miss_mm=settings.miss_mm, boundary=settings.boundary)


def _counts(pair: RegionPair, settings: LesionsMetricSettings) -> Sequence[int]:
    counts = _matches(pair, settings).counts
    return (counts.tp, counts.fp, counts.fn)


def _image_ml(pair: RegionPair, _: Any) -> float:
    return (pair.image_voxels - pair.counts.reference) * pair.voxel_ml


def _pooled(numerator: Sequence[int], denominator: Sequence[int]) -> Callable[[Floats], Floats]:
    """A quotient of weighted counts (TP, FP, FN)."""
    return lambda totals: np.asarray((totals @ np.array(numerator)) / (totals @ np.array(denominator)))


def _total(place: int) -> Callable[[Floats], Floats]:
    return lambda totals: np.asarray(totals[..., place])


def _nothing(pair: RegionPair, settings: LesionsMetricSettings) -> bool:
    """No lesion that counts, and no false positive: quotients are 0 / 0."""
    return not any(_counts(pair, settings))


_figure: Callable[..., RegionFigure[Any]] = partial(RegionFigure, nothing=lambda *_: False)
_share = partial(_figure, direction="higher", highest=1.0, worst=0.0, nothing=_nothing)
_FIGURES: dict[str, RegionFigure[Any]] = {
    # A lost case finds nothing and invents nothing: the counts of an empty prediction.
    "tp": _figure(title="TP", direction="higher", of=_of("tp"), worst=EMPTY, pooled=_total(0)),
    "fp": _figure(title="FP", direction="lower", of=_of("fp"), worst=EMPTY, pooled=_total(1)),
    "fn": _figure(title="FN", direction="lower", of=_of("fn"), worst=EMPTY, pooled=_total(2)),
    "f1": _share(title="Lesion F1", of=_of("f1"), pooled=_pooled((2, 0, 0), (2, 1, 1))),
    "precision": _share(title="Lesion precision", of=_of("precision"), pooled=_pooled((1, 0, 0), (1, 1, 0))),
    "recall": _share(title="Lesion recall", of=_of("recall"), pooled=_pooled((1, 0, 0), (1, 0, 1))),
    "sq": _share(title="SQ", of=_of("sq")),
    "rq": _share(title="RQ", of=_of("rq"), pooled=_pooled((2, 0, 0), (2, 1, 1))),
    "pq": _share(title="PQ", of=_of("pq")),
    "lesion_dice": _share(title="Lesion-wise Dice", of=_of("lesion_dice")),
    "lesion_hd95": _figure(
        title="Lesion-wise HD95",
        direction="lower",
        unit="mm",
        of=_hd95,
        nothing=_nothing,
        worst=lambda _, settings: settings.miss_mm,
    ),
    "fpv_ml": _figure(title="False positive volume", direction="lower", unit="ml", of=_of("fpv_ml"), worst=_image_ml),
    "fnv_ml": _figure(title="False negative volume", direction="lower", unit="ml", of=_of("fnv_ml"), worst=EMPTY),
}


def _offered(settings: LesionsMetricSettings) -> Sequence[str]:
    without = () if settings.miss_mm is not None else ("lesion_hd95",)
    return [
        name
        for name, figure in _FIGURES.items()
        if name not in without and (settings.over == "cases" or figure.pooled is not None)
    ]


LESIONS_METRIC = RegionMetric(
    name="lesions",
    definition="connected components, matched: counts, quotients, panoptic quality, lesion-wise Dice and HD95",
    settings_model=LesionsMetricSettings,
    figures=_FIGURES,
    counts=_counts,
    offers=_offered,
)
