"""The catalogue of label images: overlap, volumes, centre lines and components; surfaces have their own module."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from podium.challenges.declared.catalogue.region_figures import EMPTY, RegionFigure, RegionSettings, agreement
from podium.challenges.declared.catalogue.region_pairs import RegionPair
from podium.challenges.declared.catalogue.regions import RegionMetric
from podium.challenges.declared.catalogue.surfaces import SURFACE_METRICS
from podium.metrics.components import Connectivity, as_connectivity, cldice, component_error
from podium.metrics.overlap import relative_volume_difference, volume_similarity
from podium.metrics.resampling import Floats

Neighbours = Literal[1, 2, 3, 4, 6, 8, 18, 26]


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


DICE = RegionMetric(
    name="dice",
    definition="2 |P and G| / (|P| + |G|)",
    counts=_counts,
    figures={"": agreement(title="Dice", of=lambda pair, _: pair.counts.dice(), pooled=_pooled_dice)},
)
IOU = RegionMetric(
    name="iou",
    definition="|P and G| / |P or G|",
    counts=_counts,
    figures={"": agreement(title="IoU", of=lambda pair, _: pair.counts.iou(), pooled=_pooled_iou)},
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
        figures={"": agreement(title="Volume similarity", of=_similarity)},
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
        figures={"": agreement(title="clDice", of=_cldice)},
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
