"""The catalogue of label images: overlap and surfaces."""

from collections.abc import Mapping
from typing import Annotated, Self

import numpy as np
from pydantic import Field, model_validator

from podium.challenges.declared.catalogue.base import Number
from podium.challenges.declared.catalogue.regions import RegionFigure, RegionMetric, RegionPair, RegionSettings
from podium.challenges.settings import FigureName
from podium.metrics.overlap import dice
from podium.metrics.resampling import Floats
from podium.metrics.surface import surface_dice

Tolerance = Annotated[Number, Field(ge=0)]


class NsdSettings(RegionSettings):
    """`tolerance_mm` or `tolerance_px`: how far two boundaries may be apart and still agree; `tolerances_mm` for single
    regions."""

    tolerance_mm: Tolerance | None = None
    tolerance_px: Tolerance | None = None
    tolerances_mm: Mapping[FigureName, Tolerance] = {}

    @model_validator(mode="after")
    def _one_unit(self) -> Self:
        if (self.tolerance_mm is None) == (self.tolerance_px is None):
            raise ValueError("needs either tolerance_mm or tolerance_px")
        if self.tolerance_px is not None and self.tolerances_mm:
            raise ValueError("tolerances_mm does not go with tolerance_px")
        return self


def _counts(pair: RegionPair, _: RegionSettings) -> tuple[int, int, int]:
    return pair.counts


def _pooled_dice(totals: Floats) -> Floats:
    return np.asarray(2 * totals[..., 0] / (totals[..., 1] + totals[..., 2]))


def _dice(pair: RegionPair, _: RegionSettings) -> float | None:
    return dice(prediction=pair.prediction, reference=pair.reference)


def _nsd(pair: RegionPair, settings: NsdSettings) -> float | None:
    assert settings.tolerance_px is not None
    return surface_dice(prediction=pair.prediction, reference=pair.reference, tolerance_px=settings.tolerance_px)


DICE = RegionMetric(
    name="dice",
    definition="2 |P and G| / (|P| + |G|)",
    counts=_counts,
    figures={
        "": RegionFigure(
            title="Dice",
            direction="higher",
            highest=1.0,
            worst=0.0,
            of=_dice,
            both_empty=1.0,
            prediction_empty=0.0,
            reference_empty=0.0,
            pooled=_pooled_dice,
        )
    },
)
NSD = RegionMetric(
    name="nsd",
    definition="the share of both boundaries that lies within the tolerance of the other",
    settings_model=NsdSettings,
    figures={
        "": RegionFigure(
            title="NSD",
            direction="higher",
            highest=1.0,
            worst=0.0,
            of=_nsd,
            both_empty=1.0,
            prediction_empty=0.0,
            reference_empty=0.0,
        )
    },
)
